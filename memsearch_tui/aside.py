"""Runs work that touches disks, locks or sockets outside the event loop.

The screen goes on painting, and quitting does not wait for reads. Reads run in threads that end
with the process. Writes run one after the other in a lane; ``finish`` waits for them. This module
knows threads and the screen that shows running work. It does not know notes.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

T = TypeVar("T")
SHOWN_AFTER_S = 0.3
#: The action that runs, as its binding names it.
ACTION: ContextVar[object] = ContextVar("ACTION", default="")


class Lane:
    """One thread that runs its tasks one after the other.

    A task that was cancelled while it waited is not started.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]]] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._left = 0
        self._idle = threading.Condition()

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Queue *work* and return its future. It starts when all earlier work is done."""
        future = asyncio.get_running_loop().create_future()
        with self._idle:
            self._left += 1
        self._queue.put((future, work))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
        return future

    def _work(self) -> None:
        while True:
            future, work = self._queue.get()
            if not future.cancelled():
                _do(future, work)
            with self._idle:
                self._left -= 1
                self._idle.notify_all()

    def finish(self, within_s: float | None = None) -> bool:
        """Wait until all queued work is done.

        Args:
            within_s: seconds to wait at most; None: no limit.

        Returns:
            Whether all work is done.
        """
        with self._idle:
            return self._idle.wait_for(lambda: not self._left, within_s)


WRITES = Lane("writes")
#: For drafts and the app's saved state: small writes that must not wait behind a write that waits
#: for a lock.
OURS = Lane("ours")
#: For reads at each selection: one thread for each read would leave a connection to the catalog
#: open.
READS = Lane("reads")
#: For the list and the note under the cursor, which must not wait for other work.
NOTES = Lane("notes")
#: For the cases of Review, which take seconds where many files must be parsed.
CASES = Lane("cases")


def away(work: Callable[[], T]) -> asyncio.Future[T]:
    """Run *work* in a thread of its own and return its future."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    threading.Thread(target=_do, args=(future, work), name="away", daemon=True).start()
    return future


def _do(future: asyncio.Future[T], work: Callable[[], T]) -> None:
    def deliver(take: Callable[[Any], None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the app has ended
            loop.call_soon_threadsafe(lambda: None if future.done() else take(what))

    loop = future.get_loop()
    try:
        result = work()
    except BaseException as error:  # the awaiting code handles it
        deliver(future.set_exception, error)
    else:
        deliver(future.set_result, result)


async def write(
    screen: Screen[Any],
    what: str,
    work: Callable[[], T],
    then: Callable[[T], object],
    failed: Callable[[Exception], object],
) -> None:
    """Run *work* after all earlier writes, then continue as ``attend`` does.

    A user who leaves the working screen sees that the write goes on.
    """
    await attend(screen, what, WRITES.run(work), then, failed, is_write=True)


async def read(
    screen: Screen[Any],
    what: str,
    work: Callable[[], T],
    then: Callable[[T], object],
    failed: Callable[[Exception], object],
    left: Callable[[], object] | None = None,
) -> None:
    """Run *work* in a thread of its own, then continue as ``attend`` does."""
    await attend(screen, what, away(work), then, failed, left)


async def attend(
    screen: Screen[Any],
    what: str,
    future: asyncio.Future[T],
    then: Callable[[T], object],
    failed: Callable[[Exception], object],
    left: Callable[[], object] | None = None,
    *,
    is_write: bool = False,
) -> None:
    """Call *then* with the result of *future*, or *failed* with its exception.

    It is awaited within a key's action, so later keys wait. When it takes longer than a moment, a
    screen shows what is running and keys work again: escape leaves it. Other keys are passed on
    at the end, if all went well and *screen* and its focus are still the same. Keys of the action
    that waits are not: an impatient second `d` deletes nothing. The result of a read that was left
    is dropped, and *left* is called. A write goes on, and *then* is called when it is done.
    """

    def settle(done: asyncio.Future[T]) -> None:
        error = done.exception()
        if error is None:
            then(done.result())
        elif isinstance(error, Exception):
            failed(error)
        else:
            raise error

    await asyncio.wait([future], timeout=SHOWN_AFTER_S)
    if future.done():
        settle(future)
        return

    def closed(is_done: bool | None) -> None:
        if is_done:
            settle(future)
            is_same = screen.app.screen is screen and screen.focused is focused
            for key in working.keys if is_same and future.exception() is None else ():
                found = screen.active_bindings.get(key.key)
                if found is None or found.binding.action != action:
                    screen.app.post_message(events.Key(key.key, key.character))
        elif is_write:
            screen.app.notify(f"{what} goes on by itself")
            future.add_done_callback(lambda done: screen.call_later(settle, done))
        else:
            future.cancel()
            if left is not None:
                left()

    focused, action = screen.focused, ACTION.get()
    working = WorkingScreen(what, future, is_write=is_write)
    screen.app.push_screen(working, closed)


class WorkingScreen(ModalScreen[bool]):
    """Shows what is running and for how long.

    Dismisses with whether the user waited for the end.

    Attributes:
        keys: what was typed meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="working.leave", priority=True),
        Binding("q,ctrl+q", "app.quit", "Quit", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    WorkingScreen { align: center middle; background: $background 60%; }
    WorkingScreen > Static { width: auto; max-width: 90%; padding: 1 3; background: $surface; }
    """

    def __init__(self, what: str, future: asyncio.Future[Any], *, is_write: bool) -> None:
        super().__init__()
        self._what, self._future, self._is_write = what, future, is_write
        self._began = time.monotonic()
        self.keys: list[events.Key] = []

    def on_key(self, event: events.Key) -> None:
        """Keep the key for the screen below."""
        self.keys.append(event)
        event.stop()

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(markup=False)

    def on_mount(self) -> None:
        """Show the elapsed time, and wait for the result."""
        self._show_elapsed()
        self.set_interval(1, self._show_elapsed)
        self._future.add_done_callback(lambda _: self.call_later(self._done))

    def _show_elapsed(self) -> None:
        leaves = "escape lets it go on by itself" if self._is_write else "escape leaves it"
        self.query_one(Static).update(
            f"{self._what} … {time.monotonic() - self._began:.0f} s · {leaves}"
        )

    def _done(self) -> None:
        if self.app.screen is self and self._future.done() and not self._future.cancelled():
            self.dismiss(True)

    def on_screen_resume(self) -> None:
        """Close if the work has ended meanwhile."""
        self._done()  # it ended while another screen covered this one

    def action_leave(self) -> None:
        """Leave the screen; the work may go on."""
        self.dismiss(False)
