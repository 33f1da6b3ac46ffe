"""Who wrote a note: this home, or somebody whose files arrived with a clone, a pull or a copy.

Agents are told unasked only what this home wrote itself or its owner has released, and that is known here, by content, in
``state.db``: a mark in a file may have been written by anybody. One thing is inferred: in a memory folder that this home made,
and that no repository tracks, nobody but the owner writes, so what stands there is his, whatever he wrote it with.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable
from functools import lru_cache

from memsearch_engine import inside
from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.journal.files import list_files, read_day
from memsearch_engine.journal.model import RELEASED, Entry
from memsearch_engine.place import find
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
        self._folders: dict[str, str] = {}

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
            self._db().executemany("INSERT OR REPLACE INTO origin_notes VALUES (?,?,?)", rows)

    def made(self, memory: str) -> None:
        """Note that a memory folder is this home's own, if nobody has written into it before."""
        with self._lock, complaining(self.home):
            if memory in self._folders or self._folder(memory):
                return
            if not list_files(memory).files:
                self._db().execute("INSERT OR IGNORE INTO origin_folders VALUES (?,'made',?)", (memory, time.time()))

    def trust(self, memory: str) -> int:
        """The owner's word for a folder: all that stands in it now is his, and what is written there by hand; what reads like an
        order waits all the same. Returns how many notes."""
        found = [entry for file in list_files(memory).files for entry in read_day(file.path).entries]
        self.wrote(entry.raw for entry in found)
        with self._lock, complaining(self.home):
            self._db().execute("INSERT OR REPLACE INTO origin_folders VALUES (?,'owner',?)", (memory, time.time()))
            self._folders.pop(memory, None)
        return len(found)

    # -- asking ---------------------------------------------------------------------------------------------

    def arrived(self, memory: str, entries: list[Entry]) -> set[str]:
        """Ids of the entries that this home did not write and its owner did not release. Raises Unreachable."""
        known = self._known(entries)
        unknown = {entry.id for entry in entries if key_of(entry.raw) not in known}
        return unknown if unknown and not self._is_own(memory) else set()

    def released(self, entries: list[Entry]) -> set[str]:
        """Ids of the entries that the owner released as they stand, whatever they say."""
        known = self._known(entries)
        return {entry.id for entry in entries if known.get(key_of(entry.raw)) == "released"}

    def is_captured(self, raw: bytes) -> bool:
        """Whether these bytes are what capture wrote: nobody has edited them."""
        with self._lock, complaining(self.home):
            row = self._db().execute("SELECT how FROM origin_notes WHERE key=?", (key_of(raw),)).fetchone()
        return bool(row) and row[0] == CAPTURED

    def is_own(self, raw: bytes, memory: str) -> bool:
        with self._lock, complaining(self.home):
            query = "SELECT 1 FROM origin_notes WHERE key=?"
            if self._db().execute(query, (key_of(raw),)).fetchone():
                return True
        return self._is_own(memory)

    def _known(self, entries: list[Entry]) -> dict[str, str]:
        keys = [key_of(entry.raw) for entry in entries]
        found: dict[str, str] = {}
        with self._lock, complaining(self.home):
            for start in range(0, len(keys), 500):
                batch = keys[start : start + 500]
                marks = ",".join("?" * len(batch))
                found.update(self._db().execute(f"SELECT key, how FROM origin_notes WHERE key IN ({marks})", batch))
        return found

    def _is_own(self, memory: str) -> bool:
        with self._lock, complaining(self.home):
            how = self._folder(memory)
        if how == "adopt":
            self._adopt(memory)
        return bool(how) and not is_tracked(memory, str(self.home.root))

    def _folder(self, memory: str) -> str:
        if not self._folders.get(memory):
            row = self._db().execute("SELECT how FROM origin_folders WHERE memory=?", (memory,)).fetchone()
            self._folders[memory] = row[0] if row else ""
        return self._folders[memory]

    def _adopt(self, memory: str) -> None:
        """Take over what an earlier version of this home had in a folder, with what its owner had released by id."""
        with self._lock, complaining(self.home):
            tables = {name for (name,) in self._db().execute("SELECT name FROM sqlite_master WHERE type='table'")}
            ids: set[str] = set()
            if "trust_released" in tables:
                ids = {name for (name,) in self._db().execute("SELECT entry_id FROM trust_released")}
        for file in list_files(memory).files:
            entries = read_day(file.path).entries
            freed = [e.raw for e in entries if e.id in ids and e.marks.get("trust") == RELEASED]
            self.wrote((entry.raw for entry in entries), "adopted")
            self.wrote(freed, "released")
        with self._lock, complaining(self.home):
            self._db().execute("UPDATE origin_folders SET how='adopted' WHERE memory=?", (memory,))
            self._folders.pop(memory, None)


def is_tracked(memory: str, home_root: str) -> bool:
    """Whether a repository holds files of this folder: then others can write into it. The index is searched for the folder's name
    as bytes; one that can't be read counts as holding it."""
    root = inside.base_of(memory)
    common = find(root, home_root)[2]
    if not common:
        return os.path.lexists(os.path.join(root, ".git"))
    index = os.path.join(common, "index")
    try:
        info = os.stat(index)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return _holds(index, info.st_mtime_ns, info.st_size)


@lru_cache(maxsize=256)
def _holds(index: str, mtime_ns: int, size: int) -> bool:
    try:
        return inside.MARKER[1:].encode() + b"/" in inside.read(index, inside.MAX_NOTES)
    except OSError:
        return True
