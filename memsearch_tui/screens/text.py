"""Screens that only show text: a text screen, and help for the screen before it."""

from __future__ import annotations

from typing import Any, ClassVar

from memsearch_engine import all_agents
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from memsearch_tui.widgets.footer import Keys
from memsearch_tui.widgets.lines import Row, TextView

_SEARCHING = """\
Type / and words. Words answer at every key; \
meaning joins in when typing rests. Filters are words as well:
  agent:codex  project:name  after:7d  before:2026-02-01  day:yesterday  kind:note  session:1f3c
  has:evidence  is:pinned  is:stale  path:name  branch:name
  as-of:2026-03-01 (as it stood then)  -word  "a phrase"
tab completes a filter. up in the empty box brings back what was searched before; \
ctrl+s keeps a search, S lists what is kept.
f keeps to the agent of this note, F looks in all projects.
"""
_ABOUT = """\
All notes stand in one list under their days, the newest first. \
enter goes down: note, the whole section, the conversation at the very
turn. A click into the calendar goes to that day.

escape  in the editor: leaves it, what you typed is kept as a draft (ctrl+g drops it)
        in the search box and in its hits: back to all notes, where you were
        in a conversation: back to its note; in a note: back to the list
        in the list: nothing; q leaves the app

In front of a row: {tags} me = {titles}, written by hand
  ◆ pinned   ! took in content from outside, \
or waits for your decision   ◷ expires   ? low confidence
  ✗ names what is gone from the repository   → names \
what has moved there   ⎇ its branch was not merged
  × superseded, or a hit above it is the newer word   … its summary is still to come
  ▸ its conversation can be opened   ≠ changed in two places
  ~ found by meaning alone   dim: only faintly alike

Nothing is lost: u takes back the last edit, delete or mark, \
also after a restart; U lists what was changed and brings any of it back.
Everything on this page is in the palette too (ctrl+k), \
found by other words as well; so are the theme and changing keys.
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
    """Rows to read; escape or q leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,left,h", "leave", "Back", id="text.back"),
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
        super().__init__("Keys", help_rows(left))


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
