"""Prints to the terminal with the standard library alone: text, styles, JSON and failures.

Text of notes cannot act on the terminal, because every text passes through ``echo``.
"""

from __future__ import annotations

import contextlib
import os
import sys

from memsearch_engine import plain, shown

try:
    from _json import encode_basestring
except ImportError:  # an interpreter without the C module
    from json.encoder import encode_basestring

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1
_MIN_WIDTH, _DEFAULT_WIDTH, _MAX_WIDTH = 20, 100, 200
_LEAST_ROOM = 20  # columns of a title
#: Characters of the longest line on stderr, and of the beginning and the end of a longer one: an
#: overlong argument is not repeated whole.
_LONGEST_LINE, _HEAD, _TAIL = 800, 500, 250
#: Role of a text -> its SGR parameters (ECMA-48, 8.3.117): all colours of the command line.
_ROLES = {
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
#: ``style`` writes a private character for a role, and ``echo`` replaces it with the escape
#: sequence. No other text can bring a sequence to the terminal. The lower private plane is not
#: used, because fonts draw icons there.
_FIRST, _END = 0x10FF01, chr(0x10FF00)
_SIGNS = {role: chr(_FIRST + number) for number, role in enumerate(_ROLES)}
#: Characters that JSON leaves as they are and a terminal acts on: C1 controls, DEL, bidirectional
#: marks, line separators.
_ACTIVE = {
    code: f"\\u{code:04x}"
    for span in (
        (0x7F, 0xA0),
        (0x61C, 0x61D),
        (0x200E, 0x2010),
        (0x2028, 0x202F),
        (0x2066, 0x206A),
        (0xFEFF, 0xFF00),
    )
    for code in range(*span)
}


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print *text* to stdout or stderr. Only the styles of ``style`` become escape sequences.

    Args:
        err: print to stderr.
        nl: end with a newline.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return
    text = styled(shortened(text) if err else text, is_colored=stream.isatty())
    stream.write(f"{text}\n" if nl else text)
    stream.flush()


def styled(text: str, *, is_colored: bool) -> str:
    """Return *text* in a form that is safe for a terminal.

    Control characters become visible marks. Roles become escape sequences, or nothing if
    *is_colored* is false.
    """
    text = shown(text)
    if text.isascii() or _END not in text:
        return text
    for role, sign in _SIGNS.items():
        text = text.replace(sign, f"\x1b[{_ROLES[role]}m" if is_colored else "")
    return text.replace(_END, "\x1b[0m" if is_colored else "")


def shortened(text: str) -> str:
    """Return *text* without the middle of each line that is too long for a message."""
    if len(text) <= _LONGEST_LINE:
        return text
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:_HEAD]} … {line[-_TAIL:]}"
        for line in text.split("\n")
    )


def say(text: str) -> None:
    """Print a remark for a person to stderr; stdout has only data.

    A full stderr fails no command: its work is done, and a retry would repeat it.
    """
    try:
        echo(text, err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # else the flush at the exit fails, too


def print_json(value: object) -> None:
    """Print plain values as JSON with an indent of two; an object gets ``schema_version`` first."""
    if isinstance(value, dict):
        value = {"schema_version": SCHEMA_VERSION, **value}
    sys.stdout.write(to_json(value).translate(_ACTIVE) + "\n")
    sys.stdout.flush()


def to_json(value: object) -> str:
    """Return *value* as indented JSON in the format of ``msgspec.json.format``.

    Raises:
        TypeError: it contains a type other than dict, list, str, numbers, bool and None.
    """
    parts: list[str] = []

    def write(value: Any, indent: str) -> None:
        if isinstance(value, str):
            parts.append(encode_basestring(value))
        elif value is None or value is True or value is False:
            parts.append("null" if value is None else "true" if value else "false")
        elif isinstance(value, int):
            parts.append(str(value))
        elif isinstance(value, float):
            parts.append(_number(value))
        elif isinstance(value, (list, tuple)):
            rows(((None, item) for item in value), "[]", indent) if value else parts.append("[]")
        elif isinstance(value, dict):
            rows(value.items(), "{}", indent) if value else parts.append("{}")
        else:
            raise TypeError(f"{type(value).__name__} is no JSON value")

    def rows(items: Any, brackets: str, indent: str) -> None:
        inner, before = indent + "  ", brackets[0]
        for key, item in items:
            parts.append(f"{before}\n{inner}")
            if key is not None:
                parts.append(f"{encode_basestring(key)}: ")
            write(item, inner)
            before = ","
        parts.append(f"\n{indent}{brackets[1]}")

    write(value, "")
    return "".join(parts)


def _number(value: float) -> str:
    """Return a float in its shortest form. An exponent has no plus sign and no leading zeros, and
    is not used from 1e-5 on.
    """
    text = repr(value)
    digits, e, exponent = text.partition("e")
    if not e:
        return "null" if text in ("nan", "inf", "-inf") else text
    if exponent == "-05":
        sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{digits}e{int(exponent)}"


def safe(text: str) -> str:
    """Return text from notes and transcripts without terminal escapes and bidirectional
    overrides.
    """
    return plain(text)


def colors() -> bool:
    """Return whether stdout shows styles: a terminal that is not ``dumb``, and no ``NO_COLOR``."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def style(text: str, role: str) -> str:
    """Return *text* in the style of a role (a key of ``_ROLES``) if stdout shows colours."""
    return f"{_SIGNS[role]}{text}{_END}" if text and colors() else text


def is_read_by_a_person() -> bool:
    """Return whether stdout is a terminal, not a pipe or a file."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def is_interactive() -> bool:
    """Return whether a screen can be shown: stdin and stdout are a terminal."""
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "") not in ("", "dumb")
    )


def page(text: str) -> None:
    """Print *text*. If it is longer than the terminal, use ``$PAGER`` (default ``less``).

    An empty PAGER, or ``cat``, prints it directly.
    """
    pager = os.environ.get("PAGER", "less -FRX")
    if not is_read_by_a_person() or pager in ("", "cat") or text.count("\n") < _rows():
        echo(text)
        return
    import shlex
    import shutil
    import subprocess

    command = shlex.split(pager)
    if not command or not (program := shutil.which(command[0])):
        echo(text)
        return
    environment = {"LESS": "-FRX", **os.environ}
    data = (styled(text, is_colored=colors()) + "\n").encode("utf-8", "replace")
    subprocess.run([program, *command[1:]], input=data, env=environment, check=False)


def _rows() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines - 2
    except (ValueError, OSError):
        return 22


def width() -> int:
    """Return the columns of the terminal, 20 to 200; 100 without a terminal. COLUMNS overrides
    it.
    """
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
        except (ValueError, OSError):
            columns = 0
    return max(_MIN_WIDTH, min(columns or _DEFAULT_WIDTH, _MAX_WIDTH))


def cells(text: str) -> int:
    """Return the columns of *text*: wide characters take two (UAX 11)."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def clip(text: str, room: int) -> str:
    """Return *text* on one line of at most *room* columns."""
    line = " ".join(safe(text).split())
    if cells(line) <= room:
        return line
    line = line[: max(0, room)]
    while line and cells(line) >= room:
        line = line[:-1]
    return line + "…"


def beside(head: str, text: str, most: int = _MAX_WIDTH) -> str:
    """Return a line: *head*, and *text* in the columns of the terminal that remain.

    Args:
        head: text without styles; it is never cut.
        most: columns of *text* in a wide terminal. It has at least 20 in a narrow one.
    """
    return head + clip(text, min(most, max(_LEAST_ROOM, width() - cells(head))))


def report(error: BaseException, arguments: list[str]) -> int:
    """Print an error of the operating system, or an interruption, and return the exit code.

    Raises:
        BaseException: *error* itself, if it is of another kind.
    """
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return 130
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader closed the pipe: no error
        return 0
    if isinstance(error, UnicodeEncodeError):
        what = f"{error.object[:80]!r} is not UTF-8"
        say(f"error: {what}")
        report_json(arguments, what, "", 2)
        return 2
    if isinstance(error, MemoryError):
        what = f"there is not enough memory for this{f': {error}' if error.args else ''}"
        say(f"error: {what}")
        report_json(arguments, what, "", 3)
        return 3
    if isinstance(error, OSError):
        what = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
        say(f"error: {what}")
        with contextlib.suppress(OSError):  # perhaps it is stdout that cannot be written
            report_json(arguments, what, "", 3)
        return 3
    raise error


def report_json(arguments: list[str], message: str, hint: str, code: int) -> None:
    """Print an error as JSON on stdout too, so that a program need not read prose."""
    if "--json" in arguments:
        print_json({"error": shortened(message), "hint": shortened(hint), "exit_code": code})
