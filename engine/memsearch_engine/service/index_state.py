"""State that requests and the index thread share: the catalog, the vector indexes, the queue.

The open vector indexes are the serving one, a new one that is built after the model changed, and
the one of a second model. ``OpenIndexes`` decides which indexes are opened, which one replaces
another, and when one is closed: after the searches that use it have ended. The index thread
(``index_thread``) writes to them and is the only one that opens them.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.core import freshness
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, load
from memsearch_engine.core.settings_schema import EmbeddingSettings, MilvusSettings
from memsearch_engine.index import embed, models
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.milvus import reason_of
from memsearch_engine.index.rows import CatalogBroken, IndexResult
from memsearch_engine.index.vector_index import VectorIndex, complete_indexes
from memsearch_engine.service.commands import Command, IndexJob, OpenVectors, UpdateSecondModel

log = logging.getLogger("memsearch.service")
FIRST_PAUSE_S = 30.0
_CHECK_S = 86_400.0  # between two checks of the pages of the catalog


class _CatalogCheck(msgspec.Struct):
    """When the pages of the catalog were checked, and the stamp of its file after the last service.

    Attributes:
        at: seconds since 1970.
    """

    at: float
    stamp: list[int]


class IndexState:
    """State that ``Indexer`` and ``IndexThread`` share.

    Attributes:
        settings: the owner's settings.
        problem: why searches by meaning are not possible; ``""`` if they are.
        catalog: open for writing; replaced if its file was deleted.
        notice: what was repaired in the catalog at the start.
        spaces: the vector indexes.
        ready: set when the serving vector index is open, or can't be opened.
        warmed: set when the vectors of the first searches were read after the start.
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
        self.spaces = OpenIndexes(home, lambda: self.settings)
        self.ready, self.warmed = threading.Event(), threading.Event()
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
        self._check_file = home.run / "catalog-check.json"
        self._pages_checked = self._last_check()  # before the catalog is opened

    def close(self) -> None:
        """Close the vector indexes and the catalog."""
        self.spaces.close()
        self.catalog.close()
        check = _CatalogCheck(self._pages_checked, freshness.stamp(str(self.home.cache_db)))
        with contextlib.suppress(OSError):  # the next service checks the pages again
            self.home.put(self._check_file, msgspec.json.encode(check))

    def open_catalog(self, damage: CatalogBroken | None = None) -> None:
        """Open the catalog. Rebuild it if it can't be opened, or because of its *damage*."""
        path = self.home.cache_db
        opened = Catalog.rebuild(path, damage) if damage else Catalog.open_or_rebuild(path)
        self.catalog, self.notice = opened
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
        old.close()  # waits for the queries of other threads
        return True

    def renew_damaged_catalog(self) -> bool:
        """Create a new catalog if pages of the open one are damaged, and index all projects again.

        Returns:
            Whether a new catalog was created.
        """
        old = self.catalog
        damage = old.damage()
        with self.lock:
            if damage is None or self.catalog is not old:
                return self.catalog is not old
            self.open_catalog(damage)
        old.close()
        self.enqueue_all()
        return True

    def check_catalog(self) -> None:
        """Look for damage in the pages of the catalog, which reads all of them.

        It is done once a day while only services change the file, and each ends by itself.
        """
        if not 0 <= time.time() - self._pages_checked < _CHECK_S:
            self.renew_damaged_catalog()
            self._pages_checked = time.time()

    def _last_check(self) -> float:
        """Return when the pages were checked; 0.0 if the file is not as a service has left it."""
        try:
            last = msgspec.json.decode(self._check_file.read_bytes(), type=_CatalogCheck)
        except (OSError, msgspec.DecodeError):
            return 0.0
        return last.at if last.stamp == freshness.stamp(str(self.home.cache_db)) else 0.0

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


class OpenIndexes:
    """The open indexes of one home. Its settings name the models.

    Attributes:
        serving: answers searches; None while it is being opened.
        next: is built to replace ``serving`` after the model changed.
        second: the index of a second model; None if there is none.
        second_failed: why the second model is not used.
    """

    def __init__(self, home: Home, settings: Callable[[], Settings]) -> None:
        self.home, self._settings = home, settings
        self.serving: VectorIndex | None = None
        self.next: VectorIndex | None = None
        self.second: VectorIndex | None = None
        self.second_failed = ""
        self._giving_up = threading.Lock()
        self._retired: list[VectorIndex] = []  # to be closed, and opened again
        self._replaced: list[VectorIndex] = []  # to be deleted: of a model that is no longer used
        self._searches: set[object] = set()  # those that are running
        self._searched = threading.Condition()

    def __iter__(self) -> Iterator[VectorIndex]:
        """Yield the indexes that notes are written to."""
        return (index for index in (self.serving, self.next, self.second) if index is not None)

    def close(self) -> None:
        """Close all indexes."""
        for index in (*self, *self._retired, *self._replaced):
            index.close()

    # -- searches

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Postpone the closing of replaced indexes until the block has ended.

        An index that is reopened after a failure or with other settings is closed at once. Searches
        on it fall back to words.
        """
        token = object()
        with self._searched:
            self._searches.add(token)
        try:
            yield
        finally:
            with self._searched:
                self._searches.discard(token)
                self._searched.notify_all()

    def after_searches(self, work: Callable[[], None]) -> None:
        """Run *work* in another thread when all current searches have ended."""
        with self._searched:
            begun = set(self._searches)

        def wait() -> None:
            with self._searched:
                self._searched.wait_for(lambda: begun.isdisjoint(self._searches))
            work()

        threading.Thread(target=wait, name="closing", daemon=True).start()

    # -- the first model

    def open(self) -> str:
        """Close the open indexes and open the one that the settings name.

        If it has to be built, the last complete index serves until it is done.

        Returns:
            The fingerprint of the index that the settings name.

        Raises:
            MemsearchError: the model or the store can't be opened. Stores may also raise their own
                errors.
        """
        self.give_up()
        self.retire()
        wanted, milvus = self._settings().embedding, self._settings().milvus
        name = embed.fingerprint_of(self.home, wanted)
        others = {key: value for key, value in complete_indexes(self.home).items() if key != name}
        first = VectorIndex(self.home, milvus, embed.load(self.home, wanted))
        if first.complete or not others:
            self.serving = first
        else:
            old, made_with = next(iter(others.items()))
            log.info("%s is built, %s serves meanwhile", name, old)
            self.next = first
            self.serving = self._reopened(models.recorded(old, made_with))
        return name

    def _reopened(self, made_with: EmbeddingSettings) -> VectorIndex | None:
        """Open an older complete index. Return None if that fails: searches use words then."""
        made_with.api_key = self._settings().embedding.api_key
        try:
            return VectorIndex(self.home, self._settings().milvus, embed.load(self.home, made_with))
        except Exception as error:  # it serves only until the new one is built
            log.warning("the old index can't serve: %s", error)
            return None

    def give_up(self) -> None:
        """Stop serving the first model, which must be reopened. ``retire`` closes the indexes."""
        with self._giving_up:
            self._retired += [index for index in (self.serving, self.next) if index is not None]
            self.serving = self.next = None

    @property
    def was_given_up(self) -> bool:
        """Whether given-up indexes must still be closed."""
        return bool(self._retired)

    def retire(self) -> None:
        """Close the given-up indexes."""
        with self._giving_up:
            retired, self._retired = self._retired, []
        for index in retired:
            try:
                index.close()
            except Exception:  # the server may be unreachable
                log.exception("an index was not closed")

    def complete(self) -> None:
        """Mark the index as complete. A new index then replaces the serving one."""
        if (target := self.next or self.serving) is None:
            return
        target.set_complete(self._settings().embedding)
        if self.next is not None:
            old, self.serving, self.next = self.serving, self.next, None
            log.info("%s takes over", target.fingerprint)
            if old is not None:
                self._replaced.append(old)
                self.after_searches(self._remove_replaced)

    def _remove_replaced(self) -> None:
        """Close and delete the indexes that the index of a new model has replaced."""
        while self._replaced:
            old = self._replaced.pop()
            self.tidy_server()
            old.close()
            stays = {self.serving.folder if self.serving else None, self._second_folder()}
            if old.folder not in stays:
                shutil.rmtree(old.folder, ignore_errors=True)

    def tidy_server(self) -> None:
        """Drop collections on a server that no model of this home uses.

        A killed service may have left some.
        """
        if self.serving is None or self.next is not None:
            return
        try:
            if gone := self.serving.drop_other_collections():
                log.info("off the server: %s", ", ".join(gone))
        except Exception as error:  # any error: the rest only takes space
            log.warning("collections of older models stay on the server: %s", reason_of(error))

    # -- the second model

    def is_second_due(self) -> bool:
        """Whether a second model must be opened or closed."""
        if self.next is not None or self._replaced:
            return False  # the first model changes first; both may be the same
        if self.second is not None and (self.second_failed or not self.second.is_current()):
            return True
        try:
            wanted = models.second(self.home, self._settings())
        except MemsearchError as error:
            self.second_failed = str(error)
            return False
        if wanted is None:
            self.second_failed = ""
        return (wanted is None) != (self.second is None) and not self.second_failed

    def open_second(self) -> bool:
        """Open the second model's index, if there is a second model.

        If that fails, the first model serves alone.

        Returns:
            Whether it was opened.
        """
        try:
            if (wanted := models.second(self.home, self._settings())) is None:
                return False
            self.second = VectorIndex(self.home, MilvusSettings(), embed.load(self.home, wanted))
            log.info("%s is asked, too", self.second.fingerprint)
            return True
        except Exception as error:
            self.second_failed = f"{type(error).__name__}: {error}"
            log.exception("the second model can't be asked")
            return False

    def close_second(self) -> VectorIndex | None:
        """Stop using the second model, and return its index. It is closed after the searches."""
        closing, self.second = self.second, None
        if closing is not None:
            self.after_searches(closing.close)
        return closing

    def _second_folder(self) -> Path | None:
        """Return the folder of the second model's vectors. It may be a former first model."""
        try:
            wanted = models.second(self.home, self._settings())
            return self.home.index / embed.fingerprint_of(self.home, wanted) if wanted else None
        except MemsearchError:
            return None
