"""The interface of a store, which finds chunks by meaning and, if it can, by words.

``tests/index/test_index_store.py`` tests all stores against this interface.
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
    """A chunk in the form that is written to a store.

    ``terms`` are the terms of ``analyze.terms``, separated by blanks.
    """

    chunk_id: str
    vector: np.ndarray
    terms: str
    day: str
    agent: str
    session: str
    kind: str


class StoreBusy(Unreachable):
    """Another process has the store's files open. The files are not damaged."""


class Store(Protocol):
    """An open store. Callers name a project's collection.

    Attributes:
        is_shared: the store also contains rows of other homes. It may have lost rows, so the ledger
            is compared with it.
        compares_vectors: the store searches by meaning; else the vector cache does.
    """

    is_shared: bool
    compares_vectors: bool

    def compares_words(self, rows: int) -> bool:
        """Return whether the store ranks words in a collection of this size; else the catalog."""

    def describe(self) -> str:
        """Return a sentence about the store and its limits; '' if there are none."""

    def ensure(self, collection: str, dimension: int) -> bool:
        """Create and load a project's collection.

        A collection of another dimension is replaced, because it is only a cache.

        Returns:
            Whether earlier rows of the project are gone.
        """

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        """Write rows and replace those with the same chunk ids."""

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        """Delete rows. Missing rows are not an error."""

    def flush(self, collection: str) -> None:
        """Make written rows fast to search, if the store does not do so by itself."""

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
        """Close the connection, and the engine if this process runs it."""


class NoStore:
    """A store without rows: for a second model, and until the store of the first model is open.

    The vector cache searches vectors, and the catalog searches words.
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
