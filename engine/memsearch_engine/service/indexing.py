"""Index work of the service: one thread that reads, embeds and stores; the watch that says when.

The catalog is open at once, the model and Milvus are opened on the thread, so that words can be
searched a moment after the start. A space that is damaged or was deleted is opened again; a new
model is built beside the one that serves.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents import agent_files
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture import prompts
from memsearch_engine.capture.ledger import known_folders
from memsearch_engine.core import network, safe_files
from memsearch_engine.core.errors import MemsearchError, SettingsError, Unreachable
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.project_location import shared_beside
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Embedding, Milvus, Settings, load
from memsearch_engine.index import embed_http
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import asked_before
from memsearch_engine.index.rows import Failure, IndexResult, Row
from memsearch_engine.index.scan import Scan, scan
from memsearch_engine.index.stores.milvus import reason_of
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.index.watch import Watcher
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import fact_history, pages, searchable
from memsearch_engine.search import lexical
from memsearch_engine.search.supersession.background import Comparer
from memsearch_engine.service.spaces import Spaces

log = logging.getLogger("memsearch.service")
_EMBED_SLICE = 256
#: Notes whose prompts are looked for at once, and how long a new note may wait for that.
_PROMPTS_AT_ONCE, _PROMPTS_S = 512, 1.0
_AGAIN_S, _MAX_AGAIN_S = 30.0, 600.0
#: Of work that nobody waits for: rest for each second of it, so that it takes a fifth of a core at
#: most; and its niceness, where threads have one. Not more: it shares the interpreter with
#: searches, which would wait for it on a busy machine.
_REST, _NICE, _LEAST_REST_S = 4.0, 5, 0.001

Progress = Callable[[dict[str, Any]], None]


class Call(msgspec.Struct):
    """What a handler knows of its request: where to report progress, and whether its client gave
    up.
    """

    progress: Progress
    cancelled: Callable[[], bool]
    deadline: float = 0.0

    def remaining(self) -> float:
        """Seconds until the client stops waiting."""
        return max(0.0, self.deadline - time.monotonic()) if self.deadline else 3600.0


class IndexJob(msgspec.Struct):
    """Index work for one project. ``was_read`` is set when its files were read, ``done`` when it
    has run; ``result`` or ``error`` then tells.

    Attributes:
        force: read files again that look as they were.
        anew: drop what is indexed first (the files, and the vectors of their texts, stay).
        gone: only that: nobody wants to know the project any more.
    """

    project: Project
    paths: list[str]
    force: bool = False
    call: Call | None = None
    anew: bool = False
    gone: bool = False
    was_read: threading.Event = msgspec.field(default_factory=threading.Event)
    done: threading.Event = msgspec.field(default_factory=threading.Event)
    result: IndexResult | None = None
    error: Exception | None = None

    @property
    def is_routine(self) -> bool:
        """Background work that any other run of the project does, too."""
        return self.call is None and not self.paths and not self.anew and not self.gone


class _Work(msgspec.Struct):
    """A project whose files were read. ``spaces``: what is still to be embedded in each, text hash
    -> text.
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
        return sum(len(missing) for _, missing in self.spaces)


# that a search waits for files to be read; then words are compared, in the files themselves
_CATCH_UP_S = 1.0
_DETACH_S = 60.0
_ABSENT_S = 30.0
#: In the queue: open the space anew; see to the second model.
_REOPEN = IndexJob(Project("", "", "", "", ""), [])
_SECOND = IndexJob(Project("", "", "", "", ""), [])


class Indexer:
    """Everything that a service knows of the index.

    Attributes:
        catalog: open for writing; replaced when its file was deleted. ``notice``: what was done
            to it at the start.
        spaces: the vectors, of what serves and what is built. ready: set once those that serve
            are open, or can't be (``problem`` says why).
        progress: what is being done now, for people.
    """

    def __init__(
        self, home: Home, registry: Registry, stopping: threading.Event, changed: Callable[[], None]
    ) -> None:
        self.home, self.registry, self._stopping, self._changed = home, registry, stopping, changed
        self.problem = ""
        try:
            self.settings = load(home)
        except MemsearchError as error:
            self.settings, self.problem = Settings(), str(error)
        self._read: set[str] = set()  # projects whose files were read since the catalog was opened
        self._open_catalog()
        self.spaces = Spaces(home, lambda: self.settings)
        self.ready = threading.Event()
        self._opening = (
            True  # also after ``ready``: what can be searched already is not open for writing yet
        )
        self.progress: dict[str, Any] = {}
        self.known: dict[str, Project] = {}  # by root
        self._jobs: queue.Queue[IndexJob | None] = queue.Queue()
        self._queued: set[str] = set()
        self._native_stamps: dict[
            str, tuple[tuple[str, int, int], ...]
        ] = {}  # root -> of the agents' own memories
        self._page_stamps: dict[
            str, tuple[tuple[int, int], ...]
        ] = {}  # root -> of PROJECT.md and USER.md
        self.given_up: dict[str, str] = {}  # root -> why its newest notes have no meaning yet
        self._again: dict[str, float] = {}  # root -> when its meaning is tried again (monotonic)
        self._opened_with: tuple[Embedding, Milvus] | None = None
        self._reopen_at, self._pause_s = 0.0, _AGAIN_S
        self._absent: dict[
            str, float
        ] = {}  # root -> when a folder that is not there is looked for again
        self._works: list[_Work] = []  # read, and not wholly embedded
        self._comparer = Comparer()
        self._at_rest = ThreadPoolExecutor(1, "rest", initializer=_be_nice)
        self._without_prompts: list[Project] = []  # whose notes may lack the prompts of their turns
        self._done_before: dict[
            str, tuple[float, IndexResult]
        ] = {}  # root -> when and what, in the background
        self._lock = threading.RLock()
        self.watcher = Watcher(self._on_files, self.settings.watch.debounce_ms / 1000)
        self._thread = threading.Thread(target=self._worker, name="index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._jobs.put(None)
        self.watcher.stop()
        self._thread.join(10)
        self._at_rest.shutdown(wait=False)
        self.spaces.close()
        self.catalog.close()

    @property
    def busy(self) -> bool:
        return bool(self._queued) or bool(self._works) or bool(self.progress)

    @property
    def state(self) -> str:
        return "ready" if self.spaces.serving else "broken" if self.problem else "opening"

    def run(self, project: Project, paths: list[str], force: bool, call: Call) -> IndexResult:
        """Index a project now and wait for it. Returns what was done, also by a background run that
        was under way.
        """
        began = time.monotonic()
        job = IndexJob(project, paths, force, call)
        with self._lock:
            self._queued.discard(project.root)  # what waits in the background is done by this run
            if self.spaces.serving is None and self.problem and not self._opening:
                self.ready.clear()
                self._jobs.put(_REOPEN)  # somebody asks: what was away may be back
        self.enqueue(job)
        while not job.done.wait(0.5):
            if call.cancelled():
                raise Unreachable("cancelled")
        if job.error:
            raise job.error
        assert job.result is not None
        at, before = self._done_before.get(project.root, (0.0, None))
        if before and at >= began:
            for key in ("changed", "removed", "embedded", "deleted"):
                setattr(job.result, key, getattr(job.result, key) + getattr(before, key))
        return job.result

    def read(self, project: Project, call: Call) -> None:
        """Have the files of a project read now, and return before their meaning is made."""
        job = IndexJob(project, [], call=call)
        self.enqueue(job)
        while not job.was_read.wait(0.5):
            if call.cancelled():
                raise Unreachable("cancelled")
        if job.error:
            raise job.error

    def _forget(self, project: Project) -> None:
        for path in self.catalog.files.known(project.id):
            self.catalog.files.remove(project.id, path)
        self.catalog.links.prune(project.id)
        self.catalog.staleness.forget(project.id)
        self.catalog.files.set_scanned(project.id, False)
        self._read.discard(project.id)
        for space in self.spaces:
            space.forget(project.collection)

    def refresh(self, project: Project) -> None:
        """Look at a project's files soon."""
        self.enqueue(IndexJob(project, []))

    def check_disk(self) -> None:
        """Notice what was deleted under us: the caches may be at any moment, and git removes
        folders it brings back.
        """
        now = time.monotonic()
        for project in list(self.known.values()):
            if self._absent.get(project.root, 0.0) > now:
                continue
            self.watch(project)
            if not os.path.isdir(
                project.root
            ):  # moved away or deleted, maybe for good: not looked for every second
                self._absent[project.root] = now + _ABSENT_S
        if self._renew_catalog():
            self._index_all()
        serving = self.spaces.serving
        if serving is not None and not serving.is_current():
            self.reopen("the index folder was deleted")
        self._try_again()
        if self.ready.is_set() and self.spaces.serving is not None and self.spaces.is_second_due():
            self._jobs.put(_SECOND)

    def without_second(self, error: Exception) -> None:
        """The second model failed: it is asked no more until the settings change or the service
        starts anew.
        """
        log.error("the second model is asked no more: %s", error, exc_info=error)
        self.spaces.second_failed = f"{type(error).__name__}: {error}"
        self._jobs.put(_SECOND)

    def _see_to_second(self) -> None:
        """Open the second model's space, or close it."""
        if not self.spaces.is_second_due():
            return
        if self.spaces.second is None:
            if self.spaces.open_second():
                self._index_all()
            return
        closing = self.spaces.close_second()
        for work in list(self._works):  # nothing is written to it any more
            work.spaces = [
                (space, missing) for space, missing in work.spaces if space is not closing
            ]
            if not work.left():
                self._finish(work)

    def _try_again(self) -> None:
        """Come back by itself from what was away: a server, an embedding service; and follow
        settings that changed.
        """
        now = time.monotonic()
        for root in [root for root, when in self._again.items() if when <= now]:
            del self._again[root]
            if root in self.known:
                self.enqueue(IndexJob(self.known[root], []))
        wanted = (self.settings.embedding, self.settings.milvus)
        if self._opened_with is not None and self._opened_with != wanted and self.ready.is_set():
            self.reopen("the settings have changed")
        elif (
            self.spaces.serving is None
            and self.problem
            and not self._opening
            and now >= self._reopen_at
        ):
            self._pause_s = min(_MAX_AGAIN_S, self._pause_s * 2)
            self._reopen_at = now + self._pause_s
            self._jobs.put(_REOPEN)  # searches go on comparing words meanwhile

    def _renew_catalog(self) -> bool:
        """Begin a new catalog where the file of the open one was deleted."""
        with self._lock:
            if self.catalog.is_current():
                return False
            log.warning("cache.db was deleted; it is built again")
            old = self.catalog
            self._open_catalog()
            old.close()
            return True

    def _open_catalog(self) -> None:
        self.catalog, self.notice = Catalog.open_or_rebuild(self.home.cache_db)
        self._read.clear()
        if self.notice:
            log.warning(self.notice)

    def is_behind(self, projects: list[Project]) -> bool:
        """Whether the catalog has not yet taken in the files of one of *projects*: then the files
        themselves answer.
        """
        return not all(
            project.id in self._read or self.catalog.files.is_scanned(project.id)
            for project in projects
        )

    def catch_up(self, projects: list[Project], call: Call) -> bool:
        """Have files read now that changed while no service watched them. Returns whether all of
        *projects* are taken in as they stand.
        """
        if not self.ready.is_set() or self.is_behind(projects):
            return False
        for project in projects:
            if project.id not in self._read and any(lexical.changed_files(self.catalog, [project])):
                job = IndexJob(project, [], call=call)
                self.enqueue(job)
                if not job.was_read.wait(min(_CATCH_UP_S, call.remaining())):
                    return False
        return True

    def reopen(self, why: str) -> None:
        """Close the space and open it again, on the index thread; searches compare words meanwhile."""
        with self._lock:
            if self._opening or not self.ready.is_set():
                return  # it is being opened, or will be
            self.spaces.give_up()
            self.ready.clear()
        log.warning("the index is opened again: %s", why)
        self._reopen_at = time.monotonic() + _AGAIN_S
        self._jobs.put(_REOPEN)
        self._index_all()

    def failed(self, space: VectorIndex | None, error: Exception) -> None:
        """A search met an error of the store: open it again, and say what a server said. One that
        serves no more was closed under it.
        """
        if space is not None and space not in (self.spaces.serving, self.spaces.second):
            return
        if space is None or space.is_local:
            log.exception("search fell back to words")
            self.reopen(f"{type(error).__name__}: {error}")
        else:
            self.problem = (
                f"Milvus at {self.settings.milvus.uri} does not answer: {reason_of(error)}"
            )
            self.reopen(self.problem)

    @property
    def fix(self) -> str:
        """The next step out of ``problem``."""
        return (
            "check milvus.uri and milvus.token (`memsearch config`)"
            if self.settings.milvus.uri
            else "memsearch doctor"
        )

    def _index_all(self) -> None:
        for project in list(self.known.values()):
            self.enqueue(IndexJob(project, []))

    def attach(self, project: Project) -> None:
        """Know a project from now on: watch its files and index what changed while nobody looked."""
        with self._lock:
            if project.root in self.known:
                return
            self.known[project.root] = project
        self.watch(project)
        self.enqueue(IndexJob(project, []))

    def detach(self, project: Project) -> None:
        """Know a project no more: its files are left alone, what is indexed of it goes. Returns
        when it is done.
        """
        with self._lock:
            self.known.pop(project.root, None)
            self._absent.pop(project.root, None)
            self._queued.discard(project.root)
            others = [other for other in self.known.values() if other.id == project.id]
        for folder in filter(None, (project.memory, shared_beside(project.memory))):
            self.watcher.remove(folder)
        job = IndexJob(project, [], gone=True)
        self.enqueue(job)
        job.done.wait(_DETACH_S)
        for other in others:  # another folder of the same project: what is indexed is of both
            self.enqueue(IndexJob(other, []))

    def watch(self, project: Project) -> None:
        for folder in filter(None, (project.memory, shared_beside(project.memory))):
            try:
                safe_files.real(folder)
            except OSError:  # a link out of its project: nothing there is ours to read
                continue
            if self.watcher.add(project.root, folder):
                self.enqueue(IndexJob(project, []))

    def _on_files(self, root: str) -> None:
        project = self.known.get(root)
        if project and not self._stopping.is_set():
            self.enqueue(IndexJob(project, []))

    def enqueue(self, job: IndexJob) -> None:
        """Queue index work; background work for a project that waits already is not queued twice."""
        with self._lock:
            if job.is_routine:
                if job.project.root in self._queued:
                    return
                self._queued.add(job.project.root)
        self._jobs.put(job)

    def _worker(self) -> None:
        """Words first for everybody, then meaning, the smallest work first and a slice at a time: a
        note in one project does not wait for twenty thousand in another. With nothing else to do,
        older notes get the prompts of their turns, and all are compared.
        """
        self._open_space()
        self._warm()
        give_back_memory()
        self._see_to_second()
        rest_s = 0.0
        while not self._stopping.is_set():
            try:
                job = self._next_job(rest_s)
            except queue.Empty:
                if self._works:
                    self._advance(min(self._works, key=_Work.left))
                    continue
                began = time.monotonic()
                self._at_rest.submit(self._step_at_rest).result()
                rest_s = (time.monotonic() - began) * _REST
                continue
            if job is None:
                return
            if job is _REOPEN:
                works, self._works = self._works, []
                had_none = self.spaces.serving is None and not self.spaces.was_given_up
                self._open_space()
                self._warm()
                give_back_memory()
                for work in works:
                    self._begin(work.job)
                if had_none and self.spaces.serving is not None:
                    self._index_all()
            elif job is _SECOND:
                self._see_to_second()
            elif self._is_wanted(job):
                self._begin(job)

    def _next_job(self, rest_s: float) -> IndexJob | None:
        """Raises queue.Empty where there is other work: at once where somebody waits for it, else
        after a rest.
        """
        if self._works:
            return self._jobs.get(block=False)
        if self._without_prompts or self._may_compare:
            return self._jobs.get(timeout=max(rest_s, _LEAST_REST_S))
        return self._jobs.get()

    def _step_at_rest(self) -> None:
        """A step of work that nobody waits for."""
        if self._without_prompts:
            self._look_for_prompts()
        elif (serving := self.spaces.serving) is not None:
            self._comparer.step(self.catalog, serving)

    def at_rest(self) -> list[str]:
        """What is done while nobody waits for the index, for people."""
        if not self.ready.is_set() or not (self._without_prompts or self._may_compare):
            return []
        return [
            "looking for the prompts of older notes"
            if self._without_prompts
            else self._comparer.doing()
        ]

    @property
    def _may_compare(self) -> bool:
        """Whether notes are to be compared, and the vectors are those that will serve."""
        return self.spaces.next is None and self._comparer.is_due(self.spaces.serving)

    def _is_wanted(self, job: IndexJob) -> bool:
        with self._lock:
            if job.is_routine:
                if job.project.root not in self._queued:
                    return False  # a person's own index run came first and did it
                self._queued.discard(job.project.root)
        return True

    def _begin(self, job: IndexJob) -> None:
        """Read a project's files, so that their words are found; what has no meaning yet is worked
        off by ``_advance``.
        """
        try:
            if job.gone:
                self._drop(job)
                return
            work = self._read_files(job)
        except Exception as error:  # a failed run must not stop the next one
            log.exception("index of %s failed", job.project.root)
            job.error = error
            self._end(job)
            return
        job.was_read.set()
        self._works.append(work)
        if not work.left():
            self._finish(work)

    def _drop(self, job: IndexJob) -> None:
        for work in [work for work in self._works if work.job.project.root == job.project.root]:
            self._works.remove(work)
            work.job.error = Unreachable("the project was forgotten meanwhile")
            self._end(work.job)
        self._forget(job.project)
        shutil.rmtree(searchable.folder(self.home, job.project.id), ignore_errors=True)
        with contextlib.suppress(
            MemsearchError
        ):  # what stays of it is of no project, and is never read
            fact_history.drop(self.home, job.project.id[:8])
        self.home.ground(job.project.id).unlink(missing_ok=True)
        self._end(job)

    def _advance(self, work: _Work) -> None:
        """Make and store one slice of vectors; less of it where somebody else comes."""
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

    @property
    def _prompts_wanted(self) -> bool:
        """Whether what users had asked is searched with the notes of it."""
        return self._may_read(self.settings.indexing.prompts)

    def _may_read(self, chosen: str) -> bool:
        """Whether a text that is no note is given to the model that embeds and to the store: they
        may be somebody else's.
        """
        embedding, uri = self.settings.embedding, self.settings.milvus.uri
        is_here = embedding.provider == "onnx" or network.is_local(
            embedding.base_url or "elsewhere"
        )
        return chosen == "on" or (
            chosen == "auto" and is_here and (not uri or network.is_local(uri))
        )

    def _look_for_prompts(self) -> None:
        """Find the prompts behind some notes that have none, and have those embedded anew; their
        old vectors serve meanwhile.
        """
        project = self._without_prompts[-1]
        try:
            rows = (
                self.catalog.prompts.missing(project.id, _PROMPTS_AT_ONCE)
                if self._prompts_wanted
                else []
            )
            is_done, asked = not rows, self._asked_in(rows)
            self.catalog.prompts.put(asked)
        except Exception:  # what is not found today is looked for at the next start
            log.exception("the prompts of %s are not searched", project.slug)
            is_done, asked = True, {}
        if is_done:
            self._without_prompts.pop()
        elif any(asked.values()):
            self.enqueue(IndexJob(project, []))

    def _asked_in(self, rows: list[Row]) -> dict[int, str]:
        """What is embedded before the chunks *rows*, as far as there is time to find it."""
        end = time.monotonic() + _PROMPTS_S
        names = {row.id: (row.agent, row.session, row.turn) for row in rows}
        found = Archive(self.home).prompts(names.values())
        left = {names[row.id]: row.anchors[0].path for row in rows if names[row.id] not in found}
        found |= prompts.live(
            self.home,
            left,
            lambda: time.monotonic() > end or not self._jobs.empty() or self._stopping.is_set(),
        )
        known = [row.id for row in rows if names[row.id] in found]
        return {
            row: asked_before(text, found[names[row]])
            for row, text in self.catalog.prompts.entry_texts(known).items()
        }

    def _finish(self, work: _Work) -> None:
        self._works.remove(work)
        job = work.job
        try:
            if job.error is None:
                job.result = self._result(work)
                if not work.reason:
                    self.given_up.pop(job.project.root, None)
                if job.call is None:
                    self._done_before[job.project.root] = (time.monotonic(), job.result)
            self._settle_spaces()
            if not self._works and self._jobs.empty():
                self._prune()
        except Exception as error:
            log.exception("index of %s failed", job.project.root)
            job.error = job.error or error
        self._comparer.note(job.project)
        if work.embedded >= _EMBED_SLICE:
            give_back_memory()
        self._end(job)

    def _end(self, job: IndexJob) -> None:
        if not self._works:
            self.progress = {}
        job.was_read.set()
        job.done.set()
        self._changed()

    def _open_space(self) -> None:
        """Open what the settings name now, or say in ``problem`` why it can't be."""
        start, self._opening = time.monotonic(), True
        try:
            self.settings = load(self.home)
            self._opened_with = (self.settings.embedding, self.settings.milvus)
            name = self.spaces.open()
            log.info("space %s open after %.2f s", name, time.monotonic() - start)
            if not self.problem:  # else it may fail again in a moment
                self.ready.set()  # searches that wait need no more
                self._changed()
            self._warm()
            self.spaces.open_stores()
            self.problem, self._pause_s = "", _AGAIN_S
            self.spaces.tidy_server()
        except MemsearchError as error:
            problem = f"{error}" + (f" ({error.hint})" if error.hint else "")
            if problem != self.problem:
                log.error("no meaning: %s", problem)
            self.problem = problem
            self.spaces.give_up()
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
            log.exception("the index can't be opened")
            self.spaces.give_up()
        finally:
            self.spaces.retire()
            self._opening = False
            self.ready.set()
            self._changed()

    def _warm(self) -> None:
        """Load what first searches would wait for, and give back what loading took."""
        for project in distinct(list(self.known.values())):
            if (serving := self.spaces.serving) is not None and serving.held(project.collection):
                with contextlib.suppress(
                    Exception
                ):  # a damaged folder shows itself, and is mended, where it is used
                    serving.warm(project.collection)

    def _settle_spaces(self) -> None:
        """Note when everything known has its vectors."""
        target = self.spaces.next or self.spaces.serving
        if (
            target is None
            or self._works
            or not self._jobs.empty()
            or (target.complete and self.spaces.next is None)
        ):
            return
        projects = distinct(list(self.known.values()))
        if not any(target.missing(self.catalog, project.id) for project in projects):
            self.spaces.complete()

    def _prune(self) -> None:
        """Once a day, with everything read and nothing to do: forget vectors that no note uses."""
        serving, second = self.spaces.serving, self.spaces.second
        if serving is None or self.spaces.next is not None or not serving.is_pruning_due():
            return
        if not all(project.id in self._read for project in self.registry.all()):
            return
        gone = sum(space.prune(self.catalog) for space in (serving, second) if space is not None)
        if gone:
            log.info("%d vectors of texts that no note has any more went", gone)

    def _read_files(self, job: IndexJob) -> _Work:
        start = time.monotonic()
        self._renew_catalog()
        project, call = job.project, job.call
        if job.anew:
            self._forget(project)
        settings, bad = self._settings_of(project)
        longterm = self._longterm(project)
        self._take_native(project)
        shared = shared_beside(project.memory)
        roots = [
            project.memory,
            *([shared] if shared else []),
            *self._extra_roots(project, job.paths),
            longterm,
        ]
        self._report(call, project, "reading", 0, 0)
        found: Scan = scan(
            self.catalog,
            project.id,
            roots,
            settings,
            memory=project.memory,
            shared=shared,
            longterm=longterm,
            force=job.force,
            progress=lambda done, total: self._report(call, project, "reading", done, total),
            prompts=Archive(self.home).prompts if self._prompts_wanted else None,
        )
        while not self._prompts_wanted and (
            unwanted := self.catalog.prompts.chunks_with_prompt(project.id, _PROMPTS_AT_ONCE)
        ):
            self.catalog.prompts.put(
                dict.fromkeys(unwanted)
            )  # before anything of it is embedded or stored
        found.failed += bad
        if self.is_behind([project]):
            self.catalog.files.set_scanned(project.id)
        self._read.add(project.id)
        if found.changed or found.removed:
            self._changed()
        if project not in self._without_prompts:
            self._without_prompts.append(project)
        work = _Work(job, found, start, [], settings.warnings, self.problem)
        for space in self.spaces:
            self._with_space(work, space)
        return work

    def _longterm(self, project: Project) -> str:
        """Where what a project may know of the long-term memory lies, up to date."""
        self._page_stamps[project.root] = pages.stamp(
            self.settings, project
        )  # before they are read
        origin = Origin(self.home)
        try:
            return str(searchable.write(self.home, project.id, origin, project, self.settings))
        except (MemsearchError, OSError) as error:  # the notes are found without it
            log.warning("the long-term memory is not searched in %s: %s", project.slug, error)
            return str(searchable.folder(self.home, project.id))
        finally:
            origin.close()

    def _take_native(self, project: Project) -> None:
        """Bring up to date what is searched of the agents' own memories."""
        found = self._native(project, AgentFolders.from_env(seen=known_folders(self.home)))
        stamps = agent_files.stamps(found)
        if self._native_stamps.get(project.root) == stamps:
            return
        self._native_stamps[project.root] = (
            stamps  # also where it fails: it is tried again when they change
        )
        try:
            searchable.write_agent_files(self.home, project.id, project.root, found)
        except (MemsearchError, OSError) as error:  # the notes are found without it
            log.warning("the agents' own memories are not searched in %s: %s", project.slug, error)

    def _native(self, project: Project, folders: AgentFolders) -> agent_files.Found:
        is_wanted = self._may_read(self.settings.indexing.native_memories)
        return agent_files.sources(project.root, folders) if is_wanted else {}

    def look_at_native(self) -> None:
        """Notice that agents have written to their own memories, or somebody to PROJECT.md or
        USER.md: nobody tells of it.
        """
        folders = AgentFolders.from_env(seen=known_folders(self.home))
        for project in list(self.known.values()):
            page_stamps = pages.stamp(self.settings, project)
            is_native = self._native_stamps.get(project.root, ()) != agent_files.stamps(
                self._native(project, folders)
            )
            if is_native or self._page_stamps.get(project.root, page_stamps) != page_stamps:
                self.refresh(project)

    def _settings_of(self, project: Project) -> tuple[Settings, list[tuple[str, str]]]:
        """The settings that hold in a project. A bad file in it fails nothing but itself: it came
        with a clone.
        """
        file = Path(project.root) / ".memsearch.toml"
        try:
            return load(self.home, file), []
        except SettingsError as error:
            return load(self.home), [(str(file), str(error))]

    def _with_space(self, work: _Work, space: VectorIndex) -> None:
        """Store what has a vector already, and note what has none, newest first. A damaged Milvus
        folder is built again from the kept vectors.
        """
        project = work.job.project

        def look() -> None:
            missing = space.missing(self.catalog, project.id)
            work.deleted += space.reconcile(self.catalog, project.id, project.collection)[1]
            work.spaces.append((space, missing))
            work.total += len(missing)

        try:
            look()
        except MemsearchError as error:
            self._give_up(work, space, error)
        except Exception as error:
            if not space.is_damage(error):
                self._give_up(work, space, error)
                return
            log.exception("the index of %s is damaged and built again", project.slug)
            space.rebuild()
            look()

    def _embed(self, work: _Work, space: VectorIndex, missing: dict[str, str]) -> None:
        job, project = work.job, work.job.project
        part = dict(list(missing.items())[:_EMBED_SLICE])
        for text_hash in space.embeddings.known(
            part
        ):  # made meanwhile for another run of the same project
            del missing[text_hash], part[text_hash]
        before = work.embedded

        def cancelled() -> bool:
            return self._stopping.is_set() or (job.call is not None and job.call.cancelled())

        def interrupted() -> bool:
            return cancelled() or not self._jobs.empty()

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
            work.deleted += space.reconcile(self.catalog, project.id, project.collection)[1]
        except MemsearchError as error:  # the embedding service can't be reached
            self._give_up(work, space, error)
            missing.clear()
        except Exception as error:
            if not space.is_damage(error):
                self._give_up(work, space, error)
                missing.clear()
                return
            log.exception("the index of %s is damaged and built again", project.slug)
            space.rebuild()
            space.reconcile(self.catalog, project.id, project.collection)
            missing.clear()
            missing.update(space.missing(self.catalog, project.id))
        self._changed()
        if cancelled():
            for _, left in work.spaces:
                left.clear()

    def _give_up(self, work: _Work, space: VectorIndex, error: Exception) -> None:
        """Words are found all the same; meaning is tried again in a while. Without the second model
        the first one serves alone.
        """
        if space is self.spaces.second:
            self.without_second(error)
            return
        reason = (
            str(error) if isinstance(error, MemsearchError) else f"{type(error).__name__}: {error}"
        )
        if not isinstance(error, MemsearchError) and self.settings.milvus.uri:
            reason = f"Milvus at {self.settings.milvus.uri}: {reason_of(error)}"
        if self.given_up.get(work.job.project.root) != reason:
            log.warning("no vectors for %s: %s", work.job.project.slug, reason)
        self.given_up[work.job.project.root] = reason
        work.reason = work.reason or reason
        if isinstance(
            error, embed_http.OtherLength
        ):  # the model has changed under its name: what it made before is of no use
            self.reopen(reason)
        self._again[work.job.project.root] = time.monotonic() + _AGAIN_S

    def _result(self, work: _Work) -> IndexResult:
        project, found = work.job.project, work.found
        counts = self.catalog.statistics.counts(project.id)
        return IndexResult(
            project=project.slug,
            collection=project.collection,
            files=found.files,
            changed=found.changed,
            removed=found.removed,
            entries=counts["entries"],
            chunks=counts["chunks"],
            embedded=work.embedded,
            deleted=work.deleted,
            failed=[Failure(path, reason) for path, reason in found.failed],
            meaning=not work.reason,
            reason=work.reason,
            warnings=work.warnings,
            seconds=round(time.monotonic() - work.began, 3),
        )

    def _extra_roots(self, project: Project, paths: list[str]) -> list[str]:
        """Folders beside the memory folder that the user asked to index; remembered by the
        catalog's own files.

        Another clone's memory folder is not one of them: it is indexed as what it is, by that
        clone's own runs.
        """
        roots = {os.path.abspath(path) for path in paths} | self.catalog.files.roots(project.id)
        own = {
            folder
            for other in (project, *self.registry.all())
            for folder in (other.memory, shared_beside(other.memory))
        }
        return sorted(roots - own)

    def _report(
        self, call: Call | None, project: Project, phase: str, done: int, total: int
    ) -> None:
        others = len({w.job.project.root for w in self._works} | self._queued) - 1
        self.progress = {
            "project": project.slug,
            "phase": phase,
            "done": done,
            "total": total,
            "waiting": max(0, others),
        }
        if call is not None:
            call.progress(self.progress)


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library can be told to (glibc keeps 50 to 100
    MB otherwise).
    """
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def _be_nice() -> None:
    if sys.platform == "linux":  # elsewhere it would be the whole process
        with contextlib.suppress(OSError):
            os.setpriority(
                os.PRIO_PROCESS,
                threading.get_native_id(),
                os.getpriority(os.PRIO_PROCESS, 0) + _NICE,
            )


def distinct(projects: list[Project]) -> list[Project]:
    return list({project.id: project for project in reversed(projects)}.values())[::-1]
