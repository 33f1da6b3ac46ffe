"""The common part of the stores on Milvus Lite, a Milvus server and Zilliz Cloud: pymilvus.

``lite.py`` and ``server.py`` define the collection that contains a project's rows.
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
from memsearch_engine.index.stores.base import StoreRow

_BATCH_ROWS = 500
_BATCH_CHARS = 4_000_000
_MAX_TERMS = 65_000  # bytes; VARCHAR ends at 65,535
_MAX_FIELD = 512  # bytes
_FIELDS = ("day", "agent", "session", "kind")
#: Timeouts in seconds. Without a timeout, pymilvus tries a call 75 times.
CONNECT_S, WRITE_S = 5.0, 20.0

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)


@lru_cache(maxsize=1)
def pymilvus() -> Any:
    """Import pymilvus without loading a ``.env`` file.

    Its import loads the next ``.env`` file above its own folder into the environment. Such a file
    could set proxies, keys and paths of this process.
    """
    import dotenv

    loading = dotenv.load_dotenv
    dotenv.load_dotenv = lambda *args, **kwargs: False
    try:
        import pymilvus as found
    finally:
        dotenv.load_dotenv = loading
    return found


def reason_of(error: BaseException) -> str:
    """Return the server's message of an error, in one line.

    pymilvus wraps it in its own exception, and gRPC in five lines of text.
    """
    inner: BaseException | None = error
    found = ""
    for _ in range(10):  # the chain of causes can be circular
        details = getattr(inner, "details", None)
        if callable(details) and details():
            found = str(details())
        inner = inner and (inner.__cause__ or inner.__context__)
    found = found or str(getattr(error, "message", "") or error)
    return " ".join(found.split())[:300]


def _clip(text: str, size: int) -> str:
    """Cut *text* to *size* bytes, because servers count bytes and Lite counts characters."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


class MilvusStore:
    """An open store behind a Milvus client.

    Attributes:
        search_s: timeout of a search in seconds.
        indexes_at_once: an index is ready as soon as it was created.
        has_bm25: rows have terms, from which a BM25 function makes sparse vectors.
        tokenizer: tokenizer of the analyzer that splits the terms.
    """

    search_s = 3.0
    indexes_at_once = False
    has_bm25 = True
    tokenizer = "standard"

    def __init__(self, uri: str, token: str, what: str, hint: str) -> None:
        """Connect.

        Args:
            uri, token: address and token of the server.
            what: name of the store in error messages.
            hint: advice in error messages.

        Raises:
            Unreachable: the server does not answer, or refuses.
        """
        self._loaded: set[str] = set()
        self._ensuring = threading.RLock()
        self._client: Any = None
        options = network.grpc_options(uri)
        try:
            # dedicated: otherwise pymilvus returns an earlier connection and reports a server as
            # reachable that is not
            self._client = pymilvus().MilvusClient(
                uri=uri, token=token, timeout=CONNECT_S, dedicated=True, grpc_options=options
            )
            self._greet()
        except Exception as error:
            self.close()
            raise Unreachable(f"{what} can't be opened: {reason_of(error)}", hint) from error

    def _greet(self) -> None:
        """Check that the server answers, and determine its abilities."""

    def describe(self) -> str:
        """See ``Store``."""
        return ""

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(Exception):
            self._client.close()

    # -- names and additional fields of a project's rows

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

    def _add_fields(self, schema: Any) -> None:
        """Add the fields that only this kind of store has."""

    # -- writing

    def ensure(self, collection: str, dimension: int) -> bool:
        """See ``Store``."""
        name = self._physical(collection)
        with self._ensuring:
            return name not in self._loaded and self._ensure(name, dimension)

    def _ensure(self, name: str, dimension: int) -> bool:
        """Create and load a collection; return whether it was created."""
        exists = self._client.has_collection(name, timeout=CONNECT_S)
        if exists and not self._is_usable(name, dimension):
            self._client.drop_collection(name, timeout=WRITE_S)
            exists = False
        if not exists:
            self._create(name, dimension)
        self._client.load_collection(name, timeout=WRITE_S)
        self._loaded.add(name)
        return not exists

    def _is_usable(self, name: str, dimension: int) -> bool:
        """Return whether a collection has vectors of this dimension."""
        described = self._client.describe_collection(name, timeout=CONNECT_S)
        fields = {field["name"]: field for field in described["fields"]}
        found = fields.get("vector", {}).get("params", {}).get("dim")
        return str(found) == str(dimension)

    def _create(self, name: str, dimension: int) -> None:
        schema = self._schema(dimension)
        indexes = self._client.prepare_index_params()
        # exact search: for collections of one developer, a flat scan is as fast as a graph and
        # finds everything (docs/performance.md). Zilliz Cloud uses its approximate AUTOINDEX.
        indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
        if self.has_bm25:
            indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        self._client.create_collection(
            name, schema=schema, consistency_level="Strong", timeout=WRITE_S
        )
        # with sync, pymilvus sleeps half a second before it checks whether the index is ready
        self._client.create_index(name, indexes, timeout=WRITE_S, sync=not self.indexes_at_once)

    def _schema(self, dimension: int) -> Any:
        types = pymilvus().DataType
        schema = pymilvus().MilvusClient.create_schema(enable_dynamic_field=False)
        schema.add_field("chunk_id", types.VARCHAR, is_primary=True, max_length=64)
        schema.add_field("vector", types.FLOAT_VECTOR, dim=dimension)
        for field in _FIELDS:
            schema.add_field(field, types.VARCHAR, max_length=_MAX_FIELD)
        self._add_fields(schema)
        if self.has_bm25:
            schema.add_field(
                "terms",
                types.VARCHAR,
                max_length=65_535,
                enable_analyzer=True,
                analyzer_params={"tokenizer": self.tokenizer},
            )
            schema.add_field("sparse", types.SPARSE_FLOAT_VECTOR)
            schema.add_function(
                pymilvus().Function(
                    "bm25",
                    pymilvus().FunctionType.BM25,
                    input_field_names=["terms"],
                    output_field_names=["sparse"],
                )
            )
        return schema

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        """See ``Store``."""
        batch: list[dict[str, Any]] = []
        size = 0
        for row in rows:
            values = {
                "chunk_id": self._key(collection, row.chunk_id),
                "vector": row.vector,
                "day": row.day,
                "agent": _clip(row.agent, _MAX_FIELD),
                "session": _clip(row.session, _MAX_FIELD),
                "kind": row.kind,
            }
            if self.has_bm25:
                values["terms"] = _clip(row.terms, _MAX_TERMS) or "_"  # BM25 of nothing is NaN
            batch.append(self._row(collection, values))
            size += len(row.terms)
            if len(batch) >= _BATCH_ROWS or size >= _BATCH_CHARS:
                self._client.upsert(self._physical(collection), batch, timeout=WRITE_S)
                batch, size = [], 0
        if batch:
            self._client.upsert(self._physical(collection), batch, timeout=WRITE_S)

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        """See ``Store``."""
        ids = [self._key(collection, chunk_id) for chunk_id in chunk_ids]
        name = self._physical(collection)
        for start in range(0, len(ids), _BATCH_ROWS):
            self._client.delete(name, ids=ids[start : start + _BATCH_ROWS], timeout=WRITE_S)

    def flush(self, collection: str) -> None:
        """See ``Store``."""

    def drop(self, collection: str) -> None:
        """See ``Store``."""
        self._loaded.discard(collection)
        if self._client.has_collection(collection, timeout=CONNECT_S):
            self._client.drop_collection(collection, timeout=WRITE_S)

    # -- reading

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """See ``Store``."""
        return self._search(collection, vector.tolist(), "vector", limit, where)

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """See ``Store``."""
        if not terms or not self.has_bm25:
            return []
        found = self._search(collection, " ".join(terms), "sparse", limit, where)
        # Lite returns negative BM25 scores
        return [(chunk_id, abs(score)) for chunk_id, score in found]

    def count(self, collection: str) -> int:
        """See ``Store``."""
        name = self._physical(collection)
        if not self._client.has_collection(name, timeout=CONNECT_S):
            return 0
        found = self._client.query(
            name,
            filter=self._expression(collection, Filter()),
            output_fields=["count(*)"],
            timeout=CONNECT_S,
        )
        return int(found[0]["count(*)"])

    def ids(self, collection: str) -> set[str]:
        """See ``Store``. Lite's iterator returns its last batch twice."""
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
