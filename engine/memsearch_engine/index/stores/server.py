"""The store on a Milvus server or Zilliz Cloud, which several homes may share.

The rows of a home and a model are in one collection named after both, for all projects, because a
free cluster has only five collections. A reset, a scrub or a new model of one home therefore does
not change rows of another home. Notes of other homes do not affect the weights of words, and a
search compares one person's notes only.

A server below version 2.5 has no BM25 function. It searches by meaning, and the catalog by words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from memsearch_engine.core import network
from memsearch_engine.core.home import Home
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.stores.milvus import CONNECT_S, WRITE_S, MilvusStore, pymilvus
from memsearch_engine.secrets.fingerprint import named

_KEY, _OLD_KEY = 12, 6
_FULL_TEXT_SINCE = (2, 5)


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


class MilvusServerStore(MilvusStore):
    """An open server.

    Attributes:
        name: name of the collection.
        abilities: the abilities of the server, determined once.
    """

    is_shared = True
    compares_vectors = True

    def __init__(self, uri: str, token: str, name: str) -> None:
        """Connect. Raises Unreachable."""
        network.check(uri)
        self.name = name
        self.abilities = ServerAbilities.of("")
        self._is_new = False  # whether this process created the collection, without rows
        self._emptied: set[str] = set()  # projects for which ``ensure`` has reported lost rows
        super().__init__(uri, token, f"Milvus at {uri}", "check milvus.uri and milvus.token")

    def _greet(self) -> None:
        self._client.has_collection("memsearch", timeout=CONNECT_S)
        try:
            version = str(self._client.get_server_version(timeout=CONNECT_S))
        except pymilvus().MilvusException:  # a cloud service may refuse the request
            version = ""
        self.abilities = ServerAbilities.of(version)
        self.has_bm25 = self.abilities.full_text
        # terms are separated by blanks. The standard tokenizer of a server would cut them at ``_``,
        # but that of Lite does not
        self.tokenizer = "standard" if self.abilities.is_lite else "whitespace"

    def describe(self) -> str:
        """See ``Store``."""
        return self.abilities.words()

    def compares_words(self, rows: int) -> bool:
        """Return whether the server has the BM25 function."""
        return self.has_bm25

    def flush(self, collection: str) -> None:
        """Flush `milvus-lite server`, which never flushes by itself.

        A Milvus server flushes by itself and refuses too frequent requests.
        """
        if self.abilities.is_lite:
            self._client.flush(self.name, timeout=WRITE_S)

    # -- one collection for all projects

    def _physical(self, collection: str) -> str:
        return self.name

    def _key(self, collection: str, chunk_id: str) -> str:
        return f"{_project(collection)}-{chunk_id}"

    def _chunk_id(self, key: str) -> str:
        return key.rpartition("-")[2]

    def _row(self, collection: str, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "project": _project(collection)}

    def _expression(self, collection: str, where: Filter) -> str:
        return " and ".join(
            filter(None, (f'project == "{_project(collection)}"', where.expression()))
        )

    def ensure(self, collection: str, dimension: int) -> bool:
        """See ``Store``: true once per project after the collection was created."""
        with self._ensuring:
            if super().ensure(collection, dimension):
                self._is_new, self._emptied = True, set()
            if self._is_new and collection not in self._emptied:
                self._emptied.add(collection)
                return True
            return False

    def drop(self, collection: str) -> None:
        """See ``Store``."""
        if not self._client.has_collection(self.name, timeout=CONNECT_S):
            return
        self._client.load_collection(self.name, timeout=WRITE_S)
        where = self._expression(collection, Filter())
        self._client.delete(self.name, filter=where, timeout=WRITE_S)
        # new rows may have vectors of another length, so the collection is checked again
        self._loaded.discard(self.name)

    def drop_others(self, home: Home, keep: Iterable[str]) -> list[str]:
        """Drop all collections of this home except *keep*; return their names."""
        gone = [
            name
            for name in self._client.list_collections(timeout=CONNECT_S)
            if is_own(name, home) and name not in keep
        ]
        for name in gone:
            self._client.drop_collection(name, timeout=WRITE_S)
        return gone

    def _is_usable(self, name: str, dimension: int) -> bool:
        """Return whether the collection has all indexes and the fields for this server's version.

        Its creation may have failed halfway, and the server may have been upgraded since.
        """
        wanted = {"vector", "sparse"} if self.has_bm25 else {"vector"}
        indexes = set(self._client.list_indexes(name, timeout=CONNECT_S))
        return wanted <= indexes and super()._is_usable(name, dimension)

    def _add_fields(self, schema: Any) -> None:
        schema.add_field(
            "project",
            pymilvus().DataType.VARCHAR,
            max_length=64,
            is_partition_key=self.abilities.partition_keys,
        )

    def _create(self, name: str, dimension: int) -> None:
        try:
            super()._create(name, dimension)
        except pymilvus().MilvusException as error:
            # compatible servers of other makers may not know the tokenizer
            if not re.search(r"(?i)tokenizer|analyzer", str(error)):
                raise
            self.tokenizer = "standard"
            super()._create(name, dimension)


def _project(collection: str) -> str:
    """Return the part of a collection's name that identifies the project: eight digits."""
    return collection.rpartition("_")[2]
