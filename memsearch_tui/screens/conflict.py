"""An entry was changed by somebody else while it was edited: both texts, and the choice."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Footer

from memsearch_tui.widgets.lines import TextView
from memsearch_tui.widgets.render import markdown


class ConflictScreen(ModalScreen[str]):
    """Dismisses with ``mine``, ``theirs`` or ``edit``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose('mine')", "Keep mine", id="conflict.mine"),
        Binding("t", "choose('theirs')", "Keep theirs", id="conflict.theirs"),
        Binding("e,escape", "choose('edit')", "Edit on", id="conflict.edit"),
    ]
    DEFAULT_CSS = """
    ConflictScreen { background: $background; }
    ConflictScreen Horizontal { height: 1fr; }
    ConflictScreen TextView { width: 1fr; border: round $warning; }
    """

    def __init__(self, mine: str, theirs: str) -> None:
        super().__init__()
        self._texts = {"mine: your edit": mine, "theirs: in the file now": theirs}

    def compose(self) -> ComposeResult:
        with Horizontal():
            for title in self._texts:
                view = TextView()
                view.border_title = title
                yield view
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        for view, text in zip(self.query(TextView), self._texts.values()):
            view.show(markdown(text))

    def action_choose(self, choice: str) -> None:
        self.dismiss(choice)
