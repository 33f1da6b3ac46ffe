"""Changes of notes as they happen, whoever makes them: an agent's capture, an editor, ``git pull``.

The files are what is compared; the service only says when to look. Without one they are looked at
every second.
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
from memsearch_engine.service.answers import State
from memsearch_engine.service.connection import Connection

_LOOK_S = 1.0
_WAIT_S = 30.0
_ANSWER_S = 80.0  # what a busy service may take longer


class UpdateKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Update(msgspec.Struct, frozen=True):
    """What became of a note. ``note``: as it is now; as it last was where it was removed."""

    kind: UpdateKind
    note: Note


class _Seen(msgspec.Struct):
    stamp: tuple[int, int]
    notes: dict[str, Note]


def states(connect: Callable[[], Connection], every_s: float) -> Iterator[State]:
    """The service's state: at once, after each change of the index, and every *every_s* seconds.

    Raises:
        Unreachable: the service can't be started, or it ended.
    """
    connection, version = connect(), -1
    try:
        while True:
            state = connection.call(
                "wait", State, timeout_s=every_s + _ANSWER_S, deadline_s=every_s, version=version
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
    """What changes in *list_files* from this call on, until *timeout_s* seconds are over (None: for
    ever).
    """
    seen: dict[str, _Seen] = {}
    for _ in _look(list_files(), seen):  # what is there now is no change
        pass
    return _follow(list_files, seen, connect, timeout_s)


def _follow(
    list_files: Callable[[], list[DayFile]],
    seen: dict[str, _Seen],
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
                        "wait", State, timeout_s=left + 5, deadline_s=left, version=version
                    ).version
                except Unreachable:
                    connection.close()
                    connection, version = None, 0  # another service counts anew
            yield from _look(list_files(), seen)
    finally:
        if connection is not None:
            connection.close()


def _connected(connect: Callable[..., Connection], *, start: bool = True) -> Connection | None:
    with contextlib.suppress(Unreachable):
        return connect(start=start)
    return None


def _look(files: list[DayFile], seen: dict[str, _Seen]) -> Iterator[Update]:
    """Compare *files* with what was *seen*, which it brings up to date."""
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
        except OSError:  # being replaced, or not ours to read: looked at again
            continue
        before |= known.notes if known else {}
        now |= notes
        seen[file.path] = _Seen(stamp, notes)
    for path in seen.keys() - there:
        before |= seen.pop(path).notes
    for name, note in now.items():
        if name not in before:
            yield Update(UpdateKind.ADDED, note)
        elif before[name].hash != note.hash:
            yield Update(UpdateKind.CHANGED, note)
    for name in before.keys() - now.keys():
        yield Update(UpdateKind.REMOVED, before[name])
