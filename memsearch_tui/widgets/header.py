"""The top line: the memory's name, its size, the state of capture, and the review queue.

Each part is a button.
"""

from __future__ import annotations

from datetime import datetime

from memsearch_tui.counted import many
from memsearch_tui.library import HeaderState
from memsearch_tui.widgets.buttons import Buttons, Part, width

_ALARM = 40  # characters of an alarm; f4 shows all of it


class Header(Buttons):
    """The parts of the header. Without room for all, the least important ones are left out."""

    def fitting(self) -> list[Part]:
        """Return the parts; a narrow screen has no counts, because the queue matters more."""
        shown = self._parts
        if len(shown) > 1 and sum(map(width, shown[:2])) + 4 > self.size.width:
            (name, *_), action = shown[0]
            return [([name], action), *shown[1:]]
        return shown


def parts(name: str, notes: int, days: int, now: HeaderState, today: str) -> list[Part]:
    """Return the parts of the header, the most important first.

    Args:
        name: the name of the memory.
        notes: number of notes.
        days: number of days with notes.
        now: the state of the memory.
        today: an ISO day.
    """
    count = f"{many(notes, 'note')} · {many(days, 'day')}"
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
