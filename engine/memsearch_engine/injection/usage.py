"""Which long-term memories are used: cited in a reply, or read through a command. Kept in
``state.db``.

A memory is known by eight hex digits, and a reply cites it as ``[mem:3f9a2c1b]``, several as
``[mem:3f9a2c1b, 77aa01de]``; a note, which a session may have been told at a prompt, by its twelve
(``receipts``). A citation counts once per turn; reading counts less, once a day and session: what
is read helps, or it may not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import using

WEIGHTS = {"cited": 1.0, "read": 0.25}
_ID = "[0-9a-f]{8}(?:[0-9a-f]{4})?"
_CITATION = re.compile(rf"[ \t]?\[mem:\s*({_ID}(?:[,;\s]+{_ID})*)\s*\]")
SCHEMA = """
CREATE TABLE IF NOT EXISTS memory_uses (
  id TEXT NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, turn TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (id, kind, agent, session, turn)) WITHOUT ROWID;
"""


class Use(msgspec.Struct):
    """``score``: uses by weight. ``last``: seconds since 1970."""

    cited: int = 0
    read: int = 0
    last: float = 0.0

    @property
    def score(self) -> float:
        return self.cited * WEIGHTS["cited"] + self.read * WEIGHTS["read"]


def cited(text: str) -> list[str]:
    """The memories that *text* cites, each once, in the order they stand."""
    if "[mem:" not in text:
        return []
    return list(
        dict.fromkeys(
            name for match in _CITATION.finditer(text) for name in re.findall(_ID, match[1])
        )
    )


def without_citations(text: str) -> str:
    """*text* as it reads without them: a citation is no part of a note."""
    return _CITATION.sub("", text) if "[mem:" in text else text


def note(
    home: Home,
    ids: Iterable[str],
    kind: str,
    *,
    agent: str = "",
    session: str = "",
    turn: str = "",
    at: float = 0.0,
) -> None:
    """Count uses. *turn* is the turn that cites, or the day on which it was read. Ids that nobody
    knows do no harm.
    """
    when = at or time.time()
    rows = [(name, kind, agent, session, turn, when) for name in ids]
    if rows:
        with using(home, SCHEMA) as db, transaction(db):
            db.executemany(
                "INSERT OR IGNORE INTO memory_uses (id, kind, agent, session, turn, at) VALUES (?,?,?,?,?,?)",
                rows,
            )


def totals(home: Home) -> dict[str, Use]:
    """Uses by memory."""
    found: dict[str, Use] = {}
    with using(home, SCHEMA) as db:
        for name, kind, count, last in db.execute(
            "SELECT id, kind, count(*), max(at) FROM memory_uses GROUP BY id, kind"
        ):
            use = found.setdefault(name, Use())
            setattr(use, kind, count)
            use.last = max(use.last, last)
    return found
