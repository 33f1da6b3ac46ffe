"""What the owner says of which note amends which: it outweighs what their words tell
(``search.chains``). Durable, in ``state.db``.

This room knows ids, no notes.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType

from memsearch_engine.core.home import Home
from memsearch_engine.core.state import complaining, connect, using

#: (older entry's id, newer entry's id) -> whether the newer one amends the older one. What is not
#: in it was not said.
Said = Mapping[tuple[str, str], bool]
NOTHING: Said = MappingProxyType({})
SCHEMA = """
CREATE TABLE IF NOT EXISTS amendments (
  older TEXT NOT NULL, newer TEXT NOT NULL, amends INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (older, newer)) WITHOUT ROWID;
"""


def say(home: Home, older: str, newer: str, amends: bool | None) -> bool | None:
    """Note the owner's word down (None: forget it). Returns what he had said before. Raises
    Unreachable.
    """
    pair = (older, newer)
    with using(home, SCHEMA) as db:
        row = db.execute("SELECT amends FROM amendments WHERE older=? AND newer=?", pair).fetchone()
        if amends is None:
            db.execute("DELETE FROM amendments WHERE older=? AND newer=?", pair)
        else:
            db.execute(
                "INSERT OR REPLACE INTO amendments (older, newer, amends, at) VALUES (?,?,?,?)",
                (*pair, amends, time.time()),
            )
    return bool(row[0]) if row else None


def said(home: Home) -> Said:
    """All that he has said. Raises Unreachable."""
    with using(home, SCHEMA) as db:
        return {
            (older, newer): bool(amends)
            for older, newer, amends in db.execute("SELECT older, newer, amends FROM amendments")
        }


class Amendments:
    """The owner's words for a process that asks at every search: one connection, read again when
    somebody wrote.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._version = -1
        self._known: dict[tuple[str, str], bool] = {}

    def said(self) -> Said:
        """All that was said; what was known last where the database can't be read."""
        with self._lock:
            try:
                with complaining(self.home):
                    return self._read()
            except Exception:  # a search does without it
                self.close()
                return self._known

    def _read(self) -> Said:
        if self._db is None:
            self._db, self._version = connect(self.home, SCHEMA), -1
        version = self._db.execute("PRAGMA data_version").fetchone()[
            0
        ]  # changes where another connection has written
        if version != self._version:
            rows = self._db.execute("SELECT older, newer, amends FROM amendments").fetchall()
            self._known, self._version = (
                {(older, newer): bool(amends) for older, newer, amends in rows},
                version,
            )
        return self._known

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
