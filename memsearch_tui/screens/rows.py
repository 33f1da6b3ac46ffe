"""Pages of rows with details, read from the engine at intervals: health and activity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

from memsearch_engine import MemsearchError
from textual.binding import Binding, BindingType

from memsearch_tui import activity, health
from memsearch_tui.activity import Line
from memsearch_tui.aside import away, write
from memsearch_tui.counted import many
from memsearch_tui.library import Library
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row

EVERY_S = 5.0  # between two reads while the page is open


class RowsScreen(Page[None]):
    """A list, and beside it (below it on a narrow screen) the details of the row under the
    cursor. The details do not repeat the row.
    """

    TITLES = "", "details"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("rows"),
        Binding("r", "reload", "Read again", id="rows.reload"),
    ]

    def __init__(self, read: Callable[[], list[Line]], *, live: bool) -> None:
        """Args:
        read: returns the rows; called in a thread.
            live: read again every few seconds.
        """
        super().__init__()
        self._read, self._is_live = read, live
        self.lines: list[Line] = []  # the shown rows

    async def on_mount(self) -> None:
        """Read the page, then again at intervals."""
        if before := self.before():
            self._show(before.lines, before._list.key)
        self.action_reload()
        if self._is_live:
            self.set_interval(EVERY_S, self._again)

    def _again(self) -> None:
        if not any(worker.group == "read" for worker in self.workers):
            self.action_reload()

    def action_reload(self) -> None:
        """Read the page again; the cursor stays on its row."""
        self.run_worker(self.reload(), exclusive=True, group="read")

    async def reload(self) -> None:
        """Read the page in a thread."""
        self._show(await away(self._read))

    def _show(self, lines: list[Line], cursor: Any = None) -> None:
        self.lines = lines
        self._list.show_keys([(n, line.key) for n, line in enumerate(lines)], cursor=cursor)
        self.refresh_bindings()  # keys that act on what was read
        self.call_after_refresh(self._moved)  # the list has its height then

    def _is_heading(self, key: Any) -> bool:
        return not key[1]

    def _row(self, index: int, width: int) -> Row:
        row: Row = self.lines[self._list.keys[index][0]].row
        return row

    def _moved(self, by_hand: bool = False) -> None:
        rows = self.lines[self._list.key[0]].detail if self._list.key else []
        self._detail.show(list(rows), keep_place=not by_hand)


class HealthScreen(RowsScreen):
    """Index, service, models, projects and sync; beside the list the report of all of them."""

    TITLES = "health", "what each part does, and what mends it"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "2",
            "second_model",
            "Second model",
            tooltip="Ask a second model, too",
            id="health.second",
        )
    ]

    def __init__(self, library: Library, *, live: bool = True) -> None:
        super().__init__(self._look, live=live)
        self._library = library
        self._state: dict[str, Any] = {}
        self._making = ""

    def before(self) -> Self | None:
        """Return the page as it was left; its keys work as they did there."""
        if before := super().before():
            self._state = before._state
        return before

    def _look(self) -> list[Line]:
        self._state = self._library.status.health()
        return health.lines(self._state, self._making)

    def on_resize(self) -> None:
        """Show the part of the row again: other lines are broken."""
        self.call_after_refresh(self._moved, not self._detail.has_focus)

    def _moved(self, by_hand: bool = False) -> None:
        if self._list.key:
            rows, at = health.report(self.lines, self._list.key[1])
            self._detail.show(rows, keep_place=True)
            if by_hand:
                self._detail.show_row(at)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key works now: the second model's, while a download is advised."""
        if action != "second_model":
            return super().check_action(action, parameters)
        fix = self._state.get("second", {}).get("fix", "")
        return not self._making and fix.startswith("memsearch")

    def action_second_model(self) -> None:
        """Download the second model. The service uses it as soon as it has embedded the notes."""
        second = self._state["second"]
        self._making = "downloading; quitting stops it …"
        self.run_worker(self._bring(second["name"]), group="second")
        self.action_reload()

    async def _bring(self, name: str) -> None:
        try:
            await away(partial(self._library.memory.models.pull, name))
            self.say(f"{name} is downloaded and embeds the notes in the background")
        except MemsearchError as error:
            self.notify(f"{error} {error.hint}", severity="error")
        finally:
            self._making = ""
            self.action_reload()


class ActivityScreen(RowsScreen):
    """Capture, costs, failures and the injection log; each row opens its details."""

    TITLES = "activity", "details"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "retry", "Redo what failed", id="activity.retry")
    ]

    def __init__(self, library: Library, *, live: bool = True) -> None:
        super().__init__(self._look, live=live)
        self._library = library
        self._has_failures = False

    def _look(self) -> list[Line]:
        state = self._library.status.activity()
        self._has_failures = bool(state["failures"] or state["set_aside"])
        return activity.lines(state, self._library.today())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key works now: the one of what failed, while something has failed."""
        return super().check_action(action, parameters) and (
            action != "retry" or self._has_failures
        )

    async def action_retry(self) -> None:
        """Retry failed events and summaries, and read the page again."""

        def begun(count: int) -> None:
            self.say(f"{many(count, 'failure')} tried again" if count else "nothing has failed")
            self.action_reload()

        retry = self._library.memory.capture.retry
        await write(self, "trying them again", retry, begun, self._complain)
