"""Reads notes as candidates for injection, checks them, and selects their relevant lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

import msgspec

from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.core.project_location import author_of
from memsearch_engine.core.safe_text import plain
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Row
from memsearch_engine.injection.session_start import is_injectable
from memsearch_engine.journal.files import read_day_or_empty
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import Document, Entry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.shared import WRITTEN
from memsearch_engine.search.supersession.listing import Overrides, Supersession, of_note

_LIST_SIGN = re.compile(r"^\s*[-*+]\s+")
#: Lines of an extractive note that say what was asked or touched, not the outcome.
_ABOUT = re.compile(r"^(?:User asked|Files changed|Commands|Taken from): ")
_FILES = "Files changed: "
ERRORS = "Errors met: "
_LONG = 40
MIN_TOKENS = 20  # of a note; fewer carry no information
_ALIKE = 0.5
#: Zero-width characters, soft hyphens and tag characters.
_UNSEEN = re.compile("[\u200b\u2060\u00ad\U000e0000-\U000e007f]")


class NoteFiles:
    """The current entries of a memory folder. Each file is read once.

    Args:
        memory: the folder.
        origin: knows which entries this home wrote or its owner released.
    """

    def __init__(self, memory: str, origin: Origin) -> None:
        self._memory, self._origin = memory, origin
        self._read: dict[str, Document] = {}

    def current_entry(self, row: Row) -> Entry | None:
        """The entry of an index row as its file has it now; None if it is gone or empty."""
        if row.path not in self._read:
            self._read[row.path] = read_day_or_empty(row.path)
        entry = self._read[row.path].find(row.entry_id)
        return entry if entry is not None and note_lines(entry.body) else None

    def injectable(self, rows: Iterable[Row]) -> list[Entry]:
        """The current entries of those *rows* that may be injected."""
        found = ((row, self.current_entry(row)) for row in rows)
        return [
            entry for row, entry in found if entry and not self.withheld_reason(entry, row.path)
        ]

    def withheld_reason(self, entry: Entry, path: str) -> str:
        """Why *entry* of the file *path* must not be injected; ``""`` if it may be."""
        if entry.is_digest:
            return "it repeats other notes"
        if not is_injectable(entry, date.today()):
            return "its marks forbid it"
        if author_of(path) and self._origin.came_by(entry.raw, WRITTEN):
            return "its author knows the note itself"
        if self._origin.arrived(self._memory, [entry], path):
            return "not this home's"
        if orders(entry.body) and entry.id not in self._origin.released([entry]):
            return "it addresses an agent"
        return ""


def mark_withheld(
    amendments: Iterable[Supersession], memory: str, origin: Origin
) -> list[Supersession]:
    """Mark the revisions of one project whose newer note must not take effect.

    Such a note is quarantined, or its file has changed since it was indexed.
    """
    files = NoteFiles(memory, origin)
    return [
        msgspec.structs.replace(pair, waits=not files.injectable([pair.newer]))
        for pair in amendments
    ]


def newer_versions(
    catalog: Catalog, overrides: Overrides, project: str, name: str, memory: str, origin: Origin
) -> list[Supersession]:
    """The valid pairs in which a newer note supersedes the note *name*.

    Args:
        project: the project's identity.
        memory: the project's memory folder.
    """
    pairs = mark_withheld(of_note(catalog, overrides, project, name), memory, origin)
    return [pair for pair in pairs if pair.is_effective and pair.older.entry_id == name]


def is_injected(entry: Entry, text: str) -> bool:
    """Whether *text*, injected at a session's start, already has the long lines of *entry*."""
    long = [line for line in note_lines(entry.body) if len(line) > _LONG]
    return bool(long) and all(line[: 2 * _LONG] in text for line in long)


def note_lines(body: str) -> list[str]:
    """The visible, non-empty lines of a note, without list markers."""
    found = (_LIST_SIGN.sub("", line).strip() for line in visible(body).splitlines())
    return [line for line in found if line]


def visible(text: str) -> str:
    """*text* without characters that a person cannot see. Agents get what people see."""
    return _UNSEEN.sub("", plain(text))


def outcome_lines(body: str) -> list[str]:
    """The lines of a note that give the outcome; all lines if none does."""
    found = note_lines(body)
    return [line for line in found if not _ABOUT.match(line)] or found


def only_asks(body: str) -> bool:
    """Whether a note holds only questions: no answer and nothing that was done."""
    found = [line for line in note_lines(body) if not line.startswith(("#", "<!--"))]
    return bool(found) and all(
        line.startswith("User asked: ") or line.endswith(("?", "？")) for line in found
    )


def changed_files(body: str) -> list[str]:
    """The files that an extractive note says were changed."""
    listed = [line.removeprefix(_FILES) for line in note_lines(body) if line.startswith(_FILES)]
    return [name for line in listed for name in re.findall(r"`([^`]+)`", line)]


def are_similar(terms: set[str], other: set[str]) -> bool:
    """Whether two prompts or actions are alike: at least half of all their words are shared."""
    return len(terms & other) >= _ALIKE * len(terms | other)


def shortened_to(line: str, tokens: int) -> str:
    """The beginning of *line* that fits into *tokens*; ``""`` if too little would be left."""
    while line and estimate(line) + 1 > tokens:
        line = clipped(line.removesuffix(" …"), len(line) * 4 // 5)
        if len(line) < MIN_TOKENS:
            return ""
    return line


def clipped(text: str, most: int) -> str:
    """*text* cut at a word to at most *most* characters, with an ellipsis if it was cut."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return (cut.rsplit(" ", 1)[0] if " " in cut[most // 2 :] else cut) + " …"
