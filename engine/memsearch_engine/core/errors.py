"""Errors that a person may see, and the exit code of each.

MemsearchError
├── UsageError      2  the call is wrong
├── NotFound        1  nothing has that name
├── Unreachable     3  something needed cannot be reached or written
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
    """The call is wrong: an argument, an option, or their combination."""

    exit_code = 2


class NotFound(MemsearchError):
    """Nothing has that name."""

    exit_code = 1


class Unreachable(MemsearchError):
    """Something that is needed can't be reached, read or written."""


class SettingsError(MemsearchError):
    """A settings file is wrong. The message names the file, line and key."""

    exit_code = 2


class Conflict(MemsearchError):
    """The note has changed since the caller read it.

    Attributes:
        expected: the text that the caller read, if known.
        current: the text now, if known.
    """

    exit_code = 4

    def __init__(
        self, message: str, hint: str = "", *, expected: str = "", current: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.expected = expected
        self.current = current
