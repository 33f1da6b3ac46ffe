"""The SQLite file ``vectors.db``: the vectors of one model, and its ledger."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memsearch_engine.core.home import private
from memsearch_engine.core.migrations import (
    batches,
    open_shared,
    placeholders,
    transaction,
    write_ahead,
)

_LAYOUT = 1
_AT_ONCE = 500  # rows
#: Ending of the files with copies of the vectors (``matrix``).
COPIES = ".matrix"
#: ``vectors`` has rowids. Without them, most of each row is in overflow pages of the key's tree,
#: and reading 100,000 rows takes 3.8 s instead of 0.8 s.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (text_hash TEXT PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS stored (
  collection TEXT NOT NULL, chunk_id TEXT NOT NULL, scalars TEXT NOT NULL,
  text_hash TEXT NOT NULL DEFAULT '', special REAL,
  PRIMARY KEY (collection, chunk_id)) WITHOUT ROWID;
"""
#: Upgrade from a table without rowids. Vectors may have cost money, so they are copied.
_ADD_ROWIDS = f"""
BEGIN; ALTER TABLE vectors RENAME TO old; {_SCHEMA}
INSERT INTO vectors (text_hash, vector) SELECT text_hash, vector FROM old;
DROP TABLE old; PRAGMA user_version={_LAYOUT}; COMMIT;
"""


class VectorDatabase:
    """An open ``vectors.db``. A damaged file is deleted, because the model can make it again.

    Attributes:
        lock: protects changes of the file together with values that were read from it.
        removals: how often copies of the vectors were removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self.removals = 0
        try:
            self._db = _connect(path)
        except sqlite3.OperationalError:  # a full disk or a lock, no damage
            raise
        except sqlite3.DatabaseError:
            self._remove()
            self._db = _connect(path)
        self._inode = path.stat().st_ino

    def begin_again(self) -> None:
        """Delete the file and open an empty one."""
        with self.lock:
            self._db.close()
            self._remove()
            self._db = _connect(self.path)
            self._inode = self.path.stat().st_ino

    def _remove(self) -> None:
        remove(self.path)
        self.remove_copies()

    def remove_copies(self, collection: str = "*") -> None:
        """Delete the file with a copy of the vectors of a collection, or of all collections.

        A copy that another thread is writing does not get its name.
        """
        with self.lock, contextlib.suppress(OSError):
            self.removals += 1
            for path in self.path.parent.glob(f"{collection}{COPIES}*"):
                path.unlink(missing_ok=True)  # with what a killed process has left of one

    def close(self) -> None:
        """Close the connection, when no thread uses it any more."""
        with self.lock:
            self._db.close()

    def is_current(self) -> bool:
        """Return whether the open file is still the one on disk."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def is_sound(self) -> bool:
        """Return whether SQLite finds no damaged page."""
        try:
            return bool(self.query("PRAGMA quick_check(1)") == [("ok",)])
        except sqlite3.DatabaseError:
            return False

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction."""
        with self.lock, transaction(self._db):
            yield self._db

    def query(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self.lock:
            return self._db.execute(sql, tuple(values)).fetchall()

    def in_parts(self, sql: str, values: Iterable[Any] = ()) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query, some at a time. The caller holds the lock."""
        cursor = self._db.execute(sql, tuple(values))
        yield from iter(lambda: cursor.fetchmany(_AT_ONCE), [])

    def vectors(self, text_hashes: list[str] | None) -> Iterator[list[tuple[str, bytes]]]:
        """Yield (text hash, float32 bytes), some at a time. The caller holds the lock.

        Args:
            text_hashes: the texts to read; None: all.
        """
        sql = "SELECT text_hash, vector FROM vectors"
        if text_hashes is None:
            yield from self.in_parts(sql)
            return
        for some in batches(text_hashes, _AT_ONCE):
            yield self.query(f"{sql} WHERE text_hash IN ({placeholders(len(some))})", some)

    def execute(self, sql: str, values: Iterable[Any] = ()) -> int:
        """Run one statement in its own transaction; return the number of changed rows."""
        with self.lock:
            return self._db.execute(sql, tuple(values)).rowcount

    # -- values by name, in the ledger's table under collection ''

    def value(self, name: str) -> str:
        """Return a stored value; '' if there is none."""
        found = self.query("SELECT scalars FROM stored WHERE collection='' AND chunk_id=?", (name,))
        return str(found[0][0]) if found else ""

    def put_value(self, name: str, value: str) -> None:
        """Store a value by name."""
        self.execute(
            "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars) VALUES ('', ?, ?)",
            (name, value),
        )


def remove(path: Path) -> None:
    """Delete a folder, or a database file with its journals."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    private(path)
    db = open_shared(path)
    write_ahead(db)
    db.execute("PRAGMA synchronous=NORMAL")
    exists = db.execute("SELECT 1 FROM sqlite_master WHERE name='vectors'").fetchone()
    if exists and db.execute("PRAGMA user_version").fetchone()[0] == 0:
        db.executescript(_ADD_ROWIDS)
    db.executescript(f"{_SCHEMA} PRAGMA user_version={_LAYOUT};")
    if not db.execute("SELECT 1 FROM pragma_table_info('stored') WHERE name='special'").fetchone():
        # no new layout number, because an earlier version can use the file and ignore the column
        db.execute("ALTER TABLE stored ADD COLUMN special REAL")
    return db
