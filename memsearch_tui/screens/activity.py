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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "retry", "Try failed ones again", id="activity.retry")
    ]

    def __init__(self, library: Library, *, live: bool = True) -> None:
        super().__init__(
            "activity", lambda: lines(library.status.activity(), library.today()), live=live
        )
        self._library = library

    async def action_retry(self) -> None:
        """Retry failed events and summaries, and read the page again."""

        def begun(count: int) -> None:
            self.say(f"{many(count, 'failure')} tried again" if count else "nothing has failed")
            self.action_reload()

        def failed(error: Exception) -> None:
            self.notify(str(error), severity="error")

        await write(self, "trying them again", self._library.memory.capture.retry, begun, failed)
