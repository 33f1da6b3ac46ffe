"""Store the vectors of a model durably, by the hash of the embedded text.

After a moved line, a renamed day file or a rebuilt store, the vectors are found here and nothing is
embedded again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import numpy as np

from memsearch_engine.index.vectors.database import VectorDatabase

_BATCH = 500  # text hashes in one query
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
        found: set[str] = set()
        for batch, marks in _batches(text_hashes):
            rows = self._database.query(
                f"SELECT text_hash FROM vectors WHERE text_hash IN ({marks})", batch
            )
            found.update(name for (name,) in rows)
        return found

    def get(self, text_hashes: Iterable[str]) -> dict[str, np.ndarray]:
        """Return text hash -> vector, for the texts that have one."""
        found: dict[str, np.ndarray] = {}
        for batch, marks in _batches(text_hashes):
            rows = self._database.query(
                f"SELECT text_hash, vector FROM vectors WHERE text_hash IN ({marks})", batch
            )
            found.update((name, np.frombuffer(blob, np.float32)) for name, blob in rows)
        return found

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
        return len(unused)


def _batches(names: Iterable[str]) -> Iterable[tuple[list[str], str]]:
    wanted = list(dict.fromkeys(names))
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        yield batch, ",".join("?" * len(batch))
