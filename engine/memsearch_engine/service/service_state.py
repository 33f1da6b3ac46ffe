"""The shared state of a running service: its home, projects, journal, index and settings."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable

import msgspec

from memsearch_engine.core import freshness
from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Place, Project, locate, projects_named
from memsearch_engine.core.settings import Settings, load
from memsearch_engine.injection.session_start import is_prepared
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm.injected import prepare, state_of
from memsearch_engine.search.supersession.listing import OverrideCache
from memsearch_engine.service.commands import distinct
from memsearch_engine.service.indexing import Indexer

log = logging.getLogger("memsearch.service")


class ServiceState:
    """State that request handlers and background tasks share.

    Attributes:
        activity: uses by clients and hooks.
        started: seconds since 1970.
        stopping: set when the service ends.
        version: increases with every change that a screen shows.
        overrides: the owner's decisions on which note supersedes which.
        paused: why capture is paused: the settings can't be read. ``""`` if it is not.
        config_stamp: the stamp of the settings file when it was last read.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.activity = Activity()
        self.started = time.time()
        self.stopping = threading.Event()
        self.version = 0
        self._changed = threading.Condition()
        self.registry = Registry(home)
        self.journal = Journal(home)
        self.indexer = Indexer(home, self.registry, self.stopping, self.bump)
        self.overrides = OverrideCache(home)
        self.config_stamp: list[int] | None = None
        self.paused = ""
        self._reading, self._preparing = threading.Lock(), threading.Lock()
        self.look_at_settings()

    def close(self) -> None:
        """Close the index and the journal."""
        self.overrides.close()
        self.indexer.close()
        self.registry.close()

    @property
    def settings(self) -> Settings:
        """The owner's settings."""
        return self.indexer.settings

    def bump(self) -> None:
        """Report a change to the waiting screens."""
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    def wait_for_change(self, version: int, seconds: float, is_over: Callable[[], bool]) -> int:
        """Wait for a change after *version*, and return the current version.

        Args:
            seconds: the longest wait.
            is_over: returns whether the caller no longer waits.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while self.version <= version and not self.stopping.is_set() and not is_over():
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, 1.0))
            return self.version

    def look_at_settings(self) -> None:
        """Apply changed settings. Capture pauses while they can't be read: they may forbid it."""
        with self._reading:  # another thread returns when they are applied
            stamp = freshness.stamp(str(self.home.config))
            if stamp == self.config_stamp:
                return
            try:
                self.indexer.settings = load(self.home)
                self.paused = ""
            except MemsearchError as error:
                self.paused = f"the settings can't be read: {error}"
                log.warning("capture waits: %s", error)
            self.config_stamp = stamp

    def registered(self) -> list[Project]:
        """Return all known projects; none if the registry can't be read."""
        try:
            return self.registry.all()
        except MemsearchError as error:
            log.error("registry: %s", error)
            return []

    def project_at(self, place: dict[str, str], *, register: bool = False) -> Project:
        """Return the project of a place, and watch it from now on.

        The client finds the place, because its environment counts and not that of the service. A
        folder without notes is also watched (``Registry.at``), because anyone may write its first
        note.

        Args:
            register: add the project to the registry.
        """
        project = self.registry.at(msgspec.convert(place, Place), register=register)
        self.indexer.attach(project)
        return project

    def projects_of(
        self, place: dict[str, str] | None, everything: bool, *, register: bool = False
    ) -> list[Project]:
        """Return all known projects, or the one at a place; also that one if none is known."""
        known = self.registry.all() if everything or not place else []
        return known or ([self.project_at(place, register=register)] if place else [])

    def scope(self, place: dict[str, str], names: list[str]) -> list[Project]:
        """Return the projects that a search covers: the current, the named, or all (``*``)."""
        if not names:
            return [self.project_at(place)]
        projects = self.registry.all()
        return distinct(projects if "*" in names else projects_named(projects, names))

    def index_memories(self, memories: list[str]) -> None:
        """Index memory folders in the background after notes were written there."""
        for memory in memories:
            project = next((p for p in self.registered() if p.memory == memory), None)
            if project is None:
                root = os.path.dirname(os.path.dirname(memory))
                project = self.registry.at(locate(root, self.home))
            self.indexer.attach(project)
            self.indexer.watch(project)
            self.indexer.refresh(project)

    def prepare_context(self, memory: str, identity: str, *, if_stale: bool = False) -> bool:
        """Prepare the context of new sessions of a project. Hooks only print it.

        Args:
            if_stale: do nothing if the last one is up to date.

        Returns:
            False if it must be tried again.
        """
        if self.paused:  # unreadable settings may forbid it
            return False
        try:
            if has_notes(memory):
                with self._preparing:  # the last one has read the newest state
                    if not (if_stale and self._is_prepared(memory, identity)):
                        prepare(self.home, memory, identity)
        except (OSError, MemsearchError) as error:
            log.warning("context of %s not prepared: %s", memory, error)
            return False
        return True

    def _is_prepared(self, memory: str, identity: str) -> bool:
        remarks: dict[tuple[str, str], str] = {}
        with contextlib.suppress(Unreachable):  # of a damaged catalog, as ``prepare``
            remarks = self.indexer.catalog.staleness.remarks(identity)
        return is_prepared(self.home, memory, state_of(self.settings, remarks))


class Activity:
    """Uses of the service by clients and hooks. Thread-safe.

    Args:
        clock: a monotonic clock, in seconds.

    Attributes:
        clients: connections that are open now.
        uses: number of uses so far.
        last_use: name of the last use; ``""`` if there was none.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.clients = 0
        self.uses = 0
        self.last_use = ""
        self._at = clock()

    def note(self, what: str) -> None:
        """Record a use.

        Args:
            what: the name of the request or event.
        """
        with self._lock:
            self.uses += 1
            self.last_use, self._at = what, self._clock()

    def connected(self) -> None:
        """Record that a client has connected."""
        with self._lock:
            self.clients += 1

    def disconnected(self) -> None:
        """Record that a client has disconnected."""
        with self._lock:
            self.clients -= 1

    @property
    def idle_s(self) -> float:
        """Seconds since the last use."""
        return max(0.0, self._clock() - self._at)

    def is_over(self, idle_s: float) -> bool:
        """Whether no client is connected and the last use is more than *idle_s* seconds ago."""
        return not self.clients and self.idle_s > idle_s
