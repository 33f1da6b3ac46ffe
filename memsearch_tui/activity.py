"""The rows of the activity page: captured turns, missing turns, cost, failures, injections.

No widget here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from memsearch_tui.counted import many, when
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.render import agent_tag

_DAYS = 7  # days of costs and of bars
_BARS = "·▁▂▃▄▅▆▇█"
_BAR = 24  # cells of the longest bar of a day
_GOOD = 95  # percent captured that counts as complete


class Line(msgspec.Struct, frozen=True):
    """A row of a page.

    Attributes:
        key: identifies the row when the page is read again; '' for a heading or a blank line.
        row: the pieces that it shows.
        detail: the rows that opening it shows; the cursor skips a row without detail.
    """

    key: str
    row: Row
    detail: Sequence[Row] = ()


def lines(state: dict[str, Any], today: str) -> list[Line]:
    """Build the rows of the activity page.

    Args:
        state: the result of ``MemoryStatus.activity``.
        today: an ISO day.
    """
    found = [
        Line(
            f"alarm {alarm}",
            [("! ", "bad"), (alarm, "bad")],
            [[(alarm, "bad")], [], [("c connects agents; `memsearch doctor` checks them", "dim")]],
        )
        for alarm in state["alarms"]
    ]
    if state.get("error"):
        row: Row = [("the service can't be reached: ", "bad"), (state["error"], "text")]
        found.append(Line("error", row, [row, [], [("f3 shows its state", "dim")]]))
    found += [*_captured(state, today), Line("", []), *_missed(state), Line("", [])]
    return [*found, *_cost(state, today), Line("", []), *_injected(state)]


def _label(name: str) -> tuple[str, str]:
    return f"{name:14s}", "strong"


# -- captured


def _captured(state: dict[str, Any], today: str) -> list[Line]:
    if not state["capturing"] and not state["seen"]:
        rows: list[Row] = [
            [("Nothing is captured yet.", "strong")],
            [("c connects an agent, and imports its old sessions", "text")],
        ]
        return [Line("nothing", rows[0], rows), Line("", [(" ", "text"), *rows[1]])]
    percent, done = state["percent"], sum(share.captured for share in state["days"])
    tone = "good" if percent >= _GOOD else "warn"
    counted = f"  {done:,} of {many(state['seen'], 'turn')}", "text"
    row: Row = [_label("Captured"), (f"{percent} %", tone), counted]
    if state["trivial"]:
        row.append((f" · {state['trivial']:,} trivial", "dim"))
    found = [Line("captured", row, _days(state["days"]) or [row])]
    agents: dict[str, list[Any]] = {}
    for share in state["days"]:
        agents.setdefault(share.agent, []).append(share)
    for agent, shares in sorted(agents.items(), key=lambda one: -sum(s.seen for s in one[1])):
        covered, total = sum(s.covered for s in shares), sum(s.seen for s in shares)
        by_day = {share.day: share.seen for share in shares}
        row = [
            (f"  {agent:12s}", agent_tag(agent)),
            (_bars(by_day, today), "heat2"),
            (f" {covered:5d} of {total:<5d}", "text" if covered == total else "warn"),
            (f" last {when(max(by_day), today)}", "dim"),
        ]
        found.append(Line(f"agent {agent}", row, [[(agent, "strong")], [], *_days(shares)]))
    return found


def _bars(counts: dict[str, int], today: str) -> str:
    """Return a bar for each of the last days, the newest last; a day without turns is a dot."""
    last = date.fromisoformat(today)
    days = [counts.get((last - timedelta(days=n)).isoformat(), 0) for n in reversed(range(_DAYS))]
    most = max(1, *days)
    return "".join(_BARS[-(-seen * 8 // most)] for seen in days)


def _days(shares: Iterable[Any]) -> list[Row]:
    """Return a row for each day: captured turns out of turns in the transcripts."""
    days: dict[str, tuple[int, int]] = {}
    for share in shares:
        done, seen = days.get(share.day, (0, 0))
        days[share.day] = done + share.covered, seen + share.seen
    longest = max([seen for _, seen in days.values()], default=1)
    return [
        [
            (f"{day:10s}  ", "text"),
            (f"{done:4d} of {seen:<4d} ", "text"),
            ("█" * _scaled(done, longest), "heat2"),
            ("░" * _scaled(seen - done, longest), "warn"),
        ]
        for day, (done, seen) in days.items()
    ]


def _scaled(count: int, longest: int) -> int:
    """Return the cells of a bar; the longest bar has ``_BAR`` cells, and no bar is invisible."""
    return -(-count * _BAR // longest) if longest > _BAR else count


# -- not captured, waiting, failed


def _missed(state: dict[str, Any]) -> list[Line]:
    missed, waiting, failed = state.get("missed", []), state["waiting"], state["failures"]
    # the service lists only the newest of many
    total = max(len(missed), sum(share.seen - share.covered for share in state["days"]))
    rows = [_turn(turn, "warn") for turn in missed]
    if not missed:
        rows = [[("Every finished turn is in memory, or was trivial.", "good")]]
    elif total > len(missed):
        rows = [[(f"The newest {len(missed):,} of {total:,}:", "strong")], *rows]
    if skipped := state.get("skipped", []):
        of = f", the newest {len(skipped):,} of {state['trivial']:,}"
        heading = f"Skipped as trivial{of * (state['trivial'] > len(skipped))}:"
        rows += [[], [(heading, "strong")], *(_turn(turn, "dim") for turn in skipped)]
    row: Row = [
        _label("Not captured"),
        (many(total, "turn") if missed else "none", "warn" if missed else "good"),
    ]
    found = [Line("missed", row, rows)]
    row = [
        _label("Waiting"),
        (many(len(waiting), "event") if waiting else "none", "warn" if waiting else "text"),
    ]
    row += [("  ^r ", "key"), ("tries again", "dim")] if state.get("set_aside") else []
    rows = [[(f"{item['event']}  ", "text"), (item["reason"], "warn")] for item in waiting]
    found.append(Line("waiting", row, rows or [[("No event waits to be read.", "text")]]))
    jobs = state["summaries"]
    named = ", ".join(f"{count} {name}" for name, count in jobs.items())
    row = [
        _label("Summaries"),
        (
            f"{len(failed)} failed" if failed else named or "none waiting",
            "warn" if failed else "text",
        ),
    ]
    row += [("  ^r ", "key"), ("tries again", "dim")] if failed else []
    rows = [
        [(f"{job['entry_id']}  ", "text"), (f"after {job['tries']} tries: {job['reason']}", "warn")]
        for job in failed
    ]
    return [
        *found,
        Line("failed", row, [*rows, [(named or "No summary waits for a model.", "text")]]),
    ]


def _turn(turn: Any, tone: str) -> Row:
    return [
        (f"{turn.day}  ", "text"),
        (f"{turn.agent:12s}", agent_tag(turn.agent)),
        (f"{turn.session[:13]}  ", "dim"),
        (turn.reason or turn.outcome, tone),
    ]


# -- cost


def _cost(state: dict[str, Any], today: str) -> list[Line]:
    since = (date.fromisoformat(today) - timedelta(days=_DAYS - 1)).isoformat()
    every = state["spend"]
    recent = [spent for spent in every if spent.day >= since]
    tokens = sum(spent.input_tokens + spent.output_tokens for spent in recent)
    usd = sum(spent.usd for spent in recent)
    row: Row = [_label(f"Cost, {_DAYS} days"), (f"{tokens:,} tokens", "text")]
    row += [(f" ≈ ${usd:.2f}", "text")] if usd else [(" · price unknown", "dim")] if tokens else []
    limit = f"today {state['today_tokens']:,} of at most {state['daily_tokens']:,} tokens"
    writes = state["provider"] != "extractive"
    detail: list[Row] = [[(limit if writes else "No model writes summaries now.", "dim")]]
    found = [Line("cost", row, [*detail, [], *map(_spent, every)])]
    models = Counter[str]()
    for spent in recent:
        models[_model(spent)] += spent.input_tokens + spent.output_tokens
    for model, count in models.most_common():
        rows = [_spent(spent) for spent in every if _model(spent) == model]
        row = [(f"  {model:28s}", "text"), (f"{count:>9,} tokens", "text")]
        found.append(Line(f"model {model}", row, [[(model, "strong")], [], *rows]))
    return found


def _model(spent: Any) -> str:
    """Return the provider and the model of costs in words."""
    provider = "agent's CLI" if spent.provider == "native" else spent.provider
    return f"{provider} {spent.model}".strip()


def _spent(spent: Any) -> Row:
    tokens = spent.input_tokens + spent.output_tokens
    price = f"  ${spent.usd:.4f}" if spent.usd else ""
    what = f"{spent.purpose:12s} {_model(spent)}"
    return [
        (f"{spent.day}  ", "text"),
        (what, "dim"),
        (f"  {spent.calls} calls, {tokens:,} tokens{price}", "text"),
    ]


# -- injected


def _injected(state: dict[str, Any]) -> list[Line]:
    log = state["injected"]
    row: Row = [
        _label("Injected"),
        (f"{len(log)} times" if log else "nothing yet", "text"),
        ("  into sessions", "dim"),
    ]
    found = [Line("injected", row, [line for entry in log for line in _injection(entry)] or [row])]
    for number, entry in enumerate(log[:12]):
        head, *rest = _injection(entry)
        short = [*head[:-1], (f"{entry.tokens} tokens {entry.moment}", "dim")]
        text: list[Row] = [[(line, "text")] for line in entry.text.splitlines()]
        found.append(Line(f"injection {number}", [("  ", "dim"), *short], [head, *rest, [], *text]))
    return found


def _injection(entry: Any) -> list[Row]:
    when = datetime.fromtimestamp(entry.at).strftime("%Y-%m-%d %H:%M")
    rows: list[Row] = [
        [
            (f"{when}  ", "text"),
            (f"{entry.agent:12s}", agent_tag(entry.agent)),
            (f"{entry.tokens} tokens {entry.moment}  {entry.session[:13]}", "dim"),
        ]
    ]
    for note in entry.notes:
        outcome = f"    {note.outcome or 'unused':7s}", "good" if note.outcome else "dim"
        rows.append([outcome, (f"{note.confidence:4.0%}  {entry.words(note)}", "text")])
    return rows
