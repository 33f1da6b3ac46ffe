"""The last line: the keys that work now.

Without room for all, the way back and help are still shown; help lists all keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.binding import Binding

from memsearch_tui.widgets.buttons import Buttons, Part, width

_AROUND = 2  # cells before each key
_STAY = "app.help", "help", "leave", "do('back')"  # actions whose keys are never left out


class Keys(Buttons):
    """The keys of the screen, each with its words. A click presses the key."""

    _staying: Sequence[Part] = ()  # keys that are never left out

    def on_mount(self) -> None:
        """Follow the screen's bindings."""
        # after a refresh: at the start, the screen has no notes yet
        follow = partial(self.call_after_refresh, self._read_bindings)
        self.screen.bindings_updated_signal.subscribe(self, lambda _: follow())

    def _read_bindings(self) -> None:
        if self.is_attached and self.screen.is_current:
            found = [(self._part(item, words), item.action) for item, words in self._wanted()]
            self._staying = [part for part, action in found if action in _STAY]
            self.show([part for part, _ in found])

    def _part(self, item: Binding, words: str) -> Part:
        key = self.app.get_key_display(item)
        return [(key, "key"), (f" {words}", "text")], f"simulate_key('{item.key}')"

    def _wanted(self) -> list[tuple[Binding, str]]:
        """Return the keys that the screen wants to show, with their words.

        These are its ``shown_keys``, (id of a binding, words) each; without them, those of its
        bindings.
        """
        active = [found.binding for found in self.screen.active_bindings.values() if found.enabled]
        if wanted := getattr(self.screen, "shown_keys", ()):
            named = {item.id: item for item in reversed(active)}
            return [(named[name], words) for name, words in wanted if name in named]
        first = {item.action: item for item in reversed(active) if item.show}
        found = [(item, item.description) for item in active if first.get(item.action) is item]
        return sorted(found, key=lambda key: key[0].action in _STAY)

    def fitting(self) -> list[Part]:
        """Return the keys that fit: the last ones are left out first."""
        parts = list(self._parts)
        for part in reversed(self._parts[1:]):
            if sum(width(one) + _AROUND for one in parts) <= self.size.width + 1:
                break
            if part not in self._staying:
                parts.remove(part)
        return parts

    @property
    def named(self) -> list[tuple[str, str]]:
        """The shown keys with their words."""
        return [(row[0][0], row[1][0].strip()) for _, (row, _action) in self.places()]
