"""The vector indexes that a service has open.

These are the serving index, a new index that is built after the model changed, and the index of a
second model. This file decides which indexes are opened, which one replaces another, and when one
is closed: after the searches that use it have ended. The index thread (``index_thread``) writes to
them and is the only one that opens them.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import EmbeddingSettings, MilvusSettings
from memsearch_engine.index import embed, models
from memsearch_engine.index.milvus import reason_of
from memsearch_engine.index.vector_index import VectorIndex, complete_indexes

log = logging.getLogger("memsearch.service")


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
