"""The top line: the memory's name, its size, the state of capture, and the review queue.

Each part is a button.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rich.cells import cell_len
from textual import events
from textual.strip import Strip

from memsearch_tui.counted import many
from memsearch_tui.library import HeaderState
from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import Row

_ALARM = 40  # characters of an alarm; f4 shows all of it
#: A part: its pieces, and the app's action that a click runs.
Part = tuple[Row, str]


class Header(Lines, can_focus=False):
    """One row of parts. Without room for all, the least important ones are left out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._parts: list[Part] = []

    def show(self, parts: list[Part]) -> None:
        """Show other parts."""
        self._parts = parts
        self.refresh_changed()

    def _places(self) -> list[tuple[int, Part]]:
        places, x = [], 1
        shown = self._parts
        if len(shown) > 1 and sum(map(_width, shown[:2])) + 4 > self.size.width:
            (name, *_), action = shown[0]  # what needs a decision matters more than the counts
            shown = [([name], action), *shown[1:]]
        for part in shown:
            width = _width(part)
            if x + width <= self.size.width:
                places.append((x, part))
                x += width + 2
        return places

    def line(self, y: int) -> Strip:
        """Draw a line."""
        row: Row = []
        for _, (pieces, _action) in self._places():
            row += [("  " if row else " ", "text"), *pieces]
        return self.draw(row, self.size.width)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the part under the mouse."""
        action = next((action for x, (_, action) in reversed(self._places()) if event.x >= x), "")
        if action:
            await self.app.run_action(action)


def _width(part: Part) -> int:
    """Return the width of a part in cells."""
    return sum(cell_len(text) for text, _ in part[0])


def parts(name: str, notes: int, days: int, now: HeaderState, today: str) -> list[Part]:
    """Return the parts of the header, the most important first.

    Args:
        name: the name of the memory.
        notes: number of notes.
        days: number of days with notes.
        now: the state of the memory.
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


def _capture(now: HeaderState, today: str) -> Part:
    """Return the connected agents and the time of the last turn; green only if both are present."""
    if not now.connected:
        return [("c ", "key"), ("no agent connected", "warn")], "screen.do('connect')"
    newest = [day for agent, _, day in now.agents if agent in now.connected]
    last = f", last {when(max(newest), today)}" if newest else ", no note yet"
    tone = "good" if newest else "warn"
    return [("● ", tone), (f"{many(len(now.connected), 'agent')}{last}", "text")], "activity"


def _sync(now: HeaderState, today: str) -> Part:
    if now.synced:
        return [(f"synced {when(now.sync, today)}", "dim")], "health"
    stopped = f"sync stopped {when(now.sync, today)}"
    return [
        ("f3 ", "key"),
        ("sync needs you" if now.sync == "not yet" else stopped, "warn"),
    ], "health"


def when(moment: str, today: str) -> str:
    """Return a short form of a time: ``14:31`` today, ``Sat 14:31`` in the last week, else
    ``2026-02-09``.

    Args:
        moment: an ISO day, a blank, and a time.
        today: an ISO day.
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
