"""Textual's driver for Linux and macOS, made to end the app when its terminal is closed.

After a closed window or a dropped connection, reads return nothing or fail, and writes fail.
Textual then reads without a pause, its writer thread ends, and the app blocks at the writer's full
queue. SIGHUP alone does not help: it may be ignored (``nohup``), and it is only sent to the
processes of a controlling terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import select
import signal
import struct
import termios
import threading
from collections.abc import Callable
from typing import Any

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

#: Exit code of a shell's command that SIGHUP ended.
_CLOSED = 128 + signal.SIGHUP
#: Seconds from a closed terminal to the end of the process, whatever it is doing. Files are written
#: atomically, so an interrupted write leaves the old file.
_LEAVE_S = 15.0


class TerminalDriver(LinuxDriver):
    """Quits the app when the terminal is closed, and at SIGHUP and SIGTERM."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        output: Any = _TerminalFile(self._file)
        self._file = output
        self._ending = threading.Event()
        self._typed_before = 0  # bytes of whole lines that were typed before the app read keys
        if self.input_tty:
            threading.Thread(target=self._watch, name="terminal", daemon=True).start()

    def start_application_mode(self) -> None:
        """Prepare the terminal, and handle the signals that end the app."""
        with contextlib.suppress(OSError):
            waiting = fcntl.ioctl(self.fileno, termios.FIONREAD, bytes(4))
            self._typed_before = struct.unpack("i", waiting)[0]
        start: Callable[[], None] = super().start_application_mode
        start()
        for number in (signal.SIGHUP, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._end)

    def _get_terminal_size(self) -> tuple[int, int]:
        """Return columns and rows of the terminal; COLUMNS and LINES count where it has none.

        Textual asks the variables first. A shell that exports them passes on the size of another
        window, or of this one before it was resized.
        """
        with contextlib.suppress(OSError):
            columns, rows = os.get_terminal_size(self.fileno)
            if columns and rows:
                return columns, rows
        size: tuple[int, int] = super()._get_terminal_size()
        return size

    def process_message(self, message: Message) -> None:
        """Pass a key on. Until the app reads keys, the terminal makes a line feed of enter."""
        if self._typed_before > 0 and isinstance(message, events.Key):
            self._typed_before -= 1
            if message.key == "ctrl+j":
                message = events.Key("enter", "\r")
        super().process_message(message)

    def run_input_thread(self) -> None:
        """Read keys until the terminal is closed."""
        try:
            super().run_input_thread()
        except OSError:  # EIO: the terminal is closed
            self._end()

    def _watch(self) -> None:
        """Wait until the terminal is closed, then end the app."""
        hangup = select.poll()
        hangup.register(self.fileno, 0)  # a hangup is reported in any case
        for _, flags in hangup.poll():
            if not flags & select.POLLNVAL:  # it means that this system cannot wait for terminals
                self._end()

    def _end(self) -> None:
        """Quit the app; it saves what was typed. End the process if that takes too long."""
        if self._ending.is_set():
            return
        self._ending.set()
        last = threading.Timer(_LEAVE_S, os._exit, [_CLOSED])
        last.daemon = True
        last.start()
        self._app.call_later(self._app.action_quit, True)


class _TerminalFile(io.TextIOBase):
    """The terminal's output, which drops all text once the terminal is closed.

    The writer thread goes on to empty its queue, so that the app never blocks at it.
    """

    def __init__(self, file: Any) -> None:
        self._to = file

    def fileno(self) -> int:
        return int(self._to.fileno())

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._to.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._to.flush()
