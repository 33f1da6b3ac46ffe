"""A text to read that draws only its visible lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from memsearch_engine import shown
from rich.cells import cell_len
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip

from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import GUTTERS, Row, drawable, mark_words, wrap


class TextView(Lines):
    """A text to read, wrapped to the width.

    Only visible lines are drawn; searched words are highlighted. The mouse selects text.
    """

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,ctrl+n", "scroll(1)", "Down", show=False, id="text.down"),
        Binding("up,k,ctrl+p", "scroll(-1)", "Up", show=False, id="text.up"),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False, id="text.pagedown"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="text.pageup"),
        Binding("home", "edge(0)", "Top", show=False, id="text.first"),
        Binding("end,G", "edge(1)", "Bottom", show=False, id="text.last"),
    ]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rows: list[Row] = []
        self._wrapped: list[Row] = []
        self._row_of: list[int] = []  # wrapped line -> number of its row
        self._width = 0
        # line of the last match; it may be too near to the end to be scrolled to the top
        self._match = -1
        # the line that the cursor keys moved to: a screen reader reads it
        self._place = 0
        self.marks: list[str] = []
        self.found = 0, 0  # (number of the current match line, number of match lines)

    def show(self, rows: list[Row], *, marks: Sequence[str] = (), keep_place: bool = False) -> None:
        """Show *rows*.

        Args:
            marks: highlighted words; case is ignored.
            keep_place: keep the scroll position.
        """
        if not keep_place and self.is_attached and self in self.screen.selections:
            self.screen.selections = {}  # of the text before
        place = self.scroll_offset.y if keep_place else 0
        self._rows = [[(shown(drawable(text)), tone) for text, tone in row] for row in rows]
        self.marks = [mark.casefold() for mark in marks if mark]
        self._match = -1
        self._width = 0
        self._wrap()
        self._place = self._place if keep_place else 0
        if place != self.scroll_offset.y:
            self.scroll_to(y=place, animate=False, force=True, immediate=True)
        self.refresh_changed()

    @property
    def cursor_line(self) -> int:
        """The line of the current match, else the one that the cursor keys moved to."""
        place = self._match if self._match >= 0 else self._place
        return max(0, min(place - self.scroll_offset.y, self.size.height - 1))

    def text(self) -> str:
        """Return the whole text."""
        return "\n".join(map(_text, self._rows))

    def _wrap(self) -> None:
        if not self.size.width:  # not visible yet: wrapped when the width is known
            self._width, self._wrapped, self._row_of = 0, [], []
            return
        width = max(10, self.size.width - 2)
        if width == self._width:
            return
        self._width = width
        wrapped = [wrap(row, width) for row in self._rows]
        self._wrapped = [line for lines in wrapped for line in lines]
        self._row_of = [number for number, lines in enumerate(wrapped) for _ in lines]
        self._match = -1
        self.extend(len(self._wrapped))

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._wrap()
        self.refresh()

    def mark(self, words: Sequence[str]) -> None:
        """Highlight other words."""
        self.marks = [word.casefold() for word in words if word]
        self._match = -1
        self.refresh_changed()

    def find_next(self, step: int = 1, *, wrap: bool = True, from_here: bool = False) -> bool:
        """Scroll to the next (1) or previous (-1) line with a highlighted word.

        Args:
            wrap: continue at the other end.
            from_here: the first visible line counts too.

        Returns:
            False if there is no such line.
        """
        hits = [
            i
            for i, row in enumerate(self._wrapped)
            if any(tone == "match" for _, tone in self._marked(row))
        ]
        if self._match < 0:  # start at the last match, else at the first visible line
            here = self.scroll_offset.y - (1 if from_here and step > 0 else 0)
        else:
            here = self._match
        later = (
            [i for i in hits if i > here] if step > 0 else [i for i in reversed(hits) if i < here]
        )
        target = next(iter(later or ((hits if step > 0 else hits[::-1]) if wrap else ())), None)
        if target is None:
            return False
        self._match = target
        self.found = hits.index(target) + 1, len(hits)
        self.scroll_to(y=target, animate=False, force=True)
        return True

    def show_row(self, number: int) -> None:
        """Scroll so that a row is the first visible one, if the text is longer than the pane."""
        if number in self._row_of:
            y = self._row_of.index(number)
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def action_scroll(self, step: int) -> None:
        """Scroll by *step* lines. The terminal's cursor also moves where nothing can scroll."""
        place = self.cursor_line + self.scroll_offset.y + step
        self._match, self._place = -1, max(0, min(place, len(self._wrapped) - 1))
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)
        self.refresh(Region(0, self.cursor_line, 1, 1))

    def action_page(self, step: int) -> None:
        """Scroll by a page."""
        self.action_scroll(step * max(1, self.size.height - 2))

    def action_edge(self, end: int) -> None:
        """Scroll to the beginning or the end."""
        self.action_scroll(len(self._wrapped) if end else -len(self._wrapped))

    def line(self, y: int) -> Strip:
        """Draw a wrapped line of the text."""
        index = y + self.scroll_offset.y
        row = self._wrapped[index] if index < len(self._wrapped) else []
        strip = self.draw([(" ", "text"), *self._marked(row)], self.size.width)
        selection = self.text_selection if row else None
        span = selection.get_span(index) if selection is not None else None
        if span is None:
            return strip
        text = f" {_text(row)}"
        begin, end = (cell_len(text[: len(text) if at < 0 else at]) for at in span)
        selected = strip.crop(begin, end).apply_style(Style(reverse=True))
        return Strip.join([strip.crop(0, begin), selected, strip.crop(end, self.size.width)])

    def render_line(self, y: int) -> Strip:
        """Draw a line with the positions that the mouse selects."""
        return super().render_line(y).apply_offsets(0, y + self.scroll_offset.y)

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what is selected now."""
        self.refresh_changed()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text without the gutter of code and without the breaks of lines that
        were wrapped.
        """
        found, before = "", -1
        for index, row in enumerate(self._wrapped):
            span = selection.get_span(index)
            if span is None:
                continue
            begin, end = span
            gutter = 1 + (len(row[0][0]) if row and row[0][0] in GUTTERS else 0)
            part = f" {_text(row)}"[max(begin, gutter) : None if end < 0 else end]
            number = self._row_of[index]
            if number == before:
                part = part.lstrip()
                last, first = found.rpartition("\n")[2].split(" ")[-1], part.split(" ")[0]
                is_cut = f"{last}{first}" in _text(self._rows[number])
                found = found + part if is_cut else f"{found.rstrip()} {part}"
            else:
                found += f"\n{part}" if before >= 0 else part
            before = number
        return (found, "\n") if found.strip() else None

    def _marked(self, row: Row) -> Row:
        if not self.marks:
            return row
        return [piece for text, tone in row for piece in mark_words(text, tone, self.marks)]


def _text(row: Row) -> str:
    return "".join(text for text, _ in row)
