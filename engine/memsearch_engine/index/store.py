"""The Milvus store: one collection per project, dense vectors and BM25 over our own terms.

``uri`` selects Milvus Lite (a folder ending in ``.db``), a Milvus server or Zilliz Cloud; the code is the same. Two
facts of Lite 3.2 shape it: its own ``.db`` URI opens an unauthenticated TCP port on loopback, so the engine is served on
a private Unix socket instead; and rows that were not flushed are up to 39 times slower to search, so writers flush.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memsearch_engine import network
from memsearch_engine.errors import Unreachable
from memsearch_engine.index.rows import Filter

_BATCH_ROWS = 500
_BATCH_CHARS = 4_000_000
_MAX_TERMS = 65_000  # VARCHAR ends at 65,535
_FIELDS = ("day", "agent", "session", "kind")
_CONNECT_S, _SEARCH_S, _WRITE_S = 5.0, 3.0, 20.0  # without a deadline pymilvus tries a call 75 times
_LITE_S = 60.0  # its first search of a project builds tables

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)


@lru_cache(maxsize=1)
def _pymilvus() -> Any:
    """pymilvus, imported without what it does beside: it loads the next ``.env`` above its own folder into the environment, and
    whoever may write there would set our proxies, keys and paths."""
    import dotenv

    loading = dotenv.load_dotenv
    dotenv.load_dotenv = lambda *args, **kwargs: False
    try:
        import pymilvus
    finally:
        dotenv.load_dotenv = loading
    return pymilvus


def said_by(error: BaseException) -> str:
    """What a server said, in one line: pymilvus wraps it in what it makes of it, gRPC in five lines of its own."""
    inner: BaseException | None = error
    said = ""
    for _ in range(10):  # the chain can lead back to its beginning
        details = getattr(inner, "details", None)
        if callable(details) and details():
            said = str(details())
        inner = inner and (inner.__cause__ or inner.__context__)
    said = said or str(getattr(error, "message", "") or error)
    return " ".join(said.split())[:300]


class StoreRow(msgspec.Struct):
    chunk_id: str
    vector: np.ndarray
    terms: str
    day: str
    agent: str
    session: str
    kind: str


def _clip(text: str, size: int) -> str:
    """*text* within *size* bytes: servers count bytes, Lite counts signs."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


class Store:
    """An open store. Only the process that holds the service lock opens Lite."""

    def __init__(self, folder: Path, socket: Path, uri: str = "", token: str = "") -> None:
        """
        Args:
            folder: Milvus Lite's data folder, used when *uri* is empty.
            socket: where Lite's gRPC server listens.
            uri, token: a Milvus server or Zilliz Cloud.
        """
        self.is_lite = not uri
        self._server: Any = None
        self._db: Any = None
        self._socket = socket
        self._loaded: set[str] = set()
        self._ensuring = threading.Lock()
        MilvusClient = _pymilvus().MilvusClient

        if not self.is_lite:
            network.check(uri)
        try:
            if self.is_lite:
                uri = self._serve(folder, socket)
            # dedicated: pymilvus would hand out a connection that it had made before, and say of a server that is away that it is there
            self._client = MilvusClient(uri=uri, token=token, timeout=_CONNECT_S, dedicated=True)
            if not self.is_lite:
                self._client.has_collection("memsearch", timeout=_CONNECT_S)
        except Exception as error:
            self.close()
            what = f"the index in {folder}" if self.is_lite else f"Milvus at {uri}"
            hint = "`memsearch reset` builds a new one" if self.is_lite else "check milvus.uri and milvus.token"
            raise Unreachable(f"{what} can't be opened: {said_by(error)}", hint) from error

    def _serve(self, folder: Path, socket: Path) -> str:
        """Open the Lite engine and serve it to ourselves on a private Unix socket; no TCP port."""
        from milvus_lite.adapter.grpc.server import start_server_in_thread

        for part in (folder.parent.parent, folder.parent, folder):  # up to index/, and never a home that was removed
            part.mkdir(exist_ok=True)
        for stale in (socket, Path(f"{socket}:0")):
            stale.unlink(missing_ok=True)
        self._server, self._db, _ = start_server_in_thread(str(folder), host=f"unix:{socket}", port=0)
        name = Path(f"{socket}:0") if Path(f"{socket}:0").exists() else socket
        os.chmod(name, 0o600)
        return f"unix:{name}"

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close()
        if self._server is not None:
            self._server.stop(grace=1).wait(5)
        if self._db is not None:
            self._db.close()
        self._server = self._db = None
        if self.is_lite:
            Path(f"{self._socket}:0").unlink(missing_ok=True)

    # -- writing --------------------------------------------------------------------------------------------

    def ensure(self, collection: str, dimension: int) -> bool:
        """Create and load the collection. A collection of another dimension is replaced: it is a cache. Returns whether it was made
        now, and so is empty."""
        with self._ensuring:
            return collection not in self._loaded and self._ensure(collection, dimension)

    def _ensure(self, collection: str, dimension: int) -> bool:
        if self._client.has_collection(collection, timeout=_CONNECT_S):
            described = self._client.describe_collection(collection, timeout=_CONNECT_S)
            fields = {f["name"]: f for f in described["fields"]}
            # a server may have failed between making it and making its indexes
            whole = self.is_lite or {"vector", "sparse"} <= set(
                self._client.list_indexes(collection, timeout=_CONNECT_S)
            )
            if not whole or fields.get("vector", {}).get("params", {}).get("dim") not in (dimension, str(dimension)):
                self._client.drop_collection(collection, timeout=_WRITE_S)
        made = not self._client.has_collection(collection, timeout=_CONNECT_S)
        if made:
            self._create(collection, dimension)
        self._client.load_collection(collection, timeout=_WRITE_S)
        self._loaded.add(collection)
        return made

    def _create(self, collection: str, dimension: int) -> None:
        """Our terms are words between blanks: a server's standard tokenizer would cut them at ``_``. Lite, and servers that are
        none of Milvus' own, may know no other."""
        if not self.is_lite:
            try:
                self._create_with(collection, dimension, "whitespace")
                return
            except _pymilvus().MilvusException as error:
                if not re.search(r"(?i)tokenizer|analyzer", str(error)):  # a quota, say
                    raise
        self._create_with(collection, dimension, "standard")

    def _create_with(self, collection: str, dimension: int, tokenizer: str) -> None:
        DataType, Function = _pymilvus().DataType, _pymilvus().Function
        FunctionType, MilvusClient = _pymilvus().FunctionType, _pymilvus().MilvusClient

        schema = MilvusClient.create_schema(enable_dynamic_field=False)
        schema.add_field("chunk_id", DataType.VARCHAR, is_primary=True, max_length=32)
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
        schema.add_function(
            Function("bm25", FunctionType.BM25, input_field_names=["terms"], output_field_names=["sparse"])
        )
        indexes = self._client.prepare_index_params()
        # exact search: at a developer's sizes a flat scan is as fast as a graph and misses nothing (README, How fast); Zilliz Cloud
        # puts its own AUTOINDEX, which is approximate, in the place of any other
        indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        self._client.create_collection(
            collection, schema=schema, index_params=indexes, consistency_level="Strong", timeout=_WRITE_S
        )

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        batch: list[dict] = []
        size = 0
        for row in rows:
            batch.append(
                {
                    "chunk_id": row.chunk_id,
                    "vector": row.vector,
                    "terms": _clip(row.terms, _MAX_TERMS) or "_",  # BM25 of an empty text is NaN
                    "day": row.day,
                    "agent": _clip(row.agent, 512),
                    "session": _clip(row.session, 512),
                    "kind": row.kind,
                }
            )
            size += len(row.terms)
            if len(batch) >= _BATCH_ROWS or size >= _BATCH_CHARS:
                self._client.upsert(collection, batch, timeout=_WRITE_S)
                batch, size = [], 0
        if batch:
            self._client.upsert(collection, batch, timeout=_WRITE_S)

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        ids = list(chunk_ids)
        for start in range(0, len(ids), _BATCH_ROWS):
            self._client.delete(collection, ids=ids[start : start + _BATCH_ROWS], timeout=_WRITE_S)

    def flush(self, collection: str) -> None:
        """Make what was written fast to search. Only Lite needs it: a server does it by itself, and allows one in ten seconds."""
        if self.is_lite:
            self._client.flush(collection)

    def drop(self, collection: str) -> None:
        self._loaded.discard(collection)
        if self._client.has_collection(collection, timeout=_CONNECT_S):
            self._client.drop_collection(collection, timeout=_WRITE_S)

    def collections(self) -> list[str]:
        """All collections that the store holds, whosever they are."""
        return list(self._client.list_collections())

    # -- reading --------------------------------------------------------------------------------------------

    def dense(self, collection: str, vector: np.ndarray, limit: int, where: Filter) -> list[tuple[str, float]]:
        """(chunk id, cosine) of the nearest rows, best first."""
        return self._search(collection, vector.tolist(), "vector", limit, where)

    def bm25(self, collection: str, terms: list[str], limit: int, where: Filter) -> list[tuple[str, float]]:
        """(chunk id, BM25 score, higher is better), best first."""
        if not terms:
            return []
        found = self._search(collection, " ".join(terms), "sparse", limit, where)
        return [(chunk_id, abs(score)) for chunk_id, score in found]  # Lite returns BM25 with its sign turned

    def count(self, collection: str) -> int:
        if not self._client.has_collection(collection, timeout=_CONNECT_S):
            return 0
        found = self._client.query(collection, filter="", output_fields=["count(*)"], timeout=_CONNECT_S)
        return int(found[0]["count(*)"])

    def ids(self, collection: str) -> set[str]:
        """All primary keys, each once (Lite's iterator returns its last batch twice)."""
        found: set[str] = set()
        iterator = self._client.query_iterator(
            collection, batch_size=5000, output_fields=["chunk_id"], timeout=_WRITE_S
        )
        while batch := iterator.next():
            found.update(row["chunk_id"] for row in batch)
        iterator.close()
        return found

    def _search(self, collection: str, data: Any, field: str, limit: int, where: Filter) -> list[tuple[str, float]]:
        if collection not in self._loaded or limit <= 0:
            return []
        result = self._client.search(
            collection,
            data=[data],
            anns_field=field,
            limit=limit,
            filter=where.expression(),
            output_fields=["chunk_id"],
            timeout=_LITE_S if self.is_lite else _SEARCH_S,
        )
        return [(hit["chunk_id"], float(hit["distance"])) for hit in result[0]]
