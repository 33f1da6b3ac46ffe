"""The store on a Milvus server or Zilliz Cloud, which several homes may share.

The rows of a home and a model are in one collection named after both, for all projects, because a
free cluster has only five collections. A reset, a scrub or a new model of one home therefore does
not change rows of another home. Notes of other homes do not affect the weights of words, and a
search compares one person's notes only.

A server below version 2.5 has no BM25 function. It searches by meaning, and the catalog by words.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from memsearch_engine.core import network
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.index.rows import Filter
from memsearch_engine.secrets.fingerprint import named

_KEY, _OLD_KEY = 12, 6
_FULL_TEXT_SINCE = (2, 5)
_BATCH_ROWS = 500
_BATCH_CHARS = 4_000_000
_MAX_TERMS = 65_000  # bytes; VARCHAR ends at 65,535
_MAX_FIELD = 512  # bytes
_FIELDS = ("day", "agent", "session", "kind")
#: Timeouts in seconds. Without a timeout, pymilvus tries a call 75 times.
_CONNECT_S, _WRITE_S, _SEARCH_S = 5.0, 20.0, 3.0
_NO_FILTER = Filter()


logging.getLogger("pymilvus").setLevel(logging.CRITICAL)


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


class ServerAbilities(msgspec.Struct, frozen=True):
    """The abilities of a server, by its version.

    Attributes:
        version: the version that the server reports; '' if it reports none.
        is_lite: whether it is `milvus-lite server`, which differs from Milvus servers.
        full_text: whether it has sparse vectors and the BM25 function (2.5 and later).
        partition_keys: whether a partition key separates the rows of projects. 2.3 has them but
            loses rows: an equality filter on the key does not find what ``upsert`` has written
            (seen with 2.3.5).
    """

    version: str
    is_lite: bool
    full_text: bool
    partition_keys: bool

    @classmethod
    def of(cls, version: str) -> ServerAbilities:
        """Parse a version. A server without a version (Zilliz Cloud) counts as current."""
        number = re.match(r"v?(\d+)\.(\d+)", version)
        # the server in PyPI's package `milvus` reports "v2.3.5-lite" but is not Milvus Lite
        is_lite = "lite" in version and not number
        is_old = number is not None and (int(number[1]), int(number[2])) < _FULL_TEXT_SINCE
        return cls(version, is_lite, full_text=not is_old, partition_keys=not is_old)

    def words(self) -> str:
        """Return a sentence for people about missing abilities."""
        name = f"Milvus {self.version.removeprefix('v')}" if self.version else "Milvus"
        if self.full_text:
            return f"{name}: searches by meaning and by words"
        return (
            f"{name}: searches by meaning; it has no BM25 function, sparse vectors or reliable"
            " partition keys (2.5 and later do), so the catalog searches by words"
        )


def name_of(home: Home, fingerprint: str) -> str:
    """Return the name of the collection of a home and a model."""
    return f"memsearch_{fingerprint[-8:]}_{named(home, 'milvus')[:_KEY]}"


def is_own(name: str, home: Home) -> bool:
    """Return whether a collection belongs to this home, for any model.

    The collections per project of versions before 0.5 are included.
    """
    key = named(home, "milvus")
    return bool(
        re.fullmatch(rf"memsearch_\w{{8}}_{key[:_KEY]}|ms_.*_\w{{8}}_{key[:_OLD_KEY]}", name)
    )


class MilvusServerStore:
    """An open server. Callers name the collection of a project.

    Attributes:
        name: name of the collection on the server.
        abilities: the abilities of the server, determined once.
        tokenizer: tokenizer of the analyzer that splits the terms. Terms are separated by blanks.
            The standard tokenizer of a server would cut them at ``_``, but that of
            `milvus-lite server` does not.
    """

    def __init__(self, uri: str, token: str, name: str) -> None:
        """Connect.

        Raises:
            Unreachable: the server does not answer, or refuses.
        """
        network.check(uri)
        self.name = name
        self._is_loaded = False  # whether the collection was checked and loaded
        self._is_new = False  # whether this process created the collection, without rows
        self._emptied: set[str] = set()  # projects for which ``ensure`` has reported lost rows
        self._ensuring = threading.RLock()
        self._client: Any = None
        options = network.grpc_options(uri)
        try:
            # dedicated: otherwise pymilvus returns an earlier connection and reports a server as
            # reachable that is not
            self._client = pymilvus().MilvusClient(
                uri=uri,
                token=token,
                timeout=_CONNECT_S,
                dedicated=True,
                grpc_options=options,
            )
            self._client.has_collection("memsearch", timeout=_CONNECT_S)
            self.abilities = ServerAbilities.of(self._version())
        except Exception as error:
            self.close()
            raise Unreachable(
                f"Milvus at {uri} can't be opened: {reason_of(error)}",
                "check milvus.uri and milvus.token",
            ) from error
        self.tokenizer = "standard" if self.abilities.is_lite else "whitespace"

    def _version(self) -> str:
        try:
            return str(self._client.get_server_version(timeout=_CONNECT_S))
        except pymilvus().MilvusException:  # a cloud service may refuse the request
            return ""

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(Exception):
            self._client.close()

    # -- the collection, which has the rows of all projects

    def ensure(self, collection: str, dimension: int) -> bool:
        """Create and load the collection.

        A collection of another dimension is replaced, because it is only a cache.

        Returns:
            Whether earlier rows of the project are gone: true once per project after the collection
            was created.
        """
        with self._ensuring:
            if not self._is_loaded and self._load(dimension):
                self._is_new, self._emptied = True, set()
            if self._is_new and collection not in self._emptied:
                self._emptied.add(collection)
                return True
            return False

    def _load(self, dimension: int) -> bool:
        """Create and load the collection; return whether it was created."""
        exists = self._client.has_collection(self.name, timeout=_CONNECT_S)
        if exists and not self._is_usable(dimension):
            self._client.drop_collection(self.name, timeout=_WRITE_S)
            exists = False
        if not exists:
            self._create(dimension)
        self._client.load_collection(self.name, timeout=_WRITE_S)
        self._is_loaded = True
        return not exists

    def _is_usable(self, dimension: int) -> bool:
        """Return whether the collection has the dimension, and all fields and indexes.

        Its creation may have failed halfway, another version of this program may have created it,
        and the server may have been upgraded since.
        """
        indexes = {"vector", "sparse"} if self.abilities.full_text else {"vector"}
        if not indexes <= set(self._client.list_indexes(self.name, timeout=_CONNECT_S)):
            return False
        described = self._client.describe_collection(self.name, timeout=_CONNECT_S)
        fields = {field["name"]: field for field in described["fields"]}
        wanted = {field.name for field in self._schema(dimension).fields}
        return wanted <= fields.keys() and str(fields["vector"]["params"]["dim"]) == str(dimension)

    def _create(self, dimension: int) -> None:
        indexes = self._client.prepare_index_params()
        # exact search: for collections of one developer, a flat scan is as fast as a graph and
        # finds everything (docs/performance.md). Zilliz Cloud uses its approximate AUTOINDEX.
        indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
        if self.abilities.full_text:
            indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        try:
            self._create_with(self._schema(dimension), indexes)
        except pymilvus().MilvusException as error:
            # compatible servers of other makers may not know the tokenizer
            if not re.search(r"(?i)tokenizer|analyzer", str(error)):
                raise
            self.tokenizer = "standard"
            self._create_with(self._schema(dimension), indexes)

    def _create_with(self, schema: Any, indexes: Any) -> None:
        self._client.create_collection(
            self.name, schema=schema, consistency_level="Strong", timeout=_WRITE_S
        )
        self._client.create_index(self.name, indexes, timeout=_WRITE_S)

    def _schema(self, dimension: int) -> Any:
        types = pymilvus().DataType
        schema = pymilvus().MilvusClient.create_schema(enable_dynamic_field=False)
        schema.add_field("chunk_id", types.VARCHAR, is_primary=True, max_length=64)
        schema.add_field("vector", types.FLOAT_VECTOR, dim=dimension)
        for field in _FIELDS:
            schema.add_field(field, types.VARCHAR, max_length=_MAX_FIELD)
        schema.add_field(
            "project",
            types.VARCHAR,
            max_length=64,
            is_partition_key=self.abilities.partition_keys,
        )
        if self.abilities.full_text:
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

    def drop(self, collection: str) -> None:
        """Delete all rows of a project."""
        if not self._client.has_collection(self.name, timeout=_CONNECT_S):
            return
        self._client.load_collection(self.name, timeout=_WRITE_S)
        where = _expression(collection)
        self._client.delete(self.name, filter=where, timeout=_WRITE_S)
        # new rows may have vectors of another length, so the collection is checked again
        self._is_loaded = False

    def drop_others(self, home: Home, keep: Iterable[str]) -> list[str]:
        """Drop all collections of this home except *keep*; return their names."""
        gone = [
            name
            for name in self._client.list_collections(timeout=_CONNECT_S)
            if is_own(name, home) and name not in keep
        ]
        for name in gone:
            self._client.drop_collection(name, timeout=_WRITE_S)
        return gone

    # -- writing

    def upsert(self, collection: str, rows: Iterable[StoreRow]) -> None:
        """Write rows and replace those with the same chunk ids."""
        batch: list[dict[str, Any]] = []
        size = 0
        for row in rows:
            values = {
                "chunk_id": _key(collection, row.chunk_id),
                "vector": row.vector,
                "day": row.day,
                "agent": _clip(row.agent, _MAX_FIELD),
                "session": _clip(row.session, _MAX_FIELD),
                "kind": row.kind,
                "project": _project(collection),
            }
            if self.abilities.full_text:
                values["terms"] = _clip(row.terms, _MAX_TERMS) or "_"  # BM25 of nothing is NaN
            batch.append(values)
            size += len(row.terms)
            if len(batch) >= _BATCH_ROWS or size >= _BATCH_CHARS:
                self._client.upsert(self.name, batch, timeout=_WRITE_S)
                batch, size = [], 0
        if batch:
            self._client.upsert(self.name, batch, timeout=_WRITE_S)

    def delete(self, collection: str, chunk_ids: Iterable[str]) -> None:
        """Delete rows. Missing rows are not an error."""
        ids = [_key(collection, chunk_id) for chunk_id in chunk_ids]
        for start in range(0, len(ids), _BATCH_ROWS):
            self._client.delete(self.name, ids=ids[start : start + _BATCH_ROWS], timeout=_WRITE_S)

    def flush(self) -> None:
        """Flush `milvus-lite server`, which never flushes by itself.

        A Milvus server flushes by itself and refuses too frequent requests.
        """
        if self.abilities.is_lite:
            self._client.flush(self.name, timeout=_WRITE_S)

    # -- reading

    def dense(
        self, collection: str, vector: np.ndarray, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the nearest rows, best first."""
        return self._search(collection, vector.tolist(), "vector", limit, where)

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        """Return (chunk id, BM25 score, higher is better), best first."""
        if not terms or not self.abilities.full_text:
            return []
        found = self._search(collection, " ".join(terms), "sparse", limit, where)
        # `milvus-lite server` returns negative BM25 scores
        return [(chunk_id, abs(score)) for chunk_id, score in found]

    def count(self, collection: str) -> int:
        """Return the number of a project's rows."""
        if not self._client.has_collection(self.name, timeout=_CONNECT_S):
            return 0
        found = self._client.query(
            self.name,
            filter=_expression(collection),
            output_fields=["count(*)"],
            timeout=_CONNECT_S,
        )
        return int(found[0]["count(*)"])

    def ids(self, collection: str) -> set[str]:
        """Return the chunk ids of all rows of a project."""
        found: set[str] = set()
        iterator = self._client.query_iterator(
            self.name,
            batch_size=5000,
            filter=_expression(collection),
            output_fields=["chunk_id"],
            timeout=_WRITE_S,
        )
        while batch := iterator.next():
            found.update(_chunk_id(row["chunk_id"]) for row in batch)
        iterator.close()
        return found

    def _search(
        self, collection: str, data: Any, field: str, limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        if not self._is_loaded or limit <= 0:
            return []
        result = self._client.search(
            self.name,
            data=[data],
            anns_field=field,
            limit=limit,
            filter=_expression(collection, where),
            output_fields=["chunk_id"],
            # this client's own writes are visible; "Strong" waits for the server's next time tick,
            # about 200 ms
            consistency_level="Session",
            timeout=_SEARCH_S,
        )
        return [(_chunk_id(hit["chunk_id"]), float(hit["distance"])) for hit in result[0]]


def _key(collection: str, chunk_id: str) -> str:
    return f"{_project(collection)}-{chunk_id}"


def _chunk_id(key: str) -> str:
    return key.rpartition("-")[2]


def _expression(collection: str, where: Filter = _NO_FILTER) -> str:
    """Return the condition on the rows of a project."""
    return " and ".join(filter(None, (f'project == "{_project(collection)}"', where.expression())))


def _clip(text: str, size: int) -> str:
    """Cut *text* to *size* bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _project(collection: str) -> str:
    """Return the part of a collection's name that identifies the project: eight digits."""
    return collection.rpartition("_")[2]
