"""The message and exit code of a failed command. Standard library only."""

from __future__ import annotations

import os

from memsearch_tui.cli import terminal


def report(error: BaseException, arguments: list[str]) -> int:
    """Print an error of the operating system, or an interruption, and return the exit code.

    Raises:
        BaseException: *error* itself, if it is of another kind.
    """
    if isinstance(error, KeyboardInterrupt):
        terminal.say("interrupted")
        return 130
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader closed the pipe: no error
        return 0
    if isinstance(error, UnicodeEncodeError):
        terminal.say(f"error: {error.object[:80]!r} is not UTF-8")
        return 2
    if isinstance(error, MemoryError):
        what = f"there is not enough memory for this{f': {error}' if error.args else ''}"
        terminal.say(f"error: {what}")
        report_json(arguments, what, "", 3)
        return 3
    if isinstance(error, OSError):
        file = f": {error.filename}" if error.filename else ""
        terminal.say(f"error: {error.strerror or error}{file}")
        return 3
    raise error


def report_json(arguments: list[str], message: str, hint: str, code: int) -> None:
    """Print an error as JSON on stdout too, so that a program need not read prose."""
    if "--json" in arguments:
        terminal.print_json({"error": message, "hint": hint, "exit_code": code})
