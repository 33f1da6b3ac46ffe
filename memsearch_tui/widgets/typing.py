"""Keeps editing keys in order with typed letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.widget import Widget

    _Base = Widget
else:
    _Base = object


class InOrder(_Base):
    """A mixin for Input or TextArea.

    Textual runs a key's binding (backspace, ctrl+u, an arrow) only after the key has bubbled up to
    the app, but inserts letters at once. Fast typing, or typing while the app is busy, would be
    applied in another order.
    """

    async def _on_key(self, event: events.Key) -> None:
        bound = self._bindings.key_to_bindings.get(event.key, ())
        if bound and not event.is_printable and not bound[0].action.startswith("scroll_"):
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)
            return
        await super()._on_key(event)
