"""The index thread: reads notes, embeds them and stores their vectors, in small batches.

The words of all projects are indexed first. Vectors follow, the project with the fewest missing
vectors first, so that one note does not wait for twenty thousand of another project.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import queue
import shutil
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.project_location import shared_beside
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import load
from memsearch_engine.index import embed_http
from memsearch_engine.index.milvus import reason_of
from memsearch_engine.index.rows import CatalogBroken, Failure, IndexResult
from memsearch_engine.index.scan import Scan, scan
from memsearch_engine.index.vector_index import VectorIndex, forget_compared
from memsearch_engine.longterm import fact_history, searchable
from memsearch_engine.search.supersession.notes import Comparer
from memsearch_engine.service.commands import (
    Command,
    DropProject,
    IndexJob,
    OpenVectors,
    RequestContext,
    Stop,
    UpdateSecondModel,
    distinct,
)
from memsearch_engine.service.index_state import FIRST_PAUSE_S, IndexState
from memsearch_engine.service.prompt_finder import PROMPTS_AT_ONCE, PromptFinder
from memsearch_engine.service.sources import ProjectSources

log = logging.getLogger("memsearch.service")
_EMBED_SLICE = 256
_WARMED = 20  # projects; the first search of another one takes some 10 ms more
_RETRY_S = 30.0
#: For idle work: the pause after it as a multiple of its duration, which limits it to a fifth of a
#: core; its niceness; and the shortest pause. A higher niceness would block searches on a busy
#: machine, because both share the interpreter lock.
REST, _NICE, _LEAST_REST_S = 4.0, 5, 0.001


class ProjectWork(msgspec.Struct):
    """A project whose files were read.

    Attributes:
        spaces: (vector index, texts without a vector there: hash -> text).
        reason: why vectors are missing.
        total, embedded, deleted: chunks.
    """

    job: IndexJob
    found: Scan
    began: float
    spaces: list[tuple[Any, dict[str, str]]]
    warnings: list[str]
    reason: str
    total: int = 0
    embedded: int = 0
    deleted: int = 0

    def left(self) -> int:
        """Return the number of texts that still lack a vector."""
        return sum(len(missing) for _, missing in self.spaces)


class IndexThread:
    """The index thread and its unfinished work."""

    def __init__(self, state: IndexState, sources: ProjectSources) -> None:
        self._state, self._sources = state, sources
        self.works: list[
            ProjectWork
        ] = []  # projects that were read but are not completely embedded
        #: whether a project was read for the first time since the word index was merged
        self._has_first_words = False
        self._prompts = PromptFinder(state, sources)
        self._comparer = Comparer()
        self._at_rest = ThreadPoolExecutor(1, "rest", initializer=_be_nice)
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread. Wait 10 seconds at most."""
        self._state.queue.put(Stop())
        self._thread.join(10)
        self._at_rest.shutdown(wait=False)

    def at_rest(self) -> list[str]:
        """Return the current idle work, for people."""
        if not self._state.ready.is_set() or not (self._prompts.is_due or self._may_compare):
            return []
        return [
            "looking for the prompts of older notes"
            if self._prompts.is_due
            else self._comparer.doing()
        ]

    def _run(self) -> None:
        gc.disable()  # it would look through each new row of the vectors several times
        self._open_vectors()
        self._warm()
        gc.freeze()
        gc.enable()
        self._state.warmed.set()
        self._update_second_model()
        rest_s = 0.0
        while not self._state.stopping.is_set():
            try:
                command = self._next_command(rest_s)
            except queue.Empty:
                if self.works:
                    self._advance(min(self.works, key=ProjectWork.left))
                    continue
                began = time.monotonic()
                self._at_rest.submit(self._step_at_rest).result()
                rest_s = (time.monotonic() - began) * REST
                continue
            if isinstance(command, Stop):
                return
            self._execute(command)

    def _execute(self, command: Command) -> None:
        if isinstance(command, OpenVectors):
            self._reopen_vectors()
        elif isinstance(command, UpdateSecondModel):
            self._update_second_model()
        elif isinstance(command, DropProject):
            self._drop(command)
        elif isinstance(command, IndexJob) and self._is_wanted(command):
            self._begin(command)

    def _reopen_vectors(self) -> None:
        works, self.works = self.works, []
        had_none = self._state.spaces.serving is None and not self._state.spaces.was_given_up
        self._open_vectors()
        self._warm()
        give_back_memory()
        for work in works:
            self._begin(work.job)
        if had_none and self._state.spaces.serving is not None:
            self._state.enqueue_all()

    def _next_command(self, rest_s: float) -> Command:
        """Return the next command.

        Args:
            rest_s: seconds to pause before idle work.

        Raises:
            queue.Empty: no command waits, and there is other work to do.
        """
        if self.works:
            return self._state.queue.get(block=False)
        if self._prompts.is_due or self._may_compare:
            return self._state.queue.get(timeout=max(rest_s, _LEAST_REST_S))
        return self._state.queue.get()

    def _step_at_rest(self) -> None:
        """Do one step of the idle work."""
        if self._prompts.is_due:
            self._prompts.step()
        elif (serving := self._state.spaces.serving) is not None:
            self._comparer.step(self._state.catalog, serving)

    @property
    def _may_compare(self) -> bool:
        """Whether notes must be compared, and the serving vectors are final."""
        return self._state.spaces.next is None and self._comparer.is_due(self._state.spaces.serving)

    def _update_second_model(self) -> None:
        """Open or close the second model's vector index, according to the settings."""
        if not self._state.spaces.is_second_due():
            return
        if self._state.spaces.second is None:
            if self._state.spaces.open_second():
                self._state.enqueue_all()
            return
        closing = self._state.spaces.close_second()
        for work in list(self.works):  # the closed index gets no more vectors
            work.spaces = [
                (space, missing) for space, missing in work.spaces if space is not closing
            ]
            if not work.left():
                self._finish(work)

    def _is_wanted(self, job: IndexJob) -> bool:
        with self._state.lock:
            if job.is_routine:
                if job.project.root not in self._state.queued:
                    return False  # an index run of a user has done it
                self._state.queued.discard(job.project.root)
        return True

    def _begin(self, job: IndexJob) -> None:
        """Read a project's files, so that their words are found. ``_advance`` adds the vectors."""
        try:
            work = self.read_files(job)
        except Exception as error:  # a failed run must not stop the next one
            is_damage = isinstance(error, sqlite3.DatabaseError | CatalogBroken)
            if is_damage and self._state.renew_damaged_catalog():
                self._begin(job)
                return
            log.exception("index of %s failed", job.project.root)
            job.error = error
            self._end(job)
            return
        if self._has_first_words and self._state.queue.empty():
            self._merge_words()
        job.was_read.set()
        self.works.append(work)
        if not work.left():
            self._finish(work)

    def _drop(self, job: DropProject) -> None:
        project, home = job.project, self._state.home
        try:
            for work in [work for work in self.works if work.job.project.root == project.root]:
                self.works.remove(work)
                work.job.error = Unreachable("the project was forgotten meanwhile")
                self._end(work.job)
            self.forget(project)
            shutil.rmtree(searchable.folder(home, project.id), ignore_errors=True)
            with contextlib.suppress(MemsearchError):  # the rest belongs to no project
                fact_history.drop(home, project.id[:8])
            home.staleness_cache(project.id).unlink(missing_ok=True)
        except Exception:  # a failed command must not stop the next one
            log.exception("what is indexed of %s is not dropped", project.root)
        self._end(job)

    def forget(self, project: Project) -> None:
        """Drop a project's index. The vectors of its texts stay in the cache."""
        for path in self._state.catalog.files.known(project.id):
            self._state.catalog.files.remove(project.id, path)
        self._state.catalog.links.prune(project.id)
        self._state.catalog.staleness.forget(project.id)
        self._state.catalog.files.set_scanned(project.id, False)
        self._state.scanned.discard(project.id)
        for space in self._state.spaces:
            space.forget(project.collection)

    def _advance(self, work: ProjectWork) -> None:
        """Make and store one batch of vectors. It stops early if a command arrives."""
        try:
            space, missing = next((space, missing) for space, missing in work.spaces if missing)
            self._embed(work, space, missing)
        except Exception as error:
            log.exception("index of %s failed", work.job.project.root)
            work.job.error = error
            self._finish(work)
            return
        if not work.left():
            self._finish(work)

    def _finish(self, work: ProjectWork) -> None:
        self.works.remove(work)
        job = work.job
        try:
            if job.error is None:
                job.result = self.result_of(work)
                if not work.reason:
                    self._state.given_up.pop(job.project.root, None)
                if job.call is None:
                    self._state.done_before[job.project.root] = (time.monotonic(), job.result)
            self._settle_spaces()
            if not self.works and self._state.queue.empty():
                self._prune()
        except Exception as error:
            log.exception("index of %s failed", job.project.root)
            job.error = job.error or error
        self._comparer.note(job.project)
        if work.embedded >= _EMBED_SLICE:
            give_back_memory()
        self._end(job)

    def _end(self, job: IndexJob | DropProject) -> None:
        if not self.works:
            self._state.progress = {}
        if isinstance(job, IndexJob):
            job.was_read.set()
        job.done.set()
        self._state.changed()

    def _open_vectors(self) -> None:
        """Open the index that the settings name, or store in ``problem`` why that fails."""
        start, self._state.is_opening = time.monotonic(), True
        try:
            self._state.settings = load(self._state.home)
            self._state.opened_with = (self._state.settings.embedding, self._state.settings.milvus)
            name = self._state.spaces.open()
            log.info("space %s open after %.2f s", name, time.monotonic() - start)
            self._state.problem, self._state.pause_s = "", FIRST_PAUSE_S
            self._state.ready.set()
            self._state.changed()
            self._state.spaces.tidy_server()
        except MemsearchError as error:
            problem = f"{error}" + (f" ({error.hint})" if error.hint else "")
            if problem != self._state.problem:
                log.error("no meaning: %s", problem)
            self._state.problem = problem
            self._state.spaces.give_up()
        except Exception as error:
            self._state.problem = f"{type(error).__name__}: {error}"
            log.exception("the index can't be opened")
            self._state.spaces.give_up()
        finally:
            self._state.spaces.retire()
            self._state.is_opening = False
            self._state.ready.set()
            self._state.changed()

    def _warm(self) -> None:
        """Load the data that the first searches of the largest projects need.

        Damage is repaired where it is used.
        """
        serving = self._state.spaces.serving
        if serving is None:
            return
        projects = list(self._state.known.values())
        with contextlib.suppress(MemsearchError, sqlite3.Error):
            projects += self._state.registry.all()
        collections = list({project.collection for project in projects})
        with contextlib.suppress(sqlite3.Error):
            collections.sort(key=serving.chunk_count, reverse=True)
        for collection in collections[:_WARMED]:
            with contextlib.suppress(Exception):
                serving.warm(collection)
        self._at_rest.submit(self._save, serving)

    def _save(self, index: VectorIndex) -> None:
        try:
            index.save()
        except OSError as error:  # such as a full disk
            log.warning("the next start reads all vectors from the database: %s", error)

    def _settle_spaces(self) -> None:
        """Mark the index as complete if all known projects have their vectors."""
        target = self._state.spaces.next or self._state.spaces.serving
        if (
            target is None
            or self.works
            or not self._state.queue.empty()
            or (target.complete and self._state.spaces.next is None)
            or not target.is_current()  # its folder was deleted: it will be opened again
        ):
            return
        projects = distinct(list(self._state.known.values()))
        if not any(target.missing(self._state.catalog, project.id) for project in projects):
            self._state.spaces.complete()

    def _prune(self) -> None:
        """Once a day, when idle and all projects are read, tidy the index.

        Vectors that no note uses are deleted, and the word index becomes one segment.
        """
        serving, second = self._state.spaces.serving, self._state.spaces.second
        if (
            serving is None
            or self._state.spaces.next is not None
            or not serving.is_current()
            or not serving.embeddings.is_pruning_due()
        ):
            return
        if not all(project.id in self._state.scanned for project in self._state.registry.all()):
            return
        self._merge_words()
        used = self._state.catalog.text_hashes()
        gone = sum(space.embeddings.prune(used) for space in (serving, second) if space is not None)
        if gone:
            log.info("%d vectors of texts that no note has any more went", gone)

    def _merge_words(self) -> None:
        """Merge the word index. Searches work without that, so an error is only logged."""
        self._has_first_words = False
        try:
            self._state.catalog.words.optimize()
        except sqlite3.Error as error:
            log.warning("the word index is not merged: %s", error)

    def read_files(self, job: IndexJob) -> ProjectWork:
        """Read the files of a project into the catalog."""
        start = time.monotonic()
        self._state.renew_catalog()
        project, call = job.project, job.call
        if job.anew:
            self.forget(project)
        settings, bad = self._sources.settings_of(project)
        longterm = self._sources.longterm(project)
        self._sources.write_agent_files(project)
        shared = shared_beside(project.memory)
        roots = [
            project.memory,
            *([shared] if shared else []),
            *self._sources.extra_roots(
                project, job.paths, self._state.catalog, self._state.registry.all()
            ),
            longterm,
        ]
        self._report(call, project, "reading", 0, 0)
        found: Scan = scan(
            self._state.catalog,
            project.id,
            roots,
            settings,
            memory=project.memory,
            shared=shared,
            longterm=longterm,
            force=job.force,
            progress=lambda done, total: self._report(call, project, "reading", done, total),
            prompts=Archive(self._state.home).prompts if self._sources.prompts_wanted else None,
        )
        while not self._sources.prompts_wanted and (
            unwanted := self._state.catalog.prompts.chunks_with_prompt(project.id, PROMPTS_AT_ONCE)
        ):
            # before they are embedded or stored
            self._state.catalog.prompts.put(dict.fromkeys(unwanted))
        found.failed += bad
        if self._state.is_behind([project]):
            self._state.catalog.files.set_scanned(project.id)
            self._has_first_words = True
        self._state.scanned.add(project.id)
        if found.changed or found.removed:
            self._state.changed()
        self._prompts.note(project)
        work = ProjectWork(job, found, start, [], settings.warnings, self._state.problem)
        for space in self._state.spaces:
            self._with_space(work, space)
        forget_compared(self._state.catalog, project.id, project.collection, self._state.spaces)
        return work

    def _with_space(self, work: ProjectWork, space: VectorIndex) -> None:
        """Store the known vectors, and collect the texts without one, newest first.

        A damaged Milvus folder is rebuilt from the stored vectors.
        """
        project = work.job.project

        def look() -> None:
            work.deleted += space.reconcile(self._state.catalog, project.id, project.collection)[1]
            missing = space.missing(self._state.catalog, project.id)
            work.spaces.append((space, missing))
            work.total += len(missing)

        try:
            look()
        except Exception as error:
            if self._is_rebuilt(work, space, error):
                look()

    def _embed(self, work: ProjectWork, space: VectorIndex, missing: dict[str, str]) -> None:
        job, project = work.job, work.job.project
        part = dict(list(missing.items())[:_EMBED_SLICE])
        for text_hash in space.embeddings.known(
            part
        ):  # computed meanwhile for another run of the same project
            del missing[text_hash], part[text_hash]
        before = work.embedded

        def cancelled() -> bool:
            return self._state.stopping.is_set() or (job.call is not None and job.call.cancelled())

        def interrupted() -> bool:
            return cancelled() or not self._state.queue.empty()

        try:
            space.embed(
                part,
                lambda made, _: self._report(
                    job.call, project, "embedding", before + made, work.total
                ),
                interrupted,
            )
            made = space.embeddings.known(part)
            for text_hash in made:
                del missing[text_hash]
            work.embedded += len(made)
            work.deleted += space.reconcile(self._state.catalog, project.id, project.collection)[1]
        except Exception as error:  # such as an embedding service that can't be reached
            missing.clear()
            if self._is_rebuilt(work, space, error):
                space.reconcile(self._state.catalog, project.id, project.collection)
                missing.update(space.missing(self._state.catalog, project.id))
        self._state.changed()
        if cancelled():
            for _, left in work.spaces:
                left.clear()

    def _is_rebuilt(self, work: ProjectWork, space: VectorIndex, error: Exception) -> bool:
        """Return whether an error is damage, after which the index was emptied. Else give up."""
        if isinstance(error, MemsearchError) or not space.is_damage(error):
            self._give_up(work, space, error)
            return False
        log.exception("the index of %s is damaged and built again", work.job.project.slug)
        space.rebuild()
        return True

    def _give_up(self, work: ProjectWork, space: VectorIndex, error: Exception) -> None:
        """Record why vectors can't be made, and schedule another try. Words are still found.

        If the second model fails, the first one serves alone.
        """
        if space is self._state.spaces.second:
            self._state.without_second(error)
            return
        reason = (
            str(error) if isinstance(error, MemsearchError) else f"{type(error).__name__}: {error}"
        )
        if not isinstance(error, MemsearchError) and self._state.settings.milvus.uri:
            reason = f"Milvus at {self._state.settings.milvus.uri}: {reason_of(error)}"
        if self._state.given_up.get(work.job.project.root) != reason:
            log.warning("no vectors for %s: %s", work.job.project.slug, reason)
        self._state.given_up[work.job.project.root] = reason
        work.reason = work.reason or reason
        if isinstance(
            error, embed_http.OtherLength
        ):  # the model behind the name has changed: its older vectors are useless
            self._state.reopen(reason)
        self._state.retry_at[work.job.project.root] = time.monotonic() + _RETRY_S

    def result_of(self, work: ProjectWork) -> IndexResult:
        """Return what a run has done, and the counts of the index."""
        project, found = work.job.project, work.found
        sizes = {"entries": 0, "chunks": 0}
        if work.job.call is not None:  # counting takes 25 ms at 100,000 chunks
            sizes = self._state.catalog.statistics.sizes(project.id)
        return IndexResult(
            project=project.slug,
            collection=project.collection,
            files=found.files,
            changed=found.changed,
            removed=found.removed,
            entries=sizes["entries"],
            chunks=sizes["chunks"],
            embedded=work.embedded,
            deleted=work.deleted,
            failed=[Failure(path, reason) for path, reason in found.failed],
            meaning=not work.reason,
            reason=work.reason,
            warnings=work.warnings,
            seconds=round(time.monotonic() - work.began, 3),
        )

    def _report(
        self, call: RequestContext | None, project: Project, phase: str, done: int, total: int
    ) -> None:
        others = len({w.job.project.root for w in self.works} | self._state.queued) - 1
        self._state.progress = {
            "project": project.name,
            "phase": phase,
            "done": done,
            "total": total,
            "waiting": max(0, others),
        }
        if call is not None:
            call.progress(self._state.progress)


def give_back_memory() -> None:
    """Return freed memory to the system. Otherwise glibc retains 50 to 100 MB.

    What is left is used until the end, so later collections skip it (``gc.freeze``).
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def _be_nice() -> None:
    if sys.platform == "linux":  # elsewhere this changes the whole process
        with contextlib.suppress(OSError):
            os.setpriority(
                os.PRIO_PROCESS,
                threading.get_native_id(),
                os.getpriority(os.PRIO_PROCESS, 0) + _NICE,
            )
