"""The lines around a screen: the first and the last one, which have buttons, and the status line.

The first one has the memory's name, its size, the state of capture, and the review queue. The last
one has the keys that work now; help lists all keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from time import strftime
from typing import Any

from memsearch_engine import shown_line
from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.strip import Strip
from textual.widgets import Static

from memsearch_tui.counted import many, when
from memsearch_tui.library import HeaderState
from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import Row

#: A button: its pieces, and the app's action that a click runs.
Part = tuple[Row, str]
_GAP = 2  # cells between two buttons


class Buttons(Lines, can_focus=False):
    """One row of parts, drawn without a widget for each of them.

    A part that does not fit is left out.
    """

    DEFAULT_CSS = "Buttons { height: 1; background: $surface; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._parts: list[Part] = []

    def show(self, parts: list[Part]) -> None:
        """Show other parts."""
        self._parts = parts
        self.refresh_changed()

    def fitting(self) -> list[Part]:
        """Return the parts for the current width; a subclass may shorten them."""
        return self._parts

    def places(self) -> list[tuple[int, Part]]:
        """Return the shown parts, each with its first column."""
        places, x = [], 1
        for part in self.fitting():
            if x + width(part) <= self.size.width:
                places.append((x, part))
                x += width(part) + _GAP
        return places

    def line(self, y: int) -> Strip:
        """Draw the line."""
        row: Row = []
        for _, (pieces, _action) in self.places():
            row += [(" " * (_GAP if row else 1), "text"), *pieces]
        return self.draw(row, self.size.width)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the part under the mouse."""
        action = next((action for x, (_, action) in reversed(self.places()) if event.x >= x), "")
        if action:
            await self.app.run_action(action)


def width(part: Part) -> int:
    """Return the width of a part in cells."""
    return sum(cell_len(text) for text, _ in part[0])


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


_AROUND = 2  # cells before each key
_STAY = "app.help", "help", "leave", "do('back')"  # actions whose keys are never left out


class Keys(Buttons):
    """The keys of the screen, each with its words. A click presses the key."""

    _staying: Sequence[Part] = ()  # keys that are never left out

    def on_mount(self) -> None:
        """Follow the screen's bindings."""
        # after a refresh: at the start, the screen has no notes yet
        follow = partial(self.call_after_refresh, self._read_bindings)
        self.screen.bindings_updated_signal.subscribe(self, lambda _: follow())

    def _read_bindings(self) -> None:
        if self.is_attached and self.screen.is_current:
            found = [(self._part(item, words), item.action) for item, words in self._wanted()]
            self._staying = [part for part, action in found if action in _STAY]
            self.show([part for part, _ in found])

    def _part(self, item: Binding, words: str) -> Part:
        key = self.app.get_key_display(item)
        return [(key, "key"), (f" {words}", "text")], f"simulate_key('{item.key}')"

    def _wanted(self) -> list[tuple[Binding, str]]:
        """Return the keys that the screen wants to show, with their words.

        These are its ``shown_keys``, (id of a binding, words) each; without them, those of its
        bindings.
        """
        active = [found.binding for found in self.screen.active_bindings.values() if found.enabled]
        if wanted := getattr(self.screen, "shown_keys", ()):
            named = {item.id: item for item in reversed(active)}
            return [(named[name], words) for name, words in wanted if name in named]
        first = {item.action: item for item in reversed(active) if item.show}
        found = [(item, item.description) for item in active if first.get(item.action) is item]
        return sorted(found, key=lambda key: key[0].action in _STAY)

    def fitting(self) -> list[Part]:
        """Return the keys that fit: the last ones are left out first."""
        parts = list(self._parts)
        for part in reversed(self._parts[1:]):
            if sum(width(one) + _AROUND for one in parts) <= self.size.width + 1:
                break
            if part not in self._staying:
                parts.remove(part)
        return parts

    @property
    def named(self) -> list[tuple[str, str]]:
        """The shown keys with their words."""
        return [(row[0][0], row[1][0].strip()) for _, (row, _action) in self.places()]


MESSAGE_S = 8.0
#: (time, text) of the last messages, for those who could not read them in time
MESSAGES: deque[tuple[str, str]] = deque(maxlen=50)


class StatusLine(Static):
    """Shows the first that exists: a passing message, a remark about the query, the service's
    state.
    """

    def __init__(self) -> None:
        super().__init__("", id="status", markup=False)
        self._message = self._remark = self._service = ""
        self._about: object = None
        self._number = 0
        self._written = ""

    def say(self, text: str, *, for_s: float = MESSAGE_S, about: object = None) -> None:
        """Show a message for *for_s* seconds.

        Args:
            about: the subject of the message; see ``forget_unless``.
        """
        self._number += 1
        self._message, self._about = text, about
        if text:
            MESSAGES.appendleft((strftime("%H:%M:%S"), text))
        self._write()
        if text and self.is_attached:
            self.set_timer(for_s, partial(self._end, self._number))

    def forget_unless(self, subject: object) -> None:
        """Hide a message that is about something other than *subject*."""
        if self._about is not None and self._about != subject:
            self._end(self._number)

    def set_service(self, text: str) -> None:
        """Set the text about the service's state, until the next call."""
        self._service = text
        self._write()

    def set_remark(self, text: str) -> None:
        """Set the remark on how the query was read and answered, until the next call."""
        self._remark = text
        self._write()

    def _end(self, number: int) -> None:
        if number == self._number:
            self._message, self._about = "", None
            self._write()

    def _write(self) -> None:
        text = shown_line(self._message or self._remark or self._service)
        if text != self._written and self.is_attached:
            width = max(1, self.size.width - 2)
            lines = [cell_len(text) > width for text in (text, self._written)]
            self._written = text
            self.update(text, layout=any(lines))
