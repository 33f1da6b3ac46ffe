"""Starts the process that compares notes with a repository, and waits for its answer."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from memsearch_engine.core.child_process import LineProcess
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.staleness.finding import CheckedNote, Reference

_TICK_S = 0.2
_MOST_S = 3600.0  # a history of 20,000 commits takes a minute


class NoteToCheck(msgspec.Struct):
    """A note to check.

    Attributes:
        at: when it was written, or confirmed to hold; seconds since 1970.
        branch: of its turn, or ``""``.
        references: what it names; None: find it in ``text``.
        confirmed: the owner confirmed that it holds.
    """

    entry_id: str
    hash: str
    at: float
    branch: str = ""
    references: list[Reference] | None = None
    text: str = ""
    confirmed: bool = False


class StalenessQuestion(msgspec.Struct):
    """A request to compare notes with a repository.

    Attributes:
        root: the work tree.
        common_dir: git's common directory.
        database: the file for the history of the repository.
    """

    root: str
    common_dir: str
    database: str
    notes: list[NoteToCheck]


class StalenessAnswer(msgspec.Struct):
    """An answer. ``head``: the compared commit. ``problem``: why nothing was compared."""

    head: str
    notes: list[CheckedNote]
    problem: str = ""


_Reply = StalenessAnswer | tuple[str, int, int]  # the answer, or progress: what, done, total


def moment(day: str, clock: str, marks: Mapping[str, str]) -> float:
    """Return when a note was written or confirmed (``verified``), in seconds since 1970.

    A note without a time counts as late on its day.
    """
    at = 0.0
    for stamp in (f"{day}T{clock or '23:59'}", marks.get("verified", "")):
        with contextlib.suppress(ValueError, OverflowError):
            at = max(at, datetime.fromisoformat(stamp).timestamp())
    return at


def check(
    root: str,
    common_dir: str,
    database: Path,
    notes: list[NoteToCheck],
    *,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> StalenessAnswer | None:
    """Compare notes with a repository. Returns None if *stop* returns true.

    Raises:
        Unreachable: the process could not be started, or failed.
    """
    question = StalenessQuestion(root, common_dir, str(database), notes)
    # -P: the current folder may be a stranger's repository
    argv = [sys.executable, "-P", "-m", "memsearch_engine.staleness.child"]
    try:
        child = LineProcess(argv, stderr=subprocess.STDOUT)
    except OSError as error:
        raise Unreachable(f"the repository can't be compared: {error}") from error
    end, problem = time.monotonic() + _MOST_S, "no answer"
    try:
        with contextlib.suppress(OSError):
            child.send(msgspec.json.encode(question) + b"\n")
        while time.monotonic() < end:
            line = child.line(_TICK_S)
            if stop():
                return None
            if line == b"":
                raise Unreachable(f"the repository can't be compared: {problem}")
            try:
                reply = msgspec.json.decode(line, type=_Reply) if line else ()
            except (msgspec.DecodeError, ValueError):  # what Python prints as it fails
                problem = (line or b"").decode("utf-8", "replace").strip() or problem
                continue
            if isinstance(reply, StalenessAnswer):
                return reply
            if reply:
                progress(*reply)
    finally:
        child.close()
    raise Unreachable("the repository can't be compared: it takes longer than an hour")
