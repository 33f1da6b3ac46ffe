"""The cost of model calls, call by call, and the daily caps that are checked before each call.

Both are stored in ``state.db``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date

import msgspec

from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import ModelError, Reply
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.settings_schema import LlmSettings
from memsearch_engine.core.state import change_state, state_rows, using

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spend (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, day TEXT NOT NULL,\
 purpose TEXT NOT NULL, provider TEXT NOT NULL,
  model TEXT NOT NULL, agent TEXT NOT NULL,\
 input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL,
  counted INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS spend_day ON spend(day);
"""


def note(
    home: Home,
    llm: LlmSettings,
    reply: Reply,
    *,
    purpose: str,
    provider: str,
    model: str,
    agent: str,
    at: float | None = None,
) -> None:
    """Record the cost of a call.

    Args:
        purpose: what the call was for.
        agent: the agent of the session.
        at: time of the call in seconds since 1970. None: now.
    """
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
    change_state(
        home,
        _SCHEMA,
        "INSERT INTO spend (at, day, purpose, provider, model, agent, input, output, usd, "
        "counted) VALUES (?,?,?,?,?,?,?,?,?,?)",
        row,
    )


def reserve(
    home: Home, *, purpose: str, provider: str, model: str, agent: str, tokens: int, cap: int
) -> int:
    """Reserve *tokens* before a call, so that parallel callers stay below the day's cap.

    Args:
        tokens: an estimate for the call.
        cap: tokens per day for *purpose*.

    Returns:
        The number for ``settle``; 0 if the cap leaves no room. If the caller ends without
        ``settle``, the reserved tokens count as spent.
    """
    day = date.today().isoformat()
    with using(home, _SCHEMA) as db, transaction(db):
        query = "SELECT coalesce(sum(input + output), 0) FROM spend WHERE day=? AND purpose=?"
        if db.execute(query, (day, purpose)).fetchone()[0] + tokens > cap:
            return 0
        row = (time.time(), day, purpose, provider, model, agent, tokens, 0, 0.0, 0)
        return int(
            db.execute(
                "INSERT INTO spend (at, day, purpose, provider, model, agent, input, output, usd, "
                "counted) VALUES (?,?,?,?,?,?,?,?,?,?)",
                row,
            ).lastrowid
            or 0
        )


def settle(
    home: Home, llm: LlmSettings, number: int, provider: str, reply: Reply | ModelError
) -> None:
    """Replace a reservation by the real cost of the call.

    If the call failed but may have been billed, the reservation stays.

    Args:
        number: as ``reserve`` returned it.
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


def capped(
    home: Home,
    llm: LlmSettings,
    ask: Callable[[], Reply],
    *,
    purpose: str,
    provider: str,
    model: str,
    agent: str,
    tokens: int,
    cap: int,
) -> Reply | None:
    """Send one request if the day's cap leaves room for it, and record its cost.

    Args:
        ask: sends the request.
        purpose, provider, model, agent, tokens, cap: as for ``reserve``.

    Returns:
        The answer; None if the cap leaves no room. In that case nothing was sent.

    Raises:
        ModelError, SettingsError: as *ask*.
    """
    booked = reserve(
        home,
        purpose=purpose,
        provider=provider,
        model=model,
        agent=agent,
        tokens=tokens,
        cap=cap,
    )
    if not booked:
        return None
    try:
        reply = ask()
    except (ModelError, SettingsError) as error:
        failure = error if isinstance(error, ModelError) else ModelError(str(error), again=False)
        settle(home, llm, booked, provider, failure)
        raise
    settle(home, llm, booked, provider, reply)
    return reply


def _usd(llm: LlmSettings, provider: str, reply: Reply) -> float:
    known = llm.providers.get(provider)
    return (
        (reply.input_tokens * known.price_in + reply.output_tokens * known.price_out) / 1e6
        if known
        else 0.0
    )


def today(home: Home, purpose: str) -> int:
    """Return the tokens that a purpose has used today."""
    query = "SELECT coalesce(sum(input + output), 0) FROM spend WHERE day=? AND purpose=?"
    return int(state_rows(home, _SCHEMA, query, (date.today().isoformat(), purpose))[0][0])


class Spent(msgspec.Struct):
    """Calls of one model for one purpose on one day.

    Attributes:
        usd: cost in US dollars.
        counted: 1 if the provider counted all tokens, 0 if some are estimated.
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
    """Return calls, tokens and dollars by day, purpose, provider and model, newest day first.

    Args:
        since: first day, as ``YYYY-MM-DD``; ``""`` for all.
    """
    rows = state_rows(
        home,
        _SCHEMA,
        "SELECT day, purpose, provider, model, count(*), sum(input), sum(output), sum(usd), "
        "min(counted) FROM spend WHERE day >= ? GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3",
        (since,),
    )
    return [Spent(*row) for row in rows]
