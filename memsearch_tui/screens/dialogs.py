"""Dialogs over a screen, each with one answer: a list to choose from, a line of text, a conflict, a
date, the day of an as-of search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import ClassVar

import memsearch_engine as engine
import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input, Static

from memsearch_tui.widgets.bars import Keys
from memsearch_tui.widgets.calendar import Calendar
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import Row, diff_rows
from memsearch_tui.widgets.query import InOrder
from memsearch_tui.widgets.text_view import TextView

_ROWS = 16


class ChoiceRow(msgspec.Struct, frozen=True):
    """One row. ``name``: the screen's result; ``note``: shown dimmed beside the text."""

    name: str
    text: str
    note: str = ""


class _Dialog(ModalScreen[str]):
    """A dialog that the user can leave without an answer."""

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.dismiss("")


class ChooseScreen(_Dialog):
    """Dismisses with the name of the chosen row, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,right,l", "open", "Choose", id="choose.open"),
        Binding("escape,q,left,h", "leave", "Leave", id="choose.leave"),
    ]
    DEFAULT_CSS = """
    ChooseScreen { align: center middle; }
    ChooseScreen > LineList { width: 100%; max-width: 90; \
border: round $accent; background: $surface; }
    """

    def __init__(
        self,
        title: str,
        choices: Sequence[ChoiceRow],
        *,
        at: str = "",
        moved: Callable[[str], None] = lambda name: None,
    ) -> None:
        """Args:
        at: the name of the row under the cursor at first.
            moved: called with the name of the row that the cursor moves to.
        """
        super().__init__()
        self._choices = {choice.name: choice for choice in choices}
        self._at = at
        self._list = LineList(
            self._row, moved=lambda by_hand: moved(self._list.key) if by_hand else None
        )
        self._list.border_title = title

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield self._list

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self._list.styles.height = min(_ROWS, len(self._choices)) + 2
        self._list.show_keys(list(self._choices), cursor=self._at or None)
        self._list.focus()

    def _row(self, index: int, width: int) -> Row:
        choice = self._choices[self._list.keys[index]]
        return [(f"{choice.text}  ", "text"), (choice.note, "dim")]

    @on(LineList.RowOpened)
    def action_open(self) -> None:
        """Choose the row under the cursor."""
        self.dismiss(self._list.key or "")


class _Line(InOrder, Input):
    pass


class AskScreen(_Dialog):
    """Dismisses with the text, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="ask.leave", priority=True)
    ]
    DEFAULT_CSS = """
    AskScreen { align: center middle; background: $background 60%; }
    AskScreen > Vertical { width: 100%; max-width: 90; height: auto; padding: 0 1; \
border: round $accent; border-subtitle-color: $foreground 75%; background: $surface; }
    AskScreen Input { margin-top: 1; background: $background; }
    """

    def __init__(self, question: str, value: str) -> None:
        super().__init__()
        self._question, self._value = question, value

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Vertical() as box:
            box.border_subtitle = "enter applies · escape cancels"
            yield Static(engine.shown(self._question), markup=False)
            yield _Line(engine.shown_line(self._value), compact=True)

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the text to the caller."""
        self.dismiss(event.value.strip())


class ConflictScreen(ModalScreen[str]):
    """Dismisses with ``mine``, ``theirs`` or ``edit``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose('mine')", "Keep mine", id="conflict.mine"),
        Binding("t", "choose('theirs')", "Keep theirs", id="conflict.theirs"),
        Binding("e,escape", "choose('edit')", "Edit on", id="conflict.edit"),
    ]
    DEFAULT_CSS = """
    ConflictScreen { background: $background; }
    ConflictScreen #sides { height: 1fr; layout: horizontal; }
    ConflictScreen.-narrow #sides { layout: vertical; }
    ConflictScreen TextView { width: 1fr; height: 1fr; border: round $warning; }
    """

    def __init__(self, what: str, base: str, mine: str, theirs: str) -> None:
        """Args:
        what: the note's name for people.
            base: the text before both changes.
            mine, theirs: the two versions.
        """
        super().__init__()
        self._what = what
        self._sides = {
            "mine: your edit": diff_rows(base.strip("\n"), mine.strip("\n")),
            "theirs: in the file now": diff_rows(base.strip("\n"), theirs.strip("\n")),
        }

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Container(id="sides"):
            for title in self._sides:
                view = TextView()
                view.border_title = title
                yield view
        yield Keys()

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        for view, rows in zip(self.query(TextView), self._sides.values()):
            view.show([[(self._what, "dim")], [], *rows])

    def action_choose(self, choice: str) -> None:
        """Leave with the choice."""
        self.dismiss(choice)


_NARROW = 100
_FORMS = "2026-02-09, 14 mar, mon, 3 weeks ago, last march"
_HOW = f"{_FORMS} · tab: the calendar, page up a year back · enter goes"


class DayScreen(_Dialog):
    """Dismisses with an ISO day, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="date.leave", priority=True)
    ]
    DEFAULT_CSS = """
    DayScreen { align: center middle; background: $background 60%; }
    DayScreen > Vertical { width: 42; max-width: 100%; height: 21; max-height: 100%; \
border: round $accent; background: $surface; padding: 0 1; }
    DayScreen Calendar { height: 1fr; margin: 1 0; background: $surface; }
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
            if self.app.size.width < _NARROW:
                box.styles.width = "100%"  # a screen reader reads what is beside a box, too
            yield Input(placeholder="a date", compact=True)
            yield self._calendar
            yield Static(_HOW, id="how", markup=False)

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self._calendar.show(self._counts, self._today)
        self._calendar.mark(self._day)
        self.query_one(Input).cursor_blink = False
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._day = self._read(event.value)
        if self._day:
            self._calendar.mark(self._day)
        is_wrong = event.value.strip() and not self._day
        self.query_one("#how", Static).update(f"no date: {_FORMS}" if is_wrong else _HOW)

    def _read(self, text: str) -> str:
        """Return the last day that *text* names; '' if it names none."""
        found = engine.date_in_words(text, date.fromisoformat(self._today))
        return found[1] if found else ""

    @on(Calendar.Moved)
    def _cursor_moved(self, event: Calendar.Moved) -> None:
        self._day = event.day

    @on(Calendar.Picked)
    def _picked(self, event: Calendar.Picked) -> None:
        self.dismiss(event.day)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if self._day:
            self.dismiss(self._day)


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
