"""Writes only the cells of the terminal that differ from what it shows.

Textual writes each region that was refreshed, and one color sequence of about 40 bytes for each
piece. Over a slow connection that is seen: most cells of a refreshed region are the same as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

#: A character and the parameters of its SGR sequence. The second cell of a wide character is ''.
Cell = tuple[str, str]
_Pen = tuple[str, str, str]

_PLAIN: _Pen = ("", "", "")
#: Unchanged cells between two changed ones that are written too: a jump costs as much.
_JUMP = 8
#: A row with other characters is always written whole: terminals disagree on the widths of some,
#: so such a row may be out of line until it is written again.
_OF_ONE_WIDTH = re.compile("[ -~\u00a0-\u024f\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2300-\u23ce"
                           "\u2500-\u25ff\u3000-\u3029\u3040-\u30ff\u4e00-\u9fff"
                           "\uac00-\ud7a3\uff01-\uff60]*")  # fmt: skip
_COLOR = re.compile(r"(?:[34]8;(?:2;\d+;\d+;\d+|5;\d+)|\b(?:[34][0-79]|9[0-7]|10[0-7])\b)")


class Painted:
    """The cells that the terminal shows, by row."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell | None]] = {}

    def forget(self) -> None:
        """Assume nothing about the terminal: it was resized, cleared or written to by others."""
        self._rows.clear()

    def paint(self, update: ChopsUpdate | LayoutUpdate, console: Console) -> str:
        """Return the text that makes the terminal show *update*."""
        colors = console._color_system or ColorSystem.TRUECOLOR
        output = _CellWriter()
        for y, x, strip in _strips(update):
            cells = _cells(strip, colors)
            row = self._rows.setdefault(y, [])
            if len(row) < x + len(cells):
                row.extend([None] * (x + len(cells) - len(row)))
            shown = row[x : x + len(cells)]
            if shown != cells:
                for start, end in _changes(shown, cells):
                    output.write(y, x + start, cells[start:end])
                row[x : x + len(cells)] = cells
        return output.text()


class ChangedCells(CompositorUpdate):
    """The text of an update, of which only the changed cells are written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:
        """Return the text that brings the terminal up to date."""
        return self._text


class _CellWriter:
    """Text for the terminal, with as few sequences as possible."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pen = _PLAIN
        self._place = -1, -1  # of the cursor: row, column

    def write(self, y: int, x: int, cells: list[Cell]) -> None:
        """Write *cells* from a place on."""
        if self._place != (y, x):
            self._parts.append(f"\x1b[{y + 1};{x + 1}H")
        self._place = y, x + len(cells)
        last = None
        for char, look in cells:
            if look != last and char:
                self._turn(_pen(look), is_blank=char == " ")
                # a blank has no foreground: the next character may need another one
                last = None if char == " " else look
            self._parts.append(char)

    def text(self) -> str:
        """Return the text; it leaves the terminal without a style."""
        self._turn(_PLAIN, is_blank=False)
        return "".join(self._parts)

    def _turn(self, pen: _Pen, *, is_blank: bool) -> None:
        """Change from the current style to another one."""
        attributes, color, behind = self._pen
        if is_blank and not pen[0] and not attributes:
            pen = ("", color, pen[2])
        if pen == self._pen:
            return
        if pen[0] == attributes:
            codes = [pen[1] or "39"] * (pen[1] != color) + [pen[2] or "49"] * (pen[2] != behind)
        else:
            codes = ["0", *filter(None, pen)]
        self._parts.append(f"\x1b[{';'.join(codes)}m")
        self._pen = pen


def _strips(update: ChopsUpdate | LayoutUpdate) -> Iterator[tuple[int, int, Strip]]:
    """Yield (row, column, strip) of an update, as Textual's own ``render_segments`` reads it."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in strips:
                yield y, x, strip
                x += strip.cell_length
        return
    for y, first, last in update.spans:
        for end, (x, part) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if part is None or x > last or end <= first:
                continue
            is_whole = first <= x < last and end <= last
            yield y, x, part if is_whole else part.crop(0, min(end, last) - x)


def _cells(strip: Strip, colors: ColorSystem) -> list[Cell]:
    cells: list[Cell] = []
    for text, style, control in strip:
        if control:
            continue
        look = "" if style is None else style._ansi or strip.render_ansi(style, colors)
        if text.isascii():
            cells += [(char, look) for char in text]
            continue
        for char in text:
            width = cell_len(char)
            if width:
                cells += [(char, look), ("", look)][:width]
            elif cells:
                cells[-1] = cells[-1][0] + char, look
    return cells


def _changes(shown: list[Cell | None], cells: list[Cell]) -> list[tuple[int, int]]:
    """Return the ranges of *cells* to write, none of which begins or ends in a wide character."""
    if not any(shown) or not _are_steady(shown) or not _are_steady(cells):
        return [(0, len(cells))]
    ranges: list[tuple[int, int]] = []
    for place, (old, new) in enumerate(zip(shown, cells, strict=True)):
        if old == new:
            continue
        start, end = place, place + 1
        while start and not cells[start][0]:
            start -= 1
        while end < len(cells) and not cells[end][0]:
            end += 1
        if ranges and start - ranges[-1][1] <= _JUMP:
            ranges[-1] = ranges[-1][0], max(end, ranges[-1][1])
        else:
            ranges.append((start, end))
    return ranges


def _are_steady(cells: list[Cell] | list[Cell | None]) -> bool:
    text = "".join([cell[0] for cell in cells if cell])
    return text.isascii() or _OF_ONE_WIDTH.fullmatch(text) is not None


@lru_cache(maxsize=512)
def _pen(look: str) -> _Pen:
    """Split SGR parameters into attributes, foreground and background."""
    colors: list[str] = _COLOR.findall(look)
    behind = [color for color in colors if color.startswith(("4", "10"))]
    front = [color for color in colors if color not in behind]
    attributes = ";".join(code for code in _COLOR.sub("", look).split(";") if code)
    return attributes, "".join(front[-1:]), "".join(behind[-1:])
