"""What is written to the terminal leaves it as Textual's own, longer output would."""

from __future__ import annotations

import random
import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from memsearch_tui.painted import _OF_ONE_WIDTH, Painted

WIDTH, HEIGHT = 30, 4
STYLES = [Style.parse(words) for words in (
    "#d8dee6 on #12161c", "#e0a458 on #12161c", "bold #d8dee6 on #12161c", "reverse #d8dee6",
    "bold underline #33301f on #2a323d", "red on default", "color(33) on color(41)", "",
)]  # fmt: skip
TEXTS = ["", " ", "    ", "abc", "a b  c", "缓存", "é ▸ ─│", "x缓y", "👩 q", "e\u0301n"]
WIDE = (0x3000, 0x3029), (0xAC00, 0xD7A3), (0xFF01, 0xFF60)
_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([^\x1b])")


class Screen:
    """A terminal that knows cursor positions, styles and wide characters."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, object]] = {}

    def write(self, text: str) -> None:
        y = x = 0
        look: list[str] = []
        for codes, final, char in _SEQUENCE.findall(text):
            if final == "H":
                y, x = (int(part) - 1 for part in codes.split(";"))
            elif final == "m":
                look = _looks(look, codes)
            elif char == "\n":
                y, x = y + 1, 0
            elif not cell_len(char):
                self.cells[y, x - 1] = (self.cells[y, x - 1][0] + char, tuple(look))
            else:
                self.cells[y, x] = (char, tuple(look))
                if cell_len(char) == 2:
                    self.cells[y, x + 1] = ("", tuple(look))
                x += cell_len(char)

    def seen(self) -> dict[tuple[int, int], object]:
        """The cells as a person sees them: a blank without attributes has no foreground."""
        return {
            place: (char, [part for part in look if part[0] == "b"])
            if char == " " and not any(part[0] == "a" for part in look)
            else (char, sorted(look))
            for place, (char, look) in self.cells.items()
        }


def _looks(look: list[str], codes: str) -> list[str]:
    """Apply SGR parameters to a list of parts: f(oreground), b(ackground) and a(ttributes)."""
    parts = codes.split(";") if codes else ["0"]
    while parts:
        code = parts.pop(0)
        if code in ("38", "48"):
            color = [parts.pop(0) for _ in range(4 if parts[0] == "2" else 2)]
            kind, value = "f" if code == "38" else "b", ";".join(color)
        elif code == "0":
            look = []
            continue
        elif re.fullmatch(r"[34][0-79]|9[0-7]|10[0-7]", code):
            kind = "f" if code[0] in "39" else "b"
            value = "" if code in ("39", "49") else code
        else:
            look = [*look, f"a{code}"]
            continue
        look = [part for part in look if part[0] != kind] + [kind + value] * bool(value)
    return look


def _strip(chance: random.Random, width: int) -> Strip:
    pieces = [Segment(chance.choice(TEXTS), chance.choice(STYLES)) for _ in range(4)]
    return Strip(pieces).adjust_cell_length(width, chance.choice(STYLES))


def _update(chance: random.Random) -> LayoutUpdate | ChopsUpdate:
    cut = chance.choice((7, 13, 20))
    lines = [(_strip(chance, cut), _strip(chance, WIDTH - cut)) for _ in range(HEIGHT)]
    if chance.random() < 0.3:
        return LayoutUpdate([list(line) for line in lines], Region(0, 0, WIDTH, HEIGHT))
    rows = sorted(chance.sample(range(HEIGHT), 2))
    spans = [(y, *chance.choice(((0, WIDTH), (0, cut), (cut, WIDTH), (0, cut + 4)))) for y in rows]
    chops = [{0: left, cut: right} for left, right in lines]
    return ChopsUpdate(chops, spans, [[cut, WIDTH]] * HEIGHT)


@pytest.mark.parametrize("colors", ["truecolor", "256", "standard"])
def test_the_terminal_shows_the_same_as_with_textuals_output(colors):
    chance = random.Random(7)
    console = Console(color_system=colors, force_terminal=True)
    ours, theirs, painted = Screen(), Screen(), Painted()
    written = [0, 0]
    blank = [[Strip.blank(WIDTH, STYLES[0])] for _ in range(HEIGHT)]
    updates = [LayoutUpdate(blank, Region(0, 0, WIDTH, HEIGHT))]
    for _ in range(400):
        updates.append(_update(chance) if chance.random() < 0.8 else updates[-1])
    for update in updates:
        changed, whole = painted.paint(update, console), update.render_segments(console)
        for number, (screen, text) in enumerate(((ours, changed), (theirs, whole))):
            written[number] += len(text)
            screen.write(text)
        assert ours.seen() == theirs.seen()
    assert written[0] < written[1]


def test_nothing_is_written_again_until_it_is_forgotten():
    console = Console(color_system="truecolor", force_terminal=True)
    painted = Painted()
    update = _update(random.Random(3))
    first = painted.paint(update, console)
    assert painted.paint(update, console) == ""
    painted.forget()
    assert painted.paint(update, console) == first


def test_only_what_changed_is_written_of_a_row_in_chinese_or_korean():
    console = Console(color_system="truecolor", force_terminal=True)
    for before, after in (
        ("缓存，已更新。 09:20", "缓存，已更新。 09:30"),
        ("캐시 갱신 1", "캐시 갱신 2"),
    ):
        painted = Painted()
        rows = [Strip([Segment(text, STYLES[0])]) for text in (before, after)]
        updates = [LayoutUpdate([[row]], Region(0, 0, row.cell_length, 1)) for row in rows]
        painted.paint(updates[0], console)
        written = painted.paint(updates[1], console)
        assert len("".join(char for *_, char in _SEQUENCE.findall(written))) < 3
    wide = [chr(n) for a, b in WIDE for n in range(a, b + 1)]
    assert {cell_len(char) for char in wide} == {2} and _OF_ONE_WIDTH.fullmatch("".join(wide))
