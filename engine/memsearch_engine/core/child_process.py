"""A child process that answers in lines."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Sequence
from typing import Any


class LineProcess:
    """A running child process that reads from stdin and answers in lines on stdout.

    It has a process group of its own, which ``close`` ends.
    """

    def __init__(self, argv: Sequence[str], **options: Any) -> None:
        """Start the process. *options* are those of ``subprocess.Popen``. Raises OSError."""
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            **options,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(b"")

    def send(self, data: bytes) -> None:
        """Write to its stdin. Raises OSError if it reads no more."""
        assert self._process.stdin
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def line(self, timeout_s: float) -> bytes | None:
        """Return its next line, ``b""`` at the end of its output; None if *timeout_s* passed."""
        try:
            return self._lines.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None

    def close(self, grace_s: float = 0.0) -> None:
        """Close its stdin, wait up to *grace_s*, then kill its process group."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
