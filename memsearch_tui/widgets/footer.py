"""The last line: the keys that work now.

Without room for all, the way back and help are still shown; help lists all keys.
"""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

_AROUND = 3  # cells: before the key, between key and words, after the words
_STAY = "app.help", "help", "leave", "do('back')"  # actions whose keys are never left out


class Keys(Footer):
    """Textual's footer. Keys are left out from the end until the rest fits."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._room = 0

    def _wanted(self) -> list[FooterKey]:
        """Return the keys that the screen wants to show.

        These are its ``shown_keys``, (id of a binding, words) each; without them, those of its
        bindings.
        """
        wanted = getattr(self.screen, "shown_keys", ())
        if not wanted or not self._bindings_ready:
            found = [key for key in super().compose() if isinstance(key, FooterKey)]
            return sorted(found, key=lambda key: key.action in _STAY)
        active = {
            a.binding.id: a.binding
            for a in reversed(self.screen.active_bindings.values())
            if a.enabled
        }
        keys = [
            FooterKey(item.key, self.app.get_key_display(item), words, item.action).data_bind(
                compact=Footer.compact
            )
            for name, words in wanted
            if (item := active.get(name)) is not None
        ]
        self.styles.grid_size_columns = len(keys)
        return keys

    def compose(self) -> ComposeResult:
        """Create as many keys as fit."""
        keys = self._wanted()
        self._room = self.app.size.width
        while sum(map(_width, keys)) > self._room:
            spare = next(
                (
                    place
                    for place in reversed(range(1, len(keys)))
                    if keys[place].action not in _STAY
                ),
                0,
            )
            if not spare:
                break
            del keys[spare]
        yield from keys

    def on_resize(self) -> None:
        """Create the keys again if the width has changed."""
        if self.app.size.width != self._room:
            self.call_after_refresh(self.recompose)


def _width(key: FooterKey) -> int:
    return cell_len(key.key_display) + cell_len(key.description) + _AROUND
