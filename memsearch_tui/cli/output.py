"""What commands print: JSON for programs, text for people.

``terminal`` prints; this module has the parts that need click or msgspec.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import msgspec
from memsearch_engine import shown

from memsearch_tui.cli.terminal import (
    SCHEMA_VERSION,
    beside,
    clip,
    colors,
    echo,
    print_json,
    safe,
    say,
    style,
    width,
)

__all__ = [
    "SCHEMA_VERSION",
    "Progress",
    "beside",
    "clip",
    "colors",
    "confirm",
    "echo",
    "emit",
    "safe",
    "say",
    "say_shortfall",
    "style",
    "width",
]


def emit(value: Any) -> None:
    """Print *value* as JSON, structs included; an object gets ``schema_version`` first."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    print_json(msgspec.to_builtins(value, str_keys=True))


def say_shortfall(memory: Any) -> None:
    """Print why a list is incomplete: the registry cannot be read here."""
    if memory.shortfall and memory.projects is not None:
        say(f"note: this project only: {safe(memory.shortfall)}")


def confirm(question: str, yes: bool) -> None:
    """Ask a question. Without a terminal, only ``--yes`` continues."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this asks before it acts: pass --yes")
    click.confirm(shown(question), abort=True, err=True)


class Progress:
    """A progress line on stderr. It appears only on a terminal, and only after half a second."""

    def __init__(self) -> None:
        import time

        self._clock = time.monotonic
        self._start = self._clock()
        self._shown = False
        self._tty = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, state: dict[str, Any]) -> None:
        """Show a progress report of the service."""
        if not self._tty or self._clock() - self._start < 0.5:
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
