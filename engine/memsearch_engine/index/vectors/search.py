"""Search by meaning: in memory, or on a Milvus server.

Both give the same scores. A server orders by cosine only, so its results are corrected for hubness
and ordered again with the local vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from memsearch_engine.index.hubness import (
    DIGITS,
    SAMPLE,
    DenseScore,
    HubnessSample,
    QueryVector,
    best,
    rounded,
    sampled,
)
from memsearch_engine.index.milvus import MilvusServerStore
from memsearch_engine.index.rows import HIDDEN_KINDS, Filter, comparable
from memsearch_engine.index.vectors.database import VectorDatabase
from memsearch_engine.index.vectors.ledger import LedgerColumns, LedgerRow, VectorLedger
from memsearch_engine.index.vectors.matrix import MatrixFile, room_for

#: Factor for the hits requested from a server, because the corrections change their order.
_OVERFETCH = 4
#: Fewer corrections are not saved, because computing them again is as fast.
_WORTH_SAVING = 2_000

Neighbours = dict[str, list[tuple[str, float]]]


class CachedSearch:
    """Compares vectors in memory (``VectorCache``)."""

    def __init__(
        self,
        database: VectorDatabase,
        ledger: VectorLedger,
        dimension: int,
        ordinary: dict[str, np.ndarray] | None,
    ) -> None:
        """Prepare searches; vectors are read on first use.

        Args:
            ordinary: as for ``HubnessSample``.
        """
        self._database, self._lock = database, database.lock
        self._ledger = ledger
        self._dimension, self._ordinary = dimension, ordinary
        self._caches: dict[str, VectorCache] = {}
        self._unsaved: list[Callable[[], None]] = []

    def cache(self, collection: str, saves: bool = False) -> VectorCache:
        """Return a collection's vectors, which are read on first use.

        Args:
            saves: whether ``save`` follows.
        """
        with self._lock:
            cache = self._caches.get(collection)
            if cache is None:
                file = MatrixFile(self._database, collection, self._dimension)
                rows, buffer = file.rows(self._ledger.columns(collection))
                cache = self._caches[collection] = VectorCache(
                    rows, buffer, self._ordinary, self._ledger.sample_name(collection)
                )
                if file.is_due and saves:
                    self._unsaved.append(partial(file.save, rows, buffer[: len(rows.ids)]))
            return cache

    def nearest(
        self, collection: str, question: QueryVector, limit: int, where: Filter
    ) -> list[tuple[str, DenseScore]]:
        """Return (chunk id, score) of the nearest chunks, best first."""
        return self.cache(collection).nearest(question, limit, where)

    def cosines(
        self, collection: str, question: QueryVector, chunk_ids: Iterable[str]
    ) -> dict[str, DenseScore]:
        """Return chunk id -> score for a query."""
        return self.cache(collection).cosines(question, chunk_ids)

    def vectors(self, collection: str, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """Return chunk id -> vector, centered if the model needs it."""
        return self.cache(collection).vectors(chunk_ids)

    def neighbours(self, collection: str, chunk_ids: list[str], limit: int) -> Neighbours:
        """Return chunk id -> (chunk id, standard deviations above the mean) of the nearest."""
        return self.cache(collection).neighbours(chunk_ids, limit)

    def sample(self, collection: str) -> HubnessSample:
        """Return the sample against which hubness is measured."""
        return self.cache(collection).sample

    def count(self, collection: str) -> int:
        """Return the number of chunks of a collection that can be found."""
        with self._lock:
            cache = self._caches.get(collection)
        return self._ledger.count(collection) if cache is None else len(cache.ids)

    def warm(self, collection: str) -> None:
        """Read the vectors, and save corrections that take long to compute."""
        cache = self.cache(collection, saves=True)
        new = cache.unsaved_corrections() if len(cache.ids) else []
        if len(new) >= _WORTH_SAVING:
            self._ledger.put_corrections(collection, cache.sample.name, new)
            cache.set_saved(cache.sample.name, cache.corrections)

    def save(self) -> None:
        """Save the matrices that ``warm`` has read from the database. Any thread may do it.

        Raises:
            OSError: one cannot be written.
        """
        try:
            while self._unsaved:
                self._unsaved.pop()()
        finally:  # after an error, the others need no memory any longer
            self._unsaved.clear()

    def change(self, collection: str, gone: set[str], rows: list[CacheRow]) -> None:
        """Apply a change of a collection: remove the chunks in *gone*, then add *rows*."""
        with self._lock:
            cache = self._caches.pop(collection, None)
            changed = cache and cache.changed(rows, gone | {row[0] for row in rows})
            if changed:
                self._caches[collection] = changed

    def forget(self, collection: str | None = None) -> None:
        """Drop the cached data of a collection, or of all collections."""
        with self._lock:
            if collection is None:
                self._caches.clear()
            else:
                self._caches.pop(collection, None)
            self._database.remove_copies(collection or "*")


class ServerSearch:
    """Searches on a server, and corrects its results for hubness."""

    def __init__(
        self,
        store: MilvusServerStore,
        ledger: VectorLedger,
        dimension: int,
        ordinary: dict[str, np.ndarray] | None,
    ) -> None:
        """Prepare searches on a server.

        Args:
            store: the collection of a search must be open there.
            ordinary: as for ``HubnessSample``.
        """
        self._store, self._ledger = store, ledger
        self._dimension, self._ordinary = dimension, ordinary
        self._samples: dict[str, HubnessSample] = {}

    def nearest(
        self, collection: str, question: QueryVector, limit: int, where: Filter
    ) -> list[tuple[str, DenseScore]]:
        """See ``CachedSearch``."""
        found = self._store.dense(collection, question.vector, limit * _OVERFETCH, where)
        near = {chunk_id: DenseScore(comparable(cosine, DIGITS), 0.0) for chunk_id, cosine in found}
        near |= self.cosines(collection, question, near)
        return sorted(near.items(), key=lambda item: (-comparable(item[1].score), item[0]))[:limit]

    def cosines(
        self, collection: str, question: QueryVector, chunk_ids: Iterable[str]
    ) -> dict[str, DenseScore]:
        """See ``CachedSearch``."""
        vectors = self.vectors(collection, chunk_ids)
        if not vectors:
            return {}
        sample = self.sample(collection)
        matrix = np.array(list(vectors.values()))
        corrections = rounded(sample.hubness_corrections(vectors, matrix))
        cosines = rounded(matrix @ sample.centered_query(question))
        return {
            name: DenseScore(float(cosine), float(correction))
            for name, cosine, correction in zip(vectors, cosines, corrections)
        }

    def vectors(self, collection: str, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """See ``CachedSearch``."""
        found = self._ledger.vectors(collection, chunk_ids)
        if not self._ordinary or not found:
            return {chunk_id: vector for chunk_id, (vector, _) in found.items()}
        matrix = np.array([vector for vector, _ in found.values()])
        scripts = [script for _, script in found.values()]
        return dict(zip(found, self.sample(collection).centered(matrix, scripts)))

    def neighbours(self, collection: str, chunk_ids: list[str], limit: int) -> Neighbours:
        """See ``CachedSearch``."""
        found = {}
        sample = self.sample(collection)
        for chunk_id, vector in self.vectors(collection, chunk_ids).items():
            question = QueryVector(vector)
            background = sample.background(question)
            near = self.nearest(collection, question, limit + 1, Filter())
            found[chunk_id] = [
                (name, background.z_score(one.score)) for name, one in near if name != chunk_id
            ]
        return found

    def sample(self, collection: str) -> HubnessSample:
        """See ``CachedSearch``."""
        sample = self._samples.get(collection)
        if sample is None:
            lowest = self._ledger.lowest(collection, SAMPLE)
            compared = self._ledger.vectors(collection, lowest)
            matrix = np.array([vector for vector, _ in compared.values()], np.float32)
            sample = self._samples[collection] = HubnessSample(
                list(compared),
                matrix.reshape(len(compared), self._dimension),
                [script for _, script in compared.values()],
                self._ordinary,
            )
        return sample

    def count(self, collection: str) -> int:
        """See ``CachedSearch``."""
        return self._ledger.count(collection)

    def warm(self, collection: str) -> None:
        """Do nothing: the server has loaded its collections."""

    def save(self) -> None:
        """Do nothing: the server has the vectors."""

    def change(self, collection: str, gone: set[str], rows: list[CacheRow]) -> None:
        """See ``CachedSearch``."""
        self._samples.pop(collection, None)

    def forget(self, collection: str | None = None) -> None:
        """See ``CachedSearch``."""
        if collection is None:
            self._samples.clear()
        else:
            self._samples.pop(collection, None)


#: What compares the vectors of collections. Any thread may search.
VectorSearch = CachedSearch | ServerSearch


#: (chunk id, ``LedgerRow.encoded``, float32 bytes)
CacheRow = tuple[str, str, bytes]


class VectorCache:
    """A matrix of vectors, with the values for the filters of a search.

    It is immutable, except for values that are computed on first use.
    """

    def __init__(
        self,
        rows: LedgerColumns,
        buffer: np.ndarray,
        ordinary: dict[str, np.ndarray] | None = None,
        saved_by: str = "",
    ) -> None:
        """Prepare searches of the chunks of a collection.

        Args:
            buffer: a matrix of their vectors; more rows may follow, which are free.
            ordinary: as for ``HubnessSample``; the rows must then have scripts.
            saved_by: the name of the sample of the saved corrections.
        """
        self._ordinary = ordinary
        self._buffer: np.ndarray | None = buffer
        self.matrix = buffer[: len(rows.ids)]
        self.set_saved(saved_by, rows.corrections)
        self.ids = np.array(rows.ids, dtype=object)
        self._places: dict[str, int] | None = None
        self._computing = threading.RLock()  # one search computes a value, the others wait for it
        self._corrections: np.ndarray | None = None
        self._sample: HubnessSample | None = None
        self._hidden: np.ndarray | None = None
        self._encoded = rows.encoded
        if ordinary:
            self._buffer = None
            self.matrix = self.sample.centered(self.matrix, self._scripts())

    @classmethod
    def of(
        cls,
        rows: Sequence[CacheRow],
        dimension: int,
        ordinary: dict[str, np.ndarray] | None = None,
    ) -> VectorCache:
        """Return a cache of *rows*, which have no saved corrections."""
        columns = LedgerColumns([row[0] for row in rows], [], [row[1] for row in rows], [])
        vectors = bytearray().join(row[2] for row in rows)
        matrix = np.frombuffer(vectors, np.float32).reshape(-1, dimension)
        return cls(columns, matrix, ordinary)

    def changed(self, rows: list[CacheRow], without: set[str]) -> VectorCache | None:
        """Return a copy without the chunks in *without* and with *rows* added.

        Running searches continue with the old cache.

        Returns:
            None if all rows must be read again, because the hubness sample has changed.
        """
        new = VectorCache.of(rows, self.matrix.shape[1])
        has_same_sample = self._sample is not None and self._sample.stays(new.ids, without)
        if self._ordinary:
            if not has_same_sample:
                return None
            new.matrix = self.sample.centered(new.matrix, new._scripts())
            new._ordinary = self._ordinary
        gone = sorted(self._place(without))
        if has_same_sample:
            new._sample = self._sample
            if self._corrections is not None:
                added = self.sample.hubness_corrections(new.ids, new.matrix)
                new._corrections = np.concatenate([np.delete(self._corrections, gone), added])
        new._hidden = np.concatenate([np.delete(self.hidden, gone), new.hidden])
        if not gone and self._places is not None:
            places = enumerate(new.ids, len(self.ids))
            new._places = self._places | {chunk_id: place for place, chunk_id in places}
        new.ids = np.concatenate([np.delete(self.ids, gone), new.ids])
        encoded = self._encoded.copy()
        for place in reversed(gone):
            del encoded[place]
        new._encoded = encoded + new._encoded
        new._put_matrix_after(self, gone)
        return new

    def _put_matrix_after(self, old: VectorCache, gone: list[int]) -> None:
        """Put the rows of this cache after those of an older one, in its buffer if possible.

        Running searches do not see the new rows in the buffer. A second change of *old* copies it.
        """
        buffer, old._buffer = old._buffer, None
        count = len(old.matrix) - len(gone)
        total = count + len(self.matrix)
        if gone or buffer is None or len(buffer) < total:
            buffer = room_for(total, self.matrix.shape[1])
            stays = np.ones(len(old.matrix), dtype=bool)
            stays[gone] = False
            np.compress(stays, old.matrix, axis=0, out=buffer[:count])
        buffer[count:total] = self.matrix
        self._buffer, self.matrix = buffer, buffer[:total]

    def _place(self, chunk_ids: Iterable[str]) -> list[int]:
        if self._places is None:
            self._places = {chunk_id: place for place, chunk_id in enumerate(self.ids)}
        return [self._places[chunk_id] for chunk_id in chunk_ids if chunk_id in self._places]

    def _decoded(self) -> Iterator[tuple[str, LedgerRow]]:
        """Yield each distinct text of ``_encoded``, decoded."""
        return ((text, LedgerRow.decoded(text)) for text in set(self._encoded))

    def _scripts(self) -> list[str]:
        scripts = {text: row.script or "" for text, row in self._decoded()}
        return [scripts[text] for text in self._encoded]

    def _where(self, test: Callable[..., bool]) -> np.ndarray:
        """Which rows have scalars that pass a test: bool of shape (rows,)."""
        passed = {text for text, row in self._decoded() if test(*row.scalars)}
        return np.array([text in passed for text in self._encoded], dtype=bool)

    # -- hubness

    @property
    def sample(self) -> HubnessSample:
        """The sample against which hubness is measured."""
        with self._computing:
            if self._sample is None:
                ids = sampled(self.ids)
                places = self._place(ids)
                scripts = [LedgerRow.decoded(self._encoded[place]).script or "" for place in places]
                self._sample = HubnessSample(ids, self.matrix[places], scripts, self._ordinary)
            return self._sample

    @property
    def corrections(self) -> np.ndarray:
        """The hubness correction of each row: float32 of shape (rows,)."""
        with self._computing:
            if self._corrections is None:
                corrections, new = self._saved.copy(), self._without_saved()
                if len(new) == len(self.ids):
                    corrections = self.sample.hubness_corrections(self.ids, self.matrix)
                elif len(new):
                    some = self.sample.hubness_corrections(self.ids[new], self.matrix[new])
                    corrections[new] = some
                self._corrections = corrections
            return self._corrections

    def unsaved_corrections(self) -> list[tuple[float, str]]:
        """Return (correction, chunk id) of the rows without a correction in the ledger."""
        new = self._without_saved()
        return list(zip(self.corrections[new].tolist(), self.ids[new].tolist()))

    def set_saved(self, sample_name: str, corrections: Iterable[float | None]) -> None:
        """Record the corrections that the ledger has, one per row, and the name of their sample."""
        # NaN if there is no correction
        self._saved_by, self._saved = sample_name, np.array(corrections, np.float32)

    def _without_saved(self) -> np.ndarray:
        """Return the indexes of rows without a saved correction for this sample."""
        if len(self._saved) != len(self.ids) or self._saved_by != self.sample.name:
            return np.arange(len(self.ids))
        return np.flatnonzero(np.isnan(self._saved))

    # -- searches

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """Return chunk id -> vector, centered if the model needs it, for the cached chunks."""
        return {str(self.ids[place]): self.matrix[place] for place in self._place(chunk_ids)}

    def cosines(self, question: QueryVector, chunk_ids: Iterable[str]) -> dict[str, DenseScore]:
        """Return chunk id -> score for a query, for the cached chunks."""
        places = self._place(chunk_ids)
        cosines = rounded(self.matrix[places] @ self._asked(question))
        corrections = rounded(self.corrections[places])
        return {
            str(self.ids[place]): DenseScore(float(cosine), float(correction))
            for place, cosine, correction in zip(places, cosines, corrections)
        }

    def nearest(
        self, question: QueryVector, limit: int, where: Filter
    ) -> list[tuple[str, DenseScore]]:
        """Return (chunk id, score) of the chunks nearest to a query, best first."""
        if not len(self.ids) or limit <= 0:
            return []
        cosines = rounded(self.matrix @ self._asked(question))
        corrections = rounded(self.corrections)
        scores = cosines + corrections
        if where != Filter():
            scores = np.where(self._where(where.admits), scores, -np.inf)
        elif self.hidden.any():
            scores = np.where(self.hidden, -np.inf, scores)
        return [
            (str(self.ids[place]), DenseScore(float(cosines[place]), float(corrections[place])))
            for place in best(scores, self.ids, limit)
        ]

    def neighbours(self, chunk_ids: list[str], limit: int) -> dict[str, list[tuple[str, float]]]:
        """Return chunk id -> (chunk id, similarity) of the chunks most similar to it.

        The similarity is in standard deviations (``Background.z_score``). Chunks that are not
        cached are left out.
        """
        places = self._place(chunk_ids)
        scores = self.matrix[places] @ self.matrix.T + self.corrections
        found = {}
        for row, place in enumerate(places):
            background = self.sample.background(QueryVector(self.matrix[place]))
            found[str(self.ids[place])] = [
                (str(self.ids[i]), background.z_score(round(float(scores[row, i]), DIGITS)))
                for i in best(scores[row], self.ids, limit + 1)
                if i != place
            ]
        return found

    @property
    def hidden(self) -> np.ndarray:
        """Which rows are of kinds that are hidden by default: bool of shape (rows,)."""
        if self._hidden is None:
            self._hidden = self._where(lambda *scalars: scalars[-1] in HIDDEN_KINDS)
        return self._hidden

    def _asked(self, question: QueryVector) -> np.ndarray:
        return self.sample.centered_query(question) if self._ordinary else question.vector
