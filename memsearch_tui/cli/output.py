"""What commands print: JSON for programs, or text for people.

A command states both forms. With ``--json`` only the value of ``emit`` is printed, without it only
what ``echo`` and ``say`` get, which are parameters of ``emit``, too; a ``remark`` is printed in any
case. ``terminal`` prints; this module has the parts that need click or msgspec.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from memsearch_engine import shown

from memsearch_tui.cli import terminal
from memsearch_tui.cli.terminal import SCHEMA_VERSION, beside, clip, colors, safe, style, width
from memsearch_tui.cli.terminal import say as remark

__all__ = [
    "SCHEMA_VERSION",
    "Progress",
    "beside",
    "clip",
    "colors",
    "confirm",
    "diff",
    "echo",
    "echo_each",
    "emit",
    "exit_code",
    "is_json",
    "json_mode",
    "remark",
    "safe",
    "say",
    "say_each",
    "say_shortfall",
    "style",
    "width",
]


_mode = {"json": False}


def is_json() -> bool:
    """Return whether the running command prints JSON."""
    return _mode["json"]


@contextmanager
def json_mode(wanted: bool) -> Iterator[None]:
    """Print JSON within the block if *wanted*, or if a calling command prints JSON."""
    before = _mode["json"]
    _mode["json"] = before or wanted
    try:
        yield
    finally:
        _mode["json"] = before


def emit(value: Any, *, echo: str | Iterable[str] = (), say: str | Iterable[str] = ()) -> None:
    """Print a result.

    Args:
        value: with ``--json``, structs included; an object gets ``schema_version`` first.
        echo, say: without ``--json``, a text or lines to stdout, then as remarks to stderr.
    """
    if is_json():
        if isinstance(value, msgspec.Struct):
            value = msgspec.structs.asdict(value)
        terminal.print_json(msgspec.to_builtins(value, str_keys=True))
    echo_each([echo] if isinstance(echo, str) else echo)
    say_each([say] if isinstance(say, str) else say)


def echo(text: str = "", *, nl: bool = True) -> None:
    """Without ``--json``, print *text* to stdout. *nl*: end with a newline."""
    if not is_json():
        terminal.echo(text, nl=nl)


def echo_each(lines: Iterable[str]) -> None:
    """Without ``--json``, print each of *lines* to stdout."""
    for line in lines:
        echo(line)


def say(text: str) -> None:
    """Without ``--json``, print a remark to stderr."""
    if not is_json():
        remark(text)


def say_each(lines: Iterable[str]) -> None:
    """Without ``--json``, print each of *lines* as a remark to stderr."""
    for line in lines:
        say(line)


def diff(before: bytes | None, after: bytes | None, context: int = 3) -> list[str]:
    """Return the lines of a unified diff of two texts.

    Args:
        context: unchanged lines around each change.
    """
    import difflib

    old, new = ((text or b"").decode("utf-8", "replace").splitlines() for text in (before, after))
    return list(difflib.unified_diff(old, new, "before", "after", lineterm="", n=context))


def exit_code(found: object, nothing: str) -> int:
    """Return the exit code of a command that lists *found*; if that is empty, say *nothing*."""
    if not found:
        say(nothing)
    return 0 if found else 1


def say_shortfall(memory: Any) -> None:
    """Print why a list is incomplete: the registry or a file of notes cannot be read here."""
    if memory.shortfall and memory.projects is not None:
        remark(f"note: this project only: {safe(memory.shortfall)}")
    for path, why in memory.files.unreadable():
        if os.path.lexists(path):  # a project may have no folder of notes yet
            remark(f"note: {safe(path)} can't be read: {safe(why)}")


def confirm(question: str, yes: bool) -> None:
    """Ask a question. Without a terminal, only ``--yes`` continues."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this asks before it acts: pass --yes")
    click.confirm(shown(question), abort=True, err=True)


class Progress:
    """A progress line on stderr within a ``with`` block.

    It appears only on a terminal, and only after half a second.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = False
        self._tty = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, state: dict[str, Any]) -> None:
        """Show a progress report of the service."""
        if not self._tty or time.monotonic() - self._start < 0.5:
            return
        done, total = state.get("done", 0), state.get("total", 0)
        share = f"{done}/{total}" if total else ""
        phase, project = (shown(str(state.get(key, ""))) for key in ("phase", "project"))
        sys.stderr.write(f"\r\x1b[K{phase} {project} {share}")
        sys.stderr.flush()
        self._shown = True

    def show(self, phase: str, done: int, total: int) -> None:
        """Show the progress of an engine command.

        Args:
            phase: the current step.
            done, total: finished units and all units.
        """
        self({"phase": phase, "done": done, "total": total})

    def close(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
