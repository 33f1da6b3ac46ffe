"""A screen that asks the user for one line of text."""

from __future__ import annotations

from typing import ClassVar

from memsearch_engine import shown, shown_line
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from memsearch_tui.widgets.typing import InOrder


class _Line(InOrder, Input):
    pass


class AskScreen(ModalScreen[str]):
    """Dismisses with the text, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="ask.leave", priority=True)
    ]
    DEFAULT_CSS = """
    AskScreen { align: center middle; background: $background 60%; }
    AskScreen > Vertical { width: 80%; max-width: 90; height: auto; padding: 0 1; \
border: round $accent; border-subtitle-color: $foreground 75%; background: $surface; }
    AskScreen Input { margin-top: 1; background: $background; }
    """

    def __init__(self, question: str, value: str) -> None:
        super().__init__()
        self._question, self._value = question, value

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Vertical() as box:
            box.border_subtitle = "enter applies · escape cancels"
            yield Static(shown(self._question), markup=False)
            yield _Line(shown_line(self._value), compact=True)

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the text to the caller."""
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.dismiss("")
