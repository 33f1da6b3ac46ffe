"""A short list over the screen, from which the user chooses one row or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.pieces import Row

_ROWS = 16


class ChoiceRow(msgspec.Struct, frozen=True):
    """One row. ``name``: the screen's result; ``note``: shown dimmed beside the text."""

    name: str
    text: str
    note: str = ""


class ChooseScreen(ModalScreen[str]):
    """Dismisses with the name of the chosen row, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,right,l", "open", "Choose", id="choose.open"),
        Binding("escape,q,left,h", "leave", "Leave", id="choose.leave"),
    ]
    DEFAULT_CSS = """
    ChooseScreen { align: center middle; }
    ChooseScreen > LineList { width: 80%; max-width: 90; \
border: round $accent; background: $surface; }
    """

    def __init__(
        self,
        title: str,
        choices: Sequence[ChoiceRow],
        *,
        at: str = "",
        moved: Callable[[str], None] = lambda name: None,
    ) -> None:
        """Args:
        at: the name of the row under the cursor at first.
            moved: called with the name of the row that the cursor moves to.
        """
        super().__init__()
        self._choices = {choice.name: choice for choice in choices}
        self._at = at
        self._list = LineList(
            self._row, moved=lambda by_hand: moved(self._list.key) if by_hand else None
        )
        self._list.border_title = title

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield self._list

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self._list.styles.height = min(_ROWS, len(self._choices)) + 2
        self._list.show_keys(list(self._choices), cursor=self._at or None)
        self._list.focus()

    def _row(self, index: int, width: int) -> Row:
        choice = self._choices[self._list.keys[index]]
        return [(f"{choice.text}  ", "text"), (choice.note, "dim")]

    @on(LineList.RowOpened)
    def action_open(self) -> None:
        """Choose the row under the cursor."""
        self.dismiss(self._list.key or "")

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.dismiss("")
