"""Shared copies of one's own notes: what sharing would write, writing it, what is shared, and taking it back.

A copy has the note's own words without secrets and without paths of this machine, and of its conversation the names alone. It is
written into the project's work tree, where the owner commits it like any other change: git is never run. Who wrote a copy is known
to its home, which tells sessions the note itself instead.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from memsearch_engine import repository
from memsearch_engine.capture.held import held_back
from memsearch_engine.errors import NotFound, UsageError
from memsearch_engine.journal import render, shared
from memsearch_engine.journal.files import DayFile, day_of, read_day
from memsearch_engine.journal.merge import text_key
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, Anchor, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import COPY_OF, REVIEW, SHARED
from memsearch_engine.journal.text import CleanText, shown_line
from memsearch_engine.journal.undo import read_day_file
from memsearch_engine.memory import Memory
from memsearch_engine.place import shared_beside
from memsearch_engine.secrets.scan import redact

#: Marks of a note that hold for its copy, too.
_KEPT = ("confidence", "expires", "branch", "verified")
REVIEW_DAYS = 180
_MIN_NAME = 4
#: How this home came by a shared note (``Origin``).
WRITTEN, IMPORTED = "shared", "imported"


class Change(StrEnum):
    """What sharing a note, or taking one from a pack, does."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "as it is"
    REFUSED = "refused"


class Planned(msgspec.Struct, frozen=True):
    """A note as it would be shared.

    Attributes:
        entry_id, title, day: of the note. path: the file that its copy goes to. why: where it is refused.
        lines: its copy, as it will stand there. replaced: placeholders of secrets that are left out.
    """

    entry_id: str
    title: str
    day: str
    path: str
    change: Change
    why: str = ""
    lines: list[str] = []
    replaced: tuple[str, ...] = ()


class SharedNote(msgspec.Struct, frozen=True):
    """A shared note as it stands.

    Attributes:
        copy_of: the note that it was made of, on its author's machine. shared, review: ISO days, '' where not said.
        is_mine: this home wrote it. is_committed: the project's last commit has it as it stands. is_due: it is to be looked at again.
        waits: why sessions are not told it (``arrived``, ``suspect`` …); '' where they may be. differs: the note that it was made of
            says something else by now.
    """

    path: str
    day: str
    time: str
    author: str
    entry_id: str
    hash: str
    copy_of: str
    title: str
    shared: str
    review: str
    is_mine: bool
    is_committed: bool
    is_due: bool
    waits: str
    differs: bool


class Copy(NamedTuple):
    """The parts of a shared copy, before they are written."""

    heading: str
    anchors: list[Anchor]
    marks: dict[str, str]
    body: CleanText


def author(memory: Memory, name: str = "") -> str:
    """Under which name this owner shares: *name*, the setting, else what git calls him, else the login. Raises UsageError."""
    said = name or memory.settings.share.author or repository.user_name(memory.place.common_dir) or getpass.getuser()
    found = shared.author_name(said)
    if not found:
        raise UsageError(f"{said!r} is no name for a folder", "memsearch config set share.author ana")
    return found


def folder(memory: Memory) -> str:
    """Where this project's shared notes lie. Raises UsageError where that is no part of the project."""
    found = shared_beside(memory.place.memory)
    if not found:
        raise UsageError(
            f"the notes lie in {memory.place.memory}, outside the project", "a pack can be made: `memsearch share --pack FILE ENTRY…`"
        )  # fmt: skip
    return found


def plan(
    memory: Memory, notes: Iterable[tuple[str, Entry]], by: str, *, review: str = "", today: date | None = None
) -> list[Planned]:
    """What sharing *notes* (path and entry) would write, in the order of time; nothing is written.

    Args:
        by: as ``author`` has it. review: the day (ISO) on which they are to be looked at again; in half a year by default.
    """
    folder(memory)
    now = today or date.today()
    marks = {SHARED: now.isoformat(), REVIEW: review or (now + timedelta(days=REVIEW_DAYS)).isoformat()}
    found = []
    for path, entry in notes:
        day = day_of(path) or now.isoformat()
        to = shared.path_for(memory.place.memory, by, day)
        if why := _refused(memory, path, entry):
            found.append(Planned(entry.id, entry.title, day, to, Change.REFUSED, why))
            continue
        copy, replaced = _copied(memory, entry, marks)
        lines = lines_of(copy)
        standing = _standing(to, shared.shared_id(entry.id))
        change = Change.NEW
        if standing is not None:
            change = Change.SAME if _says_the_same(standing, lines, review) else Change.CHANGED
        (new,) = parse("\n".join(lines).encode()).entries
        found.append(Planned(entry.id, new.title, day, to, change, "", lines, replaced))
    return sorted(found, key=lambda one: (one.day, one.lines[:1]))


def by(planned: Planned) -> str:
    """Whose a planned copy is."""
    return shared.author_of(planned.path)


def write(memory: Memory, planned: list[Planned]) -> list[str]:
    """Write what was planned, all in one step of undo. Returns the files. Raises Conflict, Unreachable."""
    return put(
        memory, [(one.path, one.lines) for one in planned if one.change in (Change.NEW, Change.CHANGED)], WRITTEN
    )


def put(memory: Memory, copies: list[tuple[str, list[str]]], how: str) -> list[str]:
    """Write copies, as ``lines_of`` has them, into their files: in the place of what has their name, else by their time."""
    batch, written = uuid.uuid4().hex, []
    for path in dict.fromkeys(path for path, _ in copies):
        read = data = read_day_file(path)
        blocks = [lines for to, lines in copies if to == path]
        for lines in blocks:
            data = placed(data, Path(path).stem, lines)
        replace(memory, path, read, data, len(blocks), how, batch)
        written.append(path)
    return written


def replace(memory: Memory, path: str, read: bytes, data: bytes, count: int, how: str, batch: str) -> None:
    """Make a shared file hold *data*, whose new entries are then known as come by *how*."""
    before = {entry.raw for entry in parse(read, Path(path).stem).entries}
    new = [entry.raw for entry in parse(data, Path(path).stem).entries if entry.raw not in before]
    memory.journal.origin.wrote(new, how)
    title = f"shared {count} {'note' if count == 1 else 'notes'}, as {shared.author_of(path)}"
    memory.journal.replace(memory.place.memory, path, read, data, title, batch=batch)


def placed(data: bytes, day: str, lines: list[str]) -> bytes:
    """A day's shared notes with one more, or another text of one."""
    (entry,) = parse("\n".join(lines).encode()).entries
    document = parse(data, day) if data else parse(f"# {day}\n".encode(), day)
    block = render.as_lines(document, lines).rstrip()
    if (there := document.find(entry.id)) is not None:
        return document.data[: there.start] + block + document.data[there.end :]
    later = next((other for other in document.entries if other.time > entry.time), None)
    position = later.start if later else len(document.data)
    data = document.data[:position] + render.apart(document, position, block) + document.data[position:]
    return data if data.endswith(b"\n") else data + document.newline.encode()


def lines_of(copy: Copy) -> list[str]:
    """A copy as it stands in a file. What is in it can begin no other entry."""
    anchors = [msgspec.structs.replace(anchor, kind="", path="").render() for anchor in copy.anchors]
    marks = render.mark_lines({name: shown_line(value) for name, value in copy.marks.items()})
    return render.entry_lines([f"### {shown_line(copy.heading).strip() or 'Note'}", *anchors, *marks], copy.body)[:-1]


def listed(memory: Memory) -> list[SharedNote]:
    """All shared notes of these projects, newest day first."""
    origin, today = memory.journal.origin, date.today()
    found = []
    read = list(_files(memory))
    mine = {
        entry.marks.get(COPY_OF, "") for _, entries in read for entry in entries if origin.came_by(entry.raw, WRITTEN)
    }
    notes = _notes(memory, mine - {""})
    for file, entries in read:
        by, folder_of = shared.author_of(file.path), memory.memory_of(file.path)
        waiting = {entry.id: why for entry, why, _ in held_back(origin, folder_of, entries, file.path)}
        committed = shared.committed(file.path, folder_of)
        for entry in entries:
            marks = entry.marks
            found.append(
                SharedNote(
                    file.path, file.day, entry.time, by, entry.id, entry.hash, marks.get(COPY_OF, ""), entry.title,
                    marks.get(SHARED, ""), marks.get(REVIEW, ""), origin.is_written_here(entry.raw),
                    shared.with_lf(entry.raw) in committed, shared.is_due(marks, today), waiting.get(entry.id, ""),
                    _differs(memory, entry, notes.get(entry.marks.get(COPY_OF, ""))),
                )
            )  # fmt: skip
    return found


def _files(memory: Memory) -> Iterator[tuple[DayFile, list[Entry]]]:
    """The shared files with their entries. One that can't be read is left out: `doctor` names it."""
    for file in memory.files():
        if shared.author_of(file.path):
            with contextlib.suppress(OSError):
                yield file, memory.read(file)


def _notes(memory: Memory, names: set[str]) -> dict[str, Entry]:
    """The notes of these ids, as far as they stand here."""
    found: dict[str, Entry] = {}
    for file in memory.files() if names else ():
        if names <= found.keys():
            break
        if not shared.author_of(file.path):
            with contextlib.suppress(OSError):
                found.update((entry.id, entry) for entry in memory.read(file) if entry.id in names)
    return found


def withdraw(memory: Memory, names: Iterable[str]) -> list[tuple[str, Entry]]:
    """Take shared notes out of the work tree again, by their own names or those of the notes that they were made of (or a
    beginning of them); one step of undo. Returns them with their files.

    Raises NotFound.
    """
    there = [(file.path, entry) for file, entries in _files(memory) for entry in entries]
    gone: list[tuple[str, Entry]] = []
    for name in names:
        found = [
            (path, entry)
            for path, entry in there
            if len(name) >= _MIN_NAME and (entry.id.startswith(name) or entry.marks.get(COPY_OF, "").startswith(name))
        ]
        if not found:
            raise NotFound(f"no shared note {name}", "`memsearch share` lists them")
        if len({entry.id for _, entry in found}) > 1:
            raise UsageError(f"{name} names several shared notes", "`memsearch share` has their whole names")
        gone += [one for one in found if one not in gone]
    batch = uuid.uuid4().hex
    for path in dict.fromkeys(path for path, _ in gone):
        data = read = read_day_file(path)
        for name in (entry.id for where, entry in gone if where == path):
            entry = parse(data, Path(path).stem).find(name)
            if entry is not None:
                data = data[: entry.start] + data[entry.stop :]
        if not parse(data, Path(path).stem).entries:
            data = b""
        memory.journal.replace(memory.memory_of(path), path, read, data, "withdrawn from the team", batch=batch)
    return gone


def _refused(memory: Memory, path: str, entry: Entry) -> str:
    """Why a note can't be shared; '' where it can."""
    if shared.author_of(path):
        return "it is shared already"
    if not memory.project_of(path):
        return "it is no note of this project"
    if CONFLICT in entry.marks or CONFLICT_OF in entry.marks:
        return "it has two texts: `memsearch sync conflicts` decides"
    if held_back(memory.journal.origin, memory.memory_of(path), [entry], path):
        return "it waits for your word: `memsearch trust` lists why"
    if not entry.body.strip():
        return "it says nothing"
    return ""


def _copied(memory: Memory, entry: Entry, marks: dict[str, str]) -> tuple[Copy, tuple[str, ...]]:
    said, findings = redact(without_private(entry.body, memory.place.root), memory.home)
    heading = redact(without_private(entry.heading, memory.place.root), memory.home)[0]
    kept = {name: entry.marks[name] for name in _KEPT if name in entry.marks}
    own = {"id": shared.shared_id(entry.id), COPY_OF: entry.id}
    return Copy(heading, entry.anchors, own | marks | kept, memory.journal.clean(said)), tuple(
        one.placeholder for one in findings
    )


def without_private(text: str, root: str) -> str:
    """*text* with the project's files named from its root, and others in the home folder without its name."""
    home = os.path.expanduser("~").rstrip(os.sep)
    for place, itself, below in ((root, ".", ""), (home, "~", "~/")):
        if place.strip(os.sep):
            path = rf"(?<![\w/.~-]){re.escape(place)}"
            text = re.sub(rf"{path}/(?=[\w.])", below, text)
            text = re.sub(rf"{path}/?(?![\w-]|\.\w)", itself, text)
    return text


def _standing(path: str, name: str) -> Entry | None:
    try:
        return read_day(path).find(name)
    except OSError:
        return None


def _says_the_same(standing: Entry, lines: list[str], review: str) -> bool:
    """Whether sharing would change a copy: another text, or a day of review that was asked for."""
    (new,) = parse("\n".join(lines).encode()).entries
    same_marks = all(standing.marks.get(name) == new.marks.get(name) for name in _KEPT)
    return text_key(standing) == text_key(new) and same_marks and (not review or standing.marks.get(REVIEW) == review)


def _differs(memory: Memory, entry: Entry, note: Entry | None) -> bool:
    """Whether the *note* that a copy was made of, where it stands here, says something else."""
    if note is None:
        return False
    copy, _ = _copied(memory, note, {})
    (new,) = parse("\n".join(lines_of(copy)).encode()).entries
    return text_key(new) != text_key(entry)
