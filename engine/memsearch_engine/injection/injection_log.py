"""The injection log: which text and which notes each session was given, and whether they were used.

The log is a set of tables in ``state.db``. A note that was injected at a prompt counts as *cited*
when the agent's reply names it (``[mem:3f9a2c1b77aa]``) and as *opened* when someone expands it
within a day. A demoted note is not injected at prompts like the one where it was injected.

Uses of long-term memories are counted, too. Such a memory has an id of eight hex digits. A citation
(``[mem:3f9a2c1b, 77aa01de]``) counts once per turn. A read through a command counts less, once per
day and session: it may not have helped.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable

import msgspec

from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.migrations import placeholders, transaction
from memsearch_engine.core.state import change_state, state_rows, using

_SCHEMA = """
CREATE TABLE IF NOT EXISTS injected_texts (
  id TEXT NOT NULL, lines INTEGER NOT NULL,\
 text TEXT NOT NULL, tokens INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (id, lines)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS injections (
  at REAL NOT NULL, agent TEXT NOT NULL,\
 session TEXT NOT NULL, event TEXT NOT NULL, cwd TEXT NOT NULL,
  text_id TEXT NOT NULL, PRIMARY KEY (agent, session, event, at)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS injections_text ON injections(text_id);
CREATE INDEX IF NOT EXISTS injections_at ON injections(at);
CREATE TABLE IF NOT EXISTS told_notes (
  agent TEXT NOT NULL, session TEXT NOT NULL,\
 entry TEXT NOT NULL, at REAL NOT NULL, tokens INTEGER NOT NULL,
  confidence REAL NOT NULL, why TEXT NOT NULL,\
 terms TEXT NOT NULL, outcome TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (agent, session, entry, at)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS told_notes_entry ON told_notes(entry);
CREATE TABLE IF NOT EXISTS told_less (
  entry TEXT NOT NULL, terms TEXT NOT NULL,\
 at REAL NOT NULL, PRIMARY KEY (entry, terms)) WITHOUT ROWID;
"""
#: Event under which the text after a context compaction is logged.
AFTER_COMPACTION = "PostCompact"
BEFORE_ACTION, AFTER_ERROR = "PreToolUse", "PostToolUse"
#: Event under which the compaction or clearing of a session's context is logged. What was injected
#: before it is gone.
COMPACTED = "compacted"
_MOMENTS = {
    "SessionStart": "at its start",
    AFTER_COMPACTION: "after a compaction",
    BEFORE_ACTION: "before an action",
    AFTER_ERROR: "after an error",
}
#: Events whose injections share one budget of tokens per session.
_BUDGETED = ("UserPromptSubmit", BEFORE_ACTION, AFTER_ERROR)
_ORPHAN_TEXT_S = 3600.0
_OPENED_WITHIN_S = 24 * 3600.0
_RETENTION_S = 365 * 86400.0


class InjectedNote(msgspec.Struct, kw_only=True):
    """A note as it was injected into a session.

    Attributes:
        entry: the entry's id.
        tokens: estimated size of what was injected of it.
        confidence: probability that it is relevant, 0 to 1.
        why: reasons in words.
        terms: words that the prompt and the note share; nothing else of the prompt is stored.
        outcome: ``""``, ``"cited"`` or ``"opened"``.
    """

    entry: str
    tokens: int
    confidence: float
    why: str
    terms: list[str]
    outcome: str = ""


def store_texts(home: Home, name: str, texts: dict[int, tuple[str, int]]) -> None:
    """Store the texts that sessions can be given at their start, and delete old, unused ones.

    Args:
        name: id of this set of texts.
        texts: maximum number of lines -> (text, tokens).
    """
    rows = [(name, lines, text, tokens, time.time()) for lines, (text, tokens) in texts.items()]
    with using(home, _SCHEMA) as db, transaction(db):
        db.executemany(
            "INSERT OR IGNORE INTO injected_texts (id, lines, text, tokens, at) VALUES (?,?,?,?,?)",
            rows,
        )
        # A prepared text that no session received is deleted after an hour: a hook may still
        # report that it printed it.
        for table in ("injections", "told_notes"):
            db.execute(f"DELETE FROM {table} WHERE at < ?", (time.time() - _RETENTION_S,))
        db.execute(
            "DELETE FROM injected_texts WHERE at < ? AND NOT EXISTS (SELECT 1 FROM injections "
            "WHERE text_id=injected_texts.id)",
            (time.time() - _ORPHAN_TEXT_S,),
        )


def record_start(
    home: Home, at: float, agent: str, session: str, event: str, cwd: str, text_id: str
) -> None:
    """Log the injection of a text that ``store_texts`` stored, *at* in seconds since 1970."""
    change_state(
        home,
        _SCHEMA,
        "INSERT OR IGNORE INTO injections (at, agent, session, event, cwd, text_id) "
        "VALUES (?,?,?,?,?,?)",
        (at, agent, session, event, cwd, text_id),
    )


def record(
    home: Home,
    agent: str,
    session: str,
    event: str,
    cwd: str,
    text: str,
    tokens: int,
    notes: list[InjectedNote],
    wait_s: float,
    at: float | None = None,
) -> float:
    """Log that a session was given *text* with *notes* in it.

    Args:
        event: the agent's event.
        tokens: estimated size of *text*.
        wait_s: longest wait for another process that writes, in seconds.
        at: seconds since 1970; None for now.

    Returns:
        The time of the record, in seconds since 1970.
    """
    now, name = time.time() if at is None else at, digest(text, size=6)
    who = (agent, session)
    rows = [
        (*who, note.entry, now, note.tokens, note.confidence, note.why, " ".join(note.terms))
        for note in notes
    ]
    with using(home, _SCHEMA) as db:
        db.execute(f"PRAGMA busy_timeout = {max(1, int(wait_s * 1000))}")
        with transaction(db):
            db.execute(
                "INSERT OR IGNORE INTO injected_texts (id, lines, text, tokens, at) "
                "VALUES (?,0,?,?,?)",
                (name, text, tokens, now),
            )
            db.execute(
                "INSERT OR IGNORE INTO injections (at, agent, session, event, cwd, text_id) "
                "VALUES (?,?,?,?,?,?)",
                (now, agent, session, event, cwd, name),
            )
            db.executemany(
                "INSERT OR IGNORE INTO told_notes (agent, session, entry, "
                "at, tokens, confidence, why, terms) VALUES (?,?,?,?,?,?,?,?)",
                rows,
            )
    return now


def withdraw(home: Home, at: float, agent: str, session: str) -> None:
    """Delete a record: its text did not reach the session."""
    with using(home, _SCHEMA) as db, transaction(db):
        for table in ("injections", "told_notes"):
            db.execute(
                f"DELETE FROM {table} WHERE agent=? AND session=? AND at=?", (agent, session, at)
            )


class SessionInjections(msgspec.Struct):
    """What was injected into a session since its context was last compacted.

    Attributes:
        entries: ids of injected notes.
        tokens: tokens spent at prompts and actions.
        texts: all injected texts.
    """

    entries: set[str]
    tokens: int
    texts: list[str]


def session_injections(home: Home, agent: str, session: str) -> SessionInjections:
    """Read what a session was given since its last context compaction."""
    who = (agent, session)
    with using(home, _SCHEMA) as db:
        query = (
            "SELECT coalesce(max(at), 0) FROM injections WHERE agent=? AND session=? AND event=?"
        )
        since = db.execute(query, (*who, COMPACTED)).fetchone()[0]
        query = "SELECT entry FROM told_notes WHERE agent=? AND session=? AND at>=?"
        entries = {entry for (entry,) in db.execute(query, (*who, since))}
        rows = db.execute(
            "SELECT i.event, t.tokens, t.text FROM injections i "
            "JOIN injected_texts t ON t.id=i.text_id "
            "WHERE i.agent=? AND i.session=? AND i.at>=? AND t.lines IN (0, ?)",
            (*who, since, agent_registry.context_lines(agent)),
        ).fetchall()
    prompts = sum(tokens for event, tokens, _ in rows if event in _BUDGETED)
    return SessionInjections(entries, prompts, [text for _, _, text in rows])


def mark_cited(home: Home, agent: str, session: str, entries: Iterable[str]) -> None:
    """Log that a reply of the session cites these entries."""
    with using(home, _SCHEMA) as db, transaction(db):
        query = "UPDATE told_notes SET outcome='cited' WHERE agent=? AND session=? AND entry=?"
        db.executemany(query, [(agent, session, entry) for entry in entries])


def mark_opened(home: Home, entry: str) -> None:
    """Log that an entry was opened, for every injection of it within the last day.

    Does nothing where the database cannot be written.
    """
    if not home.state_db.exists():
        return
    with contextlib.suppress(Unreachable), using(home, _SCHEMA) as db:
        db.execute(
            "UPDATE told_notes SET outcome='opened' WHERE entry=? AND outcome='' AND at > ?",
            (entry, time.time() - _OPENED_WITHIN_S),
        )


def demote(home: Home, name: str) -> list[str]:
    """Stop injecting a note at prompts like those where it was injected.

    Args:
        name: an entry's id or its first digits.

    Returns:
        Ids of the entries that are demoted.
    """
    with using(home, _SCHEMA) as db, transaction(db):
        query = (
            "SELECT DISTINCT entry, terms FROM told_notes WHERE substr(entry, 1, ?)=? AND terms<>''"
        )
        found = db.execute(query, (len(name), name)).fetchall() if name else []
        rows = [(entry, terms, time.time()) for entry, terms in found]
        db.executemany("INSERT OR IGNORE INTO told_less (entry, terms, at) VALUES (?,?,?)", rows)
    return sorted({entry for entry, _ in found})


def promote(home: Home, name: str) -> list[str]:
    """Undo ``demote``. Returns the ids of the entries that were demoted."""
    with using(home, _SCHEMA) as db, transaction(db):
        query = "SELECT DISTINCT entry FROM told_less WHERE substr(entry, 1, ?)=?"
        found = [entry for (entry,) in db.execute(query, (len(name), name))] if name else []
        db.executemany("DELETE FROM told_less WHERE entry=?", [(entry,) for entry in found])
    return found


def demotions(home: Home, entries: Iterable[str]) -> list[tuple[str, set[str]]]:
    """Demotions of these entries, as (entry id, words of the prompt where it was demoted)."""
    names = list(entries)
    query = f"SELECT entry, terms FROM told_less WHERE entry IN ({placeholders(len(names))})"
    return [(entry, set(terms.split())) for entry, terms in state_rows(home, _SCHEMA, query, names)]


class InjectionRecord(msgspec.Struct, kw_only=True):
    """One record of the log: a text that a session was given.

    Attributes:
        at: seconds since 1970.
        event: the agent's event.
        text_id: id of the stored text.
        notes: the injected notes; empty for the text at a session's start.
    """

    at: float
    agent: str
    session: str
    event: str
    cwd: str
    text_id: str
    text: str
    tokens: int
    notes: list[InjectedNote] = []

    @property
    def moment(self) -> str:
        """The moment in the session, in words."""
        return _MOMENTS.get(self.event, "at a prompt")

    def words(self, note: InjectedNote) -> str:
        """The words that were injected of *note*, without the citation."""
        cite = f"[mem:{note.entry}]"
        line = next((line for line in self.text.splitlines() if cite in line), "")
        return line.removeprefix("- ").replace(cite, "").strip()


def records(home: Home, session: str = "", limit: int = 50) -> list[InjectionRecord]:
    """Records of the log, newest first.

    Args:
        session: only this session's; ``""`` for all.
        limit: at most so many.
    """
    with using(home, _SCHEMA) as db:
        rows = db.execute(
            "SELECT at, agent, session, event, cwd, text_id FROM injections "
            "WHERE text_id<>'' AND (?='' OR session=?) ORDER BY at DESC LIMIT ?",
            (session, session, limit),
        ).fetchall()
        found = []
        for at, agent, of, event, cwd, text_id in rows:
            # A text for the start of a session is stored in several lengths; others in one (0).
            query = "SELECT text, tokens FROM injected_texts WHERE id=? AND lines IN (0, ?)"
            text, tokens = db.execute(
                query, (text_id, agent_registry.context_lines(agent))
            ).fetchone() or ("", 0)
            query = (
                "SELECT entry, tokens, confidence, why, terms, outcome FROM told_notes "
                "WHERE agent=? AND session=? AND at=? ORDER BY confidence DESC"
            )
            notes = [
                InjectedNote(
                    entry=entry,
                    tokens=size,
                    confidence=sure,
                    why=why,
                    terms=terms.split(),
                    outcome=outcome,
                )
                for entry, size, sure, why, terms, outcome in db.execute(query, (agent, of, at))
            ]
            found.append(
                InjectionRecord(
                    at=at,
                    agent=agent,
                    session=of,
                    event=event,
                    cwd=cwd,
                    text_id=text_id,
                    text=text,
                    tokens=tokens,
                    notes=notes,
                )
            )
        return found


_WEIGHTS = {"cited": 1.0, "read": 0.25}
_ID = "[0-9a-f]{8}(?:[0-9a-f]{4})?"
_CITATION = re.compile(rf"[ \t]?\[mem:\s*({_ID}(?:[,;\s]+{_ID})*)\s*\]")
_USES = """
CREATE TABLE IF NOT EXISTS memory_uses (
  id TEXT NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL,\
 session TEXT NOT NULL, turn TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (id, kind, agent, session, turn)) WITHOUT ROWID;
"""


class Use(msgspec.Struct):
    """Uses of one memory. ``last``: time of the last use, in seconds since 1970."""

    cited: int = 0
    read: int = 0
    last: float = 0.0

    @property
    def score(self) -> float:
        """Weighted number of uses."""
        return self.cited * _WEIGHTS["cited"] + self.read * _WEIGHTS["read"]


def cited(text: str) -> list[str]:
    """Ids that *text* cites, each once, in order."""
    if "[mem:" not in text:
        return []
    return list(
        dict.fromkeys(
            name for match in _CITATION.finditer(text) for name in re.findall(_ID, match[1])
        )
    )


def without_citations(text: str) -> str:
    """*text* without citations."""
    return _CITATION.sub("", text) if "[mem:" in text else text


def note_use(
    home: Home,
    ids: Iterable[str],
    kind: str,
    *,
    agent: str = "",
    session: str = "",
    turn: str = "",
    at: float = 0.0,
) -> None:
    """Count uses of memories. Unknown ids do no harm.

    Args:
        ids: memory ids.
        kind: ``cited`` or ``read``.
        turn: the citing turn, or the day of a read.
        at: seconds since 1970; 0 for now.
    """
    when = at or time.time()
    rows = [(name, kind, agent, session, turn, when) for name in ids]
    if rows:
        with using(home, _USES) as db, transaction(db):
            db.executemany(
                "INSERT OR IGNORE INTO memory_uses (id, kind, agent, session, turn, at) "
                "VALUES (?,?,?,?,?,?)",
                rows,
            )


def totals(home: Home) -> dict[str, Use]:
    """All uses, by memory id."""
    found: dict[str, Use] = {}
    with using(home, _USES) as db:
        for name, kind, count, last in db.execute(
            "SELECT id, kind, count(*), max(at) FROM memory_uses GROUP BY id, kind"
        ):
            use = found.setdefault(name, Use())
            setattr(use, kind, count)
            use.last = max(use.last, last)
    return found
