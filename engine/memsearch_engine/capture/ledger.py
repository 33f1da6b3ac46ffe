"""The outcome of every turn that was seen, in ``state.db``, so that coverage can be counted.

The journal contains the captured turns. The ledger also knows the others, and the reasons.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from memsearch_engine.agents.transcripts.model import Conversation, Session
from memsearch_engine.core.migrations import placeholders, transaction
from memsearch_engine.core.state import StateTables

#: captured: in the journal. trivial: nothing to remember. ours: a prompt of memsearch to a model.
#: deleted: deleted by the owner. homeless: its folder no longer exists. new: seen but not captured.
#: failed: the capture raised an error, which ``reason`` contains.
TurnOutcome = Literal["captured", "trivial", "ours", "deleted", "homeless", "new", "failed"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS seen_turns (
  agent TEXT NOT NULL, session TEXT NOT NULL,\
 turn TEXT NOT NULL, day TEXT NOT NULL, cwd TEXT NOT NULL,
  outcome TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL, started REAL NOT NULL,
  PRIMARY KEY (agent, session, turn)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen_sessions (
  agent TEXT NOT NULL, session TEXT NOT NULL,\
 path TEXT NOT NULL, modified REAL NOT NULL, size INTEGER NOT NULL,
  turns INTEGER NOT NULL, parent TEXT NOT NULL, version TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (agent, path, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agent_folders (
  agent TEXT NOT NULL, folder TEXT NOT NULL,\
 seen REAL NOT NULL, PRIMARY KEY (agent, folder)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS capturing (agent TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unknown_records (
  agent TEXT NOT NULL, kind TEXT NOT NULL,\
 version TEXT NOT NULL, count INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (agent, kind, version)) WITHOUT ROWID;
"""


#: The value in ``capturing`` of an uninstalled agent, instead of a time.
_ENDED = -1.0


class SeenTurn(msgspec.Struct, frozen=True):
    """A turn that was seen, and its outcome."""

    agent: str
    session: str
    turn: str
    day: str
    cwd: str
    outcome: TurnOutcome
    reason: str = ""
    started: float = 0.0  # seconds since 1970


class SeenSession(msgspec.Struct, frozen=True):
    """A session file as it was last read.

    Attributes:
        modified: modification time, in seconds since 1970.
        size: in bytes.
        turns: number of turns.
        parent: the session that it was forked from or that started it.
        version: the agent's version.
    """

    agent: str
    session: str
    path: str
    modified: float
    size: int
    turns: int
    parent: str = ""
    version: str = ""


class MissedTurn(msgspec.Struct):
    """A turn that is not in memory, and the reason."""

    agent: str
    session: str
    turn: str
    day: str
    outcome: TurnOutcome
    reason: str


class CaptureLedger(StateTables):
    """The ledger of one home folder."""

    schema = _SCHEMA

    def note(self, turns: Iterable[SeenTurn]) -> None:
        """Record the outcomes of turns."""
        now = time.time()
        rows = [
            (t.agent, t.session, t.turn, t.day, t.cwd, t.outcome, t.reason, now, t.started)
            for t in turns
        ]
        with self._using() as db, transaction(db):
            db.executemany(
                "INSERT OR REPLACE INTO seen_turns (agent, session, "
                "turn, day, cwd, outcome, reason, at, started) "
                "VALUES (?,?,?,?,?,?,?,?,?)",
                rows,
            )

    def note_session(self, conversation: Conversation) -> None:
        """Record a session as it was read, and the numbers of its unknown records by kind."""
        where, version, now = conversation.where, conversation.version, time.time()
        with self._using() as db, transaction(db):
            db.execute(
                "INSERT OR REPLACE INTO seen_sessions (agent, session, "
                "path, modified, size, turns, parent, version, at) "
                "VALUES (?,?,?,?,?,?,?,?,?)",
                (
                    where.agent,
                    where.session,
                    where.path,
                    where.modified,
                    where.size,
                    len(conversation.ids),
                    conversation.parent,
                    version,
                    now,
                ),
            )
            db.executemany(
                "INSERT OR REPLACE INTO unknown_records (agent, kind, version, count, at) "
                "VALUES (?,?,?,?,?)",
                [
                    (where.agent, kind, version, count, now)
                    for kind, count in conversation.unknown.items()
                ],
            )

    def changed(self, sessions: Iterable[Session]) -> list[Session]:
        """Return the sessions that are new, or changed since they were last read."""
        seen = {key: (one.modified, one.size) for key, one in self.sessions().items()}
        return [
            one
            for one in sessions
            if seen.get((one.agent, one.path, one.session)) != (one.modified, one.size)
        ]

    def sessions(self) -> dict[tuple[str, str, str], SeenSession]:
        """Return the sessions as they were last read, by (agent, path, session)."""
        rows = self._rows(
            "SELECT agent, session, path, modified, size, turns, parent, version FROM seen_sessions"
        )
        return {(row[0], row[2], row[1]): SeenSession(*row) for row in rows}

    def outcomes(self, agent: str, session: str) -> dict[str, TurnOutcome]:
        """Return turn -> outcome for one session."""
        query = "SELECT turn, outcome FROM seen_turns WHERE agent=? AND session=?"
        return dict(self._rows(query, (agent, session)))

    def captured_between(
        self, agent: str, session: str, after: float, until: float
    ) -> dict[str, str]:
        """Return turn -> folder for the captured turns of a session between two times."""
        query = (
            "SELECT turn, cwd FROM seen_turns WHERE agent=? AND session=? "
            "AND outcome='captured' AND started > ? AND started <= ? ORDER BY started"
        )
        return dict(self._rows(query, (agent, session, after, until)))

    def counts(self, since: str = "") -> list[tuple[str, str, str, int]]:
        """Return (agent, day, outcome, turns), newest day first.

        Args:
            since: the first day (``YYYY-MM-DD``).
        """
        return self._rows(
            "SELECT agent, day, outcome, count(*) FROM seen_turns WHERE day >= ? "
            "GROUP BY 1, 2, 3 ORDER BY 2 DESC, 1, 3",
            (since,),
        )

    def counts_since(
        self, since: dict[str, float], day: str = ""
    ) -> list[tuple[str, str, str, int]]:
        """Return (agent, day, outcome, turns) since the start of capture, newest first.

        Args:
            since: agent -> start of its capture, in seconds since 1970.
            day: the first day (``YYYY-MM-DD``).
        """
        rows: list[tuple[str, str, str, int]] = []
        with self._using() as db:
            for agent, begun in since.items():
                rows += db.execute(
                    "SELECT agent, day, outcome, count(*) FROM seen_turns "
                    "WHERE agent=? AND started>=? AND day>=? GROUP BY 2, 3",
                    (agent, begun, day),
                ).fetchall()
        return sorted(rows, key=lambda row: (row[1], row[0]), reverse=True)

    def late(self, agent: str, since: float, before: float) -> int:
        """Return the number of turns between two times that were seen but not captured."""
        query = (
            "SELECT count(*) FROM seen_turns "
            "WHERE agent=? AND outcome IN ('new','failed') AND started BETWEEN ? AND ?"
        )
        return int(self._rows(query, (agent, since, before))[0][0])

    def missed(self, outcomes: Sequence[TurnOutcome], limit: int = 100) -> list[MissedTurn]:
        """Return the turns that are not in memory, newest first.

        Turns from before the start of capture are listed only if something failed.
        """
        rows = self._rows(
            "SELECT s.agent, session, turn, day, outcome, reason FROM seen_turns s "
            "LEFT JOIN capturing c ON c.agent=s.agent AND since>=0 "
            f"WHERE outcome IN ({placeholders(len(outcomes))}) "
            "AND (outcome NOT IN ('new','trivial') OR started>=since) "
            "ORDER BY at DESC, started DESC LIMIT ?",
            (*outcomes, limit),
        )
        return [MissedTurn(*row) for row in rows]

    def unknown(self) -> list[tuple[str, str, str, int]]:
        """Return the unknown records: (agent, record kind, agent's version, number)."""
        return self._rows(
            "SELECT agent, kind, version, count FROM unknown_records ORDER BY 1, 2, 3"
        )

    def capturing(self, agent: str, since: float | None) -> None:
        """Record when the capture of an agent began. The first time counts.

        Args:
            since: seconds since 1970; None ends the capture until the next call.
        """
        condition = "" if since is None else " WHERE since < 0"
        self._change(
            "INSERT INTO capturing (agent, since) VALUES (?,?) "
            f"ON CONFLICT (agent) DO UPDATE SET since=excluded.since{condition}",
            (agent, _ENDED if since is None else since),
        )

    def is_capturing(self, agent: str, since: float) -> bool:
        """Whether an agent's turns are captured.

        An agent that we never installed is captured from *since* on, because its plugin has another
        source. An uninstalled agent is not captured, whatever it still sends.
        """
        self._change("INSERT OR IGNORE INTO capturing (agent, since) VALUES (?,?)", (agent, since))
        return bool(self._rows("SELECT since >= 0 FROM capturing WHERE agent=?", (agent,))[0][0])

    def captured_since(self) -> dict[str, float]:
        """Return agent -> when its capture began, in seconds since 1970."""
        return dict(self._rows("SELECT agent, since FROM capturing WHERE since >= 0"))

    def remember_folder(self, agent: str, folder: str) -> None:
        """Store an agent's home that its own hook has reported."""
        self._change(
            "INSERT OR REPLACE INTO agent_folders (agent, folder, seen) VALUES (?,?,?)",
            (agent, folder, time.time()),
        )
