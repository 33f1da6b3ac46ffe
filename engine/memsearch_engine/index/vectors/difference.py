"""Compute which chunks are new, changed or gone since the ledger was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog, ChunkKey
from memsearch_engine.index.milvus import StoreRow
from memsearch_engine.index.vectors.embeddings import EmbeddingStore
from memsearch_engine.index.vectors.ledger import LedgerRow

_BATCH = 500  # rows


class Difference(NamedTuple):
    """The work to do on a collection.

    Attributes:
        keys: chunk id -> key, for all chunks of the catalog.
        new: chunk id -> row to write.
        vectors: text hash -> vector, for the new rows.
        gone: chunk ids to delete.
    """

    keys: dict[str, ChunkKey]
    new: dict[str, LedgerRow]
    vectors: dict[str, np.ndarray]
    gone: list[str]

    def batches(self, catalog: Catalog) -> Iterator[list[StoreRow]]:
        """Yield the rows for a server. Chunks that were deleted from the catalog are skipped."""
        names = list(self.new)
        for start in range(0, len(names), _BATCH):
            keys = [self.keys[name] for name in names[start : start + _BATCH]]
            texts = catalog.texts(key.row for key in keys)
            yield [
                StoreRow(
                    key.chunk_id,
                    self.vectors[key.text_hash],
                    " ".join(analyze.terms(texts[key.row])),
                    key.day,
                    key.agent,
                    key.session,
                    key.kind,
                )
                for key in keys
                if key.row in texts
            ]


class Wanted(NamedTuple):
    """The chunks of a project that a collection should contain, by chunk id."""

    keys: dict[str, ChunkKey]

    @classmethod
    def of(cls, catalog: Catalog, project: str) -> Wanted:
        """Read the chunks from the catalog. If several files contain a chunk, the oldest counts."""
        keys: dict[str, ChunkKey] = {}
        for key in catalog.chunk_keys(project):
            keys.setdefault(key.chunk_id, key)
        return cls(keys)

    def difference(
        self,
        catalog: Catalog,
        there: dict[str, LedgerRow],
        embeddings: EmbeddingStore,
        by_script: bool,
    ) -> Difference:
        """Compare the wanted chunks with the ledger.

        Args:
            there: the ledger's rows of the collection.
            embeddings: only chunks with a vector in it are written.
            by_script: whether the model's vectors are centered by script.
        """
        scripts = self._scripts(catalog, there) if by_script else {}
        rows = {
            name: LedgerRow(
                (key.day, key.agent, key.session, key.kind), scripts.get(name), key.text_hash
            )
            for name, key in self.keys.items()
        }
        new = {name: row for name, row in rows.items() if there.get(name) != row}
        # a chunk that got a prompt is served by its old vector until the new one is made
        vectors = embeddings.get(row.text_hash for row in new.values())
        new = {name: row for name, row in new.items() if row.text_hash in vectors}
        gone = [name for name in there if name not in self.keys]
        return Difference(self.keys, new, vectors, gone)

    def _scripts(self, catalog: Catalog, there: dict[str, LedgerRow]) -> dict[str, str]:
        """Return chunk id -> script of its text; from the ledger if the text is unchanged."""
        keys = self.keys
        scripts = {
            name: row.script
            for name, row in there.items()
            if row.script is not None and name in keys and keys[name].text_hash == row.text_hash
        }
        texts = catalog.texts(key.row for name, key in keys.items() if name not in scripts)
        for name, key in keys.items():
            if name not in scripts:
                scripts[name] = analyze.script(texts.get(key.row, ""))
        return scripts
