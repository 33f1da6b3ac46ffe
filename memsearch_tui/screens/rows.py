"""A page of rows with details, read from the engine at intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from memsearch_tui.activity import Line
from memsearch_tui.aside import away
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.text_view import TextView

EVERY_S = 5.0  # between two reads while the page is open
_HERE, _ELSEWHERE = ("▌", "accent"), (" ", "text")


class RowsScreen(Page[None]):
    """Enter opens the details of a row. A screen of 100 columns shows the details of all rows at
    once, below and beside the list, with a bar at those of the row under the cursor.
    """

    TITLES, THIRD = ("", "details"), "more"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("rows"),
        Binding("r", "reload", "Read again", id="rows.reload"),
    ]

    def __init__(self, read: Callable[[], list[Line]], *, live: bool) -> None:
        """Args:
        read: returns the rows; called in a thread.
            live: read again every few seconds.
        """
        super().__init__()
        self._read, self._is_live = read, live
        self.lines: list[Line] = []  # the shown rows
        self._open = self._detail  # the pane that has the details of the row under the cursor
        self._third.add_class("filled")

    async def on_mount(self) -> None:
        """Read the page, then again at intervals."""
        self.action_reload()
        if self._is_live:
            self.set_interval(EVERY_S, self._again)

    def _again(self) -> None:
        if not any(worker.group == "read" for worker in self.workers):
            self.action_reload()

    def action_reload(self) -> None:
        """Read the page again; the cursor stays on its row."""
        self.run_worker(self.reload(), exclusive=True, group="read")

    async def reload(self) -> None:
        """Read the page in a thread."""
        self.lines = await away(self._read)
        self._list.show_keys([(n, line.key) for n, line in enumerate(self.lines)])
        self.call_after_refresh(self._moved)  # the list has its height then

    def _is_heading(self, key: Any) -> bool:
        return not key[1]

    def _row(self, index: int, width: int) -> Row:
        row: Row = self.lines[self._list.keys[index][0]].row
        return row

    def _moved(self, by_hand: bool = False) -> None:
        place = self._list.key[0] if self._list.key else -1
        self._open = self._detail
        if self.has_class("-narrow"):
            rows = list(self.lines[place].detail) if self._list.key else []
            self._detail.show(rows, keep_place=not by_hand)
            return
        blocks = {
            number: [
                [_HERE if number == place else _ELSEWHERE, *row] for row in [*_headed(line), []]
            ]
            for number, line in enumerate(self.lines)
            if line.detail
        }
        # both columns end at about the same height
        half = (len(self.lines) + sum(map(self._third.height_of, blocks.values()))) // 2
        room = min(self._detail.size.height, half - len(self.lines))
        columns: dict[TextView, list[Row]] = {self._detail: [], self._third: []}
        first = 0
        for number, block in blocks.items():
            fits = self._detail.height_of([*columns[self._detail], *block]) <= room
            pane = self._detail if fits else self._third
            if number == place:
                self._open, first = pane, len(columns[pane])
            columns[pane] += block
        for pane, rows in columns.items():
            pane.show(rows, keep_place=True)
        if by_hand:
            self._open.reveal(first, len(blocks.get(place, [])) - 1)

    async def action_open(self) -> None:
        """Go to the details of the row."""
        self._open.focus()


def _headed(line: Line) -> list[Row]:
    """Return the details of a row below the row itself, unless they begin with its words."""
    begins = line.detail[0][0][0].strip() in "".join(text for text, _ in line.row)
    return list(line.detail) if begins else [line.row, [], *line.detail]
