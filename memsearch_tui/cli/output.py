"""What commands print: JSON for programs, calm text for people, nothing that a note could use
against the terminal.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import click
import msgspec
from memsearch_engine import plain, shown

SCHEMA_VERSION = 1


#: Signs that JSON lets stand and a terminal would act on; inside strings they can be written as
#: escapes.
_ACTS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
#: Looks by number: ``style`` writes a private sign, ``echo`` turns it into the escape. Nothing else
#: gets one to the terminal.
_LOOKS: list[str] = []
_FIRST_LOOK, _NO_LOOK = 0xF0001, chr(0xF0000)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print: the only way from a command to the terminal. Whatever stands in *text*, only looks of
    ours become escapes.
    """
    text = shown(text)
    for number, look in enumerate(_LOOKS):
        text = text.replace(chr(_FIRST_LOOK + number), look)
    if _LOOKS:
        text = text.replace(_NO_LOOK, "\x1b[0m")
    click.echo(text, err=err, nl=nl)


def emit(value: Any) -> None:
    """Print *value* (also a struct) as JSON; an object gets ``schema_version`` first."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        value = {"schema_version": SCHEMA_VERSION, **value}
    data = msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")
    click.echo(_ACTS.sub(lambda match: f"\\u{ord(match[0]):04x}", data))


def say(text: str) -> None:
    """Talk to the person: stderr, so that stdout stays data."""
    echo(text, err=True)


def say_shortfall(memory: Any) -> None:
    """Say why a list is shorter than it could be (the registry can't be read here)."""
    if memory.shortfall and memory.projects is not None:
        say(f"note: this project only: {safe(memory.shortfall)}")


def safe(text: str) -> str:
    """Text from notes and transcripts without terminal escapes and bidirectional overrides."""
    return plain(text)


def colors() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def style(text: str, **kwargs: Any) -> str:
    if not colors():
        return text
    look = click.style("", reset=False, **kwargs)
    if look not in _LOOKS:
        _LOOKS.append(look)
    return f"{chr(_FIRST_LOOK + _LOOKS.index(look))}{text}{_NO_LOOK}"


def width() -> int:
    import shutil

    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 200))


def clip(text: str, room: int) -> str:
    """*text* on one line of at most *room* columns."""
    line = " ".join(safe(text).split())
    return line if len(line) <= room else line[: room - 1] + "…"


def confirm(question: str, yes: bool) -> None:
    """Ask; without a terminal to ask on, only ``--yes`` goes ahead."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this asks before it acts: pass --yes")
    click.confirm(shown(question), abort=True, err=True)


class Progress:
    """A progress line on stderr, only on a terminal and only for what takes longer than half a
    second.
    """

    def __init__(self) -> None:
        import time

        self._clock = time.monotonic
        self._start = self._clock()
        self._shown = False
        self._tty = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, state: dict[str, Any]) -> None:
        if not self._tty or self._clock() - self._start < 0.5:
            return
        done, total = state.get("done", 0), state.get("total", 0)
        share = f"{done}/{total}" if total else ""
        sys.stderr.write(
            f"\r\x1b[K{shown(str(state.get('phase', '')))} {shown(str(state.get('project', '')))} {share}"
        )
        sys.stderr.flush()
        self._shown = True

    def told(self, phase: str, done: int, total: int) -> None:
        """The same, as the engine's verbs report."""
        self({"phase": phase, "done": done, "total": total})

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
