"""What all controllers of the browse screen share: state, panes, status line, saved state; and the
thread that follows the service.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import memsearch_engine as engine
from memsearch_engine import MemsearchError
from textual.screen import Screen
from textual.widgets import Input

from memsearch_tui.aside import read, write
from memsearch_tui.counted import reason
from memsearch_tui.saved import SavedState
from memsearch_tui.screens.browse.state import LEVELS, BrowseState
from memsearch_tui.widgets.bars import MESSAGE_S, Header, StatusLine
from memsearch_tui.widgets.calendar import Calendar
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.query import QueryBox
from memsearch_tui.widgets.text_view import TextView

T = TypeVar("T")


@dataclass(frozen=True)
class Panes:
    """The widgets of the screen.

    Attributes:
        entries: the list of notes or hits.
        reader: the text of the note.
        said: the conversation behind the note, if there is room.
        strip: the calendar as a line.
        year: the calendar as a map, on a wide screen.
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
        """Both calendars."""
        return self.strip, self.year


class Desk:
    """The screen's services for its controllers."""

    def __init__(
        self, screen: Screen[None], state: BrowseState, panes: Panes, saved: SavedState
    ) -> None:
        self.screen, self.state, self.panes, self.saved = screen, state, panes, saved
        self.status = StatusLine()
        self.painted = asyncio.Event()  # set after the first frame; nothing is read before

    # -- messages

    def say(self, text: str, *, for_s: float = MESSAGE_S, of_note: bool = False) -> None:
        """Show a message.

        Args:
            for_s: seconds that it is shown.
            of_note: hide it when the cursor leaves the note.
        """
        item = self.state.item
        self.status.say(text, for_s=for_s, about=item.key if of_note and item else None)

    def complain(self, error: Exception) -> None:
        """Show an error."""
        self.screen.notify(reason(error), severity="error")

    def warn(self, error: Exception) -> None:
        """Show a warning."""
        self.screen.notify(reason(error), severity="warning")

    def has_lost_note(self) -> bool:
        """Return whether another program removed the note that the user saw, and say so once."""
        lost, self.panes.entries.lost = self.panes.entries.lost, None
        if lost is None or lost in self.state.deleted:
            return False
        self.say("That note is not listed any more. The same key acts on this one.")
        return True

    # -- background work

    def start(
        self, work: Callable[[], Coroutine[Any, Any, object]], group: str, *, only: bool = False
    ) -> None:
        """Run a coroutine function beside the event loop's other work.

        Args:
            group: the name of a group of such work.
            only: cancel running work of *group*. The coroutine is created only when it starts, so
                one that is cancelled at once is never left unawaited.
        """
        self.screen.run_worker(cast("Callable[[], object]", work), group=group, exclusive=only)

    async def read(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Run *work* in a thread, then call *then* with its result.

        Slow work is shown, and the user can leave it.
        """
        await read(self.screen, what, work, then, failed or self.complain)

    async def write(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Run *work* after all earlier writes, then call *then* with its result."""
        await write(self.screen, what, work, then, failed or self.complain)

    def start_write(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Do the same as ``write`` beside the event loop, for a write that a dialog decided."""

        async def writing() -> None:
            await self.write(what, work, then, failed)

        self.start(writing, "edit")

    # -- dialogs

    def ask(self, question: str, value: str, then: Callable[[str], None]) -> None:
        """Ask for a line of text; *value* is in the box. *then* gets it unless the user leaves."""
        from memsearch_tui.screens.dialogs import AskScreen

        self.open(AskScreen(question, value), then)

    def choose(
        self,
        title: str,
        choices: Sequence[tuple[str, str] | tuple[str, str, str]],
        then: Callable[[str], None],
    ) -> None:
        """Show a list. *then* gets the name of the chosen row unless the user leaves.

        Args:
            choices: name, text and note of each row (``ChoiceRow``).
        """
        from memsearch_tui.screens.dialogs import ChoiceRow, ChooseScreen

        self.open(ChooseScreen(title, [ChoiceRow(*choice) for choice in choices]), then)

    def open(self, screen: Screen[T], then: Callable[[T], None]) -> None:
        """Show a screen. *then* gets its result unless the user leaves without one."""
        self.screen.app.push_screen(screen, lambda result: then(result) if result else None)

    # -- levels

    @property
    def is_typing(self) -> bool:
        """Whether the search box has the focus."""
        return isinstance(self.screen.focused, Input)

    @property
    def is_narrow(self) -> bool:
        """Whether there is room for only one pane."""
        return self.screen.has_class("-narrow")

    def go(self, level: str) -> None:
        """Go to a level. Its pane gets the focus; on a narrow screen it is the only visible one."""
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


_WAIT_S = 10  # longest wait before checking for another project
_RETRY_S = 5.0  # between two attempts to reach the service


class Follower:
    """Calls *changed* in the app's thread at each new state of the index."""

    def __init__(self, desk: Desk, changed: Callable[[engine.IndexStatus], None]) -> None:
        self._desk, self._changed = desk, changed
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin to follow."""
        threading.Thread(target=self._follow, name="follow", daemon=True).start()

    def stop(self) -> None:
        """End soon. *changed* is not called any more."""
        self._stop.set()

    def _call(self, work: Callable[..., None], *arguments: Any) -> None:
        if not self._stop.is_set():
            self._desk.screen.app.call_from_thread(work, *arguments)

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow_library()
            except MemsearchError as error:
                if not self._stop.is_set():
                    text = f"words only: {error}"
                    self._call(self._desk.status.set_service, text)
                    self._stop.wait(_RETRY_S)
            except RuntimeError:  # the app is closing
                return

    def _follow_library(self) -> None:
        """Follow until another library is opened.

        Raises:
            MemsearchError: the service cannot be reached.
        """
        library, version = self._desk.state.library, -1
        library.memory.capture.inbox(timeout_s=60)
        library.memory.index()
        for state in library.memory.changes(every_s=_WAIT_S):
            if self._stop.is_set() or self._desk.state.library is not library:
                return
            if state.version != version:
                version = state.version
                self._call(self._changed, state)
