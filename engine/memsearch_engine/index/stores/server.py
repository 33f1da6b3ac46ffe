"""A Milvus server, or Zilliz Cloud: it searches for itself, and holds other homes' rows, too.

All that a home keeps there by one model lies in one collection named after both, whatever the
number of projects: a free cluster has five collections. So nobody's reset, scrub or new model
touches another home's rows, nobody's notes weigh another's words, and what a search compares grows
with one person's notes, not with a team's.

A server below 2.5 has no BM25 function. There meaning comes from the server, words from the
catalog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from memsearch_engine.core import network
from memsearch_engine.core.home import Home
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.stores.milvus import CONNECT_S, WRITE_S, Milvus, pymilvus
from memsearch_engine.secrets.fingerprint import named

_KEY, _OLD_KEY = 12, 6
_FULL_TEXT_SINCE = (2, 5)


class ServerAbilities(msgspec.Struct, frozen=True):
    """What a server can do, by the version that it names.

    Attributes:
        version: as the server says it; '' where it says none.
        is_lite: `milvus-lite server`, which others of Milvus' versions are not like.
        full_text: sparse vectors and the BM25 function (2.5 and later).
        partition_keys: rows of a project are told apart by a partition key. 2.3 has them, but loses
            rows: what ``upsert`` writes is not found by an equality filter on the key (seen with
            2.3.5).
    """

    version: str
    is_lite: bool
    full_text: bool
    partition_keys: bool

    @classmethod
    def of(cls, version: str) -> ServerAbilities:
        """Read a version. One that names none is taken for a current server (Zilliz Cloud)."""
        number = re.match(r"v?(\d+)\.(\d+)", version)
        # the server of PyPI's package `milvus` is called "v2.3.5-lite", and is none of Lite's
        is_lite = "lite" in version and not number
        is_old = number is not None and (int(number[1]), int(number[2])) < _FULL_TEXT_SINCE
        return cls(version, is_lite, full_text=not is_old, partition_keys=not is_old)

    def words(self) -> str:
        """Return a sentence for people."""
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
    """Return whether a collection is this home's, of any model.

    Versions before 0.5 had a collection for each project; those count, too.
    """
    key = named(home, "milvus")
    return bool(
        re.fullmatch(rf"memsearch_\w{{8}}_{key[:_KEY]}|ms_.*_\w{{8}}_{key[:_OLD_KEY]}", name)
    )


class Server(Milvus):
    """An open server.

    Attributes:
        name: of the collection.
        abilities: what the server can do, asked once.
    """

    is_shared = True
    compares_vectors = True

    def __init__(self, uri: str, token: str, name: str) -> None:
        """Connect. Raises Unreachable."""
        network.check(uri)
        self.name = name
        self.abilities = ServerAbilities.of("")
        self._is_new = False  # it was made by us now: no project has rows in it
        self._emptied: set[str] = set()  # projects that know that their earlier rows are gone
        super().__init__(uri, token, f"Milvus at {uri}", "check milvus.uri and milvus.token")

    def _greet(self) -> None:
        self._client.has_collection("memsearch", timeout=CONNECT_S)
        try:
            version = str(self._client.get_server_version(timeout=CONNECT_S))
        except pymilvus().MilvusException:  # a cloud may refuse to say
            version = ""
        self.abilities = ServerAbilities.of(version)
        self.has_bm25 = self.abilities.full_text
        # our terms are words between blanks: the standard tokenizer would cut them at ``_``. Lite's
        # does not
        self.tokenizer = "standard" if self.abilities.is_lite else "whitespace"

    def describe(self) -> str:
        """See ``Store``."""
        return self.abilities.words()

    def compares_words(self, rows: int) -> bool:
        """Return whether the server has the BM25 function."""
        return self.has_bm25

    def flush(self, collection: str) -> None:
        """Flush `milvus-lite server`, which never does so by itself.

        A Milvus server does, and refuses whoever asks too often.
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
        """See ``Store``: true once for each project, after the collection was made anew."""
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
        # whoever begins again may have vectors of another length
        self._loaded.discard(self.name)

    def drop_others(self, home: Home, keep: Iterable[str]) -> list[str]:
        """Drop all collections of this home but *keep*; return their names."""
        gone = [
            name
            for name in self._client.list_collections(timeout=CONNECT_S)
            if is_own(name, home) and name not in keep
        ]
        for name in gone:
            self._client.drop_collection(name, timeout=WRITE_S)
        return gone

    def _is_usable(self, name: str, dimension: int) -> bool:
        """Return whether it has all indexes and the fields of this server's version.

        Making it may have failed before its indexes, and the server may have been upgraded since.
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
            # servers that are not Milvus' own may know no other tokenizer
            if not re.search(r"(?i)tokenizer|analyzer", str(error)):
                raise
            self.tokenizer = "standard"
            super()._create(name, dimension)


def _project(collection: str) -> str:
    """Return a project's part of its collection's name: eight digits of its identity."""
    return collection.rpartition("_")[2]
