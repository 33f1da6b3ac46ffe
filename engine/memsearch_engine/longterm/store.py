"""What each session taught (phase 1's output), which sessions may be read at all, and what the
owner refused: in ``state.db``.

A memory is known by eight hex digits of its agent and session; that is what sessions cite.
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
from memsearch_engine.core.state import using
from memsearch_engine.injection.usage import Use, note, totals

Mode = Literal["enabled", "disabled", "polluted"]
DAY_S = 86400.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_memories (
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL, project TEXT NOT NULL, project_name TEXT NOT NULL,
  cwd TEXT NOT NULL, path TEXT NOT NULL, watermark REAL NOT NULL, raw_memory TEXT NOT NULL, summary TEXT NOT NULL,
  slug TEXT NOT NULL, made REAL NOT NULL, selected REAL NOT NULL DEFAULT 0, forgotten REAL NOT NULL DEFAULT 0,
  restored REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS longterm_modes (
  agent TEXT NOT NULL, session TEXT NOT NULL, mode TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (agent, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS longterm_refused (
  sign TEXT NOT NULL, line TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (sign, line)) WITHOUT ROWID;
"""


class SessionMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What one session taught.

    Attributes:
        project, project_name: the identity and the name of the project that the session was in.
        watermark: when the session last changed; selected: the watermark that the last
            consolidation weighed, 0 for none.
        forgotten: when it was forgotten, 0 while it is kept; restored: when the owner took it back.
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
        """What it is about, in a line: its first lesson."""
        return next(
            (line.lstrip("-*+ ") for line in self.raw_memory.splitlines() if line.strip()),
            self.slug,
        )

    @property
    def stem(self) -> str:
        """The name of its summary's file: when, which, what about."""
        when = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(self.watermark))
        return f"{when}-{self.id}" + (f"-{self.slug}" if self.slug else "")

    def last_used(self, use: Use | None) -> float:
        """What its age counts from: its last use, else when it was learned (an old session may be
        learned from today).
        """
        return max(use.last if use and use.last else max(self.watermark, self.made), self.restored)


_COLUMNS = SessionMemory.__struct_fields__
_LIST = ", ".join(_COLUMNS)


def id_of(agent: str, session: str) -> str:
    return digest("memory", agent, session, size=4)


def slug_of(text: str | None) -> str:
    """A slug that is safe in a file's name: at most 60 of a-z, 0-9 and ``_``."""
    return re.sub(r"[^a-z0-9]", "_", (text or "").lower())[:60].strip("_")


class SessionMemories:
    """The session memories of one home. *clock*: seconds since 1970."""

    def __init__(self, home: Home, clock: Callable[[], float] = time.time) -> None:
        self.home, self.clock = home, clock

    @staticmethod
    def put(db: sqlite3.Connection, memory: SessionMemory) -> None:
        """Write what a session taught, unless something newer is there; in the caller's
        transaction.
        """
        old = db.execute(
            "SELECT watermark, selected FROM longterm_memories WHERE id=?", (memory.id,)
        ).fetchone()
        if old and old[0] > memory.watermark:
            return
        kept = msgspec.structs.replace(memory, selected=old[1] if old else 0.0)
        marks = ",".join("?" * len(_COLUMNS))
        values = [getattr(kept, name) for name in _COLUMNS]
        db.execute(f"INSERT OR REPLACE INTO longterm_memories ({_LIST}) VALUES ({marks})", values)

    @staticmethod
    def drop(db: sqlite3.Connection, name: str) -> None:
        """Forget a session that teaches nothing (any more); in the caller's transaction."""
        db.execute("DELETE FROM longterm_memories WHERE id=?", (name,))

    def all(self) -> list[SessionMemory]:
        """Everything, the forgotten too, newest first."""
        with using(self.home, SCHEMA) as db:
            rows = db.execute(
                f"SELECT {_LIST} FROM longterm_memories ORDER BY watermark DESC, id"
            ).fetchall()
        return [SessionMemory(**dict(zip(_COLUMNS, row))) for row in rows]

    def get(self, name: str) -> SessionMemory | None:
        """By id or an unambiguous beginning of it."""
        if not re.fullmatch(r"[0-9a-f]{1,8}", name):
            return None
        with using(self.home, SCHEMA) as db:
            rows = db.execute(
                f"SELECT {_LIST} FROM longterm_memories WHERE id GLOB ? LIMIT 2", (f"{name}*",)
            ).fetchall()
        return SessionMemory(**dict(zip(_COLUMNS, rows[0]))) if len(rows) == 1 else None

    # -- forgetting

    def forget_unused(self, unused_days: float, pinned: Set[str] = frozenset()) -> list[str]:
        """Forget what nobody used within the window, and delete for good what was forgotten that
        long ago.

        Args:
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
        self.set_forgotten(stale, now)
        with using(self.home, SCHEMA) as db:
            db.executemany("DELETE FROM longterm_memories WHERE id=?", [(name,) for name in gone])
        return stale

    def set_forgotten(self, names: Iterable[str], at: float) -> None:
        with using(self.home, SCHEMA) as db, transaction(db):
            db.executemany(
                "UPDATE longterm_memories SET forgotten=? WHERE id=?",
                [(at, name) for name in names],
            )

    def restore(self, name: str) -> None:
        """Take a forgotten memory back; its time counts from now."""
        with using(self.home, SCHEMA) as db:
            db.execute(
                "UPDATE longterm_memories SET forgotten=0, restored=? WHERE id=?",
                (self.clock(), name),
            )

    def select(self, most: int, pinned: Set[str] = frozenset()) -> list[SessionMemory]:
        """What a consolidation weighs: pinned first, then by use, then by time; in the order of
        their ids, so that a change of rank alone changes no file.
        """
        uses = totals(self.home)

        def rank(memory: SessionMemory) -> tuple[Any, ...]:
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
        kept = [m for m in self.all() if not m.forgotten and (m.agent, m.session) not in excluded]
        return sorted(sorted(kept, key=rank, reverse=True)[:most], key=lambda memory: memory.id)

    @staticmethod
    def mark_selected(db: sqlite3.Connection, chosen: Iterable[SessionMemory]) -> None:
        """Note exactly what was weighed: one that was made anew meanwhile is not; in the caller's
        transaction.
        """
        db.execute("UPDATE longterm_memories SET selected=0")
        rows = [(m.watermark, m.id, m.watermark) for m in chosen]
        db.executemany("UPDATE longterm_memories SET selected=? WHERE id=? AND watermark=?", rows)

    # -- modes and refusals

    def set_mode(self, agent: str, session: str, mode: Mode) -> None:
        with using(self.home, SCHEMA) as db:
            db.execute(
                "INSERT OR REPLACE INTO longterm_modes (agent, session, mode, at) VALUES (?,?,?,?)",
                (agent, session, mode, self.clock()),
            )

    def modes(self) -> dict[tuple[str, str], Mode]:
        """(agent, session) -> mode, where one was set."""
        with using(self.home, SCHEMA) as db:
            return {
                (a, s): mode
                for a, s, mode in db.execute("SELECT agent, session, mode FROM longterm_modes")
            }

    def refuse(self, sign: Literal["+", "-"], lines: Iterable[str]) -> None:
        """Remember that the owner does not want *lines* (``+``), or does not want them to go
        (``-``).
        """
        rows = [(sign, plain, self.clock()) for line in lines if (plain := plain_line(line))]
        with using(self.home, SCHEMA) as db, transaction(db):
            db.executemany(
                "INSERT OR REPLACE INTO longterm_refused (sign, line, at) VALUES (?,?,?)", rows
            )

    def allow(self, lines: Iterable[str]) -> None:
        """Forget refusals: the owner wrote it."""
        with using(self.home, SCHEMA) as db:
            db.executemany(
                "DELETE FROM longterm_refused WHERE line=?", [(plain_line(line),) for line in lines]
            )

    def refused(self, sign: str) -> set[str]:
        with using(self.home, SCHEMA) as db:
            return {
                line
                for (line,) in db.execute("SELECT line FROM longterm_refused WHERE sign=?", (sign,))
            }

    def clear(self) -> None:
        """Everything but the modes: what may be read at all is the owner's word."""
        with using(self.home, SCHEMA) as db, transaction(db):
            db.execute("DELETE FROM longterm_memories")
            db.execute("DELETE FROM longterm_refused")


def note_read(home: Home, agent: str, session: str) -> None:
    """Count that somebody looked at what came of a session, once a day. Where nothing can be
    written it is not counted.
    """
    if not session or not home.state_db.exists():
        return
    name = id_of(agent, session)
    with contextlib.suppress(Unreachable):
        if SessionMemories(home).get(name):
            note(home, [name], "read", turn=time.strftime("%Y-%m-%d"))


def plain_line(line: str) -> str:
    """A line as it is compared: without list sign, scope, citations, case and spacing."""
    text = re.sub(r"\[mem:[^\]]*\]", "", line).strip().lstrip("-*+ ")
    text = re.sub(r"^\((?:project|everywhere)\)\s*", "", text)
    return " ".join(text.casefold().split()).rstrip(". ")
