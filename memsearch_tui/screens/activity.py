"""The activity page: whether all turns are captured, what they cost, and what failed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from memsearch_tui.activity import lines
from memsearch_tui.aside import write
from memsearch_tui.counted import many
from memsearch_tui.library import Library
from memsearch_tui.screens.rows import RowsScreen


class ActivityScreen(RowsScreen):
    """Capture, costs, failures and the injection log; each row opens its details."""

    TITLES = "activity", "details"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "retry", "Redo what failed", id="activity.retry")
    ]

    def __init__(self, library: Library, *, live: bool = True) -> None:
        super().__init__(lambda: lines(library.status.activity(), library.today()), live=live)
        self._library = library

    async def action_retry(self) -> None:
        """Retry failed events and summaries, and read the page again."""

        def begun(count: int) -> None:
            self.say(f"{many(count, 'failure')} tried again" if count else "nothing has failed")
            self.action_reload()

        retry = self._library.memory.capture.retry
        await write(self, "trying them again", retry, begun, self._complain)
