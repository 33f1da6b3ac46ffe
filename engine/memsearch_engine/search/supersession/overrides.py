"""Store the owner's decisions on which note supersedes which, in ``state.db``.

A decision outweighs the probability of ``supersession.notes``. This module works on entry ids and
reads no notes.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType

from memsearch_engine.core.home import Home
from memsearch_engine.core.state import complaining, connect, using

#: (id of the older entry, id of the newer entry) -> whether the newer one supersedes the older one.
#: Pairs without a decision of the owner are not in it.
Overrides = Mapping[tuple[str, str], bool]
NONE: Overrides = MappingProxyType({})
SCHEMA = """
CREATE TABLE IF NOT EXISTS amendments (
  older TEXT NOT NULL, newer TEXT NOT NULL, amends INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (older, newer)) WITHOUT ROWID;
"""
_ALL = "SELECT older, newer, amends FROM amendments"


def set_override(home: Home, older: str, newer: str, supersedes: bool | None) -> bool | None:
    """Store the owner's decision on a pair of entries.

    Args:
        older, newer: entry ids.
        supersedes: whether *newer* supersedes *older*; None removes the decision.

    Returns:
        The earlier decision; None if there was none.

    Raises:
        Unreachable: the database can't be written.
    """
    pair = (older, newer)
    with using(home, SCHEMA) as db:
        row = db.execute("SELECT amends FROM amendments WHERE older=? AND newer=?", pair).fetchone()
        if supersedes is None:
            db.execute("DELETE FROM amendments WHERE older=? AND newer=?", pair)
        else:
            db.execute(
                "INSERT OR REPLACE INTO amendments (older, newer, amends, at) VALUES (?,?,?,?)",
                (*pair, supersedes, time.time()),
            )
    return bool(row[0]) if row else None


def read_overrides(home: Home) -> Overrides:
    """Read all decisions of the owner.

    Raises:
        Unreachable: the database can't be read.
    """
    with using(home, SCHEMA) as db:
        return _all(db)


def _all(db: sqlite3.Connection) -> dict[tuple[str, str], bool]:
    return {(older, newer): bool(is_so) for older, newer, is_so in db.execute(_ALL)}


class OverrideCache:
    """The overrides for a process that needs them at every search.

    It uses one connection and reads the table again only after another connection has written.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._version = -1
        self._known: dict[tuple[str, str], bool] = {}

    def read(self) -> Overrides:
        """All decisions of the owner; those of the last read if the database can't be read."""
        with self._lock:
            try:
                with complaining(self.home):
                    return self._read()
            except Exception:  # a search must not fail without the overrides
                self.close()
                return self._known

    def _read(self) -> Overrides:
        if self._db is None:
            self._db, self._version = connect(self.home, SCHEMA), -1
        # this number changes after another connection has written
        version = self._db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._known, self._version = _all(self._db), version
        return self._known

    def close(self) -> None:
        """Close the connection; the next ``read`` opens a new one."""
        if self._db is not None:
            self._db.close()
            self._db = None
