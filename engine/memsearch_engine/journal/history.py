"""What stood before: the before and after image of every change, so that each can be undone across restarts.

A change is written here first as an intent, then done to the file, then confirmed. An intent that a crash left behind
is settled by looking at the file (``settle``). Stored in ``history.db`` (SQLite, WAL, fully synchronous).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from memsearch_engine.errors import Unreachable

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
CREATE INDEX IF NOT EXISTS changes_entry ON changes(entry_id, seq);
CREATE INDEX IF NOT EXISTS changes_state ON changes(state, path);
"""


class Change(msgspec.Struct):
    batch: str
    op: str
    memory: str
    path: str
    entry_id: str
    title: str
    offset: int
    before: bytes
    after: bytes
    file_before: str
    file_after: str
    previous_id: str = ""
    next_id: str = ""
    at: float = 0.0
    state: str = "intent"
    seq: int = 0
    undone_at: float | None = None


_COLUMNS = [field for field in Change.__struct_fields__ if field != "seq"]


class History:
    """The change log of one home folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                db = sqlite3.connect(self._path, timeout=20, isolation_level=None, check_same_thread=False)
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=FULL")
                db.executescript(_SCHEMA)
            except sqlite3.Error as error:
                raise Unreachable(f"the undo history {self._path} can't be opened: {error}") from error
            self._connection = db
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def record(self, change: Change) -> int:
        """Write an intent; returns its sequence number."""
        change.at = time.time()
        values = [getattr(change, column) for column in _COLUMNS]
        marks = ",".join("?" * len(_COLUMNS))
        try:
            cursor = self._db().execute(f"INSERT INTO changes ({','.join(_COLUMNS)}) VALUES ({marks})", values)
        except sqlite3.Error as error:
            raise Unreachable(f"the undo history can't be written: {error}", "nothing was changed") from error
        return int(cursor.lastrowid or 0)

    def confirm(self, seq: int) -> None:
        self._db().execute("UPDATE changes SET state='done' WHERE seq=?", (seq,))

    def drop(self, seq: int) -> None:
        self._db().execute("DELETE FROM changes WHERE seq=?", (seq,))

    def set_undone(self, seqs: Iterable[int], undone: bool) -> None:
        state, at = ("undone", time.time()) if undone else ("done", None)
        self._db().executemany("UPDATE changes SET state=?, undone_at=? WHERE seq=?", [(state, at, s) for s in seqs])

    def intents(self, path: str) -> list[Change]:
        return self._select("state='intent' AND path=? ORDER BY seq", (path,))

    def last_done(self, memory: str = "", entry_id: str = "") -> list[Change]:
        """The newest batch that can be undone, newest change first; empty where there is none."""
        where, values = _scope(memory, entry_id)
        newest = self._select(f"state='done' AND {where} ORDER BY seq DESC LIMIT 1", values)
        return self._batch(newest, "done", newest_first=True)

    def last_undone(self, memory: str = "", entry_id: str = "") -> list[Change]:
        """The batch that ``redo`` would do again: the last one undone, unless its entries changed since."""
        where, values = _scope(memory, entry_id)
        newest = self._select(f"state='undone' AND {where} ORDER BY undone_at DESC, seq ASC LIMIT 1", values)
        batch = self._batch(newest, "undone", newest_first=False)
        for change in batch:
            if self._select("state='done' AND entry_id=? AND seq>? LIMIT 1", (change.entry_id, change.seq)):
                return []
        return batch

    def of_entry(self, entry_id: str) -> list[Change]:
        return self._select("entry_id=? ORDER BY seq DESC", (entry_id,))

    def recent(self, memory: str = "", limit: int = 50) -> list[Change]:
        where, values = _scope(memory, "")
        return self._select(f"{where} ORDER BY seq DESC LIMIT ?", (*values, limit))

    def get(self, seq: int) -> Change | None:
        return next(iter(self._select("seq=?", (seq,))), None)

    def is_deleted(self, entry_id: str) -> bool:
        """True where the owner's last word on this entry was to delete it: capture must not bring it back."""
        if self._connection is None and not self._path.exists():
            return False
        last = self._select("entry_id=? AND state IN ('done','pruned') ORDER BY seq DESC LIMIT 1", (entry_id,))
        return bool(last) and last[0].op == "delete"

    def deleted_turn(self, turn: str) -> bool:
        """True where the owner deleted an entry of this turn, under whatever session: a fork copies turns."""
        if self._connection is None and not self._path.exists():
            return False
        return bool(
            self._select(
                "op='delete' AND state IN ('done','pruned') AND instr(before, ?) LIMIT 1", (f"turn:{turn} ".encode(),)
            )
        )

    def prune(self, *, max_bytes: int = 0, max_days: float = 0, dry_run: bool = False) -> int:
        """Forget the images of the oldest changes beyond a size or an age (0: no limit). Returns how many.

        That an entry was deleted, and of which turn, stays known: capture must not bring it back.
        """
        if self._connection is None and not self._path.exists():
            return 0
        db = self._db()
        rows = db.execute(
            "SELECT seq, at, length(before) + length(after), op, state FROM changes WHERE state IN ('done','undone') ORDER BY seq DESC"
        ).fetchall()
        oldest = time.time() - max_days * 86400 if max_days else 0.0
        kept, gone = 0, []
        for seq, at, size, op, state in rows:
            kept += size
            if at < oldest or (max_bytes and kept > max_bytes):
                gone.append((seq, op == "delete" and state == "done"))
        if gone and not dry_run:
            for seq, stays_deleted in gone:
                if not stays_deleted:
                    db.execute("DELETE FROM changes WHERE seq=?", (seq,))
                    continue
                (before,) = db.execute("SELECT before FROM changes WHERE seq=?", (seq,)).fetchone()
                anchors = b"\n".join(
                    line for line in before.splitlines() if line.startswith(b"<!--") and b"turn:" in line
                )
                values = (anchors, b"", "", "pruned", seq)
                db.execute("UPDATE changes SET before=?, after=?, title=?, state=? WHERE seq=?", values)
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(gone)

    def _batch(self, newest: list[Change], state: str, *, newest_first: bool) -> list[Change]:
        if not newest:
            return []
        order = "DESC" if newest_first else "ASC"
        return self._select(f"batch=? AND state=? ORDER BY seq {order}", (newest[0].batch, state))

    def _select(self, where: str, values: tuple) -> list[Change]:
        rows = self._db().execute(f"SELECT seq,{','.join(_COLUMNS)} FROM changes WHERE {where}", values)
        return [Change(seq=row[0], **dict(zip(_COLUMNS, row[1:]))) for row in rows]


def _scope(memory: str, entry_id: str) -> tuple[str, tuple]:
    if entry_id:
        return "entry_id=?", (entry_id,)
    if memory:
        return "memory=?", (memory,)
    return "1", ()
