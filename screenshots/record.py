"""Draw README's moving picture from the demo: ``python -m screenshots.record``.

The picture is an SVG of frames side by side. A CSS animation shows one after the other, so that it
needs no script and moves on GitHub, too. Rows that are equal in several frames are stored once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from memsearch_engine import Memory
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from memsearch_tui.app import MemsearchApp
from memsearch_tui.library import Library
from memsearch_tui.screens.browse.screen import BrowseScreen
from screenshots.make import END, HERE, demo, settle

_NAMES = {" ": "space", ".": "full_stop", "-": "minus"}
SIZE = (104, 30)
#: Width and height of a character, and the space for the caption, in units of the picture.
CELL, LINE, CAPTION = 10, 19, 40
QUESTION = "can a coupon be redeemed twice"
EDIT = "- Load-tested with 200 clients."
#: Keys by name; other strings are typed.
KEYS = frozenset(("slash", "down", "enter", "escape", "e", "u", "ctrl+s", "end"))
#: The story: its caption, then keys with the seconds for which their frame is shown.
STORY: list[tuple[str, list[tuple[str, float]]]] = [
    ("memsearch — every note of every agent, newest first", [("", 2.5), ("down", 0.6)]),
    (
        "/ — search by meaning and by words, as you type",
        [
            ("slash", 0.8),
            *[(QUESTION[i : i + 4], 0.25) for i in range(0, len(QUESTION), 4)],
            ("", 3.0),
        ],
    ),
    ("enter — go to the hits", [("enter", 1.5)]),
    ("enter — the conversation, at the turn that the note is about", [("enter", 3.5)]),
    ("escape — back to the note", [("escape", 1.0)]),
    (
        "e — correct the note in place",
        [
            ("e", 1.0),
            *[("down", 0.1)] * 6,
            ("end", 0.3),
            ("enter", 0.3),
            *[(EDIT[i : i + 7], 0.3) for i in range(0, len(EDIT), 7)],
            ("", 1.0),
        ],
    ),
    ("ctrl+s — save", [("ctrl+s", 2.5)]),
    ("u — undo", [("u", 3.0)]),
]


@dataclass(frozen=True)
class Frame:
    """What is shown for *seconds*: a caption, and the rows of the screen as SVG."""

    caption: str
    rows: tuple[str, ...]
    seconds: float


def _color(style: Style, *, background: bool) -> str:
    color = style.bgcolor if background else style.color
    if style.reverse:
        color = style.color if background else style.bgcolor
    theme = SVG_EXPORT_THEME
    if color is None or color.is_default:
        red, green, blue = theme.background_color if background else theme.foreground_color
    else:
        red, green, blue = color.get_truecolor(theme, foreground=not background)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _row(segments: list[Segment]) -> str:
    """Return one row of the screen: rectangles for the backgrounds, and texts on them."""
    rectangles, texts, x = [], [], 0
    for segment in segments:
        width = segment.cell_length * CELL
        style = segment.style or Style()
        rectangles.append((x, width, _color(style, background=True)))
        text = segment.text.rstrip()
        if text:
            start = x + (len(text) - len(text.lstrip())) * CELL
            text = text.lstrip()
            length = Segment(text).cell_length * CELL
            look = ' font-weight="700"' if style.bold else ""
            look += ' font-style="italic"' if style.italic else ""
            look += ' text-decoration="underline"' if style.underline else ""
            texts.append(
                f'<text x="{start}" y="15" textLength="{length}"{look}'
                f' fill="{_color(style, background=False)}">{escape(text, quote=False)}</text>'
            )
        x += width
    return "".join([*_joined(rectangles), *texts])


def _joined(rectangles: list[tuple[int, int, str]]) -> Iterator[str]:
    """Yield neighbours of one colour as one rectangle."""
    start, width, color = rectangles[0]
    for x, more, other in [*rectangles[1:], (0, 0, "")]:
        if other == color:
            width += more
            continue
        yield f'<rect x="{start}" width="{width}" height="{LINE}" fill="{color}"/>'
        start, width, color = x, more, other


def _shot(app: App[None], caption: str, seconds: float) -> Frame:
    chops = app.screen._compositor.render_update(
        full=True, screen_stack=app._background_screens, simplify=True
    )
    strips: list[list[Strip]] = chops.strips  # type: ignore[union-attr]
    rows = [_row([segment for strip in row for segment in strip]) for row in strips]
    return Frame(caption, tuple(rows), seconds)


async def play(memory: Memory) -> list[Frame]:
    """Press the keys of the story and return a frame for each of them."""
    while memory.search(QUESTION).reason:  # until every note is embedded
        await asyncio.sleep(0.5)
    library = Library(memory)
    library.today = lambda: END.isoformat()  # type: ignore[method-assign]
    app = MemsearchApp(library, theme="memsearch-dark", live=False)
    frames: list[Frame] = []
    async with app.run_test(size=SIZE) as pilot:
        for caption, steps in STORY:
            for keys, seconds in steps:
                await _press(pilot, keys)
                await settle(app, pilot)
                frames.append(_shot(app, caption, seconds))
    return frames


async def _press(pilot: Pilot[None], keys: str) -> None:
    """Press the keys and wait until the app shows its main screen."""
    await pilot.press(*([keys] if keys in KEYS else [_NAMES.get(key, key) for key in keys]))
    while not isinstance(pilot.app.screen, BrowseScreen):  # a write that takes a moment
        await pilot.pause(0.05)


def draw(frames: list[Frame]) -> str:
    """Return the animated picture of *frames*."""
    numbers: dict[str, int] = {}
    for frame in frames:
        for row in frame.rows:
            numbers.setdefault(row, len(numbers))
    width, height = SIZE[0] * CELL, SIZE[1] * LINE + CAPTION
    total = sum(frame.seconds for frame in frames)
    steps, at = [], 0.0
    for index, frame in enumerate(frames):
        steps.append(f"{100 * at / total:.2f}%{{transform:translateX(-{index * width}px)}}")
        at += frame.seconds
    shown = max(range(len(frames)), key=lambda i: (frames[i].caption.startswith("/"), i))
    steps.append(f"to{{transform:translateX(-{(len(frames) - 1) * width}px)}}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' role="img" aria-labelledby="t">',
        '<title id="t">memsearch: search, open the note and its conversation, edit, undo</title>',
        "<style>text{font:16.6px 'Fira Code','DejaVu Sans Mono',Menlo,Consolas,monospace;"
        "white-space:pre}"
        f"#f{{animation:f {total:.2f}s steps(1,end) infinite}}"
        f"@keyframes f{{{''.join(steps)}}}"
        "@media(prefers-reduced-motion:reduce)"
        f"{{#f{{animation:none;transform:translateX(-{shown * width}px)}}}}</style>",
        "<defs>",
        *[f'<g id="r{number}">{row}</g>' for row, number in numbers.items()],
        "</defs>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0b0f14"/><g id="f">',
    ]
    for index, frame in enumerate(frames):
        parts.append(f'<g transform="translate({index * width} 0)">')
        parts.append(
            f'<text x="20" y="26" fill="#ead596" font-weight="700">'
            f"{escape(frame.caption, quote=False)}</text>"
        )
        parts += [
            f'<use href="#r{numbers[row]}" y="{CAPTION + line * LINE}"/>'
            for line, row in enumerate(frame.rows)
        ]
        parts.append("</g>")
    return "\n".join([*parts, "</g></svg>", ""])


def main() -> None:
    """Write ``screenshots/tour.svg``."""
    with demo() as memory:
        picture = draw(asyncio.run(play(memory)))
    (HERE / "tour.svg").write_text(picture, encoding="utf-8")
    print(f"screenshots/tour.svg: {len(picture.encode()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
