"""Finds quarantined notes."""

from __future__ import annotations

from memsearch_engine.journal.files import day_of
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import CONFLICT_OF, UNTRUSTED, Entry, QuarantineReason
from memsearch_engine.journal.origin import Origin, Verdict

#: Files of a folder with notes that arrived, up to which each file is a decision of its own. A
#: folder with more of them, as after a clone, is one decision.
FILES_ONE_BY_ONE = 5


def find_quarantined(
    origin: Origin, memory: str, entries: list[Entry], path: str
) -> list[tuple[Entry, QuarantineReason, list[str]]]:
    """Return the quarantined *entries* of a file, with the reason and the suspicious lines.

    Raises:
        Unreachable: the records of origin can't be read.
    """
    arrived, released = origin.arrived(memory, entries, path), origin.released(entries)
    wrong = origin.contradicting(entries, day_of(path))
    found = []
    for entry in entries:
        if entry.id in wrong:  # whatever its marks say; what was refused is not asked about again
            if wrong[entry.id] is not Verdict.REFUSED:
                found.append(
                    (entry, QuarantineReason.CONTRADICTS, orders(entry.body, his_words=False))
                )
            continue
        if CONFLICT_OF in entry.marks:
            continue  # another decision: which of two texts holds
        mark, lines = entry.marks.get("trust", ""), orders(entry.body, his_words=False)
        if entry.id not in released and (mark in UNTRUSTED or lines or entry.id in arrived):
            why = (
                QuarantineReason(mark)
                if mark in UNTRUSTED
                else QuarantineReason.SUSPECT
                if lines
                else QuarantineReason.ARRIVED
            )
            found.append((entry, why, lines))
    return found
