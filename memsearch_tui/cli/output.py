"""What commands print: JSON for programs, text for people. ``terminal`` does the printing; here is
what needs click or msgspec.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import msgspec
from memsearch_engine import shown

<<<<<<< HEAD
from memsearch_tui.cli.terminal import (
    SCHEMA_VERSION,
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
=======
from memsearch_tui.cli import looks

SCHEMA_VERSION = 1


#: Signs that JSON lets stand and a terminal would act on; inside strings they can be written as
#: escapes.
_ACTS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print: the only way from a command to the terminal. Only roles of ours become escapes."""
    stream = sys.stderr if err else sys.stdout
    click.echo(looks.finished(text, looks.has_colors(stream)), err=err, nl=nl, color=True)
>>>>>>> 8b5c40e (Hot commands print through one function of plain values; colours by role in one module)


def emit(value: Any) -> None:
    """Print *value* (structs, too) as JSON; an object gets ``schema_version`` first."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    print_json(msgspec.to_builtins(value, str_keys=True))


def say_shortfall(memory: Any) -> None:
    """Say why a list is shorter than it could be (the registry can't be read here)."""
    if memory.shortfall and memory.projects is not None:
        say(f"note: this project only: {safe(memory.shortfall)}")


<<<<<<< HEAD
=======
def safe(text: str) -> str:
    """Text from notes and transcripts without terminal escapes and bidirectional overrides."""
    return plain(text)


def style(text: str, *, bold: bool = False, dim: bool = False, fg: str | None = None) -> str:
    """*text* with the role of a title (bold), of a detail (dim) or of a colour's meaning."""
    role = {"yellow": "warn", "red": "bad", "green": "good"}.get(
        fg or "", "dim" if dim else "strong"
    )
    return looks.styled(role, text) if bold or dim or fg else text


def width() -> int:
    """Columns to print in."""
    return looks.width()


def is_shown() -> bool:
    """Whether a person reads standard output: a terminal, not a pipe or a file."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def page(lines: list[tuple[str, str]]) -> None:
    """Print lines of ``render``; on a terminal that they overflow, through ``$PAGER``."""
    import shutil

    text = "\n".join(text for name, text in lines if name == "out")
    rows = shutil.get_terminal_size().lines
    if not is_shown() or text.count("\n") < rows - 1 or os.environ.get("PAGER") in ("", "cat"):
        looks.write(lines)
        return
    os.environ.setdefault("LESS", "-FRX")
    colors = looks.has_colors(sys.stdout)
    click.echo_via_pager(looks.finished(text, colors) + "\n", color=colors)
    looks.write([line for line in lines if line[0] == "err"])


def clip(text: str, room: int) -> str:
    """*text* on one line of at most *room* columns."""
    line = " ".join(safe(text).split())
    return line if len(line) <= room else line[: room - 1] + "…"


>>>>>>> 8b5c40e (Hot commands print through one function of plain values; colours by role in one module)
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
