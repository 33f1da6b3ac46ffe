"""Starts the process that compares notes with a repository, and waits for its answer."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

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
    """An answer. ``head``: the compared commit. ``problem``: why nothing can be said."""

    head: str
    notes: list[CheckedNote]
    problem: str = ""


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
    """Compare notes with a repository. Returns None if *stop* said so.

    Raises:
        Unreachable: the process could not be started, or failed.
    """
    question = msgspec.json.encode(StalenessQuestion(root, common_dir, str(database), notes))
    try:
        child = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "memsearch_engine.staleness.child",
            ],  # -P: the current folder may be a stranger's repository
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
            start_new_session=True,
        )
    except OSError as error:
        raise Unreachable(f"the repository can't be compared: {error}") from error
    errors: list[str] = []
    answer: list[bytes] = []

    def listen() -> None:
        assert child.stderr is not None
        for line in child.stderr:
            try:
                what, done, total = msgspec.json.decode(line, type=tuple[str, int, int])
                progress(what, done, total)
            except (msgspec.DecodeError, ValueError):
                errors.append(line.decode("utf-8", "replace").strip())

    def send() -> None:
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(question + b"\n")
            child.stdin.flush()  # left open: where this process ends, the other one reads it there
        answer.append(child.stdout.read())

    threads = [threading.Thread(target=work, daemon=True) for work in (listen, send)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + _MOST_S
    try:
        while threads[1].is_alive():
            threads[1].join(_TICK_S)
            if stop():
                return None
            if time.monotonic() > end:
                raise Unreachable("the repository can't be compared: it takes longer than an hour")
    finally:
        if child.poll() is None and threads[1].is_alive():
            child.kill()
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()  # type: ignore[union-attr]
        child.wait()
        for thread in threads:
            thread.join(_TICK_S)
    try:
        return msgspec.json.decode(answer[0], type=StalenessAnswer)
    except (IndexError, msgspec.DecodeError) as error:
        raise Unreachable(
            f"the repository can't be compared: {errors[-1] if errors else 'no answer'}"
        ) from error
