"""The base of pages: a list, and beside it or below it the text of the row under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen

from memsearch_tui.aside import read
from memsearch_tui.widgets.bars import Keys, StatusLine
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.text_view import TextView

T = TypeVar("T")
R = TypeVar("R")


def page_keys(page: str, opens: str = "Open", name: str = "open") -> list[BindingType]:
    """Return the two bindings of every page.

    Args:
        page: the first part of their ids, which settings use (``tui.keys``).
        opens: the words for enter.
        name: the second part of the id of enter.
    """
    return [
        Binding("enter,right,l", "open", opens, id=f"{page}.{name}"),
        Binding("escape,left,h", "leave", "Back", id=f"{page}.back"),
    ]


class Page(Screen[T]):
    """A page of rows. Enter goes to the text of a row, escape back to the list and then out."""

    #: Titles of the list and of the text; without the second there is no text.
    TITLES: ClassVar[tuple[str, str]] = ("", "")
    #: Title of a pane beside list and text; '' for none. The text is then below the list.
    THIRD: ClassVar[str] = ""
    #: Actions on the row under the cursor: an empty list does not offer them.
    OF_A_ROW: ClassVar[tuple[str, ...]] = ("open",)

    def __init__(self, empty: Sequence[str] = ("reading …",)) -> None:
        super().__init__()
        self._list = LineList(
            self._row, moved=self._move, is_heading=self._is_heading, empty=empty, id="rows"
        )
        self._detail = TextView(id="detail")
        self._third = TextView(id="third")
        self._status = StatusLine()

    def before(self) -> Self | None:
        """Return the page of this kind as it was left. From now on this page is kept in its place:
        the next one shows what this one showed, until it has read what changed.
        """
        pages: dict[type[Any], Any] = cast("Any", self.app).pages
        before, pages[type(self)] = pages.get(type(self)), self
        return before

    def compose(self) -> ComposeResult:
        """Create the panes."""
        self._list.border_title, self._detail.border_title = self.TITLES
        self._third.border_title = self.THIRD
        has_text = bool(self.TITLES[1])
        with Container(id="page"):
            with Vertical(id="left", classes="stacked" if self.THIRD else "above" * has_text):
                yield self._list
                if self.THIRD:
                    yield self._detail
            if has_text:
                yield self._third if self.THIRD else self._detail
        yield self._status
        yield Keys()

    async def on_mount(self) -> None:
        """Focus the list."""
        self._list.focus()

    async def read(self, what: str, work: Callable[[], R], show: Callable[[R], object]) -> None:
        """Read the rows with *work* and show them; keys wait for them."""
        await read(self, what, work, show, self._complain, self._left_unread)

    def _left_unread(self) -> None:
        """Say that nothing is read any more, and which key reads it."""
        self._list.empty = ["not read · r reads it"]
        self._list.show_keys(self._list.keys)
        self.say("" if not self._list.keys else "not read again · r reads it")

    def on_resize(self) -> None:
        """Show the text for the new width: a wide screen has room for more."""
        self.call_after_refresh(self._moved)  # the classes of the new width are set then

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key works now."""
        return action not in self.OF_A_ROW or self._list.key is not None

    def _row(self, index: int, width: int) -> Row:
        """Return the pieces of a row."""
        raise NotImplementedError

    def _is_heading(self, key: Any) -> bool:
        """Return whether the cursor skips the row of *key*."""
        return False

    def _move(self, by_hand: bool) -> None:
        """Show the text in the frame after the row's own: a screen reader then reads both."""
        if by_hand:
            self.call_after_refresh(self._moved, by_hand)
        else:
            self._moved()

    def _moved(self, by_hand: bool = False) -> None:
        """Show the text of the row under the cursor."""

    @on(LineList.RowOpened)
    async def _row_opened(self) -> None:
        await self.run_action("open")

    async def action_open(self) -> None:
        """Go to the text of the row."""
        self._detail.focus()

    def action_leave(self) -> None:
        """Go back to the list, then out."""
        if self._detail.has_focus or self._third.has_focus:
            self._list.focus()
        else:
            self.leave()

    def leave(self) -> None:
        """Leave the page without a result."""
        self.dismiss(None)

    def say(self, text: str) -> None:
        """Show a message."""
        self._status.say(text)

    def _complain(self, error: Exception) -> None:
        self.notify(str(error), severity="error", timeout=8)
