"""A screen for going to a date, which is typed or picked in the calendar."""

from __future__ import annotations

from datetime import date
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from memsearch_tui.counted import many
from memsearch_tui.widgets.calendar import Calendar

_FORMS = "2026-02-09, 14 mar, mon, 3 weeks ago, last march"
_HOW = f"{_FORMS} · tab: the calendar, page up a year back · enter goes"


class DayScreen(ModalScreen[str]):
    """Dismisses with an ISO day, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="date.leave", priority=True)
    ]
    DEFAULT_CSS = """
    DayScreen { align: center middle; background: $background 60%; }
    DayScreen > Vertical { width: 64; max-width: 100%; height: auto; \
border: round $accent; background: $surface; padding: 0 1; }
    DayScreen Calendar { height: 8; margin: 1 0 0 0; background: $surface; }
    DayScreen Calendar:focus { background: $background; }
    DayScreen Static { color: $text-muted; }
    """

    def __init__(
        self, counts: dict[str, int], today: str, day: str, title: str = "go to a date"
    ) -> None:
        super().__init__()
        self._title = title
        self._counts, self._today, self._day = counts, today, day
        self._calendar = Calendar(can_focus=True)

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Vertical() as box:
            box.border_title = self._title
            yield Input(placeholder="a date", compact=True)
            yield self._calendar
            yield Static(_HOW, id="how", markup=False)

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self._calendar.show(self._counts, self._today)
        self._calendar.mark(self._day)
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._day = self._read(event.value)
        if self._day:
            self._calendar.mark(self._day)
        self._show_day(self._day or ("" if not event.value.strip() else None))

    def _show_day(self, day: str | None) -> None:
        if day is None:
            text = f"no date: {_FORMS}"
        else:
            text = f"{day}: {many(self._counts.get(day, 0), 'note')}" if day else _HOW
        self.query_one("#how", Static).update(text)

    def _read(self, text: str) -> str:
        """Return the last day that *text* names; '' if it names none."""
        from memsearch_engine import date_in_words

        found = date_in_words(text, date.fromisoformat(self._today))
        return found[1] if found else ""

    @on(Calendar.Moved)
    def _cursor_moved(self, event: Calendar.Moved) -> None:
        self._day = event.day
        self._show_day(event.day)

    @on(Calendar.Picked)
    def _picked(self, event: Calendar.Picked) -> None:
        self.dismiss(event.day)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if self._day:
            self.dismiss(self._day)

    def action_leave(self) -> None:
        """Leave without a day."""
        self.dismiss("")
