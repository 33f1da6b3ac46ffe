"""The Line-API base, a virtual list and a virtual text view.

A row is a list of *pieces*: ``(text, tone)``. Tones are made of the theme's variables, so themes
and a screen without colour decide how they look. Text from notes is drawn as it is, never read as
markup.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

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

Piece = tuple[str, str]
Row = list[Piece]

#: tone -> (variable of the theme, rich style words, share of the variable over the background)
_LOOKS = {
    "text": ("foreground", "", 1.0),
    "dim": ("foreground", "", 0.6),
    "accent": ("accent", "", 1.0),
    "strong": ("foreground", "bold", 1.0),
    "good": ("text-success", "", 1.0),
    "warn": ("text-warning", "", 1.0),
    "bad": ("text-error", "bold", 1.0),
    "code": ("text-secondary", "", 1.0),
    "match": ("text-warning", "bold underline", 1.0),
    "agent": ("text-primary", "", 1.0),
    **{
        agent.tag: (variable, "", 1.0)
        for agent, variable in zip(
            all_agents(),
            itertools.cycle(("text-accent", "text-success", "text-primary", "text-secondary")),
        )
    },
    "me": ("foreground", "", 0.6),
    "here": ("accent", "bold reverse", 1.0),
    "heat1": ("primary-darken-2", "", 1.0),
    "heat2": ("primary", "", 1.0),
    "heat3": ("accent", "", 1.0),
}
#: the same, for what lies behind a whole row
_BEHIND = {
    "cursor": ("primary", "bold", 0.4),
    "cursor-idle": ("surface", "", 1.0),
    "selected": ("accent", "", 0.2),
}

#: What makes one sign of several, or a sign wider. Terminals differ in how many cells the result
#: has, and one that counts otherwise than we do moves the rest of its row: drawn are the parts,
#: whose widths all agree on.
_JOINING = re.compile(
    "[\ufe0e\ufe0f\u20e3]|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])|(?<=\\S)[\U0001f3fb-\U0001f3ff]"
)
_FLAGS = {0x1F1E6 + letter: chr(ord("A") + letter) for letter in range(26)}


def drawable(text: str) -> str:
    """*text* made of signs that have the same width in every terminal: emoji as their parts, flags
    as letters.
    """
    return text if text.isascii() else _JOINING.sub("", text).translate(_FLAGS)


class Lines(ScrollView, can_focus=True, inherit_bindings=False):
    """Shared drawing: tones to styles, which are worked out once for each look.

    Tones are no component classes: Textual would match sixteen of them against every rule at each
    change of focus, which was half of the start.
    """

    DEFAULT_CSS = """
    Lines { background: $background; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    """

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self._styles: dict[tuple[str, ...], Style] = {}

    def render_str(self, text_content: Any) -> Any:
        """Titles are text, never markup, and may name a note."""
        return (
            Content(shown_line(drawable(text_content)))
            if isinstance(text_content, str)
            else text_content
        )

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()

    def extend(self, height: int) -> None:
        """Have *height* lines. A layout of the whole screen, which is what Textual does for it, is
        needed for a scrollbar only.
        """
        size = Size(self.size.width, height)
        if max(height, self.virtual_size.height) <= self.size.height:
            self.set_reactive(ScrollView.virtual_size, size)
        else:
            self.virtual_size = size

    def style_of(self, *tones: str) -> Style:
        """The look of *tones*, each over the one before, on the widget's own."""
        style = self._styles.get(tones)
        if style is None:
            style = self.rich_style
            for name in tones:
                style += self._look(name)
            self._styles[tones] = style
        return style

    def _look(self, tone: str) -> Style:
        variable, words, share = _LOOKS.get(tone) or _BEHIND[tone]
        color = Color.parse(self.app.theme_variables[variable])
        if share < 1.0 and color.ansi is None:  # a terminal's own colours can't be mixed
            color = Color.parse(self.app.theme_variables["background"]).blend(
                color, share, alpha=1.0
            )
        return Style.parse(words) + (
            Style(bgcolor=color.rich_color) if tone in _BEHIND else Style(color=color.rich_color)
        )

    def draw(self, row: Row, width: int, behind: tuple[str, ...] = ()) -> Strip:
        """A row as a strip of exactly *width* cells, what has no room cut off, with the tones
        *behind* over each piece's own.
        """
        strip = Strip(
            [
                Segment(shown_line(drawable(text)), self.style_of(tone, *behind))
                for text, tone in row
                if text
            ]
        )
        if strip.cell_length > width > 0:
            strip = Strip([*strip.crop(0, width - 1), Segment("…", self.style_of("dim", *behind))])
        return strip.adjust_cell_length(width, self.style_of(*behind))


class LineList(Lines):
    """A list of any length. Rows are made when they are seen, by ``render``.

    Items are known by a key; new items keep the cursor on the same key where it is still there.
    Some are headings: the cursor goes past them. In a list that *folds*, a row that is too long
    goes on in a second line where the list is high enough; every item then has two, a heading's
    first one being blank.
    """

    _HIGH = 44  # lines from which on a list that folds does so

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,ctrl+n", "move(1)", "Down", show=False, id="list.down"),
        Binding("up,k,ctrl+p", "move(-1)", "Up", show=False, id="list.up"),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False, id="list.pagedown"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="list.pageup"),
        Binding("home", "jump(0)", "First", show=False, id="list.first"),
        Binding("end,G", "jump(-1)", "Last", show=False, id="list.last"),
        Binding("space", "select", "Select", show=False, id="list.select"),
    ]

    class Opened(Message):
        """An item was clicked a second time (enter is bound by the screen)."""

    def __init__(
        self,
        row: Callable[[int, int], Row],
        *,
        moved: Callable[[bool], None] = lambda by_hand: None,
        empty: Sequence[str] = (),
        is_heading: Callable[[Any], bool] = lambda key: False,
        indent: int = 0,
        **kwargs,
    ) -> None:
        """
        Args:
            row: (index, width) -> the row's pieces.
            is_heading: whether the item of a key is no stop of the cursor.
            moved: called when the cursor stands on another item; True where a key or a click
                moved it, not other items. A
                call and no message: what it shows belongs into the same frame as the cursor.
            empty: lines that teach what to do while there is nothing to show.
            indent: the list folds, and a second line begins after so many cells.
        """
        super().__init__(**kwargs)
        self._row, self._moved = row, moved
        self.empty = list(empty)
        self.is_heading = is_heading
        self.keys: Sequence[Any] = []
        self.cursor = 0
        self.selected: set[Any] = set()
        self._indent = indent
        self.tall = 1  # lines of an item
        self.folds: bool | None = None  # whatever the height, where somebody has said so

    @property
    def line(self) -> int:
        """Where the cursor stands, in lines of what is seen."""
        return self.cursor * self.tall - self.scroll_offset.y

    @property
    def key(self) -> Any:
        return self.keys[self.cursor] if self.keys else None

    def beside(self, step: int) -> Any:
        """The key to which a step would lead; None where there is none."""
        place = self.cursor + step
        while 0 <= place < len(self.keys):
            if not self.is_heading(self.keys[place]):
                return self.keys[place]
            place += step
        return None

    def seen(self) -> Sequence[Any]:
        """The keys of what is on the screen."""
        first = self.scroll_offset.y // self.tall
        return self.keys[first : first + self.size.height // self.tall + 1]

    def show_keys(self, keys: Sequence[Any], *, cursor: Any = None) -> None:
        """Show other items; the cursor goes to *cursor*, else stays on its key, else on its place."""
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
        self.refresh()
        if keys and self.key != before:
            self._moved(False)

    def _stop(self, index: int, step: int) -> int:
        """The nearest place that is no heading: first in the direction of *step*, then in the other
        one.
        """
        for direction in (step, -step):
            place = index
            while 0 <= place < len(self.keys):
                if not self.is_heading(self.keys[place]):
                    return place
                place += direction
        return index

    def move_to(self, index: int) -> None:
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
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(1, self.size.height // self.tall - 1))

    def action_jump(self, index: int) -> None:
        self.move_to(index if index >= 0 else len(self.keys) - 1)

    def action_select(self) -> None:
        if self.key is not None:
            self.selected ^= {self.key}
            self._redraw(self.cursor)
            self.move_to(self.cursor + 1)

    def clear_selection(self) -> None:
        self.selected.clear()
        self.refresh()

    def _redraw(self, index: int) -> None:
        self.refresh(
            Region(0, index * self.tall - self.scroll_offset.y, self.size.width, self.tall)
        )

    def _follow(self) -> None:
        height = self.size.height // self.tall * self.tall
        first = self.cursor
        while first > 0 and self.keys and self.is_heading(self.keys[first - 1]):
            first -= 1  # what stands under a heading is seen with it
        seen, begin, end = self.scroll_offset.y, first * self.tall, (self.cursor + 1) * self.tall
        if height and not (seen <= begin and end <= seen + height):
            self.scroll_to(
                y=begin if begin < seen else end - height, animate=False, force=True, immediate=True
            )

    def hold(self, line: int) -> None:
        """Scroll so that the cursor stands in this line of what is seen, where it stood before
        (``line``).
        """
        self.scroll_to(
            y=max(0, self.cursor * self.tall - line), animate=False, force=True, immediate=True
        )

    def show_first(self, index: int) -> None:
        """Scroll so that an item is the first that is seen."""
        self.scroll_to(y=index * self.tall, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        folds = self.folds if self.folds is not None else self.size.height >= self._HIGH
        self.tall = 2 if self._indent and folds else 1
        self.extend(len(self.keys) * self.tall)
        self._follow()

    def fold(self, folds: bool) -> None:
        """Give each item two lines, or one."""
        line, self.folds = self.line, folds
        self.on_resize()
        self.hold(line)
        self.refresh()

    def render_line(self, y: int) -> Strip:
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
        # shape as well as colour says where the cursor is and what is selected
        sign = (
            "▌" if index == self.cursor and self.has_focus else "▏" if index == self.cursor else " "
        )
        sign = "✓" if self.keys[index] in self.selected else sign
        row = self._row(index, width - 1)
        if self.tall > 1:
            row = self._folded(row, width - 1)[line]
        return self.draw([(sign, "accent"), *row], width, behind)

    def _folded(self, row: Row, width: int) -> tuple[Row, Row]:
        """The two lines of a row."""
        first, *more = wrap([(drawable(text), tone) for text, tone in row], width)
        return first, [
            (" " * self._indent, "text"),
            *(piece for line in more for piece in [*line, (" ", "text")]),
        ]

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)  # the border is no row
        index = (place.y + self.scroll_offset.y) // self.tall if place is not None else -1
        if 0 <= index < len(self.keys):
            again = index == self.cursor
            self.move_to(index)
            if again:
                self.post_message(self.Opened())


class TextView(Lines):
    """Text that is read: wrapped to the width, only visible lines drawn, a word that is searched
    for marked.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,ctrl+n", "scroll(1)", "Down", show=False, id="text.down"),
        Binding("up,k,ctrl+p", "scroll(-1)", "Up", show=False, id="text.up"),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False, id="text.pagedown"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="text.pageup"),
        Binding("home", "edge(0)", "Top", show=False, id="text.first"),
        Binding("end,G", "edge(1)", "Bottom", show=False, id="text.last"),
    ]

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self._rows: list[Row] = []
        self._wrapped: list[Row] = []
        self._width = 0
        self._match = (
            -1
        )  # the line of the last match; it may be one that can't be scrolled to the top
        self.marks: list[str] = []

    def show(self, rows: list[Row], *, marks: Sequence[str] = (), keep_place: bool = False) -> None:
        """Show *rows*, words in *marks* highlighted (case ignored)."""
        place = self.scroll_offset.y if keep_place else 0
        self._rows = [[(shown(drawable(text)), tone) for text, tone in row] for row in rows]
        self.marks = [mark.casefold() for mark in marks if mark]
        self._match = -1
        self._width = 0
        self._wrap()
        self.scroll_to(y=place, animate=False, force=True, immediate=True)
        self.refresh()

    def text(self) -> str:
        return "\n".join("".join(text for text, _ in row) for row in self._rows)

    def _wrap(self) -> None:
        if not self.size.width:  # not shown: it is wrapped when it knows its width
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
        self._wrap()
        self.refresh()

    def mark(self, words: Sequence[str]) -> None:
        """Highlight other words."""
        self.marks = [word.casefold() for word in words if word]
        self._match = -1
        self.refresh()

    def find_next(self, step: int = 1, *, wrap: bool = True, from_here: bool = False) -> bool:
        """Scroll to the next (or previous) line that has a marked word. False where there is none.

        Args:
            wrap: begin again at the other end.
            from_here: what stands where the text is scrolled to counts too.
        """
        hits = [
            i
            for i, row in enumerate(self._wrapped)
            if any(tone == "match" for _, tone in self._marked(row))
        ]
        if self._match < 0:  # where the last match was, else what is seen first
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
        self.scroll_to(y=target, animate=False, force=True)
        return True

    def action_scroll(self, step: int) -> None:
        self._match = -1
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)

    def action_page(self, step: int) -> None:
        self._match = -1
        self.scroll_to(y=self.scroll_offset.y + step * max(1, self.size.height - 2), animate=False)

    def action_edge(self, end: int) -> None:
        self._match = -1
        self.scroll_to(y=len(self._wrapped) if end else 0, animate=False)

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        row = self._wrapped[index] if index < len(self._wrapped) else []
        return self.draw([(" ", "text"), *self._marked(row)], self.size.width)

    def _marked(self, row: Row) -> Row:
        if not self.marks:
            return row
        return [piece for text, tone in row for piece in mark_words(text, tone, self.marks)]


def mark_words(text: str, tone: str, words: Sequence[str]) -> list[Piece]:
    """*text* cut so that every occurrence of *words* (casefolded) is a ``match`` piece."""
    folded = text.casefold()
    if len(folded) != len(text):  # casefolding can change lengths (ß): leave such text alone
        return [(text, tone)]
    pieces: list[Piece] = []
    position = 0
    while position < len(text):
        places = [(folded.find(word, position), len(word)) for word in words]
        found = [(place, -length) for place, length in places if place >= 0]
        if not found:
            break
        place, length = min(found)
        pieces += [(text[position:place], tone), (text[place : place - length], "match")]
        position = place - length
    return [*pieces, (text[position:], tone)]


def wrap(row: Row, width: int) -> list[Row]:
    """A row as rows of at most *width* cells, broken at blanks; wide signs count two."""
    if sum(cell_len(text) for text, _ in row) <= width:
        return [row]
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
            while (
                need > room
            ):  # a word longer than a line, or text without blanks; by its place: it may be of megabytes
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
    """Words with the blanks before them; CJK text may break anywhere."""
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
    """How many signs of *text* fit into *room* cells, at least one."""
    used = 0
    for index, sign in enumerate(text):
        used += cell_len(sign)
        if used > room:
            return max(1, index)
    return len(text)
