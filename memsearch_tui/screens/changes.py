"""What was changed in the notes, newest first, with what stood before and after; any of it can be
brought back.
"""

from __future__ import annotations

from functools import partial
from time import localtime, strftime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen

from memsearch_tui.aside import attend, away, write
from memsearch_tui.library import Library
from memsearch_tui.widgets.diff import diff_rows
from memsearch_tui.widgets.footer import Keys
from memsearch_tui.widgets.lines import LineList, Row, TextView

if TYPE_CHECKING:
    from memsearch_engine import Change

_SHOWN = 500
_TONES = {"add": "good", "delete": "bad", "edit": "accent", "mark": "dim"}


class ChangesScreen(Screen["list[Change]"]):
    """Dismisses with what was restored, or None where the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", "Bring back what stood before", id="changes.restore"),
        Binding("enter,right,l", "read", "Read", id="changes.read"),
        Binding("escape,q,left,h", "leave", "Back", id="changes.back"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._changes: dict[int, Change] = {}
        self._brought: list[Change] = []
        self._list = LineList(self._row, moved=self._moved, empty=["reading …"], id="changes")
        self._detail = TextView(id="difference")

    def compose(self) -> ComposeResult:
        with Container(id="review"):
            yield self._list
            yield self._detail
        yield Keys()

    async def on_mount(self) -> None:
        self._list.border_title, self._detail.border_title = "changes", "before and after"
        self._list.focus()
        reading = away(partial(self._library.changes, _SHOWN))
        await attend(self, "reading the changes", reading, self._show, self._complain)

    def _complain(self, error: Exception) -> None:
        self.notify(str(error), severity="error")

    def _show(self, changes: list[Change]) -> None:
        self._changes = {change.seq: change for change in changes}
        self._list.empty = ["Nothing was changed yet."]
        self._list.show_keys(list(self._changes))
        self._moved()

    def _row(self, index: int, width: int) -> Row:
        change = self._changes[self._list.keys[index]]
        undone = [("undone ", "dim")] if change.state == "undone" else []
        when = strftime("%Y-%m-%d %H:%M", localtime(change.at))
        return [
            (f"{when} ", "dim"),
            (f"{change.op:7s}", _TONES.get(change.op, "text")),
            *undone,
            (change.title, "text"),
        ]

    def _moved(self, by_hand: bool = False) -> None:
        change = self._changes.get(self._list.key) if self._list.key is not None else None
        if change is None:
            self._detail.show([])
            return
        before, after = (
            text.decode(errors="replace").strip("\n") for text in (change.before, change.after)
        )
        head: Row = [(self._library.short(change.path), "dim")]
        self._detail.show([head, [], *diff_rows(before, after)])

    @on(LineList.Opened)
    def action_read(self) -> None:
        self._detail.focus()

    async def action_restore(self) -> None:
        if self._list.key is not None:
            bring = partial(self._library.memory.restore, self._list.key)
            await write(self, "bringing it back", bring, self._restored, self._complain)

    def _restored(self, change: Change) -> None:
        self.notify(f"brought back: “{change.title[:40]}” · u takes it back", timeout=4)
        self._brought = [change]
        self.on_screen_resume()

    def on_screen_resume(self) -> None:
        if (
            self._brought and self.app.screen is self
        ):  # who has opened another screen meanwhile comes back to this one first
            self.dismiss(self._brought)

    def action_leave(self) -> None:
        if self._detail.has_focus:
            self._list.focus()
        else:
            self.dismiss(None)
