"""What commands print: JSON for programs, calm text for people, nothing that a note could use against the terminal."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import msgspec
from memsearch_engine.journal.text import plain

SCHEMA_VERSION = 1


def emit(value: Any) -> None:
    """Print *value* as JSON; an object gets ``schema_version`` first."""
    if isinstance(value, dict):
        value = {"schema_version": SCHEMA_VERSION, **value}
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(data.decode("utf-8", "replace"))


def say(text: str) -> None:
    """Talk to the person: stderr, so that stdout stays data."""
    click.echo(text, err=True)


def half(memory: Any) -> None:
    """Say why a list is shorter than it could be (the registry can't be read here)."""
    if memory.note and memory.projects is not None:
        say(f"note: this project only: {safe(memory.note)}")


def safe(text: str) -> str:
    """Text from notes and transcripts without terminal escapes and bidirectional overrides."""
    return plain(text)


def colors() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def style(text: str, **kwargs: Any) -> str:
    return click.style(text, **kwargs) if colors() else text


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
    click.confirm(question, abort=True, err=True)


class Progress:
    """A progress line on stderr, only on a terminal and only for what takes longer than half a second."""

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
        sys.stderr.write(f"\r\x1b[K{state.get('phase', '')} {state.get('project', '')} {share}")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
