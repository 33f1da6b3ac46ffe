"""Search by meaning: in memory, or on a Milvus server.

Both give the same scores. A server orders by cosine only, so its results are corrected for hubness
and ordered again with the local vectors.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from memsearch_engine.index.hubness import (
    DIGITS,
    SAMPLE,
    DenseScore,
    HubnessSample,
    QueryVector,
    rounded,
)
from memsearch_engine.index.milvus import MilvusServerStore
from memsearch_engine.index.rows import Filter, comparable
from memsearch_engine.index.vectors.cache import CacheRow, SavedCorrections, VectorCache
from memsearch_engine.index.vectors.database import VectorDatabase
from memsearch_engine.index.vectors.ledger import VectorLedger

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
        self._lock = database.lock
        self._ledger = ledger
        self._dimension, self._ordinary = dimension, ordinary
        self._caches: dict[str, VectorCache] = {}

    def cache(self, collection: str) -> VectorCache:
        """Return a collection's vectors, which are read on first use."""
        with self._lock:
            cache = self._caches.get(collection)
            if cache is None:
                found = self._ledger.all_vectors(collection)
                saved = SavedCorrections(
                    self._ledger.sample_name(collection), tuple(row[3] for row in found)
                )
                cache = self._caches[collection] = VectorCache(
                    [row[:3] for row in found], self._dimension, self._ordinary, saved
                )
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
        cache = self.cache(collection)
        new = cache.unsaved_corrections()
        if len(new) >= _WORTH_SAVING:
            self._ledger.put_corrections(collection, cache.sample.name, new)
            cache.set_saved()

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
