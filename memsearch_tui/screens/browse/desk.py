"""What every controller of the browse screen works with: state, panes, status line, saved state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from textual.screen import Screen
from textual.widgets import Input

from memsearch_tui.aside import attend, write
from memsearch_tui.saved import SavedState
from memsearch_tui.screens.browse.state import LEVELS, BrowseState
from memsearch_tui.widgets.calendar import Calendar
from memsearch_tui.widgets.header import Header
from memsearch_tui.widgets.lines import LineList, TextView
from memsearch_tui.widgets.query import QueryBox
from memsearch_tui.widgets.status import MESSAGE_S, StatusLine

T = TypeVar("T")


@dataclass(frozen=True)
class Panes:
    """The widgets of the screen.

    Attributes:
        entries: the list of notes or hits; reader: what is read.
        said: the conversation behind the note, on a wide screen.
        strip, year: the calendar as a line, and as a map on a wide screen.
        places: the rail of a wide screen.
    """

    query: QueryBox
    header: Header
    strip: Calendar
    year: Calendar
    places: LineList
    entries: LineList
    reader: TextView
    said: TextView

    @property
    def calendars(self) -> tuple[Calendar, Calendar]:
        return self.strip, self.year


class Desk:
    """The services of the screen that controllers may use."""

    def __init__(
        self, screen: Screen[None], state: BrowseState, panes: Panes, saved: SavedState
    ) -> None:
        self.screen, self.state, self.panes, self.saved = screen, state, panes, saved
        self.status = StatusLine()
        self.painted = asyncio.Event()  # set after the first frame: nothing is read before it

    # -- saying

    def say(self, text: str, *, for_s: float = MESSAGE_S, of_note: bool = False) -> None:
        """Show a message; *of_note*: it ends when the cursor leaves the note."""
        item = self.state.item
        self.status.say(text, for_s=for_s, about=item.key if of_note and item else None)

    def complain(self, error: Exception) -> None:
        """Show an error."""
        self.screen.notify(str(error), severity="error")

    def warn(self, error: Exception) -> None:
        """Show a warning."""
        self.screen.notify(str(error), severity="warning")

    # -- working

    def start(
        self, work: Callable[[], Coroutine[Any, Any, object]], group: str, *, only: bool = False
    ) -> None:
        """Run a coroutine function beside the event loop's other work.

        Args:
            only: cancel what runs in *group*. No coroutine is made before its turn comes, so one
                that is cancelled at once is never left unawaited.
        """
        self.screen.run_worker(cast("Callable[[], object]", work), group=group, exclusive=only)

    async def read(
        self,
        what: str,
        future: asyncio.Future[T],
        then: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Call *then* with the result of *future*; what takes long is shown, and can be left."""
        await attend(self.screen, what, future, then, failed or self.complain)

    async def write(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Do *work* after the writes before it, then call *then* with its result."""
        await write(self.screen, what, work, then, failed or self.complain)

    def start_write(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """The same beside the event loop, for what a dialog has decided."""

        async def writing() -> None:
            await self.write(what, work, then, failed)

        self.start(writing, "edit")

    # -- levels

    @property
    def is_typing(self) -> bool:
        """Whether the focus is in the search box."""
        return isinstance(self.screen.focused, Input)

    @property
    def is_wide(self) -> bool:
        """Whether the rail and the conversation have room."""
        return self.screen.has_class("-wide")

    @property
    def is_narrow(self) -> bool:
        """Whether only one pane has room."""
        return self.screen.has_class("-narrow")

    def go(self, level: str) -> None:
        """Go to a level; its pane takes the focus and is, on a narrow screen, the only one."""
        state, screen = self.state, self.screen
        state.level = level
        if level == "entries":
            state.sought = ""
        for name in LEVELS:
            screen.set_class(name == level, f"at-{name}")
        target = self.panes.entries if level == "entries" else self.panes.reader
        if screen.is_mounted and not self.is_typing:
            screen.set_focus(target)
        screen.refresh_bindings()
        self.panes.reader.entitle("conversation" if level == "turn" else "note")
