"""The base of widgets that draw lines of pieces.

Tones are made from the theme's variables, so themes decide how they look, also on a screen without
colours. Text of notes is drawn literally, never read as markup.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, Self

from memsearch_engine import all_agents, shown_line
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from memsearch_tui.widgets.pieces import Row, drawable, joined

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
    "agent": ("text-primary", "", 1.0),  # lines of the review queue name sources so
    **{
        agent.tag: (variable, "", 1.0)
        for agent, variable in zip(
            all_agents(),
            itertools.cycle(("text-accent", "text-success", "text-primary", "text-secondary")),
        )
    },
    "me": ("foreground", "", 0.68),
    "here": ("accent", "bold reverse", 1.0),
    "heat1": ("primary", "", 0.5),
    "heat2": ("primary", "", 0.75),
    "heat3": ("primary", "", 1.0),
}
#: Tones of bars; the height of a bar shows the same as its colour.
_SHAPES = {"heat1", "heat2", "heat3", "here"}
#: the same, for the background of a whole row
_BEHIND = {
    "cursor": ("primary", "bold", 0.4),
    "cursor-idle": ("primary", "", 0.25),
    "selected": ("accent", "", 0.2),
}


class _WholeCells(ScrollBarRender):
    """A scroll bar without characters: they would change the text of lines that did not change."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]


ScrollBar.renderer = _WholeCells


class Lines(ScrollView, can_focus=True, inherit_bindings=False):
    """The base: it maps tones to styles and caches them for each look.

    Tones are no component classes, because Textual would match sixteen of them against every rule
    at each change of focus, which took half of the start.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Lines { background: $background; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    """

    def __init__(self, **kwargs: Any) -> None:
        self._is_titling = False
        self._titles = "", ""
        self._painted: dict[int, Strip] = {}
        self._styles: dict[tuple[str, ...], Style] = {}
        super().__init__(**kwargs)

    @property
    def cursor_line(self) -> int:
        """The line of the visible area that the keys act on."""
        return 0

    @property
    def cursor_screen_offset(self) -> Offset:
        """The place of that line on the screen. Screen readers follow the terminal's cursor."""
        return self.content_region.offset + Offset(0, self.cursor_line)

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

        Textual would lay out the whole screen. That is skipped if no scrollbar is needed and the
        size does not follow the lines.
        """
        size = Size(self.size.width, height)
        fits = max(height, self.virtual_size.height) <= self.size.height
        if fits and not self.styles.auto_dimensions:
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
                for text, tone in joined(row)
            ]
        )
        if strip.cell_length > width > 0:
            strip = Strip([*strip.crop(0, width - 1), Segment("…", self.style_of("dim", *behind))])
        return strip.adjust_cell_length(width, self.style_of(*behind))


#: The minimum ratio for normal text (level AA).
LEAST = 4.5
_CONTRAST_STEPS = 10


def _luminance(color: Color) -> float:
    def linear(channel: int) -> float:
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def ratio(one: Color, other: Color) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def legible(style: Style) -> Style:
    """Return *style* with its text moved towards white or black until the contrast is ``LEAST``.

    A terminal's own colours are not changed, because their appearance is unknown.
    """
    if style.color is None or style.bgcolor is None:
        return style
    if style.color.triplet is None or style.bgcolor.triplet is None:
        return style
    text, ground = Color(*style.color.triplet), Color(*style.bgcolor.triplet)
    if ratio(text, ground) >= LEAST:
        return style
    white, black = Color(255, 255, 255), Color(0, 0, 0)
    end = white if ratio(white, ground) >= ratio(black, ground) else black
    for step in range(1, _CONTRAST_STEPS + 1):
        moved = text.blend(end, step / _CONTRAST_STEPS, alpha=1.0)
        if ratio(moved, ground) >= LEAST:
            break
    return style + Style(color=moved.rich_color)
