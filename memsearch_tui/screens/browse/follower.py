"""A thread that follows the changes that the service reports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import memsearch_engine as engine
from memsearch_engine import MemsearchError

from memsearch_tui.screens.browse.desk import Desk

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
