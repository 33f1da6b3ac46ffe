"""Help: a text screen, the keys of the screen before it, and a screen that changes keys.

The next pressed key replaces the old one. Changes are stored in the owner's settings
(``tui.keys``).
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, ClassVar

from memsearch_engine import Memory, Settings, all_agents
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from memsearch_tui.aside import write
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.bars import Keys
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


_COLUMN = re.compile(r"\S* {2,}")  # before the text of a line
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
        "theme",
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
            *(_in_column(f"  {line}", "text") for line in _SEARCHING.splitlines()),
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
    return [*rows, *(_in_column(line, "dim") for line in _about().splitlines())]


def _in_column(line: str, tone: str) -> Row:
    """Return a line as a row. If it is wrapped, its other lines begin below its text."""
    column = _COLUMN.match(line)
    place = column.end() if column else 0
    return [piece for piece in ((line[:place], tone), (line[place:], tone)) if piece[0]]


def _signs(screen: Screen[Any]) -> list[Row]:
    """Return the meanings of the signs in the visible rows of the list of notes."""
    drawn = [row for found in screen.query("#entries").results(LineList) for row in found.drawn()]
    shown = legend(drawn)
    return [[("Signs in this list", "strong")], [("  ", "text"), *shown], []] if shown else []


#: Actions that work in the editor, too, where a letter is text.
_ALWAYS_ON = ("save", "draft.drop")
_RESERVED = ("ctrl+q", "ctrl+k", "tab", "escape", "enter")


class KeysScreen(Page[None]):
    """Every named action with its keys."""

    TITLES = "keys", ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("keys", "Another key", "change"),
        Binding("d,delete", "default", "The default again", id="keys.default"),
    ]

    def __init__(
        self, app: type[App[Any]], screen: type[Screen[Any]], settings: Settings, memory: Memory
    ) -> None:
        """Args:
        app, screen: the classes that have the keys.
            settings: the owner's settings, with the keys.
            memory: where changed keys are written.
        """
        super().__init__()
        self._settings, self._memory = settings, memory
        self._defaults: dict[str, list[Binding]] = {}
        for owner in (app, screen, LineList, TextView):
            for item in Binding.make_bindings(owner.__dict__.get("BINDINGS", ())):
                if item.id and item.description:
                    self._defaults.setdefault(item.id, []).append(item)

    async def on_mount(self) -> None:
        """List the actions."""
        self._list.show_keys(
            sorted(self._defaults, key=lambda name: self._description(name).casefold())
        )

    def _description(self, name: str) -> str:
        return self._defaults[name][0].description

    def _keys_of(self, name: str) -> tuple[list[str], bool]:
        """Return the keys, and whether the owner has set them."""
        own = self._settings.tui.keys.get(name)
        return (
            (own.split(","), True) if own else ([item.key for item in self._defaults[name]], False)
        )

    def _row(self, index: int, width: int) -> Row:
        name = self._list.keys[index]
        keys, own = self._keys_of(name)
        shown = " ".join(
            self.app.get_key_display(Binding(key.strip(), "", "")) for key in dict.fromkeys(keys)
        )
        return [
            (f"{shown:>18s}  ", "accent" if own else "text"),
            (self._description(name), "text"),
            (f"  {name}", "dim"),
            ("  yours" if own else "", "accent"),
        ]

    async def action_open(self) -> None:
        """Ask for a new key of the action under the cursor."""
        name = self._list.key
        if name is None:
            return

        def pressed(key: str | None) -> None:
            if not key:
                return
            if name in _ALWAYS_ON and _types(key):
                self.notify(
                    "This one also works while you type: it needs a key that is no letter.",
                    severity="warning",
                )
                return
            taken = [
                other
                for other in self._defaults
                if other != name
                and not _never_together(name, other)
                and key in self._keys_of(other)[0]
            ]
            if key in _RESERVED:
                self.notify(f"{key} can't be given away.", severity="warning", timeout=6)
                return
            if taken:
                self.notify(
                    f"{key} is taken: {self._description(taken[0])}. Change that one first.",
                    severity="warning",
                    timeout=6,
                )
                return
            # escape always leaves a screen or the editor, beside the chosen key
            self.run_worker(
                self._set(name, f"{key},escape" if name == "back" else key), group="keys"
            )

        self.app.push_screen(PressScreen(self._description(name)), pressed)

    async def action_default(self) -> None:
        """Restore the default key of the action under the cursor."""
        if self._list.key is not None:
            await self._set(self._list.key, "")

    async def _set(self, name: str, key: str) -> None:
        own = self._memory.config
        setting = f"tui.keys.{name}"
        new = {**self._settings.tui.keys, name: key}.items()
        keys = {action: value for action, value in new if value}

        def done(_: object) -> None:
            self._settings.tui.keys = keys
            self.app.set_keymap(keys)
            self._list.refresh()
            self.say(
                f"{self._description(name)}: {key or 'the default again'} · saved in the settings"
            )

        work = partial(own.set, setting, key) if key else partial(own.unset, setting)
        await write(self, "saving", work, done, self._complain)


def _types(key: str) -> bool:
    """Return whether a key types a character."""
    from textual.keys import key_to_character

    character = key_to_character(key)
    return character is not None and character.isprintable()


def _never_together(one: str, other: str) -> bool:
    """Return whether two actions never apply at once: moves in a list, and moves in a text."""
    return {one.partition(".")[0], other.partition(".")[0]} == {"list", "text"}


class PressScreen(ModalScreen[str]):
    """Dismisses with the pressed key; '' for escape."""

    DEFAULT_CSS = """
    PressScreen { align: center middle; }
    PressScreen > Static { width: auto; max-width: 90%; \
padding: 1 3; background: $surface; border: round $accent; }
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(f"{self._what}: press the key · escape leaves", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Return the pressed key to the caller; ``""`` for escape."""
        event.stop()
        self.dismiss("" if event.key == "escape" else event.key)
