"""Screens that only show text: help for the screen that was left, and what is read from the engine again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from memsearch_tui.counted import many
from memsearch_tui.library import Library
from memsearch_tui.widgets.lines import Row, TextView

_ABOUT = """\
All notes stand in one list under their days, the newest first. enter goes down: note -> the whole section -> the conversation at
the very turn. escape comes back to where you were. ] and [ go to the day below and above, g to a date, a click into the calendar
to that day; D shows the day's file as it is written. Everything on this list is in the palette too (ctrl+k).

In front of a row: cl cx oc ow me = Claude Code, Codex, OpenCode, OpenClaw, written by hand
  ◆ pinned   ! took in content from outside, or waits for your word   × superseded   ◷ expires   ? low confidence
  … its summary is still to come   ~ found by meaning alone   dim: only faintly alike

Searching: type / and words. Filters are words as well:
  agent:codex  project:name  after:7d  before:2026-02-01  day:yesterday  kind:note
  has:evidence  is:pinned  path:name  -word  "a phrase"
Words answer at every key; meaning joins in when typing rests.

  right completes a filter; f keeps to the agent of this entry, F looks in all projects.

Other screens: f2 projects, f3 health, f4 activity (captured, waiting, spent), f5 review (what wants a decision).

Nothing is lost: u takes back the last edit, delete or pin, also after a restart.
"""


class TextScreen(Screen[None]):
    """Rows to read; escape or q leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,left,h", "leave", "Back", id="text.back"),
    ]

    def __init__(self, title: str, rows: list[Row]) -> None:
        super().__init__()
        self._title, self._rows = title, rows

    def compose(self) -> ComposeResult:
        yield TextView()
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        view = self.query_one(TextView)
        view.border_title = self._title
        view.show(self._rows)
        view.focus()

    def action_leave(self) -> None:
        self.dismiss(None)


class LiveScreen(TextScreen):
    """Rows that are read from the engine, again with r and every few seconds while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "reload", "Read again", id="live.reload")]
    EVERY_S = 5.0

    def __init__(self, title: str, read: Callable[[], list[Row]]) -> None:
        super().__init__(title, [[("reading …", "dim")]])
        self._read = read

    def on_mount(self) -> None:
        # Textual calls TextScreen's own on_mount after this one, and what is read may be there before that
        self.action_reload()
        if self.app.live:  # type: ignore[attr-defined]
            self.set_interval(self.EVERY_S, self.action_reload)

    def action_reload(self) -> None:
        self.run_worker(self.reload(), exclusive=True, group="read")

    async def reload(self) -> None:
        self._rows = await asyncio.to_thread(self._read)
        self.query_one(TextView).show(self._rows, keep_place=True)


class HealthScreen(LiveScreen):
    """The service's state, with what mends each problem."""

    def __init__(self, library: Library) -> None:
        super().__init__("Health", lambda: health_rows(library.health()))


def health_rows(state: dict) -> list[Row]:
    if "error" in state:
        return [
            [("The service can't be reached: ", "bad"), (state["error"], "text")],
            [(state["hint"], "dim")],
            [],
            [("Notes can be read, searched by words and edited all the same.", "text")],
        ]
    service = state["service"]
    tone = {"ready": "good", "opening": "warn"}.get(state["index"], "bad")
    rows: list[Row] = [
        [
            ("index    ", "dim"),
            (state["index"], tone),
            (f"  {state['fingerprint']}  {state['disk']['index'] / 1e6:.1f} MB", "text"),
        ],
        [
            ("service  ", "dim"),
            (f"pid {service['pid']}, up {service['uptime_s']:.0f} s, {service['rss_mb']:.0f} MB", "text"),
        ],
    ]
    if state["progress"]:
        now = state["progress"]
        rows.append([("now      ", "dim"), (f"{now['phase']} {now['project']} {now['done']}/{now['total']}", "accent")])
    rows.append([])
    for row in state["projects"]:
        rows.append([(row["name"], "strong"), (f"  {row['collection']}", "dim")])
        rows.append(
            [
                (
                    f"  {many(row['days'], 'day')}, {many(row['entries'], 'entry')}, {row['vectors']} of {many(row['chunks'], 'chunk')} with meaning",
                    "text",
                )
            ]
        )
        rows.append([(f"  {row['memory']}", "dim")])
    rows.append([])
    for problem in state["problems"]:
        rows.append(
            [
                ("problem  ", "bad"),
                (problem["what"], "text"),
                (f"  -> {problem['fix']}" if problem["fix"] else "", "accent"),
            ]
        )
    if not state["problems"]:
        rows.append([("no problems", "good")])
    return rows


def help_rows(screen: Screen) -> list[Row]:
    """Every key that works on *screen* now, with what it does, then how to search."""
    rows: list[Row] = []
    seen: dict[str, list[str]] = {}
    for active in screen.active_bindings.values():
        item = active.binding
        if active.enabled and item.description:
            seen.setdefault(item.description, []).append(screen.app.get_key_display(item))
    width = max((len(" ".join(keys)) for keys in seen.values()), default=10) + 2
    for description, keys in seen.items():
        rows.append([(f"{' '.join(dict.fromkeys(keys)):>{width}}  ", "accent"), (description, "text")])
    return [*rows, [], *([(line, "dim")] for line in _ABOUT.splitlines())]
