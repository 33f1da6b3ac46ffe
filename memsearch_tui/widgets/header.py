"""The line on top: whose memory this is, how much, whether it is being written, and what waits.
Each part is a button.
"""

from __future__ import annotations

from datetime import datetime

from rich.cells import cell_len
from textual import events
from textual.strip import Strip

from memsearch_tui.counted import many
from memsearch_tui.library import Standing
from memsearch_tui.widgets.lines import Lines, Row

_ALARM = 40  # signs of what is wrong; f4 says all of it
#: A part: its pieces, and the app's action that a click on it runs.
Part = tuple[Row, str]


class Header(Lines, can_focus=False):
    """One row of parts; what has no room is left out, the least important first."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self._parts: list[Part] = []

    def show(self, parts: list[Part]) -> None:
        self._parts = parts
        self.refresh()

    def _places(self) -> list[tuple[int, Part]]:
        places, x = [], 1
        for part in self._parts:
            width = sum(cell_len(text) for text, _ in part[0])
            if x + width <= self.size.width:
                places.append((x, part))
                x += width + 2
        return places

    def render_line(self, y: int) -> Strip:
        row: Row = []
        for _, (pieces, _action) in self._places():
            row += [("  " if row else " ", "text"), *pieces]
        return self.draw(row, self.size.width)

    async def on_click(self, event: events.Click) -> None:
        action = next((action for x, (_, action) in reversed(self._places()) if event.x >= x), "")
        if action:
            await self.app.run_action(action)


def parts(name: str, notes: int, days: int, now: Standing, today: str) -> list[Part]:
    """What the header says; the most important first."""
    found: list[Part] = [([("memsearch ", "dim"), (name, "strong")], "projects")]
    if now.waiting:
        found.append(
            ([("f5 ", "dim"), (f"{now.waiting} wait{'s' * (now.waiting == 1)}", "warn")], "review")
        )
    if now.alarms:
        found.append(
            (
                [("f4 ", "dim"), (": ".join(now.alarms[0].split(": ")[:2])[:_ALARM], "bad")],
                "activity",
            )
        )
    elif now.capturing:
        last = max((newest for agent, _, newest in now.agents if agent), default="")
        found.append(
            (
                [
                    (f"{many(len(now.capturing), 'agent')} captured", "good"),
                    (f" · last {when(last, today)}" if last else "", "dim"),
                ],
                "activity",
            )
        )
    elif now.served:
        found.append(([("c ", "dim"), ("no agent is captured", "warn")], "screen.connect"))
    if now.sync:
        said = (
            f"synced {when(now.sync, today)}"
            if now.synced
            else "sync needs you"
            if now.sync == "not yet"
            else f"sync stopped {when(now.sync, today)}"
        )
        found.append(
            (
                [("" if now.synced else "f3 ", "dim"), (said, "dim" if now.synced else "warn")],
                "health",
            )
        )
    found.append(
        ([(f"{notes:,} {'note' if notes == 1 else 'notes'} in {many(days, 'day')}", "dim")], "")
    )
    return found


def when(moment: str, today: str) -> str:
    """``14:31`` of today, ``Sat 14:31`` of the last week, ``2026-02-09`` of earlier; *moment*: day,
    blank, time.
    """
    day, _, time = moment.partition(" ")
    try:
        age = (datetime.fromisoformat(today) - datetime.fromisoformat(day)).days
    except ValueError:
        return day
    return (
        time or "today"
        if age <= 0
        else f"{datetime.fromisoformat(day):%a} {time}".strip()
        if age < 7
        else day
    )
