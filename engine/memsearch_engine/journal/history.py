"""The history: the version before and after each change, for undo, also after a restart.

A change is first stored as an intent, then applied to the file, then confirmed. After a crash,
``settle`` compares the intent with the file. ``history_database.py`` has the tables.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.journal.history_database import HistoryDatabase, store_turns

#: Prefix of the batches of sync. Their changes are not steps of the owner on this machine.
SYNC = "sync:"
#: Prefix of the batches of an agent that changes notes which no decision contradicts.
AGENTS = "agent:"
_HERE = f"batch NOT GLOB '{SYNC}*'"
_PROCESS, _BEGAN = uuid.uuid4().hex[:12], time.time()
#: Changes that this process made, or that were made before it began.
_OWN = f"(batch GLOB '*{_PROCESS}*' OR at<{_BEGAN!r})"


def new_batch() -> str:
    """Return a name for changes of this process that are one step of undo."""
    return f"{_PROCESS}{uuid.uuid4().hex}"


class Change(msgspec.Struct):
    """A change of an entry, with its images before and after."""

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


class Undo(msgspec.Struct, frozen=True):
    """An undo or redo that was begun and not confirmed."""

    n: int
    undone: bool
    file_before: str
    file_after: str
    change: Change


_COLUMNS = [field for field in Change.__struct_fields__ if field != "seq"]


class History:
    """The history of one home. Threads may share it.

    Attributes:
        database: the file and its connection.
    """

    def __init__(self, path: Path) -> None:
        self.database = HistoryDatabase(path)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def added(self, memory: str) -> list[Change]:
        """Return entries that were added to a memory folder and still exist, newest first."""
        return self._select(
            "op='add' AND state='done' AND memory=? AND NOT EXISTS (SELECT 1 FROM changes d "
            "WHERE d.entry_id=changes.entry_id "
            "AND d.op='delete' AND d.state IN ('done','pruned') "
            "AND d.seq>changes.seq) ORDER BY seq DESC",
            (memory,),
        )

    def record(self, change: Change) -> int:
        """Write an intent; returns its sequence number."""
        change.at = time.time()
        values = [getattr(change, column) for column in _COLUMNS]
        marks = ",".join("?" * len(_COLUMNS))
        with self.database.transaction() as db:
            cursor = db.execute(
                f"INSERT INTO changes ({','.join(_COLUMNS)}) VALUES ({marks})", values
            )
            seq = int(cursor.lastrowid or 0)
            if change.op == "delete":
                store_turns(db, seq, change.before)
        return seq

    def confirm(self, seq: int) -> None:
        """Confirm a change that is in the file.

        A failure to write is not an error: the next change of the file settles the intent.
        """
        with contextlib.suppress(Unreachable):
            self.database.execute("UPDATE changes SET state='done' WHERE seq=?", (seq,))

    def drop(self, seq: int) -> None:
        """Delete a change that was not carried out."""
        with contextlib.suppress(Unreachable):
            self.database.execute("DELETE FROM changes WHERE seq=?", (seq,))

    def begin_undo(self, change: Change, undone: bool, file_before: str, file_after: str) -> int:
        """Store the intent to undo or redo *change*. Returns its number. Raises Unreachable."""
        newest = self.database.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()[0]
        cursor = self.database.execute(
            "INSERT INTO undos (seq, undone, newest, file_before, file_after, state) "
            "VALUES (?,?,?,?,?,'intent')",
            (change.seq, undone, newest, file_before, file_after),
        )
        return int(cursor.lastrowid or 0)

    def confirm_undo(self, n: int) -> None:
        """As ``confirm``, for ``begin_undo``."""
        with contextlib.suppress(Unreachable), self.database.transaction() as db:
            seq, undone = db.execute("SELECT seq, undone FROM undos WHERE n=?", (n,)).fetchone()
            state, at = ("undone", time.time()) if undone else ("done", None)
            db.execute("UPDATE changes SET state=?, undone_at=? WHERE seq=?", (state, at, seq))
            db.execute("UPDATE undos SET state='done' WHERE n=?", (n,))

    def drop_undo(self, n: int) -> None:
        """Delete an undo that was not carried out."""
        with contextlib.suppress(Unreachable):
            self.database.execute("DELETE FROM undos WHERE n=?", (n,))

    def undo_intents(self, path: str) -> list[Undo]:
        """Return the undos of a file that were begun but not confirmed."""
        rows = self.database.execute(
            "SELECT u.n, u.undone, u.file_before, u.file_after, u.seq FROM undos u "
            "JOIN changes c USING (seq) "
            "WHERE u.state='intent' AND c.path=? ORDER BY u.n",
            (path,),
        ).fetchall()
        return [
            Undo(n, bool(u), b, a, change) for n, u, b, a, seq in rows if (change := self.get(seq))
        ]

    def unsettled(self) -> list[str]:
        """Paths with an unconfirmed change, undo or redo."""
        query = (
            "SELECT path FROM changes WHERE state='intent' UNION "
            "SELECT c.path FROM undos u JOIN changes c USING (seq) WHERE u.state='intent'"
        )
        return [path for (path,) in self._rows(query)]

    def intents(self, path: str) -> list[Change]:
        """Return the changes of a file that were begun but not confirmed."""
        return self._select("state='intent' AND path=? ORDER BY seq", (path,))

    def changed(self, entry_id: str) -> float:
        """Time of the last change of an entry, in seconds since 1970; 0 if unknown."""
        return max((change.at for change in self.of_entry(entry_id)[:1]), default=0.0)

    def is_revived(self, entry_id: str) -> bool:
        """Whether the owner brought a deleted entry back, by undo or restore."""
        last = self._select(
            "entry_id=? AND (op='delete' OR op='add') AND state "
            "IN ('done','undone') ORDER BY seq DESC LIMIT 1",
            (entry_id,),
        )
        return any(
            (change.op, change.state) in (("delete", "undone"), ("add", "done")) for change in last
        )

    def was_deleted_here(self, entry_id: str) -> bool:
        """Whether the owner's last decision about an entry on this machine was to delete it."""
        last = self._select(
            f"entry_id=? AND state IN ('done','pruned') AND {_HERE} ORDER BY seq DESC LIMIT 1",
            (entry_id,),
        )
        return any(change.op == "delete" for change in last)

    def owners(self, memory: str) -> list[Change]:
        """Return all changes in a memory folder with stored versions.

        The oldest comes first, and undone changes come before others.
        """
        return self._select(
            "memory=? AND state IN ('done','undone') AND op<>'sync' ORDER BY state='done', seq",
            (memory,),
        )

    def replaced_here(self, entry_id: str) -> list[bytes]:
        """Versions of an entry before the owner's changes on this machine."""
        return [
            change.before
            for change in self._select(f"entry_id=? AND state='done' AND {_HERE}", (entry_id,))
            if change.before
        ]

    def deleted_texts(self) -> dict[str, bytes]:
        """Deleted entries that were not brought back: id -> last text."""
        query = (
            "SELECT entry_id, before FROM changes "
            "WHERE op='delete' AND state='done' AND NOT EXISTS "
            "(SELECT 1 FROM changes AS later WHERE later.entry_id=changes.entry_id "
            "AND later.seq>changes.seq AND later.state='done')"
        )
        return {name: before.rstrip() for name, before in self._rows(query)}

    def last_done(self, memory: str = "", entry_id: str = "", own: bool = False) -> list[Change]:
        """Return the newest batch of changes that can be undone, newest first; empty for none."""
        where, values = _scope(memory, entry_id, own)
        newest = self._select(
            f"state='done' AND {_HERE} AND {where} ORDER BY seq DESC LIMIT 1", values
        )
        return self._batch(newest, "done", newest_first=True)

    def last_undone(self, memory: str = "", entry_id: str = "", own: bool = False) -> list[Change]:
        """Return the batch that ``redo`` applies: the last undone, if its entries are unchanged."""
        where, values = _scope(memory, entry_id, own)
        order = (
            "(SELECT max(n) FROM undos "
            "WHERE undos.seq=changes.seq AND undone) DESC, undone_at DESC, seq ASC"
        )
        newest = self._select(f"state='undone' AND {where} ORDER BY {order} LIMIT 1", values)
        if newest:
            query = "SELECT newest FROM undos WHERE seq=? AND undone ORDER BY n DESC LIMIT 1"
            row = self.database.execute(query, (newest[0].seq,)).fetchone()
            if row and self._select(
                f"state='done' AND {_HERE} AND seq>? AND {where} LIMIT 1", (row[0], *values)
            ):
                return []
        batch = self._batch(newest, "undone", newest_first=False)
        later = "state='done' AND entry_id=? AND seq>? LIMIT 1"
        is_changed = any(self._select(later, (change.entry_id, change.seq)) for change in batch)
        return [] if is_changed else batch

    def of_entry(self, entry_id: str) -> list[Change]:
        """Return the changes of an entry, newest first."""
        return self._select("entry_id=? ORDER BY seq DESC", (entry_id,))

    def recent(self, memory: str = "", limit: int = 50) -> list[Change]:
        """Return the newest changes, of one memory folder or of all."""
        where, values = _scope(memory, "")
        return self._select(f"{where} ORDER BY seq DESC LIMIT ?", (*values, limit))

    def first_since(self, memory: str, at: float) -> list[Change]:
        """Return the first valid change of each entry after a time.

        The capture of an entry is not a change, unless the entry had been deleted.

        Args:
            at: seconds since 1970.
        """
        return self._select(
            "seq IN (SELECT min(seq) FROM changes c WHERE memory=? AND at>? "
            "AND state='done' AND (op<>'add' OR EXISTS (SELECT 1 FROM changes d"
            " WHERE d.entry_id=c.entry_id AND d.op='delete' "
            "AND d.seq<c.seq)) GROUP BY entry_id) ORDER BY seq",
            (memory, at),
        )

    def begins(self) -> float:
        """Return the time of the oldest stored change (since 1970); 0 if none was pruned."""
        rows = self._rows("SELECT seq, at FROM changes WHERE state<>'pruned' ORDER BY seq LIMIT 1")
        return next((float(at) for seq, at in rows if seq > 1), 0.0)

    def undone_since(self, memory: str, at: float) -> list[Change]:
        """For each entry, the last change that was made before *at* and undone after it."""
        return self._select(
            "seq IN (SELECT max(seq) FROM changes WHERE memory=? AND at<=? "
            "AND state='undone' AND undone_at>? GROUP BY entry_id) ORDER BY seq",
            (memory, at, at),
        )

    def get(self, seq: int) -> Change | None:
        """Return a change by its number, or None."""
        return next(iter(self._select("seq=?", (seq,))), None)

    def is_deleted(self, entry_id: str) -> bool:
        """Whether the owner's last decision deleted this entry, so that capture omits it."""
        last = self._select(
            "entry_id=? AND state IN ('done','pruned') ORDER BY seq DESC LIMIT 1", (entry_id,)
        )
        return bool(last) and last[0].op == "delete"

    def deleted_turn(self, turn: str) -> bool:
        """Whether the owner deleted an entry of this turn, in any session: a fork copies turns."""
        query = (
            "SELECT 1 FROM deleted_turns JOIN changes USING (seq) "
            "WHERE turn=? AND op='delete' AND state IN ('done','pruned')"
        )
        return bool(self._rows(query, (turn,)))

    def prune(self, *, max_bytes: int = 0, max_days: float = 0) -> int:
        """Delete the versions of the oldest changes, and return their number.

        Deletions of entries and turns stay known, because capture must not restore them.

        Args:
            max_bytes: the largest size; 0 for no limit.
            max_days: the highest age; 0 for no limit.
        """
        rows = self._rows(
            "SELECT seq, at, length(before) + length(after), op, state FROM changes "
            "WHERE state IN ('done','undone') ORDER BY seq DESC"
        )
        oldest = time.time() - max_days * 86400 if max_days else 0.0
        total, gone = 0, []
        for seq, at, size, op, state in rows:
            total += size
            if at < oldest or (max_bytes and total > max_bytes):
                gone.append((seq, op == "delete" and state == "done"))
        if gone:
            with self.database.transaction() as db:
                for seq, stays_deleted in gone:
                    db.execute("DELETE FROM undos WHERE seq=?", (seq,))
                    if not stays_deleted:
                        db.execute("DELETE FROM changes WHERE seq=?", (seq,))
                        db.execute("DELETE FROM deleted_turns WHERE seq=?", (seq,))
                        continue
                    (before,) = db.execute(
                        "SELECT before FROM changes WHERE seq=?", (seq,)
                    ).fetchone()
                    anchors = b"\n".join(
                        line
                        for line in before.splitlines()
                        if line.startswith(b"<!--") and b"turn:" in line
                    )
                    values = (anchors, b"", "", "pruned", seq)
                    db.execute(
                        "UPDATE changes SET before=?, after=?, title=?, state=? WHERE seq=?", values
                    )
            self.database.execute("VACUUM")
            self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for copy in (self.database.path.parent / "backups").glob(
                f"{self.database.path.name}.layout*"
            ):
                copy.unlink(missing_ok=True)  # copies from before an update have these versions
        return len(gone)

    def _batch(self, newest: list[Change], state: str, *, newest_first: bool) -> list[Change]:
        if not newest:
            return []
        order = "DESC" if newest_first else "ASC"
        return self._select(f"batch=? AND state=? ORDER BY seq {order}", (newest[0].batch, state))

    def _select(self, where: str, values: tuple[Any, ...]) -> list[Change]:
        rows = self._rows(f"SELECT seq,{','.join(_COLUMNS)} FROM changes WHERE {where}", values)
        return [Change(seq=row[0], **dict(zip(_COLUMNS, row[1:]))) for row in rows]

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; [] if there is no history yet."""
        return [] if self.database.is_new else self.database.execute(query, values).fetchall()


def _scope(memory: str, entry_id: str, own: bool = False) -> tuple[str, tuple[Any, ...]]:
    also = f" AND {_OWN}" if own else ""
    if entry_id:
        return f"entry_id=?{also}", (entry_id,)
    if memory:
        return f"memory=?{also}", (memory,)
    return f"1{also}", ()
