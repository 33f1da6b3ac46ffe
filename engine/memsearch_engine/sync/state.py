"""What sync keeps in ``state.db``: which of the remote's commits this machine's files hold, and how the last rounds went."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator

import msgspec

from memsearch_engine.home import Home
from memsearch_engine.state import transaction, using

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sync_values (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- files that hold more of the remote than the rest: a round was cut short. seq: the change that wrote it, until it is known to be done
CREATE TABLE IF NOT EXISTS sync_taken (path TEXT PRIMARY KEY, base TEXT NOT NULL, seq INTEGER NOT NULL, before TEXT) WITHOUT ROWID;
-- a folder that is known under another identity elsewhere: a project without git has none of its own
CREATE TABLE IF NOT EXISTS sync_places (root TEXT PRIMARY KEY, project TEXT NOT NULL) WITHOUT ROWID;
"""


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a round went.

    Attributes:
        at: seconds since 1970. received, sent: notes that came and went, changed or new. gone: notes that a deletion elsewhere took.
        conflicts: notes whose text was changed in two places. problems: what was left out, each with what to do.
        error: why there was no round.
    """

    at: float
    received: int = 0
    sent: int = 0
    gone: int = 0
    conflicts: int = 0
    problems: list[str] = []
    error: str = ""


class State:
    """One connection; not for two threads at a time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def get(self, name: str) -> str:
        row = self._db.execute("SELECT value FROM sync_values WHERE name=?", (name,)).fetchone()
        return row[0] if row else ""

    def put(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO sync_values (name, value) VALUES (?,?)", (name, value))

    def taken(self) -> dict[str, tuple[str, int]]:
        """path in the repository -> (the commit that its file holds, the change that wrote it or 0)."""
        return {path: (base, seq) for path, base, seq in self._db.execute("SELECT path, base, seq FROM sync_taken")}

    def take(self, path: str, base: str, seq: int) -> None:
        query = "INSERT OR REPLACE INTO sync_taken (path, base, seq, before) VALUES (?,?,?,(SELECT base FROM sync_taken WHERE path=?))"
        self._db.execute(query, (path, base, seq, path))

    def drop(self, path: str) -> None:
        """The file was not written after all: it holds what it held before."""
        with transaction(self._db):
            self._db.execute("DELETE FROM sync_taken WHERE path=? AND before IS NULL", (path,))
            self._db.execute("UPDATE sync_taken SET base=before, seq=0, before=NULL WHERE path=?", (path,))

    def settled(self, base: str, pins: dict[str, str], projects: Iterable[str]) -> None:
        """All files of *projects* hold *base* now, but those that were left alone (*pins*: path -> the commit that they hold)."""
        with transaction(self._db):
            self.put("held", " ".join(sorted(projects)))
            self.put("base", base)
            self._db.execute("DELETE FROM sync_taken")
            rows = list(pins.items())
            self._db.executemany("INSERT INTO sync_taken (path, base, seq) VALUES (?,?,0)", rows)

    def leave(self) -> None:
        """Know nothing of any remote any more; which folder is which project elsewhere stays known."""
        self._db.execute("DELETE FROM sync_values")
        self._db.execute("DELETE FROM sync_taken")

    def forget(self) -> None:
        """Begin anew with the remote: nothing of it is known to be here."""
        self._db.execute("DELETE FROM sync_values WHERE name IN ('base', 'held', 'seen')")
        self._db.execute("DELETE FROM sync_taken")

    def places(self) -> dict[str, str]:
        """Folder -> the identity that its project has elsewhere."""
        return dict(self._db.execute("SELECT root, project FROM sync_places"))

    def place(self, root: str, project: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO sync_places (root, project) VALUES (?,?)", (root, project))

    def note(self, done: Round) -> None:
        """Keep how a round went, and how many in a row have failed."""
        self.put("last", msgspec.json.encode(done).decode())
        self.put("failed", str(int(self.get("failed") or 0) + 1 if done.error else 0))
        if not done.error:
            self.put("worked", str(done.at))

    def last(self) -> Round | None:
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(self.get("last"), type=Round)
        return None


@contextlib.contextmanager
def opened(home: Home) -> Iterator[State]:
    """Raises Unreachable where ``state.db`` can't be used."""
    with using(home, _SCHEMA) as db:
        yield State(db)


def due(state: State, every_minutes: float) -> bool:
    """Whether the next round's time has come: later and later while it fails, up to four hours."""
    last = state.last()
    failed = int(state.get("failed") or 0)
    return last is None or time.time() - last.at >= min(
        every_minutes * 60 * 2 ** min(failed, 8), max(every_minutes * 60, 4 * 3600)
    )
