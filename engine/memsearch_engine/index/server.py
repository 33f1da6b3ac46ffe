"""A Milvus server, or Zilliz Cloud: searches for itself, and holds others' collections, too."""

from __future__ import annotations

import re

from memsearch_engine import network
from memsearch_engine.index.milvus import CONNECT_S, Milvus, pymilvus


class Server(Milvus):
    is_shared = True
    compares_vectors = True

    def __init__(self, uri: str, token: str) -> None:
        network.check(uri)
        super().__init__(uri, token, f"Milvus at {uri}", "check milvus.uri and milvus.token")

    def _greet(self) -> None:
        self._client.has_collection("memsearch", timeout=CONNECT_S)

    def compares_words(self, rows: int) -> bool:
        return True

    def _is_whole(self, collection: str) -> bool:
        """It may have failed between making it and making its indexes."""
        return {"vector", "sparse"} <= set(self._client.list_indexes(collection, timeout=CONNECT_S))

    def _create(self, collection: str, dimension: int) -> None:
        """Our terms are words between blanks: the standard tokenizer would cut them at ``_``. Servers that are none of Milvus' own may know
        no other."""
        try:
            self._create_with(collection, dimension, "whitespace")
        except pymilvus().MilvusException as error:
            if not re.search(r"(?i)tokenizer|analyzer", str(error)):  # a quota, say
                raise
            self._create_with(collection, dimension, "standard")
