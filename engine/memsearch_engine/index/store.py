"""What a store is: where the chunks of a vector space lie, to be searched by meaning and words.

``open_store`` chooses: Milvus Lite (``lite.py``), a Milvus server or Zilliz Cloud (``server.py``),
or none at all: then vectors are compared in the service's memory alone. One contract for all of
them: ``tests/index/test_index_store.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.index.rows import Filter

if TYPE_CHECKING:
    import numpy as np


class StoreRow(msgspec.Struct):
    chunk_id: str
    vector: np.ndarray
    terms: str
    day: str
    agent: str
    session: str
    kind: str


class Store(Protocol):
    """An open store.

    Attributes:
        is_shared: others' rows lie there, too, and it may have lost ours: the ledger is
            compared with it.
        compares_vectors: it searches by meaning itself; else that is done in memory.
    """

    is_shared: bool
    compares_vectors: bool

    def compares_words(self, rows: int) -> bool:
        """Whether words of a collection of so many rows are compared by it; else the catalog does."""

    def ensure(self, collection: str, dimension: int) -> bool:
        """Create and load what a project's rows lie in. One of another dimension is replaced: it is
        a cache. Returns whether what the project had there is gone.
        """

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None: ...

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None: ...

    def flush(self, collection: str) -> None:
        """Make what was written fast to search, where the store does not do so by itself."""

    def drop(self, collection: str) -> None: ...

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """(chunk id, cosine) of the nearest rows, best first."""

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """(chunk id, BM25 score, higher is better), best first."""

    def count(self, collection: str) -> int: ...

    def ids(self, collection: str) -> set[str]:
        """All primary keys, each once."""

    def close(self) -> None: ...


class StoreBusy(Unreachable):
    """Its files are open elsewhere: nothing is wrong with them."""


class Nowhere:
    """No store: beside a second model's vectors, which lie in its space's own table and are
    compared in memory; and where the first one's is not open yet.
    """

    is_shared = False
    compares_vectors = False

    def compares_words(self, rows: int) -> bool:
        return False

    def ensure(self, collection: str, dimension: int) -> bool:
        return False

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        pass

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        pass

    def flush(self, collection: str) -> None:
        pass

    def drop(self, collection: str) -> None:
        pass

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        return []

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        return []

    def count(self, collection: str) -> int:
        return 0

    def ids(self, collection: str) -> set[str]:
        return set()

    def close(self) -> None:
        pass


def open_store(folder: Path, socket: Path, uri: str = "", token: str = "", name: str = "") -> Store:
    """
    Args:
        folder, socket: Milvus Lite's data, and where it listens, where *uri* is empty.
        uri, token: a Milvus server or Zilliz Cloud. name: of the collection there.

    Raises:
        StoreBusy: another one has it open. Unreachable: it can't be opened.
    """
    if uri:
        from memsearch_engine.index.server import Server

        return Server(uri, token, name)
    from memsearch_engine.index.lite import Lite

    return Lite(folder, socket)
