"""Finds junk, repetitions and damage in notes, with evidence.

Each repair needs the owner's decision.

Junk is accidental output of a memory tool: stubs, error texts, repeated injected context, prompts
stored as facts. Repetitions are notes with nearly the same words (three-word shingles, a Jaccard
similarity of at least 0.7). Candidates share one of their eight smallest shingle hashes: Broder,
"On the resemblance and containment of documents", 1997.
"""

from __future__ import annotations

import os
import re
from typing import Literal
from zlib import crc32

import msgspec

from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal import versions, whole_file
from memsearch_engine.journal.files import DayFile, day_of
from memsearch_engine.journal.model import CONFLICT_OF, Document, Entry
from memsearch_engine.journal.undo import day_name
from memsearch_engine.journal.unmangle import unmangled
from memsearch_engine.journal.write import Target
from memsearch_engine.search.scope import Scope

Kind = Literal["stub", "error", "echo", "prompt", "duplicate", "vanished", "merged", "returned"]
_MIN_CHARACTERS = 5
_ERROR_WORDS = 9  # an error text is short; a longer text that mentions one is a note
_SHINGLE, _SKETCH, _ALIKE = 3, 8, 0.7
_MIN_WORDS = 6
_MAX_ALIKE = 50  # notes with the same sketch hash that are compared with each other
_ERROR = re.compile(
    r"(?i)^\W*(?:api error\b|error:? (?:4\d\d|5\d\d)\W*$|rate limit(?:ed)?\W*(?:exceeded|"
    r"reached|$)|you(?:'ve| have) (?:hit|reached) your (?:usage|rate) limit|usage limit reached|"
    r"credit balance is too low|invalid api key|please run /login|"
    r"overloaded_error|request timed out\W*$|prompt is too long|"
    r"execution error|\[?(?:summary|transcript) (?:failed|"
    r"unavailable|empty)\]?|no summary (?:available|generated))"
)
_ECHO = re.compile(
    r"<memsearch-memory|</memsearch-memory|"
    r"Notes from earlier sessions of this project:|\[memsearch\] Memory available|"
    r"# Recent Memory\b|Long-term memory, checked by the user"
)
_PROMPT = re.compile(
    r"(?i)you are a third-person note-taker|\[memsearch summariser\]|"
    r"summari[sz]e the following (?:turn|transcript|conversation)|"
    r"^\W*you are (?:an?|the) [a-z -]{3,40}(?:assistant|agent|"
    r"note-taker|summari[sz]er)\b|output only (?:the )?bullet"
)
_WHY = {
    "stub": "says nothing",
    "error": "is an error text, not a memory",
    "echo": "repeats what a session was told",
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
        return self.kind == name or any(note.entry_id.startswith(name) for note in self.notes)


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
        notes: dict[str, list[SeenNote]] = {}
        merged: list[RepairCandidate] = []
        junk: list[RepairCandidate] = []
        deleted = self._scope.journal.history.deleted_texts()
        for file in self._scope.days():
            try:
                document = self._scope.document(file.path)
            except OSError:
                continue  # `doctor` reports the unreadable file
            merged += _merged(file, document)
            for entry in document.entries:
                note = SeenNote(file.path, file.day, entry.id, entry.hash, entry.title, entry.body)
                if deleted.get(entry.id) == entry.raw:
                    junk.append(RepairCandidate("returned", [note], entry.title))
                elif kind := _junk(entry):
                    junk.append(RepairCandidate(kind[0], [note], kind[1]))
                elif "superseded-by" not in entry.marks and CONFLICT_OF not in entry.marks:
                    notes.setdefault(
                        author_of(file.path) or self._scope.memory_of(file.path), []
                    ).append(note)
        repeated = [finding for group in notes.values() for finding in _repetitions(group)]
        return [*self._vanished(), *merged, *junk, *repeated]

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

    def _vanished(self) -> list[RepairCandidate]:
        found = []
        for folder in dict.fromkeys(project.memory for project in self._scope.projects):
            for change in self._scope.journal.vanished(folder):
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


def _merged(file: DayFile, document: Document) -> list[RepairCandidate]:
    """Return one candidate if the file was merged line by line."""
    wrong = unmangled(document.data, day_name(file.path), document.entries)
    if wrong is None:
        return []
    text, title = "\n".join(wrong.evidence), os.path.basename(file.path)
    note = SeenNote(file.path, file.day, digest("merged", file.path), "", title, text)
    contents = (document.data, wrong.data)
    return [RepairCandidate("merged", [note], wrong.evidence[0], file=contents)]


def _junk(entry: Entry) -> tuple[Kind, str] | None:
    body = entry.body.strip()
    if "pin" in entry.marks:
        return None
    first = next((line.strip() for line in body.splitlines() if line.strip()), "")
    if len(re.sub(r"[\W_]", "", body)) < _MIN_CHARACTERS and not re.search(
        r"[\u3040-\u9fff\uac00-\ud7af]{2}", body
    ):
        return "stub", first or "no text at all"
    lines = [line.strip(" -*+>\t") for line in body.splitlines() if line.strip()]
    if len(lines) <= 2 and len(_words(lines[0])) <= _ERROR_WORDS and _ERROR.match(lines[0]):
        return "error", lines[0][:200]
    if match := _ECHO.search(body):
        return "echo", match[0]
    if (match := _PROMPT.search(lines[0])) and len(lines) <= 3:
        return "prompt", lines[0][:200]
    return None


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+|[\u3040-\u9fff\uac00-\ud7af]", text.casefold())


def _shingles(words: list[str]) -> frozenset[int]:
    return frozenset(
        crc32(" ".join(words[i : i + _SHINGLE]).encode()) for i in range(len(words) - _SHINGLE + 1)
    )


def _repetitions(notes: list[SeenNote]) -> list[RepairCandidate]:
    sets = {
        i: _shingles(words)
        for i, note in enumerate(notes)
        if len(words := _words(note.body)) >= _MIN_WORDS
    }
    buckets: dict[int, list[int]] = {}
    for i, shingles in sets.items():
        for smallest in sorted(shingles)[:_SKETCH]:
            buckets.setdefault(smallest, []).append(i)
    group = {i: i for i in sets}

    def root(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    least: dict[int, float] = {}
    for members in buckets.values():
        for j, one in enumerate(members[:_MAX_ALIKE]):
            for other in members[j + 1 : _MAX_ALIKE]:
                a, b = root(one), root(other)
                if a != b and (alike := _jaccard(sets[one], sets[other])) >= _ALIKE:
                    group[b] = a
                    least[a] = min(alike, least.pop(b, 1.0), least.get(a, 1.0))
    clusters: dict[int, list[int]] = {}
    for i in sets:
        clusters.setdefault(root(i), []).append(i)
    found = []
    for top, members in clusters.items():
        if len(members) > 1:
            alike_notes = sorted(
                (notes[i] for i in members),
                key=lambda n: (len(n.body), n.day, n.entry_id),
                reverse=True,
            )
            found.append(
                RepairCandidate(
                    "duplicate", alike_notes, f"{least[top]:.0%} of their words in common"
                )
            )
    return found


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
