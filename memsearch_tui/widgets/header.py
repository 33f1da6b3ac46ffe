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
        self.refresh_changed()

    def _places(self) -> list[tuple[int, Part]]:
        places, x = [], 1
        for part in self._parts:
            width = sum(cell_len(text) for text, _ in part[0])
            if x + width <= self.size.width:
                places.append((x, part))
                x += width + 2
        return places

    def line(self, y: int) -> Strip:
        """A drawn line."""
        row: Row = []
        for _, (pieces, _action) in self._places():
            row += [("  " if row else " ", "text"), *pieces]
        return self.draw(row, self.size.width)

    async def on_click(self, event: events.Click) -> None:
        action = next((action for x, (_, action) in reversed(self._places()) if event.x >= x), "")
        if action:
            await self.app.run_action(action)


def parts(name: str, notes: int, days: int, now: Standing, today: str) -> list[Part]:
    """What the header says; the most important first.

    Args:
        notes, days: how many notes there are, and on how many days.
        today: an ISO day.
    """
    count = f"{notes:,} {'note' if notes == 1 else 'notes'} · {many(days, 'day')}"
    found: list[Part] = [([(name, "strong"), (f"   {count}", "dim")], "projects")]
    if now.waiting:
        found.append(([("f5 ", "key"), (f"{now.waiting} to decide", "warn")], "review"))
    if now.alarms:
        alarm = ": ".join(now.alarms[0].split(": ")[:2])[:_ALARM]
        found.append(([("f4 ", "key"), (alarm, "bad")], "activity"))
    elif now.served:
        found.append(_capture(now, today))
    if now.sync:
        found.append(_sync(now, today))
    return found


def _capture(now: Standing, today: str) -> Part:
    """Who is connected, and when a turn came last; green only if both are true."""
    if not now.connected:
        return [("c ", "key"), ("no agent connected", "warn")], "screen.do('connect')"
    newest = [day for agent, _, day in now.agents if agent in now.connected]
    last = f", last {when(max(newest), today)}" if newest else ", no note yet"
    tone = "good" if newest else "warn"
    return [("● ", tone), (f"{many(len(now.connected), 'agent')}{last}", "text")], "activity"


def _sync(now: Standing, today: str) -> Part:
    if now.synced:
        return [(f"synced {when(now.sync, today)}", "dim")], "health"
    stopped = f"sync stopped {when(now.sync, today)}"
    return [
        ("f3 ", "key"),
        ("sync needs you" if now.sync == "not yet" else stopped, "warn"),
    ], "health"


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
