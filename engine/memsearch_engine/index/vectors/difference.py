"""Compute which chunks are new, changed or gone since the ledger was written.

The vectors of a model are stored durably by the hash of the embedded text. After a moved line, a
renamed day file or a rebuilt store, they are found here and nothing is embedded again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from memsearch_engine.core.migrations import batches, rows_in
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog, ChunkKey
from memsearch_engine.index.milvus import StoreRow
from memsearch_engine.index.vectors.database import VectorDatabase
from memsearch_engine.index.vectors.ledger import LedgerRow

_BATCH = 500  # rows


class Difference(NamedTuple):
    """The work to do on a collection.

    Attributes:
        keys: chunk id -> key, for all chunks of the catalog.
        new: chunk id -> row to write.
        vectors: text hash -> vector, for the new rows.
        gone: chunk ids to delete.
        lacking: text hash -> chunk ids, of the other rows to write, which have no vector yet.
    """

    keys: dict[str, ChunkKey]
    new: dict[str, LedgerRow]
    vectors: dict[str, np.ndarray]
    gone: list[str]
    lacking: dict[str, set[str]]

    def batches(self, catalog: Catalog) -> Iterator[list[StoreRow]]:
        """Yield the rows for a server. Chunks that were deleted from the catalog are skipped."""
        for names in batches(self.new, _BATCH):
            keys = [self.keys[name] for name in names]
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
    def of(cls, catalog: Catalog, project: str, chunk_ids: set[str] | None) -> Wanted:
        """Read the chunks from the catalog. If several files contain a chunk, the oldest counts.

        Args:
            chunk_ids: read only these; None: all.
        """
        keys: dict[str, ChunkKey] = {}
        for key in catalog.chunk_keys(project, chunk_ids):
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
            there: the ledger's rows of the same chunks.
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
        lacking: dict[str, set[str]] = {}
        for name, row in new.items():
            if row.text_hash not in vectors:
                lacking.setdefault(row.text_hash, set()).add(name)
        new = {name: row for name, row in new.items() if row.text_hash in vectors}
        gone = [name for name in there if name not in self.keys]
        return Difference(self.keys, new, vectors, gone, lacking)

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


_PRUNE_S = 86_400.0
#: Number of unused vectors that are not deleted, because an undo, a branch or a move can bring
#: texts back, and the least number to delete at once.
_SPARE, _WORTH_PRUNING = 2_000, 500


class EmbeddingStore:
    """The table ``vectors``: float32 vectors by text hash."""

    def __init__(self, database: VectorDatabase) -> None:
        self._database = database

    def known(self, text_hashes: Iterable[str]) -> set[str]:
        """Return the hashes of the texts that have a vector."""
        sql = "SELECT text_hash FROM vectors WHERE text_hash IN ({})"
        return {name for (name,) in rows_in(self._database.query, sql, set(text_hashes))}

    def get(self, text_hashes: Iterable[str]) -> dict[str, np.ndarray]:
        """Return text hash -> vector, for the texts that have one."""
        batches = self._database.vectors(list(dict.fromkeys(text_hashes)))
        return {name: np.frombuffer(blob, np.float32) for some in batches for name, blob in some}

    def put(self, vectors: Mapping[str, np.ndarray]) -> None:
        """Store vectors by text hash."""
        with self._database.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO vectors (text_hash, vector) VALUES (?,?)",
                [(name, vector.tobytes()) for name, vector in vectors.items()],
            )

    def remove_other_lengths(self, dimension: int) -> int:
        """Delete vectors of another dimension; return their number.

        A model can change under the same name. The check reads every vector, so it is made once per
        dimension.
        """
        if self._database.value("dimension") == str(dimension):
            return 0
        self._database.remove_copies()
        gone = self._database.execute(
            "DELETE FROM vectors WHERE length(vector)<>?", (4 * dimension,)
        )
        self._database.put_value("dimension", str(dimension))
        return gone

    def is_pruning_due(self) -> bool:
        """Return true once a day for all services of a home, and record the time in the folder."""
        stamp = self._database.path.with_name("pruned")
        try:
            due = time.time() - stamp.stat().st_mtime > _PRUNE_S
        except FileNotFoundError:
            due = False
            stamp.touch()
        if due:
            stamp.touch()
        return due

    def prune(self, used: set[str]) -> int:
        """Delete vectors of texts that no note contains any more, except the newest ones.

        Args:
            used: the hashes of all texts of all projects (``Catalog.text_hashes``).

        Returns:
            The number of deleted vectors.
        """
        rows = self._database.query("SELECT rowid, text_hash FROM vectors ORDER BY rowid DESC")
        unused = [(rowid,) for rowid, name in rows if name not in used][_SPARE:]
        if len(unused) < _WORTH_PRUNING:
            return 0
        with self._database.transaction() as db:
            db.executemany("DELETE FROM vectors WHERE rowid=?", unused)
        self._database.execute("VACUUM")
        self._database.remove_copies()
        return len(unused)
