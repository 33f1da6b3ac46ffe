"""What Milvus Lite, a Milvus server and Zilliz Cloud have in common: pymilvus, dense vectors and
BM25 over our own terms. Callers name a project's collection; ``lite.py`` and ``server.py`` say
where its rows lie.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from memsearch_engine.core import network
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.store import StoreRow

_BATCH_ROWS = 500
_BATCH_CHARS = 4_000_000
_MAX_TERMS = 65_000  # VARCHAR ends at 65,535
_FIELDS = ("day", "agent", "session", "kind")
CONNECT_S, WRITE_S = 5.0, 20.0  # without a deadline pymilvus tries a call 75 times

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)


@lru_cache(maxsize=1)
def pymilvus() -> Any:
    """pymilvus, imported without what it does beside: it loads the next ``.env`` above its own
    folder into the environment, and whoever may write there would set our proxies, keys and paths.
    """
    import dotenv

    loading = dotenv.load_dotenv
    dotenv.load_dotenv = lambda *args, **kwargs: False
    try:
        import pymilvus as found
    finally:
        dotenv.load_dotenv = loading
    return found


def said_by(error: BaseException) -> str:
    """What a server said, in one line: pymilvus wraps it in what it makes of it, gRPC in five lines
    of its own.
    """
    inner: BaseException | None = error
    said = ""
    for _ in range(10):  # the chain can lead back to its beginning
        details = getattr(inner, "details", None)
        if callable(details) and details():
            said = str(details())
        inner = inner and (inner.__cause__ or inner.__context__)
    said = said or str(getattr(error, "message", "") or error)
    return " ".join(said.split())[:300]


def _clip(text: str, size: int) -> str:
    """*text* within *size* bytes: servers count bytes, Lite counts characters."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


class Milvus:
    """An open store behind a Milvus client."""

    #: Seconds that a search may take.
    search_s = 3.0
    #: Whether an index is there as soon as it was asked for.
    indexes_at_once = False

    def __init__(self, uri: str, token: str, what: str, hint: str) -> None:
        """
        Args:
            what, hint: what can't be opened, and what to do then.
        """
        self._loaded: set[str] = set()
        self._ensuring = threading.RLock()
        self._client: Any = None
        options = network.grpc_options(uri)
        try:
            # dedicated: pymilvus would hand out a connection that it had made before, and say of a
            # server that is away that it is there
            self._client = pymilvus().MilvusClient(
                uri=uri, token=token, timeout=CONNECT_S, dedicated=True, grpc_options=options
            )
            self._greet()
        except Exception as error:
            self.close()
            raise Unreachable(f"{what} can't be opened: {said_by(error)}", hint) from error

    def _greet(self) -> None:
        """Find out whether it answers."""

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close()

    # -- writing

    def ensure(self, collection: str, dimension: int) -> bool:
        """Create and load the collection. A collection of another dimension is replaced: it is a
        cache. Returns whether it was made now, and so is empty.
        """
        name = self._physical(collection)
        with self._ensuring:
            return name not in self._loaded and self._ensure(name, dimension)

    # what a row of a project is called, and what is in it beside what all have

    def _physical(self, collection: str) -> str:
        return collection

    def _key(self, collection: str, chunk_id: str) -> str:
        return chunk_id

    def _chunk_id(self, key: str) -> str:
        return key

    def _row(self, collection: str, row: dict[str, Any]) -> dict[str, Any]:
        return row

    def _expression(self, collection: str, where: Filter) -> str:
        return where.expression()

    def _fields(self, schema: Any) -> None:
        """Add what a store's rows have beside the common fields."""

    def _ensure(self, collection: str, dimension: int) -> bool:
        if self._client.has_collection(collection, timeout=CONNECT_S):
            described = self._client.describe_collection(collection, timeout=CONNECT_S)
            fields = {f["name"]: f for f in described["fields"]}
            if not self._is_whole(collection) or fields.get("vector", {}).get("params", {}).get(
                "dim"
            ) not in (
                dimension,
                str(dimension),
            ):
                self._client.drop_collection(collection, timeout=WRITE_S)
        made = not self._client.has_collection(collection, timeout=CONNECT_S)
        if made:
            self._create(collection, dimension)
        self._client.load_collection(collection, timeout=WRITE_S)
        self._loaded.add(collection)
        return made

    def _is_whole(self, collection: str) -> bool:
        return True

    def _create(self, collection: str, dimension: int) -> None:
        self._create_with(collection, dimension, "standard")

    def _create_with(self, collection: str, dimension: int, tokenizer: str) -> None:
        DataType, Function = pymilvus().DataType, pymilvus().Function
        FunctionType, MilvusClient = pymilvus().FunctionType, pymilvus().MilvusClient

        schema = MilvusClient.create_schema(enable_dynamic_field=False)
        schema.add_field("chunk_id", DataType.VARCHAR, is_primary=True, max_length=64)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
        schema.add_field(
            "terms",
            DataType.VARCHAR,
            max_length=65_535,
            enable_analyzer=True,
            analyzer_params={"tokenizer": tokenizer},
        )
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        for field in _FIELDS:
            schema.add_field(field, DataType.VARCHAR, max_length=512)
        self._fields(schema)
        schema.add_function(
            Function(
                "bm25",
                FunctionType.BM25,
                input_field_names=["terms"],
                output_field_names=["sparse"],
            )
        )
        indexes = self._client.prepare_index_params()
        # exact search: at a developer's sizes a flat scan is as fast as a graph and misses nothing
        # (docs/guide.md, How fast); Zilliz Cloud puts its own AUTOINDEX, which is approximate, in
        # the place of any other
        indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        self._client.create_collection(
            collection, schema=schema, consistency_level="Strong", timeout=WRITE_S
        )
        # waiting for one begins with half a second of sleep in pymilvus, whatever it is waited for
        self._client.create_index(
            collection, indexes, timeout=WRITE_S, sync=not self.indexes_at_once
        )

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        batch: list[dict[str, Any]] = []
        size = 0
        for row in rows:
            values = {
                "chunk_id": self._key(collection, row.chunk_id),
                "vector": row.vector,
                "terms": _clip(row.terms, _MAX_TERMS) or "_",  # BM25 of an empty text is NaN
                "day": row.day,
                "agent": _clip(row.agent, 512),
                "session": _clip(row.session, 512),
                "kind": row.kind,
            }
            batch.append(self._row(collection, values))
            size += len(row.terms)
            if len(batch) >= _BATCH_ROWS or size >= _BATCH_CHARS:
                self._client.upsert(self._physical(collection), batch, timeout=WRITE_S)
                batch, size = [], 0
        if batch:
            self._client.upsert(self._physical(collection), batch, timeout=WRITE_S)

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        ids, name = (
            [self._key(collection, chunk_id) for chunk_id in chunk_ids],
            self._physical(collection),
        )
        for start in range(0, len(ids), _BATCH_ROWS):
            self._client.delete(name, ids=ids[start : start + _BATCH_ROWS], timeout=WRITE_S)

    def flush(self, collection: str) -> None:
        """Make what was written fast to search, where the store does not do so by itself."""

    def drop(self, collection: str) -> None:
        self._loaded.discard(collection)
        if self._client.has_collection(collection, timeout=CONNECT_S):
            self._client.drop_collection(collection, timeout=WRITE_S)

    # -- reading

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """(chunk id, cosine) of the nearest rows, best first."""
        return self._search(collection, vector.tolist(), "vector", limit, where)

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """(chunk id, BM25 score, higher is better), best first."""
        if not terms:
            return []
        found = self._search(collection, " ".join(terms), "sparse", limit, where)
        return [
            (chunk_id, abs(score)) for chunk_id, score in found
        ]  # Lite returns BM25 with its sign turned

    def count(self, collection: str) -> int:
        name = self._physical(collection)
        if not self._client.has_collection(name, timeout=CONNECT_S):
            return 0
        asked = self._expression(collection, Filter())
        found = self._client.query(
            name, filter=asked, output_fields=["count(*)"], timeout=CONNECT_S
        )
        return int(found[0]["count(*)"])

    def ids(self, collection: str) -> set[str]:
        """All primary keys, each once (Lite's iterator returns its last batch twice)."""
        found: set[str] = set()
        iterator = self._client.query_iterator(
            self._physical(collection),
            batch_size=5000,
            filter=self._expression(collection, Filter()),
            output_fields=["chunk_id"],
            timeout=WRITE_S,
        )
        while batch := iterator.next():
            found.update(self._chunk_id(row["chunk_id"]) for row in batch)
        iterator.close()
        return found

    def _search(
        self, collection: str, data: Any, field: str, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        name = self._physical(collection)
        if name not in self._loaded or limit <= 0:
            return []
        result = self._client.search(
            name,
            data=[data],
            anns_field=field,
            limit=limit,
            filter=self._expression(collection, where),
            output_fields=["chunk_id"],
            timeout=self.search_s,
        )
        return [(self._chunk_id(hit["chunk_id"]), float(hit["distance"])) for hit in result[0]]
