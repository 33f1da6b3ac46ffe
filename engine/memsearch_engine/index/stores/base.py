"""What a store is: it holds chunks and finds them by meaning and, where it can, by words.

One contract for all stores: ``tests/index/test_index_store.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.index.rows import Filter

if TYPE_CHECKING:
    import numpy as np


class StoreRow(msgspec.Struct):
    """A chunk as it is written to a store. ``terms``: of ``analyze.terms``, between blanks."""

    chunk_id: str
    vector: np.ndarray
    terms: str
    day: str
    agent: str
    session: str
    kind: str


class StoreBusy(Unreachable):
    """Another process has the store's files open. Nothing is wrong with them."""


class Store(Protocol):
    """An open store. Callers name a project's collection.

    Attributes:
        is_shared: other homes' rows lie there, too. It may have lost ours, so the ledger is
            compared with it.
        compares_vectors: it searches by meaning itself; else the vector cache does.
    """

    is_shared: bool
    compares_vectors: bool

    def compares_words(self, rows: int) -> bool:
        """Return whether it ranks words in a collection of so many rows; else the catalog does."""

    def describe(self) -> str:
        """Return in a sentence what it is and what it can't do; '' for nothing to say."""

    def ensure(self, collection: str, dimension: int) -> bool:
        """Create and load what a project's rows lie in.

        One of another dimension is replaced: it is a cache.

        Returns:
            Whether what the project had there is gone.
        """

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        """Write rows, in place of those with the same chunk ids."""

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        """Delete rows. Missing ones are no error."""

    def flush(self, collection: str) -> None:
        """Make what was written fast to search, where the store does not do so by itself."""

    def drop(self, collection: str) -> None:
        """Delete all rows of a project."""

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the nearest rows, best first."""

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Return (chunk id, BM25 score, higher is better), best first."""

    def count(self, collection: str) -> int:
        """Return the number of a project's rows."""

    def ids(self, collection: str) -> set[str]:
        """Return the chunk ids of all rows of a project."""

    def close(self) -> None:
        """Close the connection, and the engine where it is ours."""


class NoStore:
    """No store: for a second model's vectors, and until the first one's store is open.

    Vectors are searched in the cache all the same, words by the catalog.
    """

    is_shared = False
    compares_vectors = False

    def compares_words(self, rows: int) -> bool:
        """Never."""
        return False

    def describe(self) -> str:
        """Nothing."""
        return ""

    def ensure(self, collection: str, dimension: int) -> bool:
        """Nothing was lost."""
        return False

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        """Write nothing."""

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        """Delete nothing."""

    def flush(self, collection: str) -> None:
        """Flush nothing."""

    def drop(self, collection: str) -> None:
        """Drop nothing."""

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Find nothing."""
        return []

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Find nothing."""
        return []

    def count(self, collection: str) -> int:
        """Return 0."""
        return 0

    def ids(self, collection: str) -> set[str]:
        """Return no ids."""
        return set()

    def close(self) -> None:
        """Close nothing."""
