"""The vector indexes that a service has open.

These are the one that serves, the one that is built beside it after the model changed, and a second
model's. This file knows which is opened, which takes another's place, and when one may be closed:
not before the searches that began on it have ended. It does not know what is written to them: that
is the index thread's (``indexing``), which alone opens any.
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
from memsearch_engine.core.settings import Embedding, Milvus, Settings
from memsearch_engine.index import embed, models
from memsearch_engine.index.stores.milvus import reason_of
from memsearch_engine.index.vector_index import VectorIndex, complete_indexes

log = logging.getLogger("memsearch.service")


class OpenIndexes:
    """The indexes of one home, as its settings name them at the time.

    Attributes:
        serving: searched; None while it is opened.
        next: built beside it after the model changed.
        second: of a model that is asked beside the first one; None where there is none.
        second_failed: why it is not asked.
    """

    def __init__(self, home: Home, settings: Callable[[], Settings]) -> None:
        self.home, self._settings = home, settings
        self.serving: VectorIndex | None = None
        self.next: VectorIndex | None = None
        self.second: VectorIndex | None = None
        self.second_failed = ""
        self._giving_up = threading.Lock()
        self._retired: list[VectorIndex] = []  # to be opened again
        self._replaced: list[VectorIndex] = []  # of a model that is no longer used
        self._searches: set[object] = set()  # under way
        self._searched = threading.Condition()

    def __iter__(self) -> Iterator[VectorIndex]:
        """Yield the indexes that notes are written to."""
        return (index for index in (self.serving, self.next, self.second) if index is not None)

    def close(self) -> None:
        """Close all of them."""
        for index in (*self, *self._retired, *self._replaced):
            index.close()

    # -- while they are searched

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Keep the indexes open that serve now, also when others take their place meanwhile.

        One that is opened again after a failure, or with other settings, is closed at once: its
        searches fall back to words.
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
        """Do *work* in another thread, when all searches under way now have ended."""
        with self._searched:
            begun = set(self._searches)

        def wait() -> None:
            with self._searched:
                self._searched.wait_for(lambda: begun.isdisjoint(self._searches))
            work()

        threading.Thread(target=wait, name="closing", daemon=True).start()

    # -- the first model

    def open(self) -> str:
        """Open what the settings name, without Milvus Lite; what was open is closed first.

        Where it has to be built, the last complete index serves meanwhile.

        Returns:
            The fingerprint of the index that the settings name.

        Raises:
            MemsearchError: or whatever a store or a model raises.
        """
        self.give_up()
        self.retire()
        wanted, milvus = self._settings().embedding, self._settings().milvus
        name = embed.fingerprint_of(self.home, wanted)
        others = {key: value for key, value in complete_indexes(self.home).items() if key != name}
        first = VectorIndex(self.home, milvus, embed.load(self.home, wanted), later=True)
        if first.complete or not others:
            self.serving = first
        else:
            old, made_with = next(iter(others.items()))
            log.info("%s is built, %s serves meanwhile", name, old)
            self.next = first
            self.serving = self._reopened(models.recorded(old, made_with))
        return name

    def _reopened(self, made_with: Embedding) -> VectorIndex | None:
        """Open an older complete index; None where it can't be: words alone serve then."""
        made_with.api_key = self._settings().embedding.api_key
        try:
            return VectorIndex(
                self.home, self._settings().milvus, embed.load(self.home, made_with), later=True
            )
        except Exception as error:  # noqa: BLE001 - it only serves until the new one is built, which comes first
            log.warning("the old index can't serve: %s", error)
            return None

    def open_stores(self) -> None:
        """Open Milvus Lite, which ``open`` leaves for later, where it is needed.

        Raises:
            Unreachable: it can't be opened.
        """
        serving, new = self.serving, self.next
        if new is not None and new.needs_store():
            new.open_store()
        if serving is not None and serving.needs_store():
            try:
                serving.open_store()
            except Exception as error:
                if new is None:
                    raise
                log.warning("the old index can't serve: %s", error)
                self.serving = None
                serving.close()

    def give_up(self) -> None:
        """Stop serving the first model: it has to be opened again. ``retire`` closes it."""
        with self._giving_up:
            self._retired += [index for index in (self.serving, self.next) if index is not None]
            self.serving = self.next = None

    @property
    def was_given_up(self) -> bool:
        """Whether anything waits to be closed."""
        return bool(self._retired)

    def retire(self) -> None:
        """Close what was given up."""
        with self._giving_up:
            retired, self._retired = self._retired, []
        for index in retired:
            try:
                index.close()
            except Exception:  # its server may be gone
                log.exception("an index was not closed")

    def complete(self) -> None:
        """Note that everything has its vectors, and let a new index take the old one's place."""
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
        """Close and delete the indexes that a new model's has replaced."""
        while self._replaced:
            old = self._replaced.pop()
            self.tidy_server()
            old.close()
            stays = {self.serving.folder if self.serving else None, self._second_folder()}
            if old.folder not in stays:
                shutil.rmtree(old.folder, ignore_errors=True)

    def tidy_server(self) -> None:
        """Drop collections on a server that no model of this home uses any more.

        A service that was killed may have left some.
        """
        if self.serving is None or self.next is not None:
            return
        try:
            if gone := self.serving.drop_other_collections():
                log.info("off the server: %s", ", ".join(gone))
        except Exception as error:  # noqa: BLE001 - whatever a server raises: what is left there costs room, no more
            log.warning("collections of older models stay on the server: %s", reason_of(error))

    # -- the second model

    def is_second_due(self) -> bool:
        """Return whether a second model has to be opened or closed."""
        if self.next is not None or self._replaced:
            return False  # the first one's change comes first; they may be the same
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
        """Open the second model's index, if there is one; return whether it was opened.

        Where that fails, the first one serves alone.
        """
        try:
            if (wanted := models.second(self.home, self._settings())) is None:
                return False
            self.second = VectorIndex(
                self.home, Milvus(), embed.load(self.home, wanted), beside=True
            )
            log.info("%s is asked, too", self.second.fingerprint)
            return True
        except Exception as error:
            self.second_failed = f"{type(error).__name__}: {error}"
            log.exception("the second model can't be asked")
            return False

    def close_second(self) -> VectorIndex | None:
        """Stop asking the second model; return its index, which is closed after the searches."""
        closing, self.second = self.second, None
        if closing is not None:
            self.after_searches(closing.close)
        return closing

    def _second_folder(self) -> Path | None:
        """Return where the second model's vectors lie: it may have been the only one before."""
        try:
            wanted = models.second(self.home, self._settings())
            return self.home.index / embed.fingerprint_of(self.home, wanted) if wanted else None
        except MemsearchError:
            return None
