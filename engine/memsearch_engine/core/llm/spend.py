"""What models have cost, call by call, and the caps that are asked before each: in ``state.db``."""

from __future__ import annotations

import time
from datetime import date

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import ModelError, Reply
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.settings import Llm
from memsearch_engine.core.state import using

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spend (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, day TEXT NOT NULL, purpose TEXT NOT NULL, provider TEXT NOT NULL,
  model TEXT NOT NULL, agent TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL,
  counted INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS spend_day ON spend(day);
"""


def note(
    home: Home,
    llm: Llm,
    reply: Reply,
    *,
    purpose: str,
    provider: str,
    model: str,
    agent: str,
    at: float | None = None,
) -> None:
    """Write down what a call has cost. *at*: when it was, in seconds since 1970; None: now."""
    usd, at = _usd(llm, provider, reply), time.time() if at is None else at
    row = (
        at,
        date.fromtimestamp(at).isoformat(),
        purpose,
        provider,
        model,
        agent,
        reply.input_tokens,
        reply.output_tokens,
        usd,
        reply.counted,
    )
    with using(home, _SCHEMA) as db:
        db.execute(
            "INSERT INTO spend (at, day, purpose, provider, model, agent, input, output, usd, counted) VALUES (?,?,?,?,?,?,?,?,?,?)",
            row,
        )


def reserve(
    home: Home, *, purpose: str, provider: str, model: str, agent: str, tokens: int, cap: int
) -> int:
    """Set *tokens* aside before a call, so that callers at the same time can't pass the day's cap
    together.

    Returns:
        The number to settle under; 0 where the cap leaves no room. Who dies before settling has
        spent what was set aside.
    """
    day = date.today().isoformat()
    with using(home, _SCHEMA) as db, transaction(db):
        query = "SELECT coalesce(sum(input + output), 0) FROM spend WHERE day=? AND purpose=?"
        if db.execute(query, (day, purpose)).fetchone()[0] + tokens > cap:
            return 0
        row = (time.time(), day, purpose, provider, model, agent, tokens, 0, 0.0, 0)
        return int(
            db.execute(
                "INSERT INTO spend (at, day, purpose, provider, model, agent, input, output, usd, counted) VALUES (?,?,?,?,?,?,?,?,?,?)",
                row,
            ).lastrowid
            or 0
        )


def settle(home: Home, llm: Llm, number: int, provider: str, reply: Reply | ModelError) -> None:
    """Put what a call has really cost in place of what was set aside; what may have been billed
    stays as set aside.
    """
    with using(home, _SCHEMA) as db:
        if isinstance(reply, Reply):
            values = (
                reply.input_tokens,
                reply.output_tokens,
                _usd(llm, provider, reply),
                reply.counted,
                number,
            )
            db.execute("UPDATE spend SET input=?, output=?, usd=?, counted=? WHERE id=?", values)
        elif not reply.billed:
            db.execute("DELETE FROM spend WHERE id=?", (number,))


def _usd(llm: Llm, provider: str, reply: Reply) -> float:
    known = llm.providers.get(provider)
    return (
        (reply.input_tokens * known.price_in + reply.output_tokens * known.price_out) / 1e6
        if known
        else 0.0
    )


def today(home: Home, purpose: str) -> int:
    """Tokens that a purpose has used today."""
    with using(home, _SCHEMA) as db:
        query = "SELECT coalesce(sum(input + output), 0) FROM spend WHERE day=? AND purpose=?"
        return int(db.execute(query, (date.today().isoformat(), purpose)).fetchone()[0])


class Spent(msgspec.Struct):
    """Calls of one model for one purpose on one day. ``counted``: 1 where the provider said how
    many tokens, 0 where they are estimated.
    """

    day: str
    purpose: str
    provider: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    counted: int


def by_day(home: Home, since: str = "") -> list[Spent]:
    """Calls, tokens and dollars by day, purpose and provider, newest day first."""
    with using(home, _SCHEMA) as db:
        rows = db.execute(
            "SELECT day, purpose, provider, model, count(*), sum(input), sum(output), sum(usd), min(counted) FROM spend "
            "WHERE day >= ? GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3",
            (since,),
        ).fetchall()
    return [Spent(*row) for row in rows]
