"""The errors that a person may be shown, and the exit code that each one means.

MemsearchError
├── UsageError      2  the words of the call are wrong
├── NotFound        1  nothing of that name
├── Unreachable     3  something needed can't be reached or written
├── Conflict        4  the note changed since it was read
└── SettingsError   2  a settings file is wrong (file, line and key are named)
"""

from __future__ import annotations


class MemsearchError(Exception):
    """Base of every expected failure. ``str()`` names the cause; ``hint`` names the next step."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(MemsearchError):
    exit_code = 2


class NotFound(MemsearchError):
    exit_code = 1


class Unreachable(MemsearchError):
    exit_code = 3


class SettingsError(MemsearchError):
    exit_code = 2


class Conflict(MemsearchError):
    """A note is not what the caller saw. ``expected`` and ``current`` are the two texts where they
    are known.
    """

    exit_code = 4

    def __init__(
        self, message: str, hint: str = "", *, expected: str = "", current: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.expected = expected
        self.current = current
