"""Keys that do something to a text take effect where they are typed, among the letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.widget import Widget

    _Base = Widget
else:
    _Base = object


class InOrder(_Base):
    """For an Input or a TextArea. Textual runs what a key is bound to (backspace, ctrl+u, an arrow)
    once the key has come up to the app,
    while letters are put in at once: what is typed fast, or while the app is busy, came out in
    another order.
    """

    async def _on_key(self, event: events.Key) -> None:
        bound = self._bindings.key_to_bindings.get(event.key, ())
        if bound and not event.is_printable and not bound[0].action.startswith("scroll_"):
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)
            return
        await super()._on_key(event)
