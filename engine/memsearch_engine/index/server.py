"""A Milvus server, or Zilliz Cloud: searches for itself, and holds others' rows, too.

Everything that a home keeps there by one model lies in one collection that is named after both,
whatever the number of projects: a free cluster has five. So nobody's reset, scrub or new model
touches another's rows, nobody's notes weigh another's words, and what is compared at a search grows
with one person's notes, not with a team's. Projects are told apart by a partition key.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from typing import Any

from memsearch_engine.core import network
from memsearch_engine.core.home import Home
from memsearch_engine.index.milvus import CONNECT_S, WRITE_S, Milvus, pymilvus
from memsearch_engine.index.rows import Filter
from memsearch_engine.secrets.fingerprint import named

_KEY, _OLD_KEY = 12, 6


def name_of(home: Home, fingerprint: str) -> str:
    """The collection of a home and a model."""
    return f"memsearch_{fingerprint[-8:]}_{named(home, 'milvus')[:_KEY]}"


def is_own(name: str, home: Home) -> bool:
    """Whether a collection is this home's, of any model; those of before 0.5, one for each project,
    included.
    """
    key = named(home, "milvus")
    return bool(
        re.fullmatch(rf"memsearch_\w{{8}}_{key[:_KEY]}|ms_.*_\w{{8}}_{key[:_OLD_KEY]}", name)
    )


class Server(Milvus):
    """
    Attributes:
        name: of the collection.
    """

    is_shared = True
    compares_vectors = True

    def __init__(self, uri: str, token: str, name: str) -> None:
        network.check(uri)
        self.name = name
        self._is_lite = False
        self._is_new = False  # it was made by us now: no project has rows in it
        self._told: set[str] = (
            set()
        )  # projects whose rows are known to be gone with what was there before
        super().__init__(uri, token, f"Milvus at {uri}", "check milvus.uri and milvus.token")

    def _greet(self) -> None:
        self._client.has_collection("memsearch", timeout=CONNECT_S)
        with contextlib.suppress(
            pymilvus().MilvusException
        ):  # one that does not say it is none of Lite's
            self._is_lite = "lite" in self._client.get_server_version(timeout=CONNECT_S)

    def compares_words(self, rows: int) -> bool:
        return True

    def flush(self, collection: str) -> None:
        """A Milvus server does it by itself, and refuses whoever asks too often; `milvus-lite
        server` never does.
        """
        if self._is_lite:
            self._client.flush(self.name, timeout=WRITE_S)

    # -- one collection for all

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
        """Of a project: whether what it had here is gone."""
        with self._ensuring:
            if super().ensure(collection, dimension):
                self._is_new, self._told = True, set()
            if self._is_new and collection not in self._told:
                self._told.add(collection)
                return True
            return False

    def drop(self, collection: str) -> None:
        """Take a project's rows out."""
        if self._client.has_collection(self.name, timeout=CONNECT_S):
            self._client.load_collection(self.name, timeout=WRITE_S)
            self._client.delete(
                self.name, filter=self._expression(collection, Filter()), timeout=WRITE_S
            )
            self._loaded.discard(
                self.name
            )  # whoever begins anew may have vectors of another length

    def drop_others(self, home: Home, keep: Iterable[str]) -> list[str]:
        """Take what this home has left there off the server, of models that are no more: all but
        *keep*. Returns the names.
        """
        gone = [
            name
            for name in self._client.list_collections(timeout=CONNECT_S)
            if is_own(name, home) and name not in keep
        ]
        for name in gone:
            self._client.drop_collection(name, timeout=WRITE_S)
        return gone

    def _is_whole(self, collection: str) -> bool:
        """It may have failed between making it and making its indexes."""
        return {"vector", "sparse"} <= set(self._client.list_indexes(collection, timeout=CONNECT_S))

    def _fields(self, schema: Any) -> None:
        schema.add_field(
            "project", pymilvus().DataType.VARCHAR, max_length=64, is_partition_key=True
        )

    def _create(self, collection: str, dimension: int) -> None:
        """Our terms are words between blanks: the standard tokenizer would cut them at ``_``.
        Lite's does not, and others that are none of Milvus' own may know no other, too.
        """
        try:
            self._create_with(collection, dimension, "standard" if self._is_lite else "whitespace")
        except pymilvus().MilvusException as error:
            if not re.search(r"(?i)tokenizer|analyzer", str(error)):  # a quota, say
                raise
            self._create_with(collection, dimension, "standard")


def _project(collection: str) -> str:
    """A project's part of its collection's name: eight digits of its identity."""
    return collection.rpartition("_")[2]
