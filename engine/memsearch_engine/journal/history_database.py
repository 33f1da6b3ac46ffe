"""The database of the history, ``history.db`` (SQLite, WAL, fully synchronous)."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import private
from memsearch_engine.core.migrations import (
    OpenedOnce,
    bring_up,
    open_shared,
    tables_of,
    transaction,
    write_ahead,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  batch TEXT NOT NULL,            -- changes made by one command; undone together
  at REAL NOT NULL,               -- seconds since the epoch
  op TEXT NOT NULL,               -- add | edit | delete | mark
  memory TEXT NOT NULL,           -- the memory folder, for undo within a project
  path TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  title TEXT NOT NULL,
  offset INTEGER NOT NULL,        -- where the bytes stood
  before BLOB NOT NULL,
  after BLOB NOT NULL,
  file_before TEXT NOT NULL,      -- digests of the whole file
  file_after TEXT NOT NULL,
  previous_id TEXT NOT NULL,      -- neighbours, to find the place again when the file has moved on
  next_id TEXT NOT NULL,
  state TEXT NOT NULL,            -- intent | done | undone | pruned
  undone_at REAL
);
-- what was taken back and done again, in that order:\
 the order of a clock that can be set back is none
CREATE TABLE IF NOT EXISTS undos (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  seq INTEGER NOT NULL,
  undone INTEGER NOT NULL,        -- 1: taken back, 0: done again
  newest INTEGER NOT NULL,        -- the newest change at that time:\
 after a newer one nothing is done again
  file_before TEXT NOT NULL,
  file_after TEXT NOT NULL,
  state TEXT NOT NULL             -- intent | done
);
CREATE INDEX IF NOT EXISTS undos_seq ON undos(seq);
CREATE INDEX IF NOT EXISTS undos_state ON undos(state);
CREATE INDEX IF NOT EXISTS changes_entry ON changes(entry_id, seq);
CREATE INDEX IF NOT EXISTS changes_state ON changes(state, path);
CREATE INDEX IF NOT EXISTS changes_added ON changes(memory) WHERE op='add';
"""
_TURNS = re.compile(rb"turn:(\S{1,500}) ")


def _name_deleted_turns(db: sqlite3.Connection) -> None:
    """Store the turns of deletions, because capture checks each turn and a text search is slow."""
    db.execute(
        "CREATE TABLE deleted_turns (turn TEXT NOT NULL, seq INTEGER NOT NULL, "
        "PRIMARY KEY (turn, seq)) WITHOUT ROWID"
    )
    if "changes" in tables_of(db):
        _catch_up(db)


def _catch_up(db: sqlite3.Connection) -> None:
    """Store the turns of deletions that an older program has written since."""
    query = (
        "SELECT seq, before FROM changes "
        "WHERE op='delete' AND seq > (SELECT coalesce(max(seq), 0) FROM deleted_turns)"
    )
    for seq, before in db.execute(query).fetchall():
        store_turns(db, seq, before)


def store_turns(db: sqlite3.Connection, seq: int, before: bytes) -> None:
    """Store the turns that the text of a deleted entry names.

    Args:
        seq: the number of the deletion.
        before: the text.
    """
    rows = {(name.decode("utf-8", "replace"), seq) for name in _TURNS.findall(before)}
    db.executemany("INSERT OR IGNORE INTO deleted_turns (turn, seq) VALUES (?,?)", rows)


_STEPS = (_name_deleted_turns,)


class HistoryDatabase(OpenedOnce):
    """The connection to the history of one home. Threads may share it.

    The file is created by the first write; ``path`` is its path.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    @property
    def is_new(self) -> bool:
        """Whether there is no history yet. Reading must not create the file or the home."""
        return self._connection is None and not self.path.exists()

    def _open(self) -> sqlite3.Connection:
        try:
            private(self.path)
            db = open_shared(self.path)
        except (sqlite3.Error, OSError) as error:
            raise _unusable(self.path, error) from error
        try:
            bring_up(db, self.path, _STEPS, self.path.parent / "backups")
            write_ahead(db)
            db.execute("PRAGMA synchronous=FULL")
            db.executescript(_SCHEMA)
            _catch_up(db)
        except (sqlite3.Error, Unreachable) as error:
            db.close()
            if isinstance(error, Unreachable):
                raise
            raise _unusable(self.path, error) from error
        return db

    def check(self) -> str:
        """Describe the damage of the file; ``""`` for none.

        Raises:
            Unreachable: it is in use, or of a newer version.
        """
        if not self.path.exists():
            return ""
        try:
            found = str(self.execute("PRAGMA quick_check(1)").fetchone()[0])
        except Unreachable as error:
            if not _is_damage(error.__cause__):
                raise
            return str(error)
        return "" if found == "ok" else f"the undo history {self.path} is damaged: {found}"

    def set_aside(self) -> Path:
        """Start a new history, and return the new path of the damaged one.

        Raises:
            OSError: the file can't be renamed.
        """
        self.close()
        aside = self.path.with_name(f"{self.path.name}.damaged-{int(time.time())}")
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        self.path.rename(aside)
        return aside

    def execute(self, query: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run a statement. Raises Unreachable, with a next step if the file is damaged."""
        try:
            with self._lock:
                return self._db().execute(query, values)
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction; other threads wait. Raises Unreachable."""
        with self._lock:
            db = self._db()
            try:
                with transaction(db):
                    yield db
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error


def _is_damage(error: BaseException | None) -> bool:
    """Whether an error means that the database file is damaged."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError
    )


def _unusable(path: Path, error: Exception) -> Unreachable:
    if _is_damage(error):
        return Unreachable(
            f"the undo history {path} is damaged: {error}",
            "`memsearch doctor --fix` sets it aside and begins a new one; notes are untouched",
        )
    return Unreachable(f"the undo history {path} can't be used: {error}", "nothing was changed")
