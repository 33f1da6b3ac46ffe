"""What Review needs of a file of notes, without its text: the catalog keeps it for each file.

A file in which something may be wrong is only named. Review parses these files, and reads the
outlines of all others.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from enum import IntFlag
from zlib import crc32

import msgspec

from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal.files import DayFile
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.junk import junk_in, words_of
from memsearch_engine.journal.model import CONFLICT_OF, UNTRUSTED, Document, Entry
from memsearch_engine.journal.origin import Origin, key_of
from memsearch_engine.journal.unmangle import may_be_mangled

_SHINGLE, _MIN_WORDS = 3, 6
_HASH, _KEY, SHINGLE_BYTES = 8, 16, 4


class Look(IntFlag):
    """Why a file must be parsed."""

    CONFLICT = 1
    QUARANTINE = 2
    REPAIR = 4


class FileOutline(msgspec.Struct, frozen=True, array_like=True):
    """The outline of a file.

    Attributes:
        look: the members of ``Look``, as one number.
        ids: entry ids, in the order of the file.
        digests: ``Entry.hash`` of each entry.
        keys: ``origin.key_of`` of each entry.
        counts, shingles: how many ``shingles_of`` each entry has, and these.
    """

    look: int
    ids: list[str]
    digests: bytes
    keys: bytes
    counts: list[int]
    shingles: bytes

    def hashes(self) -> list[str]:
        """The hashes of the entries."""
        return _split(self.digests, _HASH)

    def origin_keys(self) -> list[str]:
        """The keys of the entries in the records of origin."""
        return _split(self.keys, _KEY)


def outline_of(document: Document) -> FileOutline:
    """Return the outline of a file."""
    entries, look = document.entries, Look(0)
    if b"\r\n" in document.data:  # git may have changed the line ends: two hashes for each entry
        look |= Look.CONFLICT | Look.QUARANTINE | Look.REPAIR
    if may_be_mangled(document.data, entries):
        look |= Look.REPAIR
    for entry in entries:
        if CONFLICT_OF in entry.marks:
            look |= Look.CONFLICT | Look.QUARANTINE
        if entry.marks.get("trust") in UNTRUSTED or orders(entry.body, his_words=False):
            look |= Look.QUARANTINE
        if junk_in(entry):
            look |= Look.REPAIR
    shingles = [shingles_of(entry) for entry in entries]
    return FileOutline(
        look,
        [entry.id for entry in entries],
        bytes.fromhex("".join(entry.hash for entry in entries)),
        bytes.fromhex("".join(key_of(entry.raw) for entry in entries)),
        [len(some) // SHINGLE_BYTES for some in shingles],
        b"".join(shingles),
    )


def arrived_in(
    origin: Origin, memory: str, outlines: Mapping[DayFile, FileOutline]
) -> dict[DayFile, dict[str, str]]:
    """Return id and hash of the quarantined notes of the files that need not be parsed.

    These are own files of a project, without a suspicious note and without a contradiction.
    The quarantined notes in them are those that this home did not write.

    Args:
        memory: the folder of the files.

    Raises:
        Unreachable: the records of origin can't be read.
    """
    quiet = {
        file: outline
        for file, outline in outlines.items()
        if not outline.look & Look.QUARANTINE and not author_of(file.path)
    }
    hashes = {file: outline.hashes() for file, outline in quiet.items()}
    doubtful = origin.doubtful(hashes)
    keys = {file: outline.origin_keys() for file, outline in quiet.items()}
    unknown = origin.unknown(memory, [key for some in keys.values() for key in some])
    found: dict[DayFile, dict[str, str]] = {}
    for file, outline in quiet.items():
        if file not in doubtful:
            notes = zip(outline.ids, hashes[file], keys[file], strict=True)
            found[file] = {name: hash_ for name, hash_, key in notes if key in unknown}
    return found


def shingles_of(entry: Entry) -> bytes:
    """The hashes of all sequences of three words, sorted, four bytes each.

    Short notes, superseded ones and other texts of a conflict have none: they repeat nothing.
    """
    words = words_of(entry.body)
    if len(words) < _MIN_WORDS or "superseded-by" in entry.marks or CONFLICT_OF in entry.marks:
        return b""
    found = {
        crc32(" ".join(words[i : i + _SHINGLE]).encode()) for i in range(len(words) - _SHINGLE + 1)
    }
    return array("I", sorted(found)).tobytes()


def _split(data: bytes, size: int) -> list[str]:
    text = data.hex()
    return [text[i : i + 2 * size] for i in range(0, len(text), 2 * size)]
