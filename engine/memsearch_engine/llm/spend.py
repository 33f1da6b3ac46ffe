"""What models have cost, call by call, and the caps that are asked before each: in ``state.db``."""

from __future__ import annotations

import time
from datetime import date
from typing import Any

from memsearch_engine.home import Home
from memsearch_engine.llm.providers import Reply
from memsearch_engine.settings import Llm
from memsearch_engine.state import using

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spend (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, day TEXT NOT NULL, purpose TEXT NOT NULL, provider TEXT NOT NULL,
  model TEXT NOT NULL, agent TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL,
  counted INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS spend_day ON spend(day);
"""


def note(home: Home, llm: Llm, reply: Reply, *, purpose: str, provider: str, model: str, agent: str) -> None:
    """Write down what a call has cost."""
    known = llm.providers.get(provider)
    usd = (reply.input_tokens * known.price_in + reply.output_tokens * known.price_out) / 1e6 if known else 0.0
    row = (time.time(), date.today().isoformat(), purpose, provider, model, agent, reply.input_tokens, reply.output_tokens, usd, reply.counted)  # fmt: skip
    with using(home, _SCHEMA) as db:
        db.execute(
            "INSERT INTO spend (at, day, purpose, provider, model, agent, input, output, usd, counted) VALUES (?,?,?,?,?,?,?,?,?,?)",
            row,
        )


def today(home: Home, purpose: str) -> int:
    """Tokens that a purpose has used today."""
    with using(home, _SCHEMA) as db:
        query = "SELECT coalesce(sum(input + output), 0) FROM spend WHERE day=? AND purpose=?"
        return int(db.execute(query, (date.today().isoformat(), purpose)).fetchone()[0])


def by_day(home: Home, since: str = "") -> list[dict[str, Any]]:
    """Calls, tokens and dollars by day, purpose and provider, newest day first."""
    with using(home, _SCHEMA) as db:
        rows = db.execute(
            "SELECT day, purpose, provider, model, count(*), sum(input), sum(output), sum(usd), min(counted) FROM spend "
            "WHERE day >= ? GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3",
            (since,),
        ).fetchall()
    names = ("day", "purpose", "provider", "model", "calls", "input_tokens", "output_tokens", "usd", "counted")
    return [dict(zip(names, row)) for row in rows]
