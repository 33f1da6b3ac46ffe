"""The vector index of one model: the embedder, its vectors, and a Milvus server if one is used.

Vectors are stored by the hash of the embedded text (``vectors.difference``). A ledger records the
chunks that can be searched (``vectors.ledger``): in memory, or on the server. The difference
between the ledger and the catalog is the work to do. Searches use ``vectors.search``.
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
from memsearch_engine.index.milvus import MilvusServerStore, name_of
from memsearch_engine.index.rows import Filter, comparable
from memsearch_engine.index.vectors.database import VectorDatabase, remove
from memsearch_engine.index.vectors.difference import EmbeddingStore, Wanted
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


def forget_compared(
    catalog: Catalog, project: str, collection: str, indexes: Iterable[VectorIndex]
) -> None:
    """Let the catalog forget the written chunks of a project that all indexes have compared."""
    found = [index.compared_version(catalog, collection) for index in indexes]
    compared = [version for version in found if version is not None]
    catalog.database.forget_written(project, min(compared, default=catalog.database.version()))


class _Settled(msgspec.Struct):
    """How far a collection has the chunks of a catalog.

    Attributes:
        version: the catalog's version at the last comparison; None: compare all chunks.
        lacking: text hash -> chunks that were compared and had no vector.
        made: chunks that have got their vector since.
        stamp: the stamp in the ledger; '' if there is none.
    """

    catalog: Catalog
    project: str
    version: int | None
    stamp: str
    lacking: dict[str, set[str]] = {}
    made: set[str] = set()

    def note_made(self, text_hashes: Iterable[str]) -> None:
        """Record that texts have got a vector."""
        for name in text_hashes:
            self.made |= self.lacking.pop(name, set())

    def due(self, catalog: Catalog) -> set[str] | None:
        """Return the chunks to compare; None: all."""
        if self.version is None:
            return None
        written = catalog.database.written_since(self.project, self.version)
        return None if written is None else written | self.made

    def unsettled(self, catalog: Catalog) -> set[str] | None:
        """Return the chunks that may lack a vector; None: all."""
        due = self.due(catalog) if catalog is self.catalog else None
        return None if due is None else due.union(*self.lacking.values())

    def advance(self, version: int, due: set[str] | None, lacking: dict[str, set[str]]) -> None:
        """Record that the chunks in *due* were compared with a version, and what they lack."""
        if due is None:
            self.lacking = {}
        elif changed := due - self.made:
            left = ((name, chunks - changed) for name, chunks in self.lacking.items())
            self.lacking = {name: chunks for name, chunks in left if chunks}
        for name, chunks in lacking.items():
            self.lacking.setdefault(name, set()).update(chunks)
        self.version, self.made = version, set()


class VectorIndex:
    """An open index. One thread writes; any thread searches.

    Attributes:
        embedder: the model.
        fingerprint: identifies the model and everything on which its vectors depend.
        folder: contains the vectors.
        server: the Milvus server that searches; None: this process compares vectors.
        embeddings: vectors by text hash.
        ledger: the chunks that can be searched.
    """

    def __init__(self, home: Home, milvus: MilvusSettings, embedder: Embedder) -> None:
        """Open the vectors, and connect to the server that the settings name.

        Raises:
            Unreachable: the server can't be opened.
        """
        self._home, self._milvus = home, milvus
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
        self._verified: set[str] = set()  # collections compared with the server since the opening
        self._settled: dict[str, _Settled] = {}  # by collection
        try:
            if self.embeddings.remove_other_lengths(embedder.dimension):
                self.ledger.forget_all()
                (self.folder / _COMPLETE).unlink(missing_ok=True)
            self._set_target()
        except sqlite3.DatabaseError:  # damaged pages behind a sound header
            self._database.begin_again()
            self._set_target()
        self._name = name_of(home, self.fingerprint)
        self.server: MilvusServerStore | None = None
        self._search: VectorSearch
        if milvus.uri:
            self.server = MilvusServerStore(milvus.uri, milvus.token, self._name)
            self._database.remove_copies()
            self._search = ServerSearch(
                self.server, self.ledger, embedder.dimension, self._ordinary
            )
        else:
            self._search = CachedSearch(
                self._database, self.ledger, embedder.dimension, self._ordinary
            )
            with contextlib.suppress(OSError):  # the data of Milvus Lite of earlier versions
                remove(self.folder / "milvus.db")

    def _set_target(self) -> None:
        """Clear the ledger if it describes another server, or other terms."""
        self.ledger.set_target(f"{self._milvus.uri or 'lite'} {_TERMS}")

    def close(self) -> None:
        """Close the vectors and the connection to the server."""
        if self.server is not None:
            self.server.close()
        self._database.close()

    def is_damage(self, error: Exception) -> bool:
        """Return whether an error means that the local files are damaged.

        An error of a server or a full disk does not count.
        """
        if isinstance(error, sqlite3.DatabaseError):
            # operational: a lock, a full disk; programming: closed meanwhile
            return not isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError)
        return self.is_local and not isinstance(error, MemoryError | OSError)

    def rebuild(self) -> None:
        """Delete damaged vectors, and record that nothing can be searched."""
        with self._database.lock:
            self._settled.clear()
            if not self._database.is_sound():
                self._database.begin_again()
            self.ledger.forget_all()
            self._search.forget()
            self._set_target()

    @property
    def is_local(self) -> bool:
        """Whether this process compares the vectors, without a server."""
        return self.server is None

    def drop_other_collections(self) -> list[str]:
        """Drop this home's other collections on a server; return their names.

        They belong to models that are no longer used, or to versions before 0.5.
        """
        return self.server.drop_others(self._home, {self._name}) if self.server else []

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
        """Return the number of chunks of a collection that can be searched."""
        return self._search.count(collection)

    def missing(self, catalog: Catalog, project: str) -> dict[str, str]:
        """Return text hash -> text of the project's chunks without a vector, newest day first."""
        settled = next((s for s in self._settled.values() if s.project == project), None)
        some = settled.unsettled(catalog) if settled else None
        keys = catalog.chunk_keys(project, some)[::-1]
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
            for settled in self._settled.values():
                settled.note_made(name for name, _ in batch)
            done += len(vectors)
            if progress:
                progress(done, len(items))
            if cancelled():
                break
        return done

    def reconcile(self, catalog: Catalog, project: str, collection: str) -> tuple[int, int]:
        """Update ledger, memory and server to all chunks of the catalog that have a vector.

        Only chunks that were written since the last call are compared, or got a vector.

        Returns:
            (number of new or changed chunks, number of deleted chunks).
        """
        self._behind.add(collection)
        if self.server is not None:
            self._verify(self.server, collection)
        version, stamp = catalog.database.version(), catalog.files.stamp(project)
        settled = self._settled_of(catalog, project, collection, version, stamp)
        some = settled.due(catalog)
        difference = Wanted.of(catalog, project, some).difference(
            catalog,
            self.ledger.rows(collection, some),
            self.embeddings,
            by_script=self._ordinary is not None,
        )
        new, gone = difference.new, difference.gone
        if new or gone:
            if self.server is not None:
                self._ensure(collection)
                if gone:
                    self.server.delete(collection, gone)
                for rows in difference.batches(catalog):
                    self.server.upsert(collection, rows)
                self.server.flush()
            settled.stamp = ""
            self.ledger.change(collection, gone, new)
            cached = [
                (name, row.encoded(), difference.vectors[row.text_hash].tobytes())
                for name, row in new.items()
            ]
            self._search.change(collection, set(gone), cached)
        with self._database.lock:
            if self._settled.get(collection) is settled:  # no search had to create the collection
                settled.advance(version, some, difference.lacking)
                if not settled.lacking and settled.stamp != stamp:
                    self.ledger.set_settled(collection, stamp)
                    settled.stamp = stamp
                self._behind.discard(collection)
        return len(new), len(gone)

    def _settled_of(
        self, catalog: Catalog, project: str, collection: str, version: int, stamp: str
    ) -> _Settled:
        """Return how far a collection has the chunks of a catalog of this version and stamp."""
        settled = self._settled.get(collection)
        if settled is None or settled.catalog is not catalog or settled.project != project:
            known = self.ledger.settled_stamp(collection)
            settled = _Settled(catalog, project, version if known == stamp else None, known)
            self._settled[collection] = settled
        return settled

    def compared_version(self, catalog: Catalog, collection: str) -> int | None:
        """Return the version of a catalog that was last compared; None: all chunks are due."""
        settled = self._settled.get(collection)
        return settled.version if settled and settled.catalog is catalog else None

    def _ensure(self, collection: str) -> None:
        """Open a collection on the server. If it had to be created, clear its ledger."""
        if self.server is not None and self.server.ensure(collection, self.embedder.dimension):
            with self._database.lock:
                self.ledger.forget(collection)
                self._settled.pop(collection, None)
                self._search.forget(collection)
                self._behind.add(collection)

    def _verify(self, server: MilvusServerStore, collection: str) -> None:
        """Compare the ledger with the rows on a server, once per process.

        A server may have lost rows, and may contain rows of a lost ledger.
        """
        if collection in self._verified:
            return
        self._ensure(collection)
        known = set(self.ledger.rows(collection))
        if server.count(collection) != len(known):
            there = server.ids(collection)
            server.delete(collection, there - known)
            self.ledger.change(collection, known - there, {})
        self._verified.add(collection)

    def forget(self, collection: str) -> None:
        """Drop a project's chunks, but not its vectors, which can be used again."""
        if self.server is not None:
            self.server.drop(collection)
        self._behind.add(collection)
        self.ledger.forget(collection)
        self._settled.pop(collection, None)
        self._search.forget(collection)

    # -- searching

    def ask(self, text: str) -> QueryVector:
        """Embed a query."""
        return QueryVector(self.embedder.query(text), analyze.script(text))

    def nearest(
        self, collection: str, question: QueryVector, limit: int, where: Filter
    ) -> list[tuple[str, DenseScore]]:
        """Return (chunk id, score) of the chunks nearest to a query, best first."""
        self._ensure(collection)
        return self._search.nearest(collection, question, limit, where)

    def cosines(
        self, collection: str, question: QueryVector, chunk_ids: Iterable[str]
    ) -> dict[str, DenseScore]:
        """Return chunk id -> score for a query, for the chunks of the ledger."""
        return self._search.cosines(collection, question, chunk_ids)

    def vectors(self, collection: str, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """Return chunk id -> vector, centered if the model needs it, for chunks of the ledger."""
        return self._search.vectors(collection, chunk_ids)

    def neighbours(self, collection: str, chunk_ids: list[str], limit: int) -> Neighbours:
        """Return chunk id -> (chunk id, similarity) of the chunks most similar to it.

        The similarity is in standard deviations above the collection's other notes, because the
        cosines of two models can't be compared. Chunks without a vector are left out.
        """
        self._ensure(collection)
        return self._search.neighbours(collection, chunk_ids, limit)

    def sample(self, collection: str) -> HubnessSample:
        """Return the sample of a project's notes, which gives the scale of their scores."""
        return self._search.sample(collection)

    @property
    def ranks_words(self) -> bool:
        """Whether a server with BM25 ranks the words. Otherwise the catalog must."""
        return self.server is not None and self.server.abilities.full_text

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Return (chunk id, BM25 score, higher is better) of the server, best first."""
        assert self.server is not None
        self._ensure(collection)
        found = self.server.bm25(collection, terms, limit, where)
        return [(chunk_id, comparable(score, DIGITS)) for chunk_id, score in found]

    def warm(self, collection: str) -> None:
        """Load the data for the first search of a project. Only for the writing thread."""
        self._search.warm(collection)

    def save(self) -> None:
        """Save data that ``warm`` took long to load, so that the next start has it sooner.

        Raises:
            OSError: it cannot be written.
        """
        self._search.save()
