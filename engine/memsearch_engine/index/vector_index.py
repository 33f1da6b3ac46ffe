"""The vector index of one model: the embedder, its vectors, and the store that serves them.

Vectors are stored by the hash of the embedded text (``vectors.embeddings``). A ledger records the
rows in the store (``vectors.ledger``). The difference between the ledger and the catalog is the
work to do. Searches use ``vectors.search``.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings, MilvusSettings
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import Embedder, ordinary
from memsearch_engine.index.hubness import DIGITS, DenseScore, HubnessSample, QueryVector
from memsearch_engine.index.rows import Filter, comparable
from memsearch_engine.index.stores import lite, open_store
from memsearch_engine.index.stores.base import NoStore, Store, StoreBusy
from memsearch_engine.index.vectors.database import VectorDatabase, remove
from memsearch_engine.index.vectors.difference import Difference, Wanted
from memsearch_engine.index.vectors.embeddings import EmbeddingStore
from memsearch_engine.index.vectors.ledger import VectorLedger
from memsearch_engine.index.vectors.search import (
    CachedSearch,
    Neighbours,
    ServerSearch,
    VectorSearch,
)

Progress = Callable[[int, int], None]
#: Version of the terms in the store (``analyze.terms``). A new number fills the store again.
_TERMS = 2
_EMBED_BATCH = 32  # texts; a local model is interrupted between batches
#: A collection that is left out of Milvus Lite is added again below this share of the limit.
_TAKEN_BACK = 0.8
_COMPLETE = "complete.json"


def complete_indexes(home: Home) -> dict[str, EmbeddingSettings]:
    """Return fingerprint -> settings of the indexes on disk that were completed once.

    The newest index comes first.
    """
    found: list[tuple[float, str, EmbeddingSettings]] = []
    for file in home.index.glob(f"*/{_COMPLETE}"):
        try:
            made_with = msgspec.json.decode(file.read_bytes(), type=EmbeddingSettings)
        except (OSError, msgspec.DecodeError):
            continue
        found.append((file.stat().st_mtime, file.parent.name, made_with))
    found.sort(key=lambda item: item[0], reverse=True)
    return {name: made_with for _, name, made_with in found}


class VectorIndex:
    """An open index. One thread writes; any thread searches.

    Attributes:
        embedder: the model.
        fingerprint: identifies the model and everything on which its vectors depend.
        folder: contains the vectors and the data of Milvus Lite.
        store: the store that serves the vectors.
        embeddings: vectors by text hash.
        ledger: the rows in the store.
    """

    def __init__(
        self,
        home: Home,
        milvus: MilvusSettings,
        embedder: Embedder,
        *,
        beside: bool = False,
        later: bool = False,
    ) -> None:
        """Open the vectors, and the store unless *later*.

        Args:
            beside: this index is the second one, without a store of its own.
            later: do not open Milvus Lite now, which takes 0.4 s. If it is used, ``open_store``
                must be called before anything is written; searches work without it.

        Raises:
            Unreachable: the store can't be opened.
        """
        self._home, self._milvus, self._beside = home, milvus, beside
        self._has_lite = milvus.lite and not milvus.uri and not beside
        self.embedder = embedder
        self._ordinary = ordinary(embedder)  # None for a model without centering
        self.fingerprint = embedder.fingerprint
        self.folder = home.index / self.fingerprint
        home.index.mkdir(exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self._database = VectorDatabase(self.folder / "vectors.db")
        self.embeddings = EmbeddingStore(self._database)
        self.ledger = VectorLedger(self._database)
        self._behind: set[str] = set()  # collections that lack a change of the notes
        self._left_out: set[str] = set()  # collections too large for Milvus Lite
        self._verified: set[str] = set()  # collections compared with the ledger since the opening
        self._use(NoStore())
        try:
            if self.embeddings.remove_other_lengths(embedder.dimension):
                self.ledger.forget_all()
                (self.folder / _COMPLETE).unlink(missing_ok=True)
            self._check_ledger()
        except sqlite3.DatabaseError:  # damaged pages behind a sound header
            self._database.begin_again()
            self._check_ledger()
        if not later or milvus.uri:
            self.open_store()

    def _use(self, store: Store) -> None:
        self.store = store
        dimension, ordinary = self.embedder.dimension, self._ordinary
        self._search: VectorSearch = (
            ServerSearch(store, self.ledger, dimension, ordinary)
            if store.compares_vectors
            else CachedSearch(self._database, self.ledger, dimension, ordinary)
        )

    def _check_ledger(self) -> None:
        """Clear the ledger if it describes another store, or a store that is gone.

        The data of Milvus Lite are deleted if it is turned off.
        """
        target = f"{self._milvus.uri or 'lite'} {_TERMS}"
        self.ledger.set_target("beside" if self._beside else target)
        self._left_out = self.ledger.left_out()
        folder = self.folder / "milvus.db"
        if not self._milvus.lite:
            with contextlib.suppress(OSError):  # the data only take space
                remove(folder)
        elif self._has_lite and not folder.exists():
            for collection in self.ledger.collections() - self._left_out:
                self.ledger.forget(collection)
                self._search.forget(collection)

    def _forget_stored(self) -> None:
        """Record that the store is empty, so that everything is written again."""
        self.ledger.forget_all()
        self._search.forget()

    def needs_store(self) -> bool:
        """Return whether the store must be open: false without Lite, or if it has no project."""
        in_use = not self._left_out or bool(self.ledger.collections() - self._left_out)
        return bool(self._milvus.uri) or (self._has_lite and in_use)

    def open_store(self) -> None:
        """Open Milvus, unless it is open or not used.

        A damaged Lite folder is deleted and filled again from the vectors.

        Raises:
            Unreachable: it can't be opened.
        """
        if not (self._milvus.uri or self._has_lite) or not isinstance(self.store, NoStore):
            return
        milvus, folder = self._milvus, self.folder / "milvus.db"
        socket = self._home.milvus_socket(self.fingerprint)
        try:
            store = open_store(folder, socket, milvus.uri, milvus.token, self._name)
        except StoreBusy:
            raise
        except Exception:
            if milvus.uri or not folder.exists():
                raise
            remove(folder)
            self._forget_stored()
            store = open_store(folder, socket)
        if store.compares_vectors:
            self._use(store)
        else:
            self.store = store  # the vector cache remains valid

    def close(self) -> None:
        """Close the store and the vectors."""
        self.store.close()
        self._database.close()

    def is_damage(self, error: Exception) -> bool:
        """Return whether an error means that the local files are damaged.

        An error of a server or a full disk does not count.
        """
        if isinstance(error, sqlite3.DatabaseError):
            # operational: a lock, a full disk; programming: closed meanwhile
            return not isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError)
        return not self.store.is_shared and not isinstance(error, MemoryError | OSError)

    def rebuild(self) -> None:
        """Delete the store's data and damaged vectors, and open an empty store."""
        with self._database.lock:
            self.store.close()
            if not self._database.is_sound():
                self._database.begin_again()
            self._forget_stored()
            if not self._milvus.uri:
                remove(self.folder / "milvus.db")
            self._check_ledger()
            self._use(NoStore())
            self.open_store()

    @property
    def _name(self) -> str:
        """The name of the collection on a server; '' on Lite."""
        from memsearch_engine.index.stores.server import name_of

        return name_of(self._home, self.fingerprint) if self._milvus.uri else ""

    @property
    def is_local(self) -> bool:
        """Whether only this home uses the store."""
        return not self.store.is_shared

    def drop_other_collections(self) -> list[str]:
        """Drop this home's other collections on a server; return their names.

        They belong to models that are no longer used, or to versions before 0.5.
        """
        from memsearch_engine.index.stores.server import MilvusServerStore

        if not isinstance(self.store, MilvusServerStore):
            return []
        return self.store.drop_others(self._home, {self._name})

    # -- state

    @property
    def complete(self) -> bool:
        """Whether the index was completed once, so that it can serve while another one is built."""
        return (self.folder / _COMPLETE).is_file()

    def set_complete(self, made_with: EmbeddingSettings) -> None:
        """Store that the index is complete, with its settings (without the API key)."""
        settings = msgspec.structs.replace(made_with, api_key="")
        Home.put(self.folder / _COMPLETE, msgspec.json.encode(settings))

    def is_current(self) -> bool:
        """Return whether the open files are still the ones on disk."""
        return self._database.is_current()

    def is_behind(self, collection: str) -> bool:
        """Return whether notes have changed since the collection was last written."""
        return collection in self._behind

    def chunk_count(self, collection: str) -> int:
        """Return the number of chunks of a collection in the store."""
        return self._search.count(collection)

    def missing(self, catalog: Catalog, project: str) -> dict[str, str]:
        """Return text hash -> text of the project's chunks without a vector, newest day first."""
        keys = catalog.chunk_keys(project)[::-1]
        known = self.embeddings.known(key.text_hash for key in keys)
        wanted = {key.text_hash: key.row for key in keys if key.text_hash not in known}
        texts = catalog.texts(wanted.values())
        return {name: texts[row] for name, row in wanted.items() if row in texts}

    # -- writing

    def embed(
        self,
        texts: dict[str, str],
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> int:
        """Make and store the vectors of *texts* (text hash -> text); return their number."""
        items = sorted(texts.items(), key=lambda item: len(item[1]))
        done = 0
        size = getattr(self.embedder, "batch", _EMBED_BATCH)  # texts per request to a service
        for start in range(0, len(items), size):
            batch = items[start : start + size]
            vectors = self.embedder.passages([text for _, text in batch], cancelled)
            self.embeddings.put({name: vector for (name, _), vector in zip(batch, vectors)})
            done += len(vectors)
            if progress:
                progress(done, len(items))
            if cancelled():
                break
        return done

    def reconcile(self, catalog: Catalog, project: str, collection: str) -> tuple[int, int]:
        """Update the store to all chunks of the catalog that have a vector.

        Returns:
            (number of written rows, number of deleted rows).
        """
        self._behind.add(collection)
        self._verify(collection)
        wanted = Wanted.of(catalog, project)
        self._settle_left_out(collection, len(wanted.keys))
        by_script = self._ordinary is not None
        difference = wanted.difference(
            catalog, self.ledger.rows(collection), self.embeddings, by_script
        )
        new, gone = difference.new, difference.gone
        if collection not in self._left_out:
            self._update_store(catalog, collection, difference)
        if new or gone:
            self.ledger.change(collection, gone, new)
            rows = [
                (name, row.encoded(), difference.vectors[row.text_hash].tobytes())
                for name, row in new.items()
            ]
            self._search.change(collection, set(gone), rows)
        self._behind.discard(collection)
        return len(new), len(gone)

    def _settle_left_out(self, collection: str, rows: int) -> None:
        """Decide whether a collection of this size is left out of Milvus Lite.

        Lite searches no vectors and ranks only the words of small projects. If no collection needs
        it, it is not loaded, which saves the service more than 100 MB. A collection that is added
        again is written completely.
        """
        if not self._has_lite:
            return
        was = collection in self._left_out
        limit = lite.WORDS_MOST * (_TAKEN_BACK if was else 1)  # against repeated changes
        if (rows > limit) == was:
            return
        if was:
            self._left_out.discard(collection)
            self.ledger.forget(collection)
            self._search.forget(collection)
        elif (self.folder / "milvus.db").exists():
            self.open_store()
            self.store.drop(collection)
        self.ledger.set_left_out(collection, not was)
        self._left_out = self.ledger.left_out()

    def _update_store(self, catalog: Catalog, collection: str, difference: Difference) -> None:
        new, gone = difference.new, difference.gone
        if new or gone:
            self.open_store()
        if not self.store.is_shared and new and difference.is_first:
            self.store.drop(collection)  # it may contain rows of a lost ledger
        if new or gone or self.ranks_words(collection):
            self._ensure(collection)
        if gone:
            self.store.delete(collection, gone)
        if not isinstance(self.store, NoStore):
            for rows in difference.batches(catalog):
                self.store.upsert(collection, rows)
        if new or gone:
            self.store.flush(collection)

    def _ensure(self, collection: str) -> None:
        """Open a collection. If it had to be created, clear its rows in the ledger."""
        if self.store.ensure(collection, self.embedder.dimension):
            self.ledger.forget(collection)
            self._search.forget(collection)
            self._behind.add(collection)

    def _verify(self, collection: str) -> None:
        """Compare the ledger with the rows on a server, once per process.

        A server may have lost rows, and may contain rows of a lost ledger.
        """
        if not self.store.is_shared or collection in self._verified:
            return
        self._ensure(collection)
        known = set(self.ledger.rows(collection))
        if self.store.count(collection) != len(known):
            there = self.store.ids(collection)
            self.store.delete(collection, there - known)
            self.ledger.change(collection, known - there, {})
        self._verified.add(collection)

    def forget(self, collection: str) -> None:
        """Drop a project's rows from the store, but not its vectors, which can be used again."""
        self.store.drop(collection)
        self._behind.add(collection)
        self._left_out.discard(collection)
        self.ledger.set_left_out(collection, False)
        self.ledger.forget(collection)
        self._search.forget(collection)

    # -- searching

    def ask(self, text: str) -> QueryVector:
        """Embed a query."""
        return QueryVector(self.embedder.query(text), analyze.script(text))

    def nearest(
        self, collection: str, question: QueryVector, limit: int, where: Filter
    ) -> list[tuple[str, DenseScore]]:
        """Return (chunk id, score) of the chunks nearest to a query, best first."""
        if self.store.compares_vectors:
            self._ensure(collection)
        return self._search.nearest(collection, question, limit, where)

    def cosines(
        self, collection: str, question: QueryVector, chunk_ids: Iterable[str]
    ) -> dict[str, DenseScore]:
        """Return chunk id -> score for a query, for the chunks in the store."""
        return self._search.cosines(collection, question, chunk_ids)

    def vectors(self, collection: str, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """Return chunk id -> vector, centered if the model needs it, for chunks in the store."""
        return self._search.vectors(collection, chunk_ids)

    def neighbours(self, collection: str, chunk_ids: list[str], limit: int) -> Neighbours:
        """Return chunk id -> (chunk id, similarity) of the chunks most similar to it.

        The similarity is in standard deviations above the collection's other notes, because the
        cosines of two models can't be compared. Chunks that are not in the store are left out.
        """
        if self.store.compares_vectors:
            self._ensure(collection)
        return self._search.neighbours(collection, chunk_ids, limit)

    def sample(self, collection: str) -> HubnessSample:
        """Return the sample of a project's notes, which gives the scale of their scores."""
        return self._search.sample(collection)

    def ranks_words(self, collection: str) -> bool:
        """Return whether ``bm25`` ranks words; else the catalog does (``lexical.ranked``)."""
        is_there = collection not in self._left_out
        return is_there and self.store.compares_words(self.chunk_count(collection))

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Return (chunk id, BM25 score, higher is better), best first."""
        self._ensure(collection)
        found = self.store.bm25(collection, terms, limit, where)
        return [(chunk_id, comparable(score, DIGITS)) for chunk_id, score in found]

    def warm(self, collection: str) -> None:
        """Load the data for the first search of a project. Only for the writing thread."""
        self._search.warm(collection)
        if self.ranks_words(collection):
            self.bm25(collection, ["warm"], 1, Filter())
