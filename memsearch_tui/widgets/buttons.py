"""A line of buttons: the base of the header and of the last line."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from textual import events
from textual.strip import Strip

from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import Row

#: A button: its pieces, and the app's action that a click runs.
Part = tuple[Row, str]
_GAP = 2  # cells between two buttons


class Buttons(Lines, can_focus=False):
    """One row of parts, drawn without a widget for each of them.

    A part that does not fit is left out.
    """

    DEFAULT_CSS = "Buttons { height: 1; background: $surface; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._parts: list[Part] = []

    def show(self, parts: list[Part]) -> None:
        """Show other parts."""
        self._parts = parts
        self.refresh_changed()

    def fitting(self) -> list[Part]:
        """Return the parts for the current width; a subclass may shorten them."""
        return self._parts

    def places(self) -> list[tuple[int, Part]]:
        """Return the shown parts, each with its first column."""
        places, x = [], 1
        for part in self.fitting():
            if x + width(part) <= self.size.width:
                places.append((x, part))
                x += width(part) + _GAP
        return places

    def line(self, y: int) -> Strip:
        """Draw the line."""
        row: Row = []
        for _, (pieces, _action) in self.places():
            row += [(" " * (_GAP if row else 1), "text"), *pieces]
        return self.draw(row, self.size.width)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the part under the mouse."""
        action = next((action for x, (_, action) in reversed(self.places()) if event.x >= x), "")
        if action:
            await self.app.run_action(action)


def width(part: Part) -> int:
    """Return the width of a part in cells."""
    return sum(cell_len(text) for text, _ in part[0])
