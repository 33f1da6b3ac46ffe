"""The keys and their changes: the next pressed key replaces the old one.

They are stored in the owner's settings (``tui.keys``).
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from memsearch_engine import Memory, Settings
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from memsearch_tui.aside import write
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.text_view import TextView

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
