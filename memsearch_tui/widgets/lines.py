"""A base for widgets that draw lines, a virtual list and a virtual text view.

A row is a list of *pieces*: ``(text, tone)``. Tones are made from the theme's variables, so themes
decide how they look, also on a screen without colours. Text of notes is drawn literally, never read
as markup.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from memsearch_engine import all_agents, shown, shown_line
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from memsearch_tui.widgets.contrast import legible

Piece = tuple[str, str]
Row = list[Piece]

#: In a row of a list: the rest goes to the second line.
LINE_BREAK: Piece = ("\n", "text")

#: tone -> (variable of the theme, rich style words, share of the variable over the background)
_LOOKS = {
    "text": ("foreground", "", 1.0),
    "dim": ("foreground", "", 0.68),
    "key": ("accent", "", 1.0),
    "accent": ("accent", "", 1.0),
    "strong": ("foreground", "bold", 1.0),
    "good": ("text-success", "", 1.0),
    "warn": ("text-warning", "", 1.0),
    "bad": ("text-error", "bold", 1.0),
    "code": ("text-secondary", "", 1.0),
    "link": ("text-primary", "underline", 1.0),
    "emphasis": ("foreground", "italic", 1.0),
    "strike": ("foreground", "strike", 0.8),
    "match": ("text-warning", "bold underline", 1.0),
    "agent": ("text-primary", "", 1.0),
    **{
        agent.tag: (variable, "", 1.0)
        for agent, variable in zip(
            all_agents(),
            itertools.cycle(("text-accent", "text-success", "text-primary", "text-secondary")),
        )
    },
    "me": ("foreground", "", 0.68),
    "here": ("accent", "bold reverse", 1.0),
    "heat1": ("primary-darken-2", "", 1.0),
    "heat2": ("primary", "", 1.0),
    "heat3": ("accent", "", 1.0),
}
#: Tones of bars; the height of a bar shows the same as its colour.
_SHAPES = {"heat1", "heat2", "heat3", "here"}
#: the same, for the background of a whole row
_BEHIND = {
    "cursor": ("primary", "bold", 0.4),
    "cursor-idle": ("surface", "", 1.0),
    "selected": ("accent", "", 0.2),
}

#: Characters that join several into one, or widen one. Terminals disagree on the cells of the
#: result, which would shift the rest of the row. So the parts are drawn, because all terminals
#: agree on their widths.
_JOINING = re.compile(
    "[\ufe0e\ufe0f\u20e3]|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])|(?<=\\S)[\U0001f3fb-\U0001f3ff]"
)
#: Least letters of a searched word that also matches the beginning of a longer word.
_WHOLE_BELOW = 5
_FLAGS = {0x1F1E6 + letter: chr(ord("A") + letter) for letter in range(26)}


def drawable(text: str) -> str:
    """Return *text* with only characters that have the same width in every terminal.

    Emoji become their parts, flags become letters.
    """
    return text if text.isascii() else _JOINING.sub("", text).translate(_FLAGS)


class Lines(ScrollView, can_focus=True, inherit_bindings=False):
    """The base: it maps tones to styles and caches them for each look.

    Tones are no component classes, because Textual would match sixteen of them against every rule
    at each change of focus, which took half of the start.
    """

    DEFAULT_CSS = """
    Lines { background: $background; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    """

    def __init__(self, **kwargs: Any) -> None:
        self._is_titling = False
        self._titles = "", ""
        self._painted: dict[int, Strip] = {}
        self._styles: dict[tuple[str, ...], Style] = {}
        super().__init__(**kwargs)

    def line(self, y: int) -> Strip:
        """Draw line *y* of the visible area in its current state."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Draw a line and store what was painted."""
        strip = self._painted[y] = self.line(y)
        return strip

    def refresh_changed(self) -> None:
        """Paint only the lines that differ from the last painting.

        A remote terminal receives every painted cell over the network, and most lines of a pane do
        not change when the cursor moves.
        """
        size = self.scrollable_content_region.size
        if not size or len(self._painted) < size.height:
            self.refresh()
            return
        for y in range(size.height):
            if self._painted.get(y) != self.line(y):
                self.refresh(Region(0, y, size.width, 1))

    def entitle(self, title: str | None = None, subtitle: str | None = None) -> None:
        """Set the border's texts. Only the border is painted, and only if a text changed.

        Args:
            title, subtitle: None leaves the text unchanged.
        """
        is_new = title is not None and title != self._titles[0]
        is_new_below = subtitle is not None and subtitle != self._titles[1]
        self._is_titling = True  # Textual would paint the whole widget for a title
        if is_new:
            self.border_title = title
        if is_new_below:
            self.border_subtitle = subtitle
        self._is_titling = False
        self._titles = (
            self._titles[0] if title is None else title,
            self._titles[1] if subtitle is None else subtitle,
        )
        if is_new:
            self.refresh(Region(0, -1, self.size.width, 1))
        if is_new_below:
            self.refresh(Region(0, self.size.height, self.size.width, 1))

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Refresh as Textual does, but do not paint the content for a title."""
        if self._is_titling and not regions:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_str(self, text_content: Any) -> Any:
        """Return the text of a title. Titles are never markup, because they may name a note."""
        return (
            Content(shown_line(drawable(text_content)))
            if isinstance(text_content, str)
            else text_content
        )

    def notify_style_update(self) -> None:
        """Drop the caches of styles and painted lines."""
        super().notify_style_update()
        self._styles.clear()
        self._painted.clear()

    def extend(self, height: int) -> None:
        """Set the number of lines to *height*.

        Textual would lay out the whole screen. That is skipped if no scrollbar is needed.
        """
        size = Size(self.size.width, height)
        if max(height, self.virtual_size.height) <= self.size.height:
            self.set_reactive(ScrollView.virtual_size, size)
        else:
            self.virtual_size = size

    def style_of(self, *tones: str) -> Style:
        """Return the style of *tones*, each applied over the one before, on the widget's own
        style.
        """
        style = self._styles.get(tones)
        if style is None:
            style = self.rich_style
            for name in tones:
                style += self._look(name)
            if not set(tones) & _SHAPES:  # their shape shows the same as their colour
                style = legible(style)
            self._styles[tones] = style
        return style

    def _look(self, tone: str) -> Style:
        variable, words, share = _LOOKS.get(tone) or _BEHIND[tone]
        color = Color.parse(self.app.theme_variables[variable])
        if share < 1.0 and color.ansi is None:  # a terminal's own colours cannot be mixed
            color = Color.parse(self.app.theme_variables["background"]).blend(
                color, share, alpha=1.0
            )
        return Style.parse(words) + (
            Style(bgcolor=color.rich_color) if tone in _BEHIND else Style(color=color.rich_color)
        )

    def draw(self, row: Row, width: int, behind: tuple[str, ...] = ()) -> Strip:
        """Return a row as a strip of exactly *width* cells; longer rows are cut.

        Args:
            behind: tones that apply over each piece's own.
        """
        strip = Strip(
            [
                Segment(shown_line(drawable(text)), self.style_of(tone, *behind))
                for text, tone in _joined(row)
            ]
        )
        if strip.cell_length > width > 0:
            strip = Strip([*strip.crop(0, width - 1), Segment("…", self.style_of("dim", *behind))])
        return strip.adjust_cell_length(width, self.style_of(*behind))


def _joined(row: Row) -> Row:
    """Return the row with neighbours of one tone joined, because each piece costs forty bytes of
    escape sequences.
    """
    pieces: Row = []
    for text, tone in row:
        if text and pieces and pieces[-1][1] == tone:
            pieces[-1] = pieces[-1][0] + text, tone
        elif text:
            pieces.append((text, tone))
    return pieces


class LineList(Lines):
    """A list of any length. ``render`` makes only visible rows.

    Each item has a key. New items keep the cursor on the same key if it is still there. The cursor
    skips headings. In a list that *folds*, if the list is high enough, a long row continues in a
    second line. Every item then has two lines; the first line of a heading is blank.
    """

    _HIGH = 44  # least height in lines of a list that folds

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
            empty: lines with the first steps, shown if there are no items.
            indent: the list folds, and second lines begin after so many cells.
        """
        super().__init__(**kwargs)
        self._row, self._moved = row, moved
        self.empty = list(empty)
        self.is_heading = is_heading
        self.keys: Sequence[Any] = []
        self.cursor = 0
        self.selected: set[Any] = set()
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

    def show_keys(self, keys: Sequence[Any], *, cursor: Any = None) -> None:
        """Show other items.

        Args:
            cursor: the key for the cursor. None: it stays on its key, or else on its index.
        """
        before = self.key
        wanted = cursor if cursor is not None else before
        self.keys = keys
        if wanted in keys:
            self.cursor = keys.index(wanted)
        else:
            self.cursor = self._stop(min(self.cursor, max(0, len(keys) - 1)), 1)
        self.selected = {key for key in self.selected if key in keys}
        self.extend(len(keys) * self.tall)
        self._follow()
        self.refresh_changed()
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
            self.move_to(self.cursor + 1)

    def clear_selection(self) -> None:
        """Unselect all items."""
        self.selected.clear()
        self.refresh_changed()

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
        """Set whether the current items need two lines each. The owner's choice overrides it."""
        if wanted != self._wants_two:
            self._wants_two = wanted
            self.on_resize()
            self.refresh()

    def on_resize(self) -> None:
        """Compute the lines of an item for the new size."""
        by_itself = self._wants_two or self.size.height >= self._HIGH
        folds = self.folds if self.folds is not None else by_itself
        self.tall = 2 if self._indent and folds else 1
        self.extend(len(self.keys) * self.tall)
        self._follow()

    def fold(self, folds: bool) -> None:
        """Give each item two lines, or one."""
        line, self.folds = self.cursor_line, folds
        self.on_resize()
        self.hold(line)
        self.refresh()

    def line(self, y: int) -> Strip:
        """Draw a line of an item, of a heading, or of the text of an empty list."""
        width = self.scrollable_content_region.width  # without the scrollbar
        index, line = divmod(y + self.scroll_offset.y, self.tall)
        if not self.keys:
            text = self.empty[y] if y < len(self.empty) else ""
            return self.draw([(f" {text}", "dim")], width)
        if index >= len(self.keys):
            return Strip.blank(width, self.rich_style)
        if self.is_heading(self.keys[index]):
            return self.draw(self._row(index, width) if line == self.tall - 1 else [], width)
        behind: tuple[str, ...] = ("selected",) if self.keys[index] in self.selected else ()
        if index == self.cursor:
            behind += ("cursor" if self.has_focus else "cursor-idle",)
        # shape and colour both show the cursor and the selection
        sign = (
            "▌" if index == self.cursor and self.has_focus else "▏" if index == self.cursor else " "
        )
        sign = "✓" if self.keys[index] in self.selected else sign
        row = self._row(index, width - 1)
        if self.tall > 1:
            row = self._folded(row, width - 1)[line]
        return self.draw([(sign, "accent"), *row], width, behind)

    def _folded(self, row: Row, width: int) -> tuple[Row, Row]:
        """Return the two lines of a row; a ``LINE_BREAK`` marks the beginning of the second."""
        if LINE_BREAK in row:
            place = row.index(LINE_BREAK)
            return row[:place], [(" " * self._indent, "text"), *row[place + 1 :]]
        first, *more = wrap([(drawable(text), tone) for text, tone in row], width)
        return first, [
            (" " * self._indent, "text"),
            *(piece for line in more for piece in [*line, (" ", "text")]),
        ]

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


class TextView(Lines):
    """A text to read, wrapped to the width.

    Only visible lines are drawn; searched words are highlighted.
    """

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
        self._width = 0
        # line of the last match; it may be too near to the end to be scrolled to the top
        self._match = -1
        self.marks: list[str] = []
        self.found = 0, 0  # (number of the current match line, number of match lines)

    def show(self, rows: list[Row], *, marks: Sequence[str] = (), keep_place: bool = False) -> None:
        """Show *rows*.

        Args:
            marks: highlighted words; case is ignored.
            keep_place: keep the scroll position.
        """
        place = self.scroll_offset.y if keep_place else 0
        self._rows = [[(shown(drawable(text)), tone) for text, tone in row] for row in rows]
        self.marks = [mark.casefold() for mark in marks if mark]
        self._match = -1
        self._width = 0
        self._wrap()
        if place != self.scroll_offset.y:
            self.scroll_to(y=place, animate=False, force=True, immediate=True)
        self.refresh_changed()

    def text(self) -> str:
        """Return the whole text."""
        return "\n".join("".join(text for text, _ in row) for row in self._rows)

    def _wrap(self) -> None:
        if not self.size.width:  # not visible yet: wrapped when the width is known
            self._width, self._wrapped = 0, []
            return
        width = max(10, self.size.width - 2)
        if width == self._width:
            return
        self._width = width
        self._wrapped = [line for row in self._rows for line in wrap(row, width)]
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

    def action_scroll(self, step: int) -> None:
        """Scroll by *step* lines."""
        self._match = -1
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)

    def action_page(self, step: int) -> None:
        """Scroll by a page."""
        self._match = -1
        self.scroll_to(y=self.scroll_offset.y + step * max(1, self.size.height - 2), animate=False)

    def action_edge(self, end: int) -> None:
        """Scroll to the beginning or the end."""
        self._match = -1
        self.scroll_to(y=len(self._wrapped) if end else 0, animate=False)

    def line(self, y: int) -> Strip:
        """Draw a wrapped line of the text."""
        index = y + self.scroll_offset.y
        row = self._wrapped[index] if index < len(self._wrapped) else []
        return self.draw([(" ", "text"), *self._marked(row)], self.size.width)

    def _marked(self, row: Row) -> Row:
        if not self.marks:
            return row
        return [piece for text, tone in row for piece in mark_words(text, tone, self.marks)]


def mark_words(text: str, tone: str, words: Sequence[str]) -> list[Piece]:
    """Cut *text* so that every occurrence of *words* is a ``match`` piece.

    A word matches at the beginning of a word of the text. With fewer than five letters it matches
    only a whole word: "set" does not match in "settings", "cache" matches in "caches".

    Args:
        words: casefolded; may contain blanks.
    """
    pattern = _pattern(tuple(words))
    pieces: list[Piece] = []
    position = 0
    for match in pattern.finditer(text) if pattern else ():
        pieces += [(text[position : match.start()], tone), (match[0], "match")]
        position = match.end()
    return [*pieces, (text[position:], tone)]


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    parts = []
    for word in sorted(filter(None, words), key=len, reverse=True):
        begin = r"(?<![^\W_])" if word[0].isascii() and word[0].isalnum() else ""
        is_short = len(word) < _WHOLE_BELOW and word[-1].isascii() and word[-1].isalnum()
        parts.append(begin + re.escape(word) + (r"(?![^\W_])" if is_short else ""))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def wrap(row: Row, width: int) -> list[Row]:
    """Return a row as rows of at most *width* cells, broken at blanks.

    Wide characters count two.
    """
    if sum(cell_len(text) for text, _ in row) <= width:
        return [row]
    # the prefix of a quotation or of code is repeated in every line
    before = row[:1] if row and row[0][0].strip() and not row[0][0].strip("▏│ ") else []
    if before:
        rest = wrap(row[1:], max(1, width - cell_len(before[0][0])))
        return [[*before, *line] for line in rest]
    lines: list[Row] = [[]]
    room = width
    for text, tone in row:
        for word in _words(text):
            need = cell_len(word)
            if need > room and room < width:
                lines.append([])
                room = width
                word = word.lstrip(" ")
                need = cell_len(word)
            start = 0
            while need > room:
                # a word longer than a line, or text without blanks; by position, because it may
                # have megabytes
                cut = start + _fits(word[start : start + room + 1], room)
                lines[-1].append((word[start:cut], tone))
                lines.append([])
                need -= cell_len(word[start:cut])
                start, room = cut, width
            word = word[start:]
            if word:
                lines[-1].append((word, tone))
                room -= need
    return lines


def _words(text: str) -> list[str]:
    """Return words with the blanks before them. CJK text may break anywhere."""
    words: list[str] = []
    start = 0
    for index in range(1, len(text)):
        wide = cell_len(text[index]) == 2 or cell_len(text[index - 1]) == 2
        if (text[index] == " " and text[index - 1] != " ") or wide:
            words.append(text[start:index])
            start = index
    words.append(text[start:])
    return words


def _fits(text: str, room: int) -> int:
    """Return how many characters of *text* fit into *room* cells, at least one."""
    used = 0
    for index, sign in enumerate(text):
        used += cell_len(sign)
        if used > room:
            return max(1, index)
    return len(text)
