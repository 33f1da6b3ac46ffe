"""Packs: shared notes in one file, for people without a common repository.

A pack is JSON: notes in the format of a project's shared folder, and a hash of them. Both sides can
compare the hash over another channel than the file's. The content is untrusted: each note is parsed
and written again from its parts. The usual three-way merge adds it to the existing notes. Notes
that the owner has deleted stay deleted.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import msgspec

from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_location import author_name, author_of
from memsearch_engine.core.safe_files import read
from memsearch_engine.core.safe_text import shown_line
from memsearch_engine.journal import shared, whole_file
from memsearch_engine.journal.history import new_batch
from memsearch_engine.journal.merge import Unmergeable, merge, text_key
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, RELEASED, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import COPY_OF, IMPORTED, REVIEW, SHARED
from memsearch_engine.journal.undo import read_day_file
from memsearch_engine.search.scope import Scope
from memsearch_engine.secrets.scan import redact
from memsearch_engine.sync.sharing.copies import (
    Copy,
    Planned,
    ShareChange,
    cleaned,
    folder,
    lines_of,
    listed,
    own_notes,
    put,
)

FORMAT = 1
MAX_BYTES = 32 * 1024 * 1024
_HASH_BYTES = 16
#: The marks that are imported beside the text. Trust is decided by this home.
_TAKEN = ("id", COPY_OF, SHARED, REVIEW, "confidence", "expires", "branch", "verified")


class _Packed(msgspec.Struct, frozen=True):
    author: str
    day: str
    entry: str


class _Pack(msgspec.Struct, frozen=True):
    memsearch: str
    format: int
    project: str
    made: str
    hash: str
    notes: list[_Packed] = []


class Packed(msgspec.Struct, frozen=True):
    """A written pack. ``hash``: to be compared by the person who imports it."""

    path: str
    notes: int
    hash: str


class Received(msgspec.Struct, frozen=True):
    """The plan of an import.

    Attributes:
        hash: the hash of the content.
        project, made: as the pack claims.
    """

    project: str
    made: str
    hash: str
    notes: list[Planned]


def pack(scope: Scope, path: str, notes: Iterable[tuple[str, str, list[str]]]) -> Packed:
    """Write notes (author, day, lines from ``copies.lines_of``) into a new file.

    Raises:
        UsageError: there are no notes, or the file exists.
    """
    found = [_Packed(author, day, "\n".join(lines)) for author, day, lines in notes]
    if not found:
        raise UsageError("nothing to pack", "name notes, or share some first")
    if os.path.exists(path):
        raise UsageError(f"{path} exists", "name another file")
    made = _Pack(
        "pack", FORMAT, scope.project.name, date.today().isoformat(), hash_of(found), found
    )
    where = os.path.dirname(os.path.abspath(path))
    try:
        fd, temporary = tempfile.mkstemp(dir=where, prefix=".memsearch-pack-")
    except OSError as error:
        raise UsageError(
            f"{path} can't be written: {error.strerror or error}",
            "name a file in a folder of yours",
        ) from error
    try:
        with open(fd, "wb") as out:
            out.write(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
        os.link(temporary, path)  # never replaces a file that somebody created meanwhile
    finally:
        os.unlink(temporary)
    return Packed(path, len(found), made.hash)


def everything(scope: Scope) -> list[tuple[str, str, list[str]]]:
    """Return all shared notes of this project without conflicts, as input of ``pack``."""
    return [
        (author_of(file.path), file.day, lines_of(_parts(entry, scope)))
        for file in scope.files()
        if author_of(file.path)
        for entry in scope.read(file)
        if CONFLICT not in entry.marks and CONFLICT_OF not in entry.marks
    ]


def hash_of(notes: list[_Packed]) -> str:
    """The hash that two people compare, in groups of four digits for reading aloud."""
    found = digest(msgspec.json.encode(notes), size=_HASH_BYTES)
    return "-".join(found[start : start + 4] for start in range(0, len(found), 4))


def opened(scope: Scope, path: str, expected: str | None = None) -> Received:
    """Plan the import of the pack at *path* into this project. Writes nothing.

    Args:
        expected: the hash that it must have.

    Raises:
        NotFound: there is no such file.
        UsageError: it is no pack, has a newer format, is damaged, or has another hash.
    """
    folder(scope)
    if expected is not None and not expected.strip("- "):
        raise UsageError(
            "the hash to expect is empty", "it is what `memsearch share --pack` has printed"
        )
    made = _read(path)
    found = hash_of(made.notes)
    if found != made.hash:
        raise UsageError(
            f"{path} is damaged: its notes have the hash {found}, it says "
            f"{shown_line(made.hash)[:60]}"
        )
    if expected and expected.replace("-", "").lower() != found.replace("-", ""):
        raise UsageError(
            f"{path} is another pack: {found}",
            "ask whoever made it for its hash, or for the file again",
        )
    planned = [_planned(scope, one) for one in made.notes]
    own = own_notes(scope, {one.entry_id for one in planned})
    elsewhere = {one.entry_id: one.path for one in listed(scope)} if planned else {}
    notes: list[Planned] = []
    seen: set[str] = set()
    for one in planned:
        why = ""
        if one.entry_id in own:
            why = "a note of yours has its name"
        elif elsewhere.get(one.entry_id, one.path) != one.path:
            why = f"it stands in {elsewhere[one.entry_id]}"
        elif one.entry_id in seen:
            why = "it is in the pack twice"
        seen.add(one.entry_id)
        notes.append(
            msgspec.structs.replace(one, change=ShareChange.REFUSED, why=why)
            if why and one.entry_id
            else one
        )
    return Received(shown_line(made.project)[:80], shown_line(made.made)[:10], found, notes)


def take(scope: Scope, received: Received) -> tuple[list[str], list[str]]:
    """Add the notes of a pack to the shared ones, in one step of undo.

    Returns:
        The files, and the ids of notes that were changed here as well. Both texts are in the file
        until `memsearch sync conflicts` decides.
    """
    batch, files, conflicts = new_batch(), [], []
    for one in (
        one for one in received.notes if one.change in (ShareChange.NEW, ShareChange.CHANGED)
    ):
        existing = parse(read_day_file(one.path), Path(one.path).stem).find(one.entry_id)
        untouched = existing is None or scope.journal.origin.came_by(
            existing.raw, IMPORTED, RELEASED
        )
        if untouched:
            put(scope, one, IMPORTED, batch)
        else:
            conflicts += _merge(scope, one, batch)
        files.append(one.path)
    return list(dict.fromkeys(files)), conflicts


def _merge(scope: Scope, one: Planned, batch: str) -> list[str]:
    """Add another text beside a note that was changed here.

    Returns:
        The ids of notes with a conflict.
    """
    day, ours = Path(one.path).stem, read_day_file(one.path)
    existing = parse(ours, day).find(one.entry_id)
    assert existing is not None
    block = "\n".join(one.lines).encode()
    base = ours[: existing.start] + ours[existing.stop :]
    theirs = ours[: existing.start] + block + ours[existing.end :]
    try:
        merged = merge(base, ours, theirs, day, clean=lambda text: redact(text, scope.home)[0])
    except Unmergeable as error:
        raise UsageError(
            f"{one.path} can't be merged: {error}", "`memsearch repair` looks what is wrong with it"
        ) from error
    title = f"{one.title}: another text"
    whole_file.replace(
        scope.journal, scope.place.memory, one.path, ours, merged.data, title, batch=batch
    )
    return merged.conflicts


def _read(path: str) -> _Pack:
    try:
        made = msgspec.json.decode(read(path, MAX_BYTES), type=_Pack)
    except FileNotFoundError as error:
        raise NotFound(f"no file {path}", "`memsearch share --pack FILE` makes one") from error
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no pack of notes: {error}", "`memsearch share --pack FILE` makes one"
        ) from error
    if made.memsearch != "pack":
        raise UsageError(f"{path} is no pack of notes", "`memsearch share --pack FILE` makes one")
    if made.format > FORMAT:
        raise UsageError(
            f"{path} was made by a newer version (format {made.format})", "update memsearch-tui"
        )
    return made


def _planned(scope: Scope, packed: _Packed) -> Planned:
    """The planned import of one note of a pack."""
    try:
        day = date.fromisoformat(packed.day).isoformat()
    except ValueError:
        return Planned(
            "", shown_line(packed.entry)[:60], "", "", "", ShareChange.REFUSED, "it has no day"
        )
    entries = parse(packed.entry.encode("utf-8", "replace"), day).entries
    title = shown_line(entries[0].title)[:200] if entries else ""
    if len(entries) != 1 or entries[0].level != 3 or "id" not in entries[0].marks:
        return Planned("", title, day, "", "", ShareChange.REFUSED, "it is not one note")
    (entry,) = entries
    if not packed.author or author_name(packed.author) != packed.author:
        return Planned(entry.id, title, day, "", "", ShareChange.REFUSED, "its author has no name")
    path = shared.path_for(scope.place.memory, packed.author, day)
    lines = lines_of(_parts(entry, scope))
    existing = parse(read_day_file(path), day).find(entry.id)
    if existing is None:
        if scope.journal.history.is_deleted(entry.id):
            return Planned(
                entry.id, title, day, packed.author, path, ShareChange.REFUSED, "you deleted it"
            )
        return Planned(entry.id, title, day, packed.author, path, ShareChange.NEW, "", lines)
    (new,) = parse("\n".join(lines).encode(), day).entries
    older = new.marks.get(SHARED, "") < existing.marks.get(SHARED, "")
    same = text_key(new) == text_key(existing) and all(
        new.marks.get(name) == existing.marks.get(name) for name in _TAKEN
    )
    change = ShareChange.SAME if older or same else ShareChange.CHANGED
    return Planned(
        entry.id, title, day, packed.author, path, change, "an older text" if older else "", lines
    )


def _parts(entry: Entry, scope: Scope) -> Copy:
    """The parts of a shared note. Everything else is dropped."""
    marks = {name: entry.marks[name] for name in _TAKEN if name in entry.marks}
    heading = redact(entry.heading, scope.home)[0]
    anchors = [anchor for anchor in entry.anchors if not redact(anchor.render(), scope.home)[1]]
    return Copy(heading, anchors, {"id": entry.id, **marks}, cleaned(scope, entry.body, entry))
