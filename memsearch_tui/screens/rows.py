"""A page of rows with details, read from the engine at intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from memsearch_tui.activity import Line
from memsearch_tui.aside import away
from memsearch_tui.widgets.footer import Keys
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.status import StatusLine
from memsearch_tui.widgets.text_view import TextView

EVERY_S = 5.0  # between two reads while the page is open


class RowsScreen(Screen[None]):
    """Enter opens the details of a row: beside the list, or below it on a narrow screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,right,l", "open", "Open", id="rows.open"),
        Binding("r", "reload", "Read again", id="rows.reload"),
        Binding("escape,q,left,h", "leave", "Back", id="rows.back"),
    ]

    def __init__(self, title: str, read: Callable[[], list[Line]], *, live: bool) -> None:
        """Args:
        read: returns the rows; called in a thread.
            live: read again every few seconds.
        """
        super().__init__()
        self._read, self._is_live = read, live
        self._lines: list[Line] = []
        self._reads = 0  # reads that run now
        self._list = LineList(
            self._row,
            moved=self._moved,
            is_heading=lambda key: not key[1],
            empty=["reading …"],
            id="cases",
        )
        self._list.border_title = title
        self._detail = TextView(id="evidence")
        self._detail.border_title = "details"
        self.status = StatusLine()

    def compose(self) -> ComposeResult:
        """Yield the list and the details of its row."""
        from textual.containers import Container

        with Container(id="review"):
            yield self._list
            yield self._detail
        yield self.status
        yield Keys()

    def on_mount(self) -> None:
        """Read the page, then again at intervals."""
        self._list.focus()
        self.action_reload()
        if self._is_live:
            self.set_interval(EVERY_S, self._again)

    def _again(self) -> None:
        if not self._reads:
            self.action_reload()

    def action_reload(self) -> None:
        """Read the page again; the cursor stays on its row."""
        self.run_worker(self.reload(), exclusive=True, group="read")

    async def reload(self) -> None:
        """Read the page in a thread."""
        self._reads += 1
        try:
            self._lines = await away(self._read)
        finally:
            self._reads -= 1
        self._list.show_keys([(n, line.key) for n, line in enumerate(self._lines)])
        self._moved()

    @property
    def lines(self) -> list[Line]:
        """The shown rows."""
        return self._lines

    def say(self, text: str) -> None:
        """Show a message."""
        self.status.say(text)

    def _row(self, index: int, width: int) -> Row:
        row: Row = self._lines[self._list.keys[index][0]].row
        return row

    def _moved(self, by_hand: bool = False) -> None:
        key = self._list.key
        rows = list(self._lines[key[0]].detail) if key and key[0] < len(self._lines) else []
        self._detail.show(rows, keep_place=not by_hand)

    @on(LineList.RowOpened)
    def action_open(self) -> None:
        """Go to the details of the row."""
        self._detail.focus()

    def action_leave(self) -> None:
        """Go back to the list, then out."""
        if self._detail.has_focus:
            self._list.focus()
        else:
            self.dismiss(None)
