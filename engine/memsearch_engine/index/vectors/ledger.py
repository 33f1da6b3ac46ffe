"""The ledger: a record of the chunks that can be searched, by collection.

The difference between the ledger and the catalog is the work to do. After a killed process, some
writes are repeated, which changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from memsearch_engine import __version__
from memsearch_engine.core.migrations import rows_in
from memsearch_engine.index.vectors.database import VectorDatabase

_BETWEEN = "\x1f"
_SCALARS = 4


class LedgerRow(NamedTuple):
    """The record of a chunk.

    Attributes:
        scalars: day, agent, session and kind.
        script: script of its text if the model's vectors are centered by script; else None.
    """

    scalars: tuple[str, ...]
    script: str | None
    text_hash: str

    def encoded(self) -> str:
        """Return scalars and script in their stored form."""
        return _BETWEEN.join(self.scalars if self.script is None else [*self.scalars, self.script])

    @classmethod
    def decoded(cls, scalars: str, text_hash: str = "") -> LedgerRow:
        """Parse the result of ``encoded``."""
        parts = scalars.split(_BETWEEN)
        script = parts[_SCALARS] if len(parts) > _SCALARS else None
        return cls(tuple(parts[:_SCALARS]), script, text_hash)


class LedgerColumns(NamedTuple):
    """Some rows by column: to make an object of each row takes longer.

    Attributes:
        encoded: scalars and scripts (``LedgerRow.encoded``).
        corrections: saved hubness corrections, None for none.
    """

    ids: list[str]
    text_hashes: list[str]
    encoded: list[str]
    corrections: list[float | None]

    def chosen(self, rows: Sequence[int]) -> LedgerColumns:
        """Return some rows, in the given order."""
        ids, text_hashes, encoded, corrections = self
        return LedgerColumns(
            [ids[row] for row in rows],
            [text_hashes[row] for row in rows],
            [encoded[row] for row in rows],
            [corrections[row] for row in rows],
        )


class VectorLedger:
    """The table ``stored``."""

    def __init__(self, database: VectorDatabase) -> None:
        self._database = database

    def rows(self, collection: str, chunk_ids: set[str] | None = None) -> dict[str, LedgerRow]:
        """Return chunk id -> row of a collection: all chunks, or some."""
        sql = "SELECT chunk_id, scalars, text_hash FROM stored WHERE collection=?"
        found = (
            self._database.query(sql, (collection,))
            if chunk_ids is None
            else rows_in(
                self._database.query, f"{sql} AND chunk_id IN ({{}})", chunk_ids, [collection]
            )
        )
        return {name: LedgerRow.decoded(scalars, hash_) for name, scalars, hash_ in found}

    def count(self, collection: str) -> int:
        """Return the number of rows of a collection."""
        found = self._database.query(
            "SELECT count(*) FROM stored WHERE collection=?", (collection,)
        )
        return int(found[0][0])

    def change(self, collection: str, gone: Iterable[str], new: dict[str, LedgerRow]) -> None:
        """Record that chunks were deleted and written."""
        with self._database.transaction() as db:
            _drop_values(db, _settled(collection))
            db.executemany(
                "DELETE FROM stored WHERE collection=? AND chunk_id=?",
                [(collection, name) for name in gone],
            )
            db.executemany(
                "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars, text_hash)"
                " VALUES (?,?,?,?)",
                [(collection, name, row.encoded(), row.text_hash) for name, row in new.items()],
            )

    def forget(self, collection: str) -> None:
        """Remove the records of a collection."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM stored WHERE collection=?", (collection,))
            _drop_values(db, _sample(collection), _settled(collection))

    def forget_all(self) -> None:
        """Remove all records of chunks."""
        self._database.execute(
            "DELETE FROM stored WHERE collection<>'' OR chunk_id LIKE 'settled %'"
        )

    def settled_stamp(self, collection: str) -> str:
        """Return the stamp of the catalog that a collection equals; '' if it may differ."""
        stamp, _, count = self._database.value(_settled(collection)).partition(" ")
        return stamp if count == str(self.count(collection)) else ""

    def set_settled(self, collection: str, stamp: str) -> None:
        """Record that a collection has all chunks of the catalog. The next change ends that."""
        self._database.put_value(_settled(collection), f"{stamp} {self.count(collection)}")

    def set_target(self, target: str) -> None:
        """Set what the ledger describes, with the version of the terms. Other records go.

        The row has this version of memsearch as its text hash. Earlier versions, which do not know
        the settled stamps, replace the row without it when they open the ledger.
        """
        with self._database.transaction() as db:
            row = "SELECT scalars, text_hash FROM stored WHERE collection='' AND chunk_id='target'"
            before, version = db.execute(row).fetchone() or ("", "")
            if before not in ("", target):
                db.execute("DELETE FROM stored")
            elif version != __version__:
                db.execute("DELETE FROM stored WHERE collection='' AND chunk_id LIKE 'settled %'")
            db.execute(
                "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars, text_hash)"
                " VALUES ('', 'target', ?, ?)",
                (target, __version__),
            )

    # -- with vectors

    def vectors(
        self, collection: str, chunk_ids: Iterable[str]
    ) -> dict[str, tuple[np.ndarray, str]]:
        """Return chunk id -> (vector, script), for the recorded chunks."""
        sql = (
            "SELECT s.chunk_id, v.vector, s.scalars FROM stored s"
            " JOIN vectors v ON v.text_hash = s.text_hash"
            " WHERE s.collection=? AND s.chunk_id IN ({})"
        )
        return {
            name: (np.frombuffer(blob, np.float32), LedgerRow.decoded(scalars).script or "")
            for name, blob, scalars in rows_in(self._database.query, sql, chunk_ids, [collection])
        }

    def columns(self, collection: str) -> LedgerColumns:
        """Return all rows of a collection, by chunk id. The caller holds the database's lock."""
        sql = (
            "SELECT chunk_id, text_hash, scalars, special FROM stored WHERE collection=?"
            " ORDER BY chunk_id"
        )
        columns, same = LedgerColumns([], [], [], []), dict[str, str]()
        for some in self._database.in_parts(sql, (collection,)):
            ids, text_hashes, encoded, corrections = zip(*some)
            columns.ids.extend(ids)
            columns.text_hashes.extend(text_hashes)
            # the rows of a session's day are equal, and share one text
            columns.encoded.extend([same.setdefault(text, text) for text in encoded])
            columns.corrections.extend(corrections)
        return columns

    def lowest(self, collection: str, count: int) -> list[str]:
        """Return the lowest chunk ids of a collection."""
        rows = self._database.query(
            "SELECT chunk_id FROM stored WHERE collection=? ORDER BY chunk_id LIMIT ?",
            (collection, count),
        )
        return [name for (name,) in rows]

    # -- hubness corrections

    def sample_name(self, collection: str) -> str:
        """Return the name of the sample of the saved corrections; '' if there are none."""
        return self._database.value(_sample(collection))

    def put_corrections(
        self, collection: str, sample_name: str, corrections: Iterable[tuple[float, str]]
    ) -> None:
        """Store (hubness correction, chunk id) of rows, and the name of their sample."""
        with self._database.transaction() as db:
            db.executemany(
                "UPDATE stored SET special=? WHERE collection=? AND chunk_id=?",
                [(correction, collection, name) for correction, name in corrections],
            )
            self._database.put_value(_sample(collection), sample_name)


def _sample(collection: str) -> str:
    return f"sample {collection}"


def _settled(collection: str) -> str:
    return f"settled {collection}"


def _drop_values(db: sqlite3.Connection, *names: str) -> None:
    db.executemany(
        "DELETE FROM stored WHERE collection='' AND chunk_id=?", [(name,) for name in names]
    )
