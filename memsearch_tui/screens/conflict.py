"""The choice after somebody else changed an entry during its edit, with both versions."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from memsearch_tui.widgets.diff import diff_rows
from memsearch_tui.widgets.footer import Keys
from memsearch_tui.widgets.text_view import TextView


class ConflictScreen(ModalScreen[str]):
    """Dismisses with ``mine``, ``theirs`` or ``edit``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose('mine')", "Keep mine", id="conflict.mine"),
        Binding("t", "choose('theirs')", "Keep theirs", id="conflict.theirs"),
        Binding("e,escape", "choose('edit')", "Edit on", id="conflict.edit"),
    ]
    DEFAULT_CSS = """
    ConflictScreen { background: $background; }
    ConflictScreen #sides { height: 1fr; layout: horizontal; }
    ConflictScreen.-narrow #sides { layout: vertical; }
    ConflictScreen TextView { width: 1fr; height: 1fr; border: round $warning; }
    """

    def __init__(self, what: str, base: str, mine: str, theirs: str) -> None:
        """Args:
        what: the note's name for people.
            base: the text before both changes.
            mine, theirs: the two versions.
        """
        super().__init__()
        self._what = what
        self._sides = {
            "mine: your edit": diff_rows(base.strip("\n"), mine.strip("\n")),
            "theirs: in the file now": diff_rows(base.strip("\n"), theirs.strip("\n")),
        }

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Container(id="sides"):
            for title in self._sides:
                view = TextView()
                view.border_title = title
                yield view
        yield Keys()

    def on_mount(self) -> None:
        """Fill the widgets, and focus the first one."""
        for view, rows in zip(self.query(TextView), self._sides.values()):
            view.show([[(self._what, "dim")], [], *rows])

    def action_choose(self, choice: str) -> None:
        """Leave with the choice."""
        self.dismiss(choice)
