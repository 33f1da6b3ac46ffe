"""Reports changes of notes as they happen, from any source: capture, an editor, ``git pull``.

Changes are found by comparing the files. The service only signals when to compare. Without a
service, the files are compared every second.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.journal.files import DayFile, read_day
from memsearch_engine.journal.note import Note
from memsearch_engine.service.answers import IndexStatus
from memsearch_engine.service.connection import Connection

_LOOK_S = 1.0
_WAIT_S = 30.0
_ANSWER_S = 80.0  # additional time for a busy service


class UpdateKind(StrEnum):
    """What happened to a note, in an ``Update`` of ``Memory.watch``."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Update(msgspec.Struct, frozen=True):
    """A change of a note.

    Attributes:
        note: the note after the change; its last version if it was removed.
    """

    kind: UpdateKind
    note: Note


class _SeenFile(msgspec.Struct):
    """A file at the last comparison: (modification time in ns, bytes), and its notes by id."""

    stamp: tuple[int, int]
    notes: dict[str, Note]


def states(connect: Callable[[], Connection], every_s: float) -> Iterator[IndexStatus]:
    """Yield the service's state now, after each change of the index, and every *every_s* seconds.

    Args:
        connect: opens a connection.

    Raises:
        Unreachable: the service can't be started, or it ended.
    """
    connection, version = connect(), -1
    try:
        while True:
            state = connection.call(
                "wait",
                IndexStatus,
                timeout_s=every_s + _ANSWER_S,
                deadline_s=every_s,
                version=version,
            )
            version = state.version
            yield state
    finally:
        connection.close()


def updates(
    list_files: Callable[[], list[DayFile]],
    connect: Callable[[], Connection],
    timeout_s: float | None,
) -> Iterator[Update]:
    """Yield the changes of notes from this call on.

    Args:
        list_files: returns the files to compare.
        connect: opens a connection to the service.
        timeout_s: seconds until the iteration ends; None for no end.
    """
    seen: dict[str, _SeenFile] = {}
    for _ in _compare(list_files(), seen):  # existing notes are not changes
        pass
    return _follow(list_files, seen, connect, timeout_s)


def _follow(
    list_files: Callable[[], list[DayFile]],
    seen: dict[str, _SeenFile],
    connect: Callable[[], Connection],
    timeout_s: float | None,
) -> Iterator[Update]:
    end = None if timeout_s is None else time.monotonic() + timeout_s
    connection, version = _connected(connect), 0
    try:
        while end is None or time.monotonic() < end:
            left = _WAIT_S if end is None else max(0.05, min(_WAIT_S, end - time.monotonic()))
            if connection is None:
                time.sleep(min(_LOOK_S, left))
                connection = _connected(connect, start=False)
            else:
                try:
                    version = connection.call(
                        "wait", IndexStatus, timeout_s=left + 5, deadline_s=left, version=version
                    ).version
                except Unreachable:
                    connection.close()
                    connection, version = None, 0  # a new service counts from zero
            yield from _compare(list_files(), seen)
    finally:
        if connection is not None:
            connection.close()


def _connected(connect: Callable[..., Connection], *, start: bool = True) -> Connection | None:
    with contextlib.suppress(Unreachable):
        return connect(start=start)
    return None


def _compare(files: list[DayFile], seen: dict[str, _SeenFile]) -> Iterator[Update]:
    """Yield the differences between *files* and *seen*, and update *seen*."""
    before: dict[str, Note] = {}
    now: dict[str, Note] = {}
    there = set()
    for file in files:
        there.add(file.path)
        known, stamp = seen.get(file.path), (file.mtime_ns, file.size)
        if known and known.stamp == stamp:
            continue
        try:
            notes = {entry.id: Note.of(entry, file.path) for entry in read_day(file.path).entries}
        except OSError:  # it is being replaced or not readable: read it the next time
            continue
        before |= known.notes if known else {}
        now |= notes
        seen[file.path] = _SeenFile(stamp, notes)
    for path in seen.keys() - there:
        before |= seen.pop(path).notes
    for name, note in now.items():
        if name not in before:
            yield Update(UpdateKind.ADDED, note)
        elif before[name].hash != note.hash:
            yield Update(UpdateKind.CHANGED, note)
    for name in before.keys() - now.keys():
        yield Update(UpdateKind.REMOVED, before[name])
