"""The state of sync in ``state.db``: which commits the local files have, and the last rounds."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import uuid
from collections.abc import Iterator

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import complaining, connect
from memsearch_engine.sync.layout import owner

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sync_values (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- what the files of a project hold, in the folder that takes part; kept while the folder is away
CREATE TABLE IF NOT EXISTS sync_held (project TEXT PRIMARY KEY,\
 root TEXT NOT NULL, base TEXT NOT NULL) WITHOUT ROWID;
-- single files that hold something else: a round was cut short,\
 or they were left alone. seq: the change that wrote one, until it is
-- known to be done; before: what it held before that
CREATE TABLE IF NOT EXISTS sync_taken (path TEXT PRIMARY KEY,\
 base TEXT NOT NULL, seq INTEGER NOT NULL, before TEXT) WITHOUT ROWID;
-- turns that both sides had: a hash of it here, the name of its blob there
CREATE TABLE IF NOT EXISTS sync_turns (path TEXT PRIMARY KEY,\
 digest TEXT NOT NULL, blob TEXT NOT NULL) WITHOUT ROWID;
-- a folder that is known under another identity elsewhere:\
 a project without git has none of its own
CREATE TABLE IF NOT EXISTS sync_places (root TEXT PRIMARY KEY, project TEXT NOT NULL) WITHOUT ROWID;
"""


_MACHINE = "machine"


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a round went.

    Attributes:
        at: seconds since 1970.
        received, sent: number of new and changed notes.
        gone: number of notes that were deleted because they were deleted elsewhere.
        conflicts: notes whose text was changed in two places.
        turns: archived turns that were received and sent.
        turns_left: whether more turns remain for the next round.
        problems: what was left out, each with what to do.
        error: why there was no round.
    """

    at: float
    received: int = 0
    sent: int = 0
    gone: int = 0
    conflicts: int = 0
    turns: int = 0
    turns_left: bool = False
    problems: list[str] = []
    error: str = ""


class Offer(msgspec.Struct, frozen=True):
    """A commit on its way to the remote.

    Attributes:
        done: project -> the folder with files of this commit.
        pins: files of another commit.
    """

    commit: str
    done: dict[str, str]
    pins: dict[str, str]


class SyncDatabase:
    """One connection; not for two threads at a time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def get(self, name: str) -> str:
        """Return a stored value; ``""`` if there is none."""
        row = self._db.execute("SELECT value FROM sync_values WHERE name=?", (name,)).fetchone()
        return row[0] if row else ""

    def put(self, name: str, value: str) -> None:
        """Store a value."""
        self._db.execute(
            "INSERT OR REPLACE INTO sync_values (name, value) VALUES (?,?)", (name, value)
        )

    def machine(self) -> str:
        """The permanent name of this home."""
        if not (name := self.get(_MACHINE)):
            self.put(_MACHINE, name := uuid.uuid4().hex)
        return name

    # -- what the files contain

    def applied_commits(self) -> dict[str, tuple[str, str]]:
        """Project -> (the folder that takes part, the commit that its files contain)."""
        return {
            row[0]: (row[1], row[2])
            for row in self._db.execute("SELECT project, root, base FROM sync_held")
        }

    def taken(self) -> dict[str, tuple[str, int]]:
        """Path -> (the commit that its file contains, the change that wrote it or 0)."""
        return {
            path: (base, seq)
            for path, base, seq in self._db.execute("SELECT path, base, seq FROM sync_taken")
        }

    def take(self, path: str, base: str, seq: int) -> None:
        """Record which commit a file has the content of.

        Args:
            base: the commit.
            seq: the number of the change that wrote the file; 0 for none.
        """
        query = (
            "INSERT OR REPLACE INTO sync_taken (path, base, seq, before) "
            "VALUES (?,?,?,(SELECT base FROM sync_taken WHERE path=?))"
        )
        self._db.execute(query, (path, base, seq, path))

    def drop(self, path: str) -> None:
        """Record that a file was not written: it contains what it contained before."""
        with transaction(self._db):
            self._db.execute("DELETE FROM sync_taken WHERE path=? AND before IS NULL", (path,))
            self._db.execute(
                "UPDATE sync_taken SET base=before, seq=0, before=NULL WHERE path=?", (path,)
            )

    def turns(self) -> dict[str, tuple[str, str]]:
        """Path -> (a hash of the turn here, the name of its blob there) when both had it last."""
        return {
            path: (digest, blob)
            for path, digest, blob in self._db.execute("SELECT path, digest, blob FROM sync_turns")
        }

    def record_turns(self, turns: dict[str, tuple[str, str]]) -> None:
        """Record the turns that both sides have now."""
        with transaction(self._db):
            rows = [(path, *pair) for path, pair in turns.items()]
            self._db.executemany(
                "INSERT OR REPLACE INTO sync_turns (path, digest, blob) VALUES (?,?,?)", rows
            )

    def settled(self, commit: str, done: dict[str, str], pins: dict[str, str]) -> None:
        """Record that the files of projects contain a commit now; the arguments as in Offer."""
        with transaction(self._db):
            rows = [(project, root, commit) for project, root in done.items()]
            self._db.executemany(
                "INSERT OR REPLACE INTO sync_held (project, root, base) VALUES (?,?,?)", rows
            )
            gone = [(path,) for path in self.taken() if owner(path) in done]
            self._db.executemany("DELETE FROM sync_taken WHERE path=?", gone)
            self._db.executemany(
                "INSERT INTO sync_taken (path, base, seq) VALUES (?,?,0)", list(pins.items())
            )

    def offer(self, value: Offer) -> None:
        """Record a push before it begins: the process may end before it records the result."""
        self.put("offer", msgspec.json.encode(value).decode())

    def offered(self) -> Offer | None:
        """The commit whose push may not have been recorded; None if there is none."""
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(self.get("offer"), type=Offer)
        return None

    def forget(self) -> None:
        """Forget which content of the remote is here, as with a new remote."""
        with transaction(self._db):
            self._db.execute("DELETE FROM sync_values WHERE name IN ('offer', 'seen')")
            self._db.execute("DELETE FROM sync_held")
            self._db.execute("DELETE FROM sync_taken")
            # a turn that this machine has deleted is not fetched again
            self._db.execute("UPDATE sync_turns SET blob=''")

    def leave(self) -> None:
        """Forget everything about remotes, except which folder is which project elsewhere."""
        self.forget()
        self._db.execute("DELETE FROM sync_values WHERE name<>?", (_MACHINE,))
        self._db.execute("DELETE FROM sync_turns")

    # -- projects, rounds

    def places(self) -> dict[str, str]:
        """Folder -> the identity that its project has elsewhere."""
        return dict(self._db.execute("SELECT root, project FROM sync_places"))

    def place(self, root: str, project: str) -> None:
        """Record which project a folder is on other machines."""
        self._db.execute(
            "INSERT OR REPLACE INTO sync_places (root, project) VALUES (?,?)", (root, project)
        )

    def note(self, done: Round) -> None:
        """Store the result of a round, and how many in a row have failed."""
        self.put("last", msgspec.json.encode(done).decode())
        self.put("failed", str(int(self.get("failed") or 0) + 1 if done.error else 0))
        if not done.error:
            self.put("worked", str(done.at))

    def last(self) -> Round | None:
        """Return the last round, or None."""
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(self.get("last"), type=Round)
        return None


@contextlib.contextmanager
def opened(home: Home) -> Iterator[SyncDatabase]:
    """Raises Unreachable where ``state.db`` can't be used."""
    with complaining(home):
        db = connect(home, _SCHEMA)
    try:
        yield SyncDatabase(db)
    except sqlite3.Error as error:
        raise Unreachable(
            f"{home.state_db} can't be used: {error}", "nothing was changed; see `memsearch doctor`"
        ) from error
    finally:
        db.close()


def due(state: SyncDatabase, every_minutes: float) -> bool:
    """Whether the next round is due. After each failure the pause doubles, up to four hours."""
    last = state.last()
    failed = int(state.get("failed") or 0)
    if last is None:
        return True
    pause: float = min(every_minutes * 60 * 2 ** min(failed, 8), max(every_minutes * 60, 4 * 3600))
    return time.time() - last.at >= pause
