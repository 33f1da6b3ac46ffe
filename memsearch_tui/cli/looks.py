"""Looks of printed text by role, and the only writer from a command to the terminal.

Only the standard library and the engine's function for safe text are imported here: the client of
the hot commands prints through this module too.
"""

from __future__ import annotations

import os
import sys

from memsearch_engine.journal.text import shown

TYPE_CHECKING = False  # `typing` costs the thin client 2 ms
if TYPE_CHECKING:
    from typing import TextIO

#: Role -> parameters of the SGR escape (ECMA-48, 8.3.117). Every colour of the command line is here.
ROLES = {
    "strong": "1",
    "dim": "2",
    "match": "1;33",
    "date": "34",
    "agent": "36",
    "id": "35",
    "good": "32",
    "warn": "33",
    "bad": "31",
}
#: ``styled`` writes private signs; ``finished`` turns them into escapes. No other text can bring an
#: escape to the terminal.
_FIRST, _END = 0x10FF01, chr(0x10FF00)
_SIGNS = {role: chr(_FIRST + number) for number, role in enumerate(ROLES)}


def styled(role: str, text: str) -> str:
    """*text* marked with a role. It becomes a colour where the output has colours."""
    return f"{_SIGNS[role]}{text}{_END}" if text else text


def has_colors(stream: TextIO | None = None) -> bool:
    """Whether a stream (standard output by default) shows colours: a terminal, no ``NO_COLOR``."""
    stream = stream or sys.stdout
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def finished(text: str, colors: bool) -> str:
    """*text* as it may reach a terminal: controls are visible marks, roles are escapes or nothing.

    Args:
        colors: whether roles become escapes; else they are left out.
    """
    text = shown(text)
    if text.isascii():
        return text
    for role, sign in _SIGNS.items():
        text = text.replace(sign, f"\x1b[{ROLES[role]}m" if colors else "")
    return text.replace(_END, "\x1b[0m" if colors else "")


def width() -> int:
    """Columns to print in: those of the terminal, from 40 to 200; 100 where there is none."""
    import shutil

    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 200))


def write(lines: list[tuple[str, str]]) -> None:
    """Print what ``render`` made: pairs of a stream (``out`` or ``err``) and a text of one or more
    lines. The order stays the same on a terminal that shows both.
    """
    for name, text in lines:
        stream = sys.stdout if name == "out" else sys.stderr
        if name == "err":
            sys.stdout.flush()
        stream.write(finished(text, has_colors(stream)) + "\n")
    sys.stdout.flush()
