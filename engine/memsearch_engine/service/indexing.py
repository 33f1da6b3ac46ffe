"""The interface of a service's index: known projects, index jobs, and repeated checks.

The catalog is opened at once. The model and the vectors are opened on the index thread, so that
words can be searched immediately after the start.
"""

from __future__ import annotations

import heapq
import logging
import os
import threading
import time
from collections.abc import Callable

from memsearch_engine.agents.transcripts.locate import reported_folders
from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.project_location import shared_beside
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project
from memsearch_engine.index.milvus import reason_of
from memsearch_engine.index.rows import IndexResult
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.index.watch import Watcher
from memsearch_engine.journal import disk
from memsearch_engine.search import lexical
from memsearch_engine.service.commands import (
    DropProject,
    IndexJob,
    OpenVectors,
    RequestContext,
    UpdateSecondModel,
)
from memsearch_engine.service.index_state import IndexState
from memsearch_engine.service.index_thread import IndexThread
from memsearch_engine.service.sources import ProjectSources

log = logging.getLogger("memsearch.service")
# seconds that a search waits until files are read; after that it searches the files by words
_CATCH_UP_S = 1.0
_DETACH_S = 60.0
_ABSENT_S = 30.0
_MAX_PAUSE_S = 600.0
#: Projects at once in a repeated check, and how many of them are those that were used last. Checks
#: of hundreds of projects would use a core.
_CHECKED_AT_ONCE, _USED_LAST = 20, 10


class Indexer(IndexState):
    """The index of a service: its state, its thread and its file watches."""

    def __init__(
        self, home: Home, registry: Registry, stopping: threading.Event, changed: Callable[[], None]
    ) -> None:
        super().__init__(home, registry, stopping, changed)
        self._sources = ProjectSources(home, lambda: self.settings)
        # root of a missing folder -> when it is checked again (monotonic)
        self._absent: dict[str, float] = {}
        # root -> the last write of a command when its files were compared with the catalog
        self._compared: dict[str, int] = {}
        # check -> root -> number of its last round; and root -> last use (monotonic)
        self._checked: dict[str, dict[str, int]] = {}
        self._used: dict[str, float] = {}
        self.watcher = Watcher(self._on_files, self.settings.watch.debounce_ms / 1000)
        self.thread = IndexThread(self, self._sources)
        self.thread.start()  # it reads vectors while the catalog is opened
        self.open_catalog()

    def close(self) -> None:
        """Stop the watches and the thread, and close the index."""
        self.watcher.stop()
        self.thread.close()
        super().close()

    @property
    def busy(self) -> bool:
        """Whether index work is running or queued."""
        return bool(self.queued or self.thread.works or self.progress)

    @property
    def state(self) -> str:
        """``ready``, ``opening`` or ``broken``."""
        return "ready" if self.spaces.serving else "broken" if self.problem else "opening"

    @property
    def own_work(self) -> list[str]:
        """The work that is done while no request waits for the index, for people."""
        return self.thread.at_rest()

    def run(
        self, project: Project, paths: list[str], force: bool, call: RequestContext
    ) -> IndexResult:
        """Index a project now and wait for the result.

        Returns:
            What was done, including the work of a background run in the meantime.

        Raises:
            Unreachable: the client cancelled the request.
        """
        began = time.monotonic()
        self._replace_deleted()
        job = IndexJob(project, paths, force, call)
        with self.lock:
            self.queued.discard(project.root)  # this run includes the queued background work
            if self.spaces.serving is None and self.problem and not self.is_opening:
                self.ready.clear()
                self.queue.put(OpenVectors())  # a request is a reason to try again
        self.enqueue(job)
        while not job.done.wait(0.5):
            if call.cancelled():
                raise Unreachable("cancelled")
        if job.error:
            raise job.error
        assert job.result is not None
        at, before = self.done_before.get(project.root, (0.0, None))
        if before and at >= began:
            for key in ("changed", "removed", "embedded", "deleted"):
                setattr(job.result, key, getattr(job.result, key) + getattr(before, key))
        return job.result

    def read(self, project: Project, call: RequestContext) -> None:
        """Read the files of a project now. It returns before their vectors are computed.

        Raises:
            Unreachable: the client cancelled the request.
        """
        job = IndexJob(project, [], call=call)
        self.enqueue(job)
        while not job.was_read.wait(0.5):
            if call.cancelled():
                raise Unreachable("cancelled")
        if job.error:
            raise job.error

    def refresh(self, project: Project) -> None:
        """Index a project in the background."""
        self.enqueue(IndexJob(project, []))

    def check_disk(self) -> None:
        """Handle deleted files: caches may be deleted, and git removes and restores folders."""
        now = time.monotonic()
        for project in self.next_to_check("disk"):
            if self._absent.get(project.root, 0.0) > now:
                continue
            self.watch(project)
            if not os.path.isdir(project.root):  # moved or deleted: check for it less often
                self._absent[project.root] = now + _ABSENT_S
        if self.renew_catalog():
            self.enqueue_all()
        self._replace_deleted()
        self._try_again()
        if self.ready.is_set() and self.spaces.serving is not None and self.spaces.is_second_due():
            self.queue.put(UpdateSecondModel())

    def _replace_deleted(self) -> None:
        """Open the vector index again if its folder was deleted."""
        serving = self.spaces.serving
        if serving is not None and not serving.is_current():
            self.reopen("the index folder was deleted")

    def _try_again(self) -> None:
        """Retry failed connections, and apply changed settings."""
        now = time.monotonic()
        for root in [root for root, when in self.retry_at.items() if when <= now]:
            del self.retry_at[root]
            if root in self.known:
                self.enqueue(IndexJob(self.known[root], []))
        wanted = (self.settings.embedding, self.settings.milvus)
        if self.opened_with is not None and self.opened_with != wanted and self.ready.is_set():
            self.reopen("the settings have changed")
        elif (
            self.spaces.serving is None
            and self.problem
            and not self.is_opening
            and now >= self.reopen_at
        ):
            self.pause_s = min(_MAX_PAUSE_S, self.pause_s * 2)
            self.reopen_at = now + self.pause_s
            self.queue.put(OpenVectors())  # until then, searches use words

    def catch_up(self, projects: list[Project], call: RequestContext) -> bool:
        """Read files that changed while no service watched them, or at the last write of a command.

        The watch reports a change only after a moment. A search after a command that has ended must
        already find what that command wrote.

        Returns:
            Whether the catalog has the current files of all *projects*.
        """
        if not self.ready.is_set() or self.is_behind(projects):
            return False
        written = disk.last_write(self.home)
        for project in projects:
            if self._compared.get(project.root) == written:
                continue
            if any(lexical.changed_files(self.catalog, [project])):
                job = IndexJob(project, [], call=call)
                self.enqueue(job)
                if not job.was_read.wait(min(_CATCH_UP_S, call.remaining())):
                    return False
            self._compared[project.root] = written
        return True

    def failed(self, space: VectorIndex | None, error: Exception) -> None:
        """Open the index again after a search failed, and report the error of a server.

        An index that no longer serves is ignored: it was closed during the search.
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
        """The command that helps with ``problem``."""
        return (
            "check milvus.uri and milvus.token (`memsearch config`)"
            if self.settings.milvus.uri
            else "memsearch doctor"
        )

    def attach(self, project: Project) -> None:
        """Add a project: watch its files, and index those that changed in the meantime."""
        with self.lock:
            self._used[project.root] = time.monotonic()
            if project.root in self.known:
                return
            self.known[project.root] = project
        if not self.watch(project):
            self.enqueue(IndexJob(project, []))

    def detach(self, project: Project) -> None:
        """Remove a project and drop its index. Its files are not changed. Blocks until done."""
        with self.lock:
            self.known.pop(project.root, None)
            self._used.pop(project.root, None)
            self._absent.pop(project.root, None)
            self.queued.discard(project.root)
            others = [other for other in self.known.values() if other.id == project.id]
        for folder in filter(None, (project.memory, shared_beside(project.memory))):
            self.watcher.remove(folder)
        job = DropProject(project)
        self.queue.put(job)
        job.done.wait(_DETACH_S)
        for other in others:  # another folder of the same project shares the index
            self.enqueue(IndexJob(other, []))

    def watch(self, project: Project) -> bool:
        """Watch the notes of a project, and index them if a watch was added.

        Returns:
            Whether one was added.
        """
        is_added = False
        for folder in filter(None, (project.memory, shared_beside(project.memory))):
            try:
                safe_files.real(folder)
            except OSError:  # a link that leaves the project is not followed
                continue
            if self.watcher.add(project.root, folder):
                is_added = True
                self.enqueue(IndexJob(project, []))
        return is_added

    def _on_files(self, root: str) -> None:
        project = self.known.get(root)
        if project and not self.stopping.is_set():
            self.enqueue(IndexJob(project, []))

    def look_at_sources(self) -> None:
        """Index projects again if files changed that are not watched (agent files, pages)."""
        folders = AgentFolders.from_env(seen=reported_folders(self.home))
        for project in self.next_to_check("sources"):
            if self._sources.has_changed(project, folders):
                self.refresh(project)

    def next_to_check(self, check: str) -> list[Project]:
        """Return the projects for a round of a repeated check, all if they are few.

        Of many projects, these are the ones that were used last, and others in turn.
        """
        projects = list(self.known.values())
        if len(projects) > _CHECKED_AT_ONCE:
            last = heapq.nlargest(_USED_LAST, projects, lambda p: self._used.get(p.root, 0.0))
            rounds = self._checked.setdefault(check, {})
            in_turn = heapq.nsmallest(_CHECKED_AT_ONCE, projects, lambda p: rounds.get(p.root, 0))
            projects = list({p.root: p for p in (*last, *in_turn)}.values())[:_CHECKED_AT_ONCE]
            now = max(rounds.values(), default=0) + 1
            rounds.update((project.root, now) for project in projects)
        return projects
