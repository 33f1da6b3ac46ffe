"""Screens that only show text: a text screen, and help for the screen before it."""

from __future__ import annotations

from typing import Any, ClassVar

from memsearch_engine import all_agents
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from memsearch_tui.widgets.buttons import Keys
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.render import legend
from memsearch_tui.widgets.text_view import TextView

_SEARCHING = """\
Type / and words. The search by words answers at every key; the search by meaning follows when \
typing rests. Filters are typed as well:
  agent:codex  project:name  kind:note  session:1f3c  path:name  branch:name
  after:7d  before:2026-02-01  day:yesterday  day:14-mar  after:3-weeks-ago
  has:evidence  is:pinned  is:stale  -word  "a phrase"
  as-of:2026-03-01  the notes as they were on that day
The line above the footer lists the values of a filter, and tab completes it.
up in the empty box shows past searches; ctrl+s saves a search, S lists saved searches.
f shows only the agent of this note, F looks in all projects.
"""
_ABOUT = """\
One list has all notes under their days, the newest first. \
enter goes one level down: note, whole section, the turn of the conversation. \
A click into the calendar goes to that day.

escape  in the editor: leaves it; the text stays as a draft (ctrl+g drops it)
        in the search box and in its hits: back to all notes
        in a conversation: back to its note; in a note: back to the list
        in the list: nothing
q       closes what is open; in the list, the app

In front of a row: {tags} me = {titles}, written by hand
  dim: only faintly alike

Nothing is lost: u undoes the last edit, deletion or mark, \
also after a restart; U lists all changes, and each can be undone.
The palette (ctrl+k) lists everything on this page, the theme, and the keys.
"""


def _about() -> str:
    everyone = all_agents()
    tags, titles = (
        " ".join(agent.tag for agent in everyone),
        ", ".join(agent.title for agent in everyone),
    )
    return _ABOUT.replace("{tags}", tags).replace("{titles}", titles)


_ELSEWHERE = "Elsewhere"
#: Id of an action, up to its first dot -> its group in the help. Actions that are not listed here
#: are grouped under their screen, as are those of screens that another action opens
#: (``review.yes``).
_GROUPS = {
    "Moving": ("list", "text", "date", "turn", "preview"),
    "Reading": (
        "open",
        "back",
        "transcript",
        "memory",
        "related",
        "why",
        "find",
        "unfold",
        "day",
        "resume",
        "reload",
    ),
    "Searching": ("search", "filter", "searches"),
    "Changing": (
        "new",
        "edit",
        "delete",
        "undo",
        "redo",
        "changes",
        "pin",
        "marks",
        "save",
        "draft",
    ),
    "Taking along": ("copy", "export", "file"),
    _ELSEWHERE: (
        "projects",
        "health",
        "activity",
        "review",
        "native",
        "connect",
        "help",
        "quit",
        "suspend",
        "redraw",
    ),
}


class TextScreen(Screen[None]):
    """Rows to read; escape leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,left,h", "leave", "Back", id="text.back"),
    ]

    def __init__(self, title: str, rows: list[Row]) -> None:
        super().__init__()
        self._title, self._rows = title, rows
        self._view = TextView()

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield self._view
        yield Keys()

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self._view.border_title = self._title
        self._view.show(self._rows)
        self._view.focus()

    def action_leave(self) -> None:
        """Leave the screen."""
        self.dismiss(None)


class HelpScreen(TextScreen):
    """The keys of the screen before it."""

    def __init__(self, left: Screen[Any]) -> None:
        super().__init__("keys", help_rows(left))


def help_rows(screen: Screen[Any]) -> list[Row]:
    """Return how to search, then every key that works on *screen* now, grouped by purpose."""
    keys: dict[str, dict[str, list[str]]] = {}
    for active in screen.active_bindings.values():
        item = active.binding
        if active.enabled and item.description and item.id:
            first = item.id.partition(".")[0]
            group = next((name for name, ids in _GROUPS.items() if first in ids), "Here")
            if group == _ELSEWHERE and first != item.id:
                group = "Here"
            words = item.tooltip or item.description
            keys.setdefault(group, {}).setdefault(words, []).append(
                screen.app.get_key_display(item)
            )
    names = [" ".join(dict.fromkeys(found)) for rows in keys.values() for found in rows.values()]
    width = max(map(len, names), default=10) + 2
    rows: list[Row] = []
    if "Searching" in keys:
        rows += _signs(screen)
        rows += [
            [("Search", "strong")],
            *([(f"  {line}", "text")] for line in _SEARCHING.splitlines()),
            [],
        ]
    for group in ("Here", *_GROUPS):
        if group in keys:
            rows.append([(group, "strong")])
            for words, found in keys[group].items():
                rows.append(
                    [(f"{' '.join(dict.fromkeys(found)):>{width}}  ", "accent"), (words, "text")]
                )
            rows.append([])
    return [*rows, *([(line, "dim")] for line in _about().splitlines())]


def _signs(screen: Screen[Any]) -> list[Row]:
    """Return the meanings of the signs in the visible rows of the list of notes."""
    drawn = [row for found in screen.query("#entries").results(LineList) for row in found.drawn()]
    shown = legend(drawn)
    return [[("Signs in this list", "strong")], [("  ", "text"), *shown], []] if shown else []
