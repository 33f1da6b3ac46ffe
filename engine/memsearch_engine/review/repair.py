"""Finds junk, repetitions and damage in notes, with evidence.

Each repair needs the owner's decision.

Junk is accidental output of a memory tool (``journal.junk``). Repetitions are notes with nearly the
same words (``review.repetitions``).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import repeat
from typing import Literal

import msgspec

from memsearch_engine.core.ids import cited_id, digest
from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal import versions, whole_file
from memsearch_engine.journal.files import DayFile, day_of
from memsearch_engine.journal.junk import JunkKind, junk_in
from memsearch_engine.journal.model import Document, Entry
from memsearch_engine.journal.origin import key_of
from memsearch_engine.journal.outline import SHINGLE_BYTES, FileOutline, Look, shingles_of
from memsearch_engine.journal.targets import Target
from memsearch_engine.journal.undo import day_name
from memsearch_engine.journal.unmangle import unmangled
from memsearch_engine.search.scope import Scope

Kind = JunkKind | Literal["duplicate", "vanished", "merged", "returned"]
_WHY = {
    "stub": "says nothing",
    "error": "is an error text, not a memory",
    "echo": "repeats what was injected into a session",
    "prompt": "is a prompt, not a fact",
    "duplicate": "says nearly the same as another",
    "merged": (
        "was merged line by line, so that notes lie in one another, "
        "or git's markers stand between them"
    ),
    "returned": "was deleted here, and came back with a merge or a copy",
    "vanished": "was written here and is gone: another program wrote over the file",
}


class SeenNote(msgspec.Struct, frozen=True):
    """A note as it was read."""

    path: str
    day: str
    entry_id: str
    hash: str
    title: str
    body: str

    @property
    def target(self) -> Target:
        """The path, id and hash of the note, for a change."""
        return Target(self.path, self.entry_id, self.hash)


class RepairCandidate(msgspec.Struct, frozen=True):
    """A possible repair.

    Attributes:
        notes: for junk, the note; for a repetition, all similar notes, first the one to keep (the
            longest, then the newest).
        evidence: the line that matched, or the similarity.
        seq: the change that wrote a note that vanished.
        file: for a merged file, its content as read and as repaired.
    """

    kind: Kind
    notes: list[SeenNote]
    evidence: str
    seq: int = 0
    file: tuple[bytes, bytes] | None = None

    @property
    def why(self) -> str:
        """The reason, for people."""
        return _WHY[self.kind]

    @property
    def id(self) -> str:
        """A short name for commands: the id of the first note that would be deleted."""
        return self.notes[-1].entry_id[:8]

    def is_called(self, name: str) -> bool:
        """Whether *name* is its kind, or the beginning of the id of one of its notes."""
        begin = cited_id(name)
        return self.kind == name or any(begin and n.entry_id.startswith(begin) for n in self.notes)


class _Compared(msgspec.Struct):
    """Notes that are compared: file and id, number of shingles, and the shingles of all."""

    names: list[tuple[DayFile, str]]
    counts: list[int]
    shingles: list[bytes]

    def add(self, file: DayFile, ids: list[str], counts: list[int], shingles: bytes) -> None:
        self.names += zip(repeat(file), ids)
        self.counts += counts
        self.shingles.append(shingles)


class Repair:
    """Junk, repetitions, damaged files, and a damaged undo history.

    >>> with Memory() as memory:
    ...     memory.repair.findings()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def findings(self) -> list[RepairCandidate]:
        """List possible repairs: first lost and wrongly merged notes, then junk, then repetitions.

        Pinned notes are never junk.
        """
        # by memory folder, because notes of different projects are not compared
        groups: dict[str, _Compared] = {}
        merged: list[RepairCandidate] = []
        junk: list[RepairCandidate] = []
        deleted = self._scope.journal.history.deleted_texts()
        outlines = self._scope.outlines()
        for file in self._scope.days():
            owner = author_of(file.path) or self._scope.memory_of(file.path)
            group = groups.setdefault(owner, _Compared([], [], []))
            outline = outlines.get(file)
            if outline and not outline.look & Look.REPAIR and not _returned(outline, deleted):
                group.add(file, outline.ids, outline.counts, outline.shingles)
                continue
            try:
                document = self._scope.document(file.path)
            except OSError:
                continue  # `doctor` reports the unreadable file
            merged += _merged(file, document)
            for entry in document.entries:
                if deleted.get(entry.id) == entry.raw:
                    found: tuple[Kind, str] | None = "returned", entry.title
                else:
                    found = junk_in(entry)
                if found:
                    junk.append(RepairCandidate(found[0], [_seen(file, entry)], found[1]))
                else:
                    shingles = shingles_of(entry)
                    group.add(file, [entry.id], [len(shingles) // SHINGLE_BYTES], shingles)
        repeated = [finding for group in groups.values() for finding in self._repeated(group)]
        return [*self._vanished(outlines), *merged, *junk, *repeated]

    def _repeated(self, notes: _Compared) -> Iterator[RepairCandidate]:
        """Yield the repetitions among notes."""
        if not any(notes.counts):
            return
        from memsearch_engine.review.repetitions import repetitions  # numpy takes 70 ms

        for members, least in repetitions(notes.counts, b"".join(notes.shingles)):
            alike = []
            for file, name in (notes.names[i] for i in members):
                with contextlib.suppress(OSError):  # it was removed meanwhile
                    if entry := self._scope.document(file.path).find(name):
                        alike.append(_seen(file, entry))
            alike.sort(key=lambda note: (len(note.body), note.day, note.entry_id), reverse=True)
            if len(alike) > 1:
                evidence = f"{least:.0%} of their words in common"
                yield RepairCandidate("duplicate", alike, evidence)

    def history_fault(self) -> str:
        """The fault of the undo history; '' if it is valid.

        Raises:
            Unreachable: it is in use, or a newer version wrote it.
        """
        return self._scope.journal.history.database.check()

    def set_history_aside(self) -> str:
        """Start a new undo history beside a damaged one.

        Returns the new path of the damaged one, which may contain old texts.
        """
        return str(self._scope.journal.history.database.set_aside())

    def mend(self, finding: RepairCandidate) -> None:
        """Carry out a repair in one step of undo.

        Vanished notes are restored and merged ones are separated. Junk, and deleted notes that came
        back, are deleted. Repetitions become one note with the anchors of all.

        Raises:
            Conflict: a note has changed since.
            NotFound: a note does not exist any more.
        """
        targets = [note.target for note in finding.notes]
        if finding.kind == "vanished":
            self._scope.journal.add_again(finding.seq)
        elif finding.file is not None:
            path, (read, data) = targets[0].path, finding.file
            whole_file.replace(
                self._scope.journal,
                self._scope.memory_of(path),
                path,
                read,
                data,
                f"notes of {finding.notes[0].day} taken apart",
            )
        elif finding.kind == "duplicate":
            versions.merge_equal(
                self._scope.journal, self._scope.memory_of(targets[0].path), targets[0], targets[1:]
            )
        else:
            self._scope.journal.delete(self._scope.memory_of(targets[0].path), targets)

    def _vanished(self, outlines: dict[DayFile, FileOutline]) -> list[RepairCandidate]:
        found = []
        for folder in dict.fromkeys(project.memory for project in self._scope.projects):
            for change in self._scope.journal.vanished(folder, outlines):
                text = change.after.decode("utf-8", "replace").strip()
                note = SeenNote(
                    change.path, day_of(change.path), change.entry_id, "", change.title, text
                )
                found.append(
                    RepairCandidate(
                        "vanished", [note], text.splitlines()[-1][:200] if text else "", change.seq
                    )
                )
        return found


def _seen(file: DayFile, entry: Entry) -> SeenNote:
    return SeenNote(file.path, file.day, entry.id, entry.hash, entry.title, entry.body)


def _returned(outline: FileOutline, deleted: dict[str, bytes]) -> bool:
    """Whether a file has an entry that was deleted."""
    return not deleted.keys().isdisjoint(outline.ids) and any(
        name in deleted and key_of(deleted[name]) == key
        for name, key in zip(outline.ids, outline.origin_keys(), strict=True)
    )


def _merged(file: DayFile, document: Document) -> list[RepairCandidate]:
    """Return one candidate if the file was merged line by line."""
    wrong = unmangled(document.data, day_name(file.path), document.entries)
    if wrong is None:
        return []
    text, title = "\n".join(wrong.evidence), os.path.basename(file.path)
    note = SeenNote(file.path, file.day, digest("merged", file.path), "", title, text)
    contents = (document.data, wrong.data)
    return [RepairCandidate("merged", [note], wrong.evidence[0], file=contents)]
