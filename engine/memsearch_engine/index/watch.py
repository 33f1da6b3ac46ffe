"""Watch folders, and report a change once no more events arrive for a short time.

Editors save by writing, by renaming a temporary file over the old one, or by moving it away first.
Every kind of event under a root therefore counts, and ``scan`` finds by content what has changed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from memsearch_engine.journal.files import MARKDOWN

_QUIET = {"opened", "closed_no_write"}


class Watcher(FileSystemEventHandler):
    """Reports changes under folders.

    Attributes:
        problems: folder -> why it can't be watched.
    """

    def __init__(self, changed: Callable[[str], None], debounce_s: float) -> None:
        """Start watching nothing.

        Args:
            changed: called with the key of a root, from another thread, after its last event.
            debounce_s: seconds without events before the call.
        """
        self._changed = changed
        self._debounce = debounce_s
        self._observer = Observer()
        self._roots: dict[str, str] = {}  # folder -> key
        self._watches: dict[str, object] = {}
        self._inodes: dict[str, int] = {}
        self._timers: dict[str, threading.Timer] = {}  # key -> until its next report
        self._last_events: dict[str, float] = {}  # key -> time
        self._lock = threading.Lock()
        self.problems: dict[str, str] = {}
        self._observer.start()

    def add(self, key: str, root: str) -> bool:
        """Watch *root*, and watch it again if it was removed and created again.

        Returns:
            Whether its files must be scanned, because the watch is new or the root is gone.
        """
        root = os.path.realpath(root)
        try:
            inode = os.stat(root).st_ino if os.path.isdir(root) else 0
        except OSError:
            inode = 0
        with self._lock:
            if self._inodes.get(root, 0) == inode and (root in self._watches) == bool(inode):
                return False
            if watch := self._watches.pop(root, None):
                with contextlib.suppress(KeyError, OSError):
                    self._observer.unschedule(watch)  # type: ignore[arg-type]
            self._inodes[root] = inode
            if not inode:
                self._roots.pop(root, None)
                return True
            try:
                self._watches[root] = self._observer.schedule(self, root, recursive=True)
            except OSError as error:  # out of inotify watches
                self.problems[root] = error.strerror or str(error)
                return True
            self._roots[root] = key
            self.problems.pop(root, None)
            return True

    def remove(self, root: str) -> None:
        """Stop watching *root*."""
        root = os.path.realpath(root)
        with self._lock:
            watch = self._watches.pop(root, None)
            for known in (self._roots, self._inodes, self.problems):
                known.pop(root, None)
        if watch is not None:
            with contextlib.suppress(KeyError, OSError):
                self._observer.unschedule(watch)  # type: ignore[arg-type]

    def roots(self) -> list[str]:
        """Return the folders that are watched."""
        return sorted(self._roots)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Record an event. watchdog calls it from its own thread."""
        if event.event_type in _QUIET:
            return
        if event.is_directory and event.event_type in ("deleted", "moved"):
            # a new folder may get the same inode, so it is removed here and `add` watches it again
            with self._lock:
                self._inodes.pop(os.fsdecode(event.src_path), None)
        for path in (event.src_path, event.dest_path):
            name = os.fsdecode(path) if path else ""
            if name and (event.is_directory or name.lower().endswith(MARKDOWN)):
                self._touch(name)

    def _touch(self, path: str) -> None:
        with self._lock:
            keys = {
                key
                for root, key in self._roots.items()
                if path == root or path.startswith(root + os.sep)
            }
            for key in keys:
                self._last_events[key] = time.monotonic()
                if key not in self._timers:
                    self._start_timer(key, self._debounce)

    def _start_timer(self, key: str, wait_s: float) -> None:
        timer = self._timers[key] = threading.Timer(wait_s, self._fire, (key,))
        timer.daemon = True
        timer.start()

    def _fire(self, key: str) -> None:
        with self._lock:
            wait_s = self._last_events[key] + self._debounce - time.monotonic()
            if wait_s > 0:  # there were more events
                self._start_timer(key, wait_s)
                return
            del self._timers[key]
        self._changed(key)

    def stop(self) -> None:
        """Stop watching, and drop changes that were not reported yet."""
        with self._lock:
            for timer in self._timers.values():
                timer.cancel()
        self._observer.stop()
        self._observer.join(5)
