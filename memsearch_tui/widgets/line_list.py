"""A list of any length that draws only its visible rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import LINE_BREAK, Row, drawable, unwrapped, wrap


class LineList(Lines):
    """A list of any length. ``render`` makes only visible rows.

    Each item has a key. New items keep the cursor on the same key if it is still there. The cursor
    skips headings. In a list that *folds*, if the list is high enough, a long row continues in a
    second line. Every item then has two lines; the first line of a heading is blank.
    """

    _HIGH = 44  # least height in lines of a list that folds
    _HIGH_FOR_TWO = 14  # the same, if its items need two lines

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,ctrl+n", "move(1)", "Down", show=False, id="list.down"),
        Binding("up,k,ctrl+p", "move(-1)", "Up", show=False, id="list.up"),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False, id="list.pagedown"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="list.pageup"),
        Binding("home", "jump(0)", "First", show=False, id="list.first"),
        Binding("end,G", "jump(-1)", "Last", show=False, id="list.last"),
        Binding("space", "select", "Select", show=False, id="list.select"),
    ]

    class RowOpened(Message):
        """An item was clicked a second time (the screen binds enter)."""

    def __init__(
        self,
        row: Callable[[int, int], Row],
        *,
        moved: Callable[[bool], None] = lambda by_hand: None,
        scrolled: Callable[[], None] = lambda: None,
        empty: Sequence[str] = (),
        is_heading: Callable[[Any], bool] = lambda key: False,
        indent: int = 0,
        **kwargs: Any,
    ) -> None:
        """Args:
        row: (index, width) -> the row's pieces.
            is_heading: whether the cursor skips the item of a key.
            moved: called when the cursor moves to another item; True if a key or a click moved it,
                False if the items changed. It is a call, not a message, so that its result is in
                the same frame as the cursor.
            scrolled: called when another item may be the first visible one.
            empty: lines with the first steps, shown if there are no items.
            indent: the list folds, and second lines begin after so many cells.
        """
        super().__init__(**kwargs)
        self._row, self._moved, self._scrolled = row, moved, scrolled
        self.empty = list(empty)
        self.is_heading = is_heading
        self.keys: Sequence[Any] = []
        self.cursor = 0
        self.selected: set[Any] = set()
        #: The item under the cursor, or the only selected one, that vanished; None once the cursor
        #: is moved.
        self.lost: Any = None
        self._subtitle: str | None = None  # the lower border's text while items are selected
        self._indent = indent
        self.tall = 1  # lines of each item
        self._wants_two = False
        self.folds: bool | None = None  # overrides the choice by height, if set

    @property
    def cursor_line(self) -> int:
        """The line of the cursor in the visible area."""
        return self.cursor * self.tall - self.scroll_offset.y

    @property
    def key(self) -> Any:
        """The key under the cursor; None for an empty list."""
        return self.keys[self.cursor] if self.keys else None

    def beside(self, step: int) -> Any:
        """Return the key that a step leads to, or None."""
        place = self.cursor + step
        while 0 <= place < len(self.keys):
            if not self.is_heading(self.keys[place]):
                return self.keys[place]
            place += step
        return None

    def seen(self) -> Sequence[Any]:
        """Return the keys of the visible items."""
        first = self.scroll_offset.y // self.tall
        return self.keys[first : first + self.size.height // self.tall + 1]

    def around(self) -> Sequence[Any]:
        """Return the keys of the visible items and of the page before and after them."""
        first, page = self.scroll_offset.y // self.tall, len(self.seen())
        return self.keys[max(0, first - page) : first + 2 * page]

    def drawn(self) -> list[Row]:
        """Return the rows of the visible items."""
        first = self.scroll_offset.y // self.tall
        return [self._row(first + n, self.size.width) for n in range(len(self.seen()))]

    def show_keys(self, keys: Sequence[Any], *, cursor: Any = None) -> None:
        """Show other items.

        Args:
            cursor: the key for the cursor. None: it stays on its key, or else on its index.
        """
        before, was_empty = self.key, not self.keys
        wanted = cursor if cursor is not None else before
        self.keys = keys
        if wanted in keys:
            self.cursor = keys.index(wanted)
            self.lost = self.lost if wanted == before else None
        else:
            self.cursor = self._stop(min(self.cursor, max(0, len(keys) - 1)), 1)
            self.lost = None if was_empty else wanted
        if gone := {key for key in self.selected if key not in keys}:
            if gone == self.selected:
                self.lost = next(iter(gone))
            self.selected -= gone
            self._count_selected()
        self.extend(len(keys) * self.tall)
        self._follow()
        self.refresh_changed()
        if was_empty != (not keys) and self.is_attached:
            self.screen.refresh_bindings()  # keys that act on a row
        if keys and self.key != before:
            self._moved(False)

    def _stop(self, index: int, step: int) -> int:
        """Return the nearest index that is no heading: first in the direction of *step*, then in
        the other one.
        """
        for direction in (step, -step):
            place = index
            while 0 <= place < len(self.keys):
                if not self.is_heading(self.keys[place]):
                    return place
                place += direction
        return index

    def move_to(self, index: int) -> None:
        """Move the cursor to an index."""
        self.lost = None
        index = max(0, min(index, len(self.keys) - 1))
        if self.keys:
            index = self._stop(index, 1 if index >= self.cursor else -1)
        if self.keys and index != self.cursor:
            old, self.cursor = self.cursor, index
            self._redraw(old)
            self._redraw(index)
            self._follow()
            self._moved(True)

    def action_move(self, step: int) -> None:
        """Move the cursor by *step* items."""
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by a page."""
        self.move_to(self.cursor + step * max(1, self.size.height // self.tall - 1))

    def action_jump(self, index: int) -> None:
        """Move the cursor to an index; -1 is the last one."""
        self.move_to(index if index >= 0 else len(self.keys) - 1)

    def action_select(self) -> None:
        """Select or unselect the item under the cursor, and move to the next one."""
        if self.key is not None:
            self.selected ^= {self.key}
            self._redraw(self.cursor)
            self._count_selected()
            self.move_to(self.cursor + 1)

    def clear_selection(self) -> None:
        """Unselect all items."""
        self.selected.clear()
        self.refresh_changed()
        self._count_selected()

    def entitle(self, title: str | None = None, subtitle: str | None = None) -> None:
        """Set the border's texts. The lower one waits while items are selected."""
        if self.selected and subtitle is not None:
            self._subtitle, subtitle = subtitle, None
        super().entitle(title, subtitle)

    def _count_selected(self) -> None:
        """Show the number of selected items in the lower border."""
        if self._subtitle is None:
            self._subtitle = self.border_subtitle or ""
        count = len(self.selected)
        super().entitle(subtitle=f"{count} selected · esc clears" if count else self._subtitle)
        if not count:
            self._subtitle = None

    def _redraw(self, index: int) -> None:
        width = self.scrollable_content_region.width  # do not paint the scrollbar
        self.refresh(Region(0, index * self.tall - self.scroll_offset.y, width, self.tall))

    def _follow(self) -> None:
        height = self.size.height // self.tall * self.tall
        first = self.cursor
        while first > 0 and self.keys and self.is_heading(self.keys[first - 1]):
            first -= 1  # show the heading with its first item
        seen, begin, end = self.scroll_offset.y, first * self.tall, (self.cursor + 1) * self.tall
        if height and not (seen <= begin and end <= seen + height):
            self.scroll_to(
                y=begin if begin < seen else end - height, animate=False, force=True, immediate=True
            )

    def hold(self, line: int) -> None:
        """Scroll so that the cursor is at this line of the visible area (see ``cursor_line``)."""
        self.scroll_to(
            y=max(0, self.cursor * self.tall - line), animate=False, force=True, immediate=True
        )

    def show_first(self, index: int) -> None:
        """Scroll so that an item is the first visible one."""
        self.scroll_to(y=index * self.tall, animate=False, force=True, immediate=True)

    def want_two_lines(self, wanted: bool) -> None:
        """Set whether the current items need two lines each, in a list that is high enough.

        The owner's choice overrides it.
        """
        if wanted != self._wants_two:
            self._wants_two = wanted
            self.on_resize()

    def on_resize(self) -> None:
        """Compute the lines of an item for the new size."""
        wants_two = self._wants_two and self.size.height >= self._HIGH_FOR_TWO
        by_itself = wants_two or self.size.height >= self._HIGH
        folds = self.folds if self.folds is not None else by_itself
        before, self.tall = self.tall, 2 if self._indent and folds else 1
        if self.tall != before:
            self.refresh()
        self.extend(len(self.keys) * self.tall)
        self._follow()
        self._scrolled()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the scrollbar, the wheel and the keys."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._scrolled()

    def fold(self, folds: bool) -> None:
        """Give each item two lines, or one."""
        line, self.folds = self.cursor_line, folds
        self.on_resize()
        self.hold(line)

    def line(self, y: int) -> Strip:
        """Draw a line of an item, of a heading, or of the text of an empty list."""
        width = self.scrollable_content_region.width  # without the scrollbar
        index, line = divmod(y + self.scroll_offset.y, self.tall)
        if not self.keys:
            rows = [row for text in self.empty for row in wrap([(text, "dim")], max(1, width - 1))]
            return self.draw([(" ", "dim"), *(rows[y] if y < len(rows) else [])], width)
        if index >= len(self.keys):
            return Strip.blank(width, self.rich_style)
        if self.is_heading(self.keys[index]):
            return self.draw(self._row(index, width) if line == self.tall - 1 else [], width)
        behind: tuple[str, ...] = ("selected",) if self.keys[index] in self.selected else ()
        if index == self.cursor:
            behind += ("cursor" if self.has_focus else "cursor-idle",)
        # Shape and colour both show the cursor and the selection. The cursor's block is a reversed
        # blank: a screen reader repeats each line whose text has changed.
        sign = "✓" if self.keys[index] in self.selected else " "
        row = self._row(index, width - 1)
        if self.tall > 1:
            row = self._folded(row, width - 1)[line]
        tone = "here" if index == self.cursor else "accent"
        return self.draw([(sign, tone), *row], width, behind)

    def _folded(self, row: Row, width: int) -> tuple[Row, Row]:
        """Return the two lines of a row; a ``LINE_BREAK`` marks the beginning of the second."""
        if LINE_BREAK in row:
            place = row.index(LINE_BREAK)
            return row[:place], [(" " * self._indent, "text"), *row[place + 1 :]]
        first, *more = wrap([(drawable(text), tone) for text, tone in row], width)
        return first, [(" " * self._indent, "text"), *unwrapped(more)]

    def on_focus(self) -> None:
        """Draw the cursor of a focused list."""
        self.refresh_changed()

    def on_blur(self) -> None:
        """Draw the cursor of a list without focus."""
        self.refresh_changed()

    def on_click(self, event: events.Click) -> None:
        """Move to the row under the mouse, or open it if it was already chosen."""
        place = event.get_content_offset(self)  # the border is not a row
        index = (place.y + self.scroll_offset.y) // self.tall if place is not None else -1
        if 0 <= index < len(self.keys):
            again = index == self.cursor
            self.move_to(index)
            if again:
                self.post_message(self.RowOpened())
