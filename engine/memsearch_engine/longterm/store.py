"""Session memories (results of phase 1), readable sessions, and the owner's refusals.

They are stored in ``state.db``.

The id of a memory is eight hex digits, made from its agent and session. Sessions cite this id.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Set
from typing import Any, Literal

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import change_state, state_rows, using
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.injection.injection_log import Use, note_use, totals

Mode = Literal["enabled", "disabled", "polluted"]
DAY_S = 86400.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_memories (
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL,\
 project TEXT NOT NULL, project_name TEXT NOT NULL,
  cwd TEXT NOT NULL, path TEXT NOT NULL, watermark REAL NOT NULL,\
 raw_memory TEXT NOT NULL, summary TEXT NOT NULL,
  slug TEXT NOT NULL, made REAL NOT NULL,\
 selected REAL NOT NULL DEFAULT 0, forgotten REAL NOT NULL DEFAULT 0,
  restored REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS longterm_modes (
  agent TEXT NOT NULL, session TEXT NOT NULL, mode TEXT NOT NULL,\
 at REAL NOT NULL, PRIMARY KEY (agent, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS longterm_refused (
  sign TEXT NOT NULL, line TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (sign, line)) WITHOUT ROWID;
"""


class SessionMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of one session.

    Attributes:
        project, project_name: the identity and the name of the session's project.
        watermark: when the session last changed.
        selected: the watermark at the last consolidation; 0 for none.
        forgotten: when it was forgotten; 0 if it was not.
        restored: when the owner restored it.
    """

    id: str
    agent: str
    session: str
    project: str
    project_name: str
    cwd: str
    path: str
    watermark: float
    raw_memory: str
    summary: str
    slug: str
    made: float
    selected: float = 0.0
    forgotten: float = 0.0
    restored: float = 0.0

    @property
    def title(self) -> str:
        """Its subject in one line: the first lesson."""
        return next(
            (line.lstrip("-*+ ") for line in self.raw_memory.splitlines() if line.strip()),
            self.slug,
        )

    @property
    def stem(self) -> str:
        """The name of its summary file: time, id and subject."""
        when = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(self.watermark))
        return f"{when}-{self.id}" + (f"-{self.slug}" if self.slug else "")

    def last_used(self, use: Use | None) -> float:
        """The time from which its age counts: its last use, or else its creation.

        An old session may have been read only today.
        """
        return max(use.last if use and use.last else max(self.watermark, self.made), self.restored)


_COLUMNS = SessionMemory.__struct_fields__
_LIST = ", ".join(_COLUMNS)


def id_of(agent: str, session: str) -> str:
    """The id of the memory of a session."""
    return digest("memory", agent, session, size=4)


def slug_of(text: str | None) -> str:
    """A slug that is safe in a file name: at most 60 of a-z, 0-9 and ``_``."""
    return re.sub(r"[^a-z0-9]", "_", (text or "").lower())[:60].strip("_")


class SessionMemories:
    """The session memories of one home. *clock* returns seconds since 1970."""

    def __init__(self, home: Home, clock: Callable[[], float] = time.time) -> None:
        self.home, self.clock = home, clock

    @staticmethod
    def put(db: sqlite3.Connection, memory: SessionMemory) -> None:
        """Write a session memory unless a newer one exists, in the caller's transaction."""
        old = db.execute(
            "SELECT watermark, selected FROM longterm_memories WHERE id=?", (memory.id,)
        ).fetchone()
        if old and old[0] > memory.watermark:
            return
        updated = msgspec.structs.replace(memory, selected=old[1] if old else 0.0)
        marks = ",".join("?" * len(_COLUMNS))
        values = [getattr(updated, name) for name in _COLUMNS]
        db.execute(f"INSERT OR REPLACE INTO longterm_memories ({_LIST}) VALUES ({marks})", values)

    @staticmethod
    def drop(db: sqlite3.Connection, name: str) -> None:
        """Delete the memory of a session that teaches nothing now, in the caller's transaction."""
        db.execute("DELETE FROM longterm_memories WHERE id=?", (name,))

    def all(self) -> list[SessionMemory]:
        """All memories, including forgotten ones, newest first."""
        rows = state_rows(
            self.home, SCHEMA, f"SELECT {_LIST} FROM longterm_memories ORDER BY watermark DESC, id"
        )
        return [SessionMemory(**dict(zip(_COLUMNS, row))) for row in rows]

    def get(self, name: str) -> SessionMemory | None:
        """The memory with this id or unambiguous prefix of an id."""
        if not re.fullmatch(r"[0-9a-f]{1,8}", name):
            return None
        rows = state_rows(
            self.home,
            SCHEMA,
            f"SELECT {_LIST} FROM longterm_memories WHERE id GLOB ? LIMIT 2",
            (f"{name}*",),
        )
        return SessionMemory(**dict(zip(_COLUMNS, rows[0]))) if len(rows) == 1 else None

    # -- forgetting

    def forget_unused(self, unused_days: float, pinned: Set[str] = frozenset()) -> list[str]:
        """Forget memories that nobody used within the window.

        Delete those that were forgotten that long ago.

        Args:
            unused_days: the length of the window in days.
            pinned: ids that are never forgotten.

        Returns:
            The ids that were forgotten now.
        """
        now, uses = self.clock(), totals(self.home)
        cutoff = now - unused_days * DAY_S
        memories = self.all()
        stale = [
            m.id
            for m in memories
            if not m.forgotten and m.id not in pinned and m.last_used(uses.get(m.id)) < cutoff
        ]
        gone = [
            m.id
            for m in memories
            if m.forgotten and m.forgotten < now - max(unused_days, 1) * DAY_S
        ]
        with using(self.home, SCHEMA) as db, transaction(db):
            rows = [(now, name) for name in stale]
            db.executemany("UPDATE longterm_memories SET forgotten=? WHERE id=?", rows)
            db.executemany("DELETE FROM longterm_memories WHERE id=?", [(name,) for name in gone])
        return stale

    def restore(self, name: str) -> None:
        """Restore a forgotten memory. Its age counts from now."""
        change_state(
            self.home,
            SCHEMA,
            "UPDATE longterm_memories SET forgotten=0, restored=? WHERE id=?",
            (self.clock(), name),
        )

    def select(self, most: int, pinned: Set[str] = frozenset()) -> list[SessionMemory]:
        """Select the memories for a consolidation: pinned ones first, then by use, then by time.

        They are returned in the order of their ids, so that another rank alone changes no file.

        Args:
            most: the maximum number of memories.
            pinned: ids that come first.
        """
        uses = totals(self.home)

        def rank(memory: SessionMemory) -> tuple[Any, ...]:
            """The sort key of a memory."""
            use = uses.get(memory.id)
            return (
                memory.id in pinned,
                use.score if use else 0.0,
                memory.last_used(use),
                memory.watermark,
                memory.id,
            )

        excluded = {
            (agent, session) for (agent, session), mode in self.modes().items() if mode != "enabled"
        }
        candidates = [
            m for m in self.all() if not m.forgotten and (m.agent, m.session) not in excluded
        ]
        return sorted(
            sorted(candidates, key=rank, reverse=True)[:most], key=lambda memory: memory.id
        )

    @staticmethod
    def mark_selected(db: sqlite3.Connection, chosen: Iterable[SessionMemory]) -> None:
        """Record exactly the consolidated versions, not newer ones, in the caller's transaction."""
        db.execute("UPDATE longterm_memories SET selected=0")
        rows = [(m.watermark, m.id, m.watermark) for m in chosen]
        db.executemany("UPDATE longterm_memories SET selected=? WHERE id=? AND watermark=?", rows)

    # -- modes and refusals

    def set_mode(self, agent: str, session: str, mode: Mode) -> None:
        """Set whether the long-term memory may read a session."""
        change_state(
            self.home,
            SCHEMA,
            "INSERT OR REPLACE INTO longterm_modes (agent, session, mode, at) VALUES (?,?,?,?)",
            (agent, session, mode, self.clock()),
        )

    def modes(self) -> dict[tuple[str, str], Mode]:
        """(agent, session) -> mode, for sessions with a mode."""
        return {
            (a, s): mode
            for a, s, mode in state_rows(
                self.home, SCHEMA, "SELECT agent, session, mode FROM longterm_modes"
            )
        }

    def refuse(self, sign: Literal["+", "-"], lines: Iterable[str]) -> None:
        """Record that the owner rejected the addition (``+``) or removal (``-``) of *lines*."""
        rows = [(sign, plain, self.clock()) for line in lines if (plain := plain_line(line))]
        with using(self.home, SCHEMA) as db, transaction(db):
            db.executemany(
                "INSERT OR REPLACE INTO longterm_refused (sign, line, at) VALUES (?,?,?)", rows
            )

    def allow(self, lines: Iterable[str]) -> None:
        """Forget refusals of lines that the owner wrote."""
        with using(self.home, SCHEMA) as db:
            db.executemany(
                "DELETE FROM longterm_refused WHERE line=?", [(plain_line(line),) for line in lines]
            )

    def refused(self, sign: str) -> set[str]:
        """The refused lines, in the form of ``plain_line``."""
        return {
            line
            for (line,) in state_rows(
                self.home, SCHEMA, "SELECT line FROM longterm_refused WHERE sign=?", (sign,)
            )
        }


def note_read(home: Home, agent: str, session: str) -> None:
    """Count once a day that somebody read a session's memory. Write errors are ignored."""
    if not session or not home.state_db.exists():
        return
    name = id_of(agent, session)
    with contextlib.suppress(Unreachable):
        if SessionMemories(home).get(name):
            note_use(home, [name], "read", turn=time.strftime("%Y-%m-%d"))


def plain_line(line: str) -> str:
    """A line for comparisons: without bullet sign, scope, citations, case and spacing."""
    text = re.sub(r"\[mem:[^\]]*\]", "", line).strip().lstrip("-*+ ")
    text = re.sub(r"^\((?:project|everywhere)\)\s*", "", text)
    return " ".join(text.casefold().split()).rstrip(". ")


# -- use


def pinned_ids(home: Home) -> set[str]:
    """Ids of the sessions with a pinned note. They are never forgotten."""
    catalog = Catalog.open_readonly(home.cache_db)
    if catalog is None:
        return set()
    with contextlib.closing(catalog):
        return {id_of(agent, session) for agent, session in catalog.marked_sessions("pin")}


class SessionMemoryUsage(msgspec.Struct):
    """The memory of one session with its use. Days are ISO dates; '' for none.

    Attributes:
        forget_on: the day on which it will be forgotten if nobody uses it.
        gone_on: the last day on which a forgotten memory can be restored.
        weighed: whether a consolidation has read it.
    """

    id: str
    agent: str
    session: str
    project: str
    made: str
    age_days: float
    cited: int
    read: int
    last_used: str
    pinned: bool
    weighed: bool
    forgotten: str
    forget_on: str
    gone_on: str
    slug: str
    title: str


def overview(home: Home, unused_days: float) -> list[SessionMemoryUsage]:
    """Return every session memory with its use, age, and the days of its forgetting and deletion.

    Args:
        unused_days: the days without use after which a memory is forgotten.
    """
    now = time.time()
    uses, pinned = totals(home), pinned_ids(home)
    rows = []
    for memory in SessionMemories(home).all():
        use = uses.get(memory.id)
        last = memory.last_used(use)
        rows.append(
            SessionMemoryUsage(
                id=memory.id,
                agent=memory.agent,
                session=memory.session,
                project=memory.project_name,
                made=_day(memory.watermark),
                age_days=round((now - memory.watermark) / DAY_S, 1),
                cited=use.cited if use else 0,
                read=use.read if use else 0,
                last_used=_day(last),
                pinned=memory.id in pinned,
                weighed=bool(memory.selected),
                forgotten=_day(memory.forgotten),
                forget_on=""
                if memory.forgotten or memory.id in pinned
                else _day(last + unused_days * DAY_S),
                gone_on=_day(memory.forgotten + max(unused_days, 1) * DAY_S)
                if memory.forgotten
                else "",
                slug=memory.slug,
                title=memory.title,
            )
        )
    return rows


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds)) if seconds else ""
