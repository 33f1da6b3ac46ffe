"""The line above the footer: one message at a time, over a lasting text."""

from __future__ import annotations

from functools import partial

from memsearch_engine import shown_line
from rich.cells import cell_len
from textual.widgets import Static

MESSAGE_S = 8.0


class StatusLine(Static):
    """Shows the first that exists: a passing message, a remark about the query, the service's
    state.
    """

    def __init__(self) -> None:
        super().__init__("", id="status", markup=False)
        self._message = self._remark = self._service = ""
        self._about: object = None
        self._number = 0
        self._written = ""

    def say(self, text: str, *, for_s: float = MESSAGE_S, about: object = None) -> None:
        """Show a message for *for_s* seconds.

        Args:
            about: the subject of the message; see ``forget_unless``.
        """
        self._number += 1
        self._message, self._about = text, about
        self._write()
        if text and self.is_attached:
            self.set_timer(for_s, partial(self._end, self._number))

    def forget_unless(self, subject: object) -> None:
        """Hide a message that is about something other than *subject*."""
        if self._about is not None and self._about != subject:
            self._end(self._number)

    def set_service(self, text: str) -> None:
        """Set the text about the service's state, until the next call."""
        self._service = text
        self._write()

    def set_remark(self, text: str) -> None:
        """Set the remark on how the query was read and answered, until the next call."""
        self._remark = text
        self._write()

    def _end(self, number: int) -> None:
        if number == self._number:
            self._message, self._about = "", None
            self._write()

    def _write(self) -> None:
        text = shown_line(self._message or self._remark or self._service)
        if text != self._written and self.is_attached:
            width = max(1, self.size.width - 2)
            lines = [cell_len(text) > width for text in (text, self._written)]
            self._written = text
            self.update(text, layout=any(lines))
