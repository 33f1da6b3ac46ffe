"""A calendar: weeks as lines, or a year as a strip of bars with month names, or as one line.

It colours counts, of notes or of hits. Shape and colour both show the count.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from memsearch_tui.counted import many
from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import Row

WEEKS = 53
_YEAR = 364  # days: the same day of the week, one year before
_MARGIN, _CELL = 5, 4  # columns of the names of months, and of a day
_DAYS = "".join(f"{day:{_CELL}s}" for day in ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"))
_SHADES = " ▂▄▆█"
_BARS = " ▁▂▃▄▅▆▇█"
_TONES = ("dim", "heat1", "heat2", "heat3", "heat3")


class Calendar(Lines):
    """Days from Monday to Sunday, the newest week last. Each month begins on a line of its own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "A day back", show=False, id="calendar.dayback"),
        Binding("right", "step(1)", "A day on", show=False, id="calendar.dayon"),
        Binding("up", "step(-7)", "A week back", show=False, id="calendar.weekback"),
        Binding("down", "step(7)", "A week on", show=False, id="calendar.weekon"),
        Binding(
            "pageup,ctrl+b", f"step({-_YEAR})", "A year back", show=False, id="calendar.yearback"
        ),
        Binding("pagedown,ctrl+d", f"step({_YEAR})", "A year on", show=False, id="calendar.yearon"),
        Binding("home", "edge(0)", "The first day that has notes", show=False, id="calendar.first"),
        Binding("end", "edge(1)", "Today", show=False, id="calendar.last"),
        Binding("enter", "pick", "Go there", id="calendar.pick"),
    ]

    class Moved(Message):
        """A key moved the cursor."""

        def __init__(self, day: str) -> None:
            super().__init__()
            self.day = day

    class Picked(Message):
        """A day was clicked, or enter was pressed on it."""

        def __init__(self, day: str) -> None:
            super().__init__()
            self.day = day

    def __init__(self, *, can_focus: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.can_focus = can_focus
        self._counts: dict[date, int] = {}
        self._steps: list[int] = []  # counts after which the bar of a day is higher
        self._drawn: dict[tuple[int, int, int, date], Strip] = {}  # cache of drawn lines
        self.today = self.day = date.min

    def show(self, counts: dict[str, int], today: str) -> None:
        """Show other counts.

        Args:
            counts: ISO day -> number; keys that are no dates are ignored.
            today: an ISO day.
        """
        found = {
            day: count for name, count in counts.items() if (day := iso_date(name)) is not None
        }
        last = max([iso_date(today) or date.min, *found])
        if (found, last) == (self._counts, self.today):
            return
        self._counts, self.today = found, last
        self._steps = _quantiles(found.values())
        self._drawn.clear()
        self.day = min(self.day, self.today) if self.day > date.min else self.today
        self.refresh_changed()

    def mark(self, day: str) -> None:
        """Mark a day, and show the weeks around it."""
        found = iso_date(day)
        if found is not None and found != self.day:
            self.day = found
            self.refresh_changed()

    # -- layout

    @property
    def _first(self) -> date:
        """The Monday of the first visible week: a page of 53 weeks (fewer if there is no room) that
        contains the cursor.
        """
        last, shown = self.today - timedelta(days=self.today.weekday()), self._weeks
        weeks = max(0, -(-(last - self.day).days // 7))
        return last - timedelta(weeks=shown * (weeks // shown + 1) - 1)

    @property
    def _weeks(self) -> int:
        """The number of weeks that have room."""
        if not self.size.width:
            return WEEKS
        if self.has_lines:  # a week in which a month begins has two
            return min(WEEKS, max(1, (self.size.height - 2) * 12 // 15))
        after = 8 if self.size.height == 1 else 0  # room for the last month's name
        return min(WEEKS, max(1, (self.size.width - self._left - after) // self._cell))

    @property
    def has_lines(self) -> bool:
        """Whether the weeks are lines: a strip has two lines at most."""
        return self.size.height > 2

    @property
    def _cell(self) -> int:
        """The columns of a week in a strip."""
        return 2 if self.size.width >= 2 * WEEKS + 2 else 1

    @property
    def _left(self) -> int:
        return 1 if self.size.height > 1 else 9

    @property
    def cursor_line(self) -> int:
        """The line that names the marked day."""
        return self.size.height - 1 if self.has_lines else 0

    def day_at(self, x: int, y: int) -> date | None:
        """Return the day of a cell; in a strip, the newest day of its week that has notes."""
        if self.has_lines:
            lines = _lines(self._first, self._weeks)
            weekday = (x - _MARGIN) // _CELL
            found = lines[y - 1] if 0 < y <= len(lines) else []
            return next(
                (day for day in found if day.weekday() == weekday and day <= self.today), None
            )
        week = (x - self._left) // self._cell
        if not 0 <= week < self._weeks or x < self._left:
            return None
        monday = self._first + timedelta(weeks=week)
        days = [monday + timedelta(days=n) for n in range(6, -1, -1)]
        return next((day for day in days if self._counts.get(day)), None)

    # -- drawing

    def line(self, y: int) -> Strip:
        """Draw a line."""
        width = self.size.width
        if self.today == date.min:
            return Strip.blank(width, self.rich_style)
        drawn = (y, width, self.size.height, self.day)
        if drawn not in self._drawn:
            self._drawn[drawn] = self._line(y, width)
        return self._drawn[drawn]

    def notify_style_update(self) -> None:
        """Drop the cache of drawn lines."""
        super().notify_style_update()
        self._drawn.clear()

    def _line(self, y: int, width: int) -> Strip:
        if self.has_lines:
            row = self._week(y)
        elif self.size.height == 1:
            first, last = (
                f"{self._first:%Y-%m} ",
                f" {min(self.today, self._first + timedelta(weeks=self._weeks)):%Y-%m}",
            )
            row = [(" ", "dim"), (first, "dim"), *self._bars(), (last, "dim")]
        else:
            row = [(" ", "dim"), *self._bars()] if y == 0 else self._months()
        return self.draw(row, width)

    def _week(self, y: int) -> Row:
        """Return a line of days; first the names of the days, last the marked day and its count."""
        if y == 0:
            return [(" " * (_MARGIN + 1) + _DAYS, "dim")]
        if y == self.size.height - 1:
            named = f" {self.day:%a} {self.day.day} {self.day:%b %Y}"
            count = many(self._counts.get(self.day, 0), "note")
            return [(named, "strong"), (f" · {count}", "dim")]
        lines = _lines(self._first, self._weeks)
        if y > len(lines):
            return []
        days, before = lines[y - 1], lines[max(0, y - 2)]
        name = f"{days[0]:%b}" if days is before or days[0].day == 1 else ""
        if days[0].month == 1 and days is not before and before[0].day == 1:
            name = f"{days[0]:%Y}"  # in the second line of January
        row: Row = [(f" {name:{_MARGIN - 1}}", "strong")]
        row.append((" " * _CELL * days[0].weekday(), "dim"))
        for day in days:
            if day > self.today:
                break
            level = self._shade(day)
            tone = "here" if day == self.day else "text" if level else "dim"
            row += [(f"{day.day:3d}", tone), (_SHADES[level], _TONES[level])]
        return row

    def _shade(self, day: date) -> int:
        """Return the height of a day's bar, from 0 to 4."""
        return sum(self._counts.get(day, 0) > step for step in (0, *self._steps))

    def _months(self) -> Row:
        """Return the names of the months at their first week.

        A name is drawn if it and a blank fit. With two columns a week, January names its year, too.
        """
        left, cell, first = self._left, self._cell, self._first
        text = " " * left
        for week in range(self._weeks):
            sunday = first + timedelta(weeks=week, days=6)
            if sunday.day <= 7 and len(text) <= left + week * cell:
                year = f"{sunday: ’%y}" if sunday.month == 1 and cell > 1 else ""
                text = text.ljust(left + week * cell) + f"{sunday:%b}{year} "
        return [(text, "dim")]

    def _bars(self) -> Row:
        """Return a bar for each week. The tone changes with the month."""
        first, cell, sums = self._first, self._cell, [0] * self._weeks
        for day, count in self._counts.items():
            week = (day - first).days // 7
            if 0 <= week < len(sums):
                sums[week] += count
        most, marked = max(sums) or 1, (self.day - first).days // 7
        row: Row = []
        for week, count in enumerate(sums):
            # the root: one busy week would make all others equally flat
            sign = _BARS[ceil(8 * (count / most) ** 0.5)] if count else "·"
            month = (first + timedelta(weeks=week, days=6)).month
            tone = ("heat1", "heat3")[month % 2] if count else "dim"
            row.append((sign * cell, "here" if week == marked else tone))
        return row

    # -- keys and clicks

    def action_step(self, days: int) -> None:
        """Move the cursor by *days*."""
        if self.today > date.min:
            first = min(self._counts, default=self.today) - timedelta(weeks=WEEKS)
            self._go(max(first, min(self.day + timedelta(days=days), self.today)))

    def action_edge(self, edge: int) -> None:
        """Move the cursor to the first or the last day."""
        if self.today > date.min:
            self._go(self.today if edge else min(self._counts, default=self.today))

    def _go(self, day: date) -> None:
        self.day = day
        self.refresh_changed()
        self.post_message(self.Moved(day.isoformat()))

    def action_pick(self) -> None:
        """Pick the day under the cursor."""
        self.post_message(self.Picked(self.day.isoformat()))

    def on_click(self, event: events.Click) -> None:
        """Choose the day under the mouse."""
        place = event.get_content_offset(self)
        day = self.day_at(place.x, place.y) if place is not None else None
        if day is not None:
            self.post_message(self.Picked(day.isoformat()))


@lru_cache(maxsize=4)
def _lines(first: date, weeks: int) -> list[list[date]]:
    """Return the days of each line: those of a week that are in the same month."""
    lines: list[list[date]] = []
    for number in range(7 * weeks):
        day = first + timedelta(days=number)
        if day.weekday() == 0 or day.day == 1:
            lines.append([])
        lines[-1].append(day)
    return lines


def _quantiles(counts: Iterable[int]) -> list[int]:
    """Return the limits between four groups of days that are about equally large.

    Days with the same count are in one group, so there are fewer limits if most counts are equal.
    """
    limits: list[int] = []
    rest = sorted(count for count in counts if count > 0)
    for groups in (4, 3, 2):
        if rest and rest[0] < rest[-1]:
            limits.append(min(rest[(len(rest) - 1) // groups], rest[-1] - 1))
            rest = [count for count in rest if count > limits[-1]]
    return limits


def iso_date(text: str) -> date | None:
    """Return the date of an ISO day; None for other text, and near the ends of the calendar."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if 999 < found.year < 9999 else None
