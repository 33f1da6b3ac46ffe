"""Use of long-term memories: cited in a reply, or read through a command. Stored in ``state.db``.

A long-term memory has an id of eight hex digits; a reply cites it as ``[mem:3f9a2c1b]`` or
``[mem:3f9a2c1b, 77aa01de]``. A note has twelve digits (see ``injection_log``). A citation counts
once per turn. A read counts less, once per day and session: it may not have helped.
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
        return self.cited * WEIGHTS["cited"] + self.read * WEIGHTS["read"]


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
    """Count uses of memories. Unknown ids do no harm.

    Args:
        ids: memory ids.
        kind: a key of ``WEIGHTS``.
        turn: the citing turn, or the day of a read.
        at: seconds since 1970; 0 for now.
    """
    when = at or time.time()
    rows = [(name, kind, agent, session, turn, when) for name in ids]
    if rows:
        with using(home, SCHEMA) as db, transaction(db):
            db.executemany(
                "INSERT OR IGNORE INTO memory_uses (id, kind, agent, session, turn, at) "
                "VALUES (?,?,?,?,?,?)",
                rows,
            )


def totals(home: Home) -> dict[str, Use]:
    """All uses, by memory id."""
    found: dict[str, Use] = {}
    with using(home, SCHEMA) as db:
        for name, kind, count, last in db.execute(
            "SELECT id, kind, count(*), max(at) FROM memory_uses GROUP BY id, kind"
        ):
            use = found.setdefault(name, Use())
            setattr(use, kind, count)
            use.last = max(use.last, last)
    return found
