"""State that requests and the index thread share: the catalog, the vector indexes, the queue."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, load
from memsearch_engine.core.settings_schema import EmbeddingSettings, MilvusSettings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import IndexResult
from memsearch_engine.service.commands import Command, IndexJob, OpenVectors, UpdateSecondModel
from memsearch_engine.service.open_indexes import OpenIndexes

log = logging.getLogger("memsearch.service")
FIRST_PAUSE_S = 30.0


class IndexState:
    """State that ``Indexer`` and ``IndexThread`` share.

    Attributes:
        settings: the owner's settings.
        problem: why searches by meaning are not possible; ``""`` if they are.
        catalog: open for writing; replaced if its file was deleted.
        notice: what was repaired in the catalog at the start.
        spaces: the vector indexes.
        ready: set when the serving vector index is open, or can't be opened.
        is_opening: whether the vector index is not yet open for writing. It may be true after
            ``ready``.
        progress: the current work, for people.
        known: root -> project.
        scanned: ids of projects of which the files were read since the catalog was opened.
        queue: commands to the thread.
        queued: roots of projects with a routine job in the queue.
        given_up: root -> why its newest notes have no vectors yet.
        retry_at: root -> when these vectors are tried again (monotonic).
        opened_with: the settings with which the vector index was opened.
        reopen_at: when a failed opening is tried again (monotonic).
        pause_s: seconds between two such tries.
        done_before: root -> time and result of the last background run.
    """

    def __init__(
        self, home: Home, registry: Registry, stopping: threading.Event, changed: Callable[[], None]
    ) -> None:
        self.home, self.registry, self.stopping, self.changed = home, registry, stopping, changed
        self.problem = ""
        try:
            self.settings = load(home)
        except MemsearchError as error:
            self.settings, self.problem = Settings(), str(error)
        self.scanned: set[str] = set()
        self.open_catalog()
        self.spaces = OpenIndexes(home, lambda: self.settings)
        self.ready = threading.Event()
        self.is_opening = True
        self.progress: dict[str, Any] = {}
        self.known: dict[str, Project] = {}
        self.queue: queue.Queue[Command] = queue.Queue()
        self.queued: set[str] = set()
        self.given_up: dict[str, str] = {}
        self.retry_at: dict[str, float] = {}
        self.opened_with: tuple[EmbeddingSettings, MilvusSettings] | None = None
        self.reopen_at, self.pause_s = 0.0, FIRST_PAUSE_S
        self.done_before: dict[str, tuple[float, IndexResult]] = {}
        self.lock = threading.RLock()

    def close(self) -> None:
        """Close the vector indexes and the catalog."""
        self.spaces.close()
        self.catalog.close()

    def open_catalog(self) -> None:
        """Open the catalog, or rebuild it if it is damaged."""
        self.catalog, self.notice = Catalog.open_or_rebuild(self.home.cache_db)
        self.scanned.clear()
        if self.notice:
            log.warning(self.notice)

    def renew_catalog(self) -> bool:
        """Create a new catalog if the file of the open one was deleted.

        Returns:
            Whether a new catalog was created.
        """
        with self.lock:
            if self.catalog.is_current():
                return False
            log.warning("cache.db was deleted; it is built again")
            old = self.catalog
            self.open_catalog()
            old.close()
            return True

    def is_behind(self, projects: list[Project]) -> bool:
        """Whether the catalog does not yet have the files of one of *projects*.

        Searches then read the files themselves.
        """
        return not all(
            project.id in self.scanned or self.catalog.files.is_scanned(project.id)
            for project in projects
        )

    def enqueue(self, job: IndexJob) -> None:
        """Queue index work. Routine work of a project is queued only once."""
        with self.lock:
            if job.is_routine:
                if job.project.root in self.queued:
                    return
                self.queued.add(job.project.root)
        self.queue.put(job)

    def enqueue_all(self) -> None:
        """Queue routine work for every known project."""
        for project in list(self.known.values()):
            self.enqueue(IndexJob(project, []))

    def reopen(self, why: str) -> None:
        """Close the vector index and open it again on the index thread.

        Searches use words alone until it is open.
        """
        with self.lock:
            if self.is_opening or not self.ready.is_set():
                return  # it is already being opened
            self.spaces.give_up()
            self.ready.clear()
        log.warning("the index is opened again: %s", why)
        self.reopen_at = time.monotonic() + FIRST_PAUSE_S
        self.queue.put(OpenVectors())
        self.enqueue_all()

    def without_second(self, error: Exception) -> None:
        """Stop using the second model after an error, until the settings change or a restart."""
        log.error("the second model is asked no more: %s", error, exc_info=error)
        self.spaces.second_failed = f"{type(error).__name__}: {error}"
        self.queue.put(UpdateSecondModel())
