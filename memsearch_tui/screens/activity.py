"""What happens unseen: captured, waiting, failed, told to agents, spent. It shows what commands
print (`coverage`, `inbox`, `spend`, `context --log`) and acts by the same calls.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from memsearch_tui.aside import write
from memsearch_tui.counted import many
from memsearch_tui.library import Library
from memsearch_tui.screens.text import LiveScreen
from memsearch_tui.widgets.lines import Row


class ActivityScreen(LiveScreen):
    """Capture at work: coverage, inbox, summaries, spend, and what sessions were told."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "retry", "Try failed ones again", id="activity.retry")
    ]

    def __init__(self, library: Library) -> None:
        super().__init__("Activity", lambda: activity_rows(library.activity()))
        self._library = library

    async def action_retry(self) -> None:
        """Have failed events and summaries tried again, and read what comes of it."""

        def begun(count: int) -> None:
            self.notify(
                f"{many(count, 'failure')} tried again" if count else "nothing has failed",
                timeout=5,
            )
            self.action_reload()

        await write(self, "having them tried again", self._library.retry, begun, self._complain)

    def _complain(self, error: Exception) -> None:
        self.notify(str(error), severity="error", markup=False)


def _label(name: str) -> tuple[str, str]:
    return f"{name:10s}", "dim"


def activity_rows(state: dict[str, Any]) -> list[Row]:
    rows: list[Row] = [[(alarm, "bad")] for alarm in state["alarms"]]
    if state.get("error"):
        rows.append([("the service can't be reached: ", "bad"), (state["error"], "text")])
    if not state["capturing"]:
        rows += [
            [("Nothing is captured yet.", "strong")],
            [
                ("memsearch plugins install AGENT", "accent"),
                ("   begins it for one of your agents", "dim"),
            ],
            [
                ("memsearch import --all --dry-run", "accent"),
                ("  shows what old sessions would bring", "dim"),
            ],
        ]
    else:
        tone = "good" if state["percent"] >= 95 else "warn"
        rows.append(
            [
                _label("captured"),
                (f"{state['percent']} %", tone),
                (f" of {many(state['seen'], 'turn')}", "text"),
                (f", {state['trivial']} of them trivial" if state["trivial"] else "", "dim"),
            ]
        )
        for day in state["days"][:21]:
            done, seen = day.covered, day.seen
            bar = "█" * min(30, done) + "░" * min(30, seen - done)
            rows.append(
                [
                    _label(""),
                    (f"{day.day}  ", "text"),
                    (f"{day.agent:12s}", "agent"),
                    (f"{done:4d} of {seen:<4d} ", "text"),
                    (bar, "heat2" if done == seen else "heat3"),
                ]
            )
    rows.append([])
    rows.append(
        [
            _label("inbox"),
            ("empty" if not state["waiting"] else f"{len(state['waiting'])} waiting", "text"),
        ]
    )
    rows += [
        [_label(""), (f"{item['event']}: {item['reason']}", "warn")]
        for item in state["waiting"][:10]
    ]
    jobs = state["summaries"]
    if jobs:
        rows.append(
            [
                _label("summaries"),
                (", ".join(f"{count} {name}" for name, count in jobs.items()), "text"),
            ]
        )
    for failure in state["failures"][:10]:
        rows.append(
            [
                _label(""),
                (
                    f"{failure['entry_id']} after {failure['tries']} tries: {failure['reason']}",
                    "warn",
                ),
            ]
        )
    if failures := len(state["failures"]):
        rows.append([_label(""), (f"t tries {failures} again", "accent")])
    rows.append([])
    cap = (
        f" of {state['daily_tokens']:,} a day"
        if state["provider"] != "extractive"
        else " (no model is asked)"
    )
    rows.append([_label("spent"), (f"{state['today_tokens']:,} tokens today{cap}", "text")])
    for row in state["spend"][:10]:
        usd = f"  ${row.usd:.4f}" if row.usd else ""
        rows.append(
            [
                _label(""),
                (
                    f"{row.day}  {row.provider} {row.model}  {row.calls} calls, "
                    f"{row.input_tokens + row.output_tokens:,} tokens{usd}",
                    "text",
                ),
            ]
        )
    rows.append([])
    rows.append([_label("told"), ("what sessions were given unasked", "dim")])
    for receipt in state["told"][:12]:
        when = datetime.fromtimestamp(receipt.at).strftime("%Y-%m-%d %H:%M")
        rows.append(
            [
                _label(""),
                (f"{when}  ", "text"),
                (f"{receipt.agent:12s}", "agent"),
                (f"{receipt.tokens} tokens {receipt.moment}  {receipt.session[:13]}", "dim"),
            ]
        )
        for note in receipt.notes:
            rows.append(
                [
                    _label(""),
                    (f"  {note.outcome or 'unused':7s}", "good" if note.outcome else "dim"),
                    (f"{note.confidence:4.0%}  {receipt.words(note)}", "text"),
                ]
            )
    return rows
