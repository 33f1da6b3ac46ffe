"""A slider for searches as of a past day. The search behind it follows each step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import Row

_MONTH = 30


class _Slider(Lines):
    """One line: the days from the first note to today, and the chosen day."""

    DEFAULT_CSS = "_Slider { height: 1; background: $surface; }"

    def __init__(self, row: Callable[[int], Row]) -> None:
        super().__init__()
        self._row = row

    def line(self, y: int) -> Strip:
        """The line with the slider."""
        return self.draw(self._row(self.size.width) if y == 0 else [], self.size.width)


class AsOfScreen(ModalScreen[bool]):
    """Dismisses with whether the chosen day stays in effect."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "A day earlier", id="asof.earlier"),
        Binding("right,l", "step(1)", "A day later", id="asof.later"),
        Binding("down,j,pagedown", f"step(-{_MONTH})", "A month earlier", id="asof.month.earlier"),
        Binding("up,k,pageup", f"step({_MONTH})", "A month later", id="asof.month.later"),
        Binding("home,g", "edge(0)", "First day", id="asof.first", show=False),
        Binding("end,G", "edge(1)", "Today: as it is", id="asof.last", show=False),
        Binding("enter", "keep(True)", "Keep", id="asof.keep"),
        Binding("escape,q", "keep(False)", "As before", id="asof.leave"),
    ]
    DEFAULT_CSS = """
    AsOfScreen { align: center bottom; background: transparent; }
    AsOfScreen > _Slider { width: 100%; height: 3; border: round $accent; }
    """

    def __init__(self, first: str, today: str, day: str, moved: Callable[[str], None]) -> None:
        """Args:
        first: ISO day of the oldest note.
            day: the ISO day to begin with.
            moved: called with each chosen ISO day; '' for today, which means current notes.
        """
        super().__init__()
        self._first, self._last = date.fromisoformat(first), date.fromisoformat(today)
        self.day = min(max(date.fromisoformat(day), self._first), self._last)
        self._moved = moved
        self._slider = _Slider(self._row)
        self._slider.border_title = "as of"
        self._slider.border_subtitle = "←→ a day · ↓↑ a month · enter applies · escape cancels"

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield self._slider

    def _row(self, width: int) -> Row:
        begin, end = f" {self._first.isoformat()} ", f" {self._last.isoformat()} "
        room = max(3, width - len(begin) - len(end))
        days = max(1, (self._last - self._first).days)
        place = round((self.day - self._first).days / days * (room - 1))
        name = "today" if self.day == self._last else self.day.isoformat()
        bar: Row = [("━" * place, "accent"), ("●", "here"), ("─" * (room - 1 - place), "dim")]
        self._slider.border_title = f"as of {name}"
        return [(begin, "dim"), *bar, (end, "dim")]

    def _go(self, day: date) -> None:
        day = min(max(day, self._first), self._last)
        if day != self.day:
            self.day = day
            self._slider.refresh()
            self._moved("" if day == self._last else day.isoformat())

    def action_step(self, days: int) -> None:
        """Move by *days*."""
        self._go(self.day + timedelta(days=days))

    def action_edge(self, end: int) -> None:
        """Move to the first day (-1) or to today (1)."""
        self._go(self._last if end else self._first)

    def action_keep(self, kept: bool) -> None:
        """Leave; *kept*: the chosen day stays in effect."""
        self.dismiss(kept)
