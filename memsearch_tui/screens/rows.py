"""A page of rows with details, read from the engine at intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from memsearch_tui.activity import Line
from memsearch_tui.aside import away
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row

EVERY_S = 5.0  # between two reads while the page is open


class RowsScreen(Page[None]):
    """A list, and beside it (below it on a narrow screen) the details of the row under the
    cursor. The details do not repeat the row.
    """

    TITLES = "", "details"
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
        rows = self.lines[self._list.key[0]].detail if self._list.key else []
        self._detail.show(list(rows), keep_place=not by_hand)
