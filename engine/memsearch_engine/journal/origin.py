"""Who wrote a note: this home, or somebody whose files arrived with a clone, a pull or a copy.

Agents are told unasked only what this home wrote itself or its owner has released. That is known here, by content, in
``state.db``: a mark in a file may have been written by anybody, and so may a file in a folder that was the owner's yesterday. What
he typed into a file with another program waits like the rest, for one word of his.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable

from memsearch_engine import freshness
from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.journal import shared
from memsearch_engine.journal.files import list_files, read_day
from memsearch_engine.journal.model import RELEASED, Entry
from memsearch_engine.place import author_of
from memsearch_engine.state import complaining, connect

#: How a note came to be: what capture wrote may be brought up to date as its turn grows.
CAPTURED = "captured"


def key_of(raw: bytes) -> str:
    """The name of an entry's bytes."""
    return digest(raw, size=16)


class Origin:
    """What one home wrote and released."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._adopted: set[str] = set()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self.home, "")
        return self._connection

    # -- writing --------------------------------------------------------------------------------------------

    def wrote(self, raws: Iterable[bytes], how: str = "written") -> None:
        """Note that these entries are this home's. Said before they are written: what then fails does no harm. Raises
        Unreachable."""
        rows = [(key_of(raw), how, time.time()) for raw in raws]
        with self._lock, complaining(self.home):
            self._db().executemany("INSERT OR REPLACE INTO origin_notes (key, how, at) VALUES (?,?,?)", rows)
        if how == "released":
            freshness.changed(self.home)

    def take_back(self, raws: Iterable[bytes]) -> None:
        """Know these entries no more: what was released waits again. Raises Unreachable."""
        rows = [(key_of(raw),) for raw in raws]
        with self._lock, complaining(self.home):
            self._db().executemany("DELETE FROM origin_notes WHERE key=?", rows)
        freshness.changed(self.home)

    def adopt(self, keys: Iterable[str]) -> None:
        """Take over notes by ``key_of`` their bytes: another machine of the owner's has."""
        rows = [(key, "written", time.time()) for key in keys if key]
        with self._lock, complaining(self.home):
            self._db().executemany("INSERT OR IGNORE INTO origin_notes (key, how, at) VALUES (?,?,?)", rows)
        freshness.changed(self.home)

    def trust(self, memory: str) -> int:
        """The owner's word for a folder and what is shared beside it: all that stands there now is his; what reads like an order waits all
        the same. Returns how many notes."""
        found = [entry for file in shared.list_notes(memory).files for entry in _entries(file.path)]
        self.adopt(key_of(entry.raw) for entry in found)  # how one came that is known already stays known
        return len(found)

    # -- asking ---------------------------------------------------------------------------------------------

    def arrived(self, memory: str, entries: list[Entry], path: str) -> set[str]:
        """Ids of the entries of a file that this home did not write and its owner did not release; of shared ones, those that are not
        committed either. Raises Unreachable."""
        self._adopt(memory)
        known = self._known(entries)
        found = [entry for entry in entries if key_of(entry.raw) not in known]
        if found and author_of(path) and shared.is_in(path, memory):
            let_in = shared.committed(path, memory)
            found = [entry for entry in found if shared.with_lf(entry.raw) not in let_in]
        return {entry.id for entry in found}

    def released(self, entries: list[Entry]) -> set[str]:
        """Ids of the entries that the owner released as they stand, whatever they say."""
        known = self._known(entries)
        return {entry.id for entry in entries if known.get(key_of(entry.raw)) == "released"}

    def saw(self, body: str) -> None:
        """Note that capture has made this of a turn: what it makes later is compared with it."""
        self.wrote([body.encode("utf-8", "replace")], "body")

    def has_seen(self, body: str) -> bool:
        with self._lock, complaining(self.home):
            query, key = "SELECT 1 FROM origin_notes WHERE key=?", key_of(body.encode("utf-8", "replace"))
            return self._db().execute(query, (key,)).fetchone() is not None

    def came_by(self, raw: bytes, *how: str) -> bool:
        """Whether these bytes came in one of these ways: by ``CAPTURED``, nobody has edited what capture wrote."""
        return bool(self.those([raw], *how))

    def those(self, raws: Iterable[bytes], *how: str) -> set[bytes]:
        """Those of *raws* that came so."""
        keys = {key_of(raw): raw for raw in raws}
        return {keys[key] for key, came in self._how(list(keys)).items() if came in how}

    def is_own(self, raw: bytes, memory: str) -> bool:
        self._adopt(memory)
        return self.is_written_here(raw)

    def is_written_here(self, raw: bytes) -> bool:
        """Whether this home wrote or took over these bytes, wherever they stand."""
        with self._lock, complaining(self.home):
            return self._db().execute("SELECT 1 FROM origin_notes WHERE key=?", (key_of(raw),)).fetchone() is not None

    def known_keys(self, keys: Iterable[str]) -> set[str]:
        """Those of *keys* (``key_of``) that this home wrote or released."""
        return set(self._how(list(keys)))

    def _known(self, entries: list[Entry]) -> dict[str, str]:
        return self._how([key_of(entry.raw) for entry in entries])

    def _how(self, keys: list[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with self._lock, complaining(self.home):
            for start in range(0, len(keys), 500):
                batch = keys[start : start + 500]
                marks = ",".join("?" * len(batch))
                found.update(self._db().execute(f"SELECT key, how FROM origin_notes WHERE key IN ({marks})", batch))
        return found

    def _adopt(self, memory: str) -> None:
        """Take over, once, what an earlier version of this home had in a folder, with what its owner had released by id."""
        if memory in self._adopted:
            return
        with self._lock, complaining(self.home):
            row = self._db().execute("SELECT how FROM origin_folders WHERE memory=?", (memory,)).fetchone()
            tables = {name for (name,) in self._db().execute("SELECT name FROM sqlite_master WHERE type='table'")}
            ids: set[str] = set()
            if "trust_released" in tables:
                ids = {name for (name,) in self._db().execute("SELECT entry_id FROM trust_released")}
        if row and row[0] == "adopt":
            for file in list_files(memory).files:
                entries = _entries(file.path)
                self.wrote((entry.raw for entry in entries), "adopted")
                self.wrote((e.raw for e in entries if e.id in ids and e.marks.get("trust") == RELEASED), "released")
            with self._lock, complaining(self.home):
                self._db().execute("UPDATE origin_folders SET how='adopted' WHERE memory=?", (memory,))
        self._adopted.add(memory)


def _entries(path: str) -> list[Entry]:
    try:
        return read_day(path).entries
    except OSError:
        return []  # `doctor` names it
