"""Names entries for a change, and says what adding an entry did."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound
from memsearch_engine.journal.model import Document, Entry


class Skipped(StrEnum):
    """Why a turn was not written."""

    DELETED = "deleted by the owner"
    THERE = "already there"


class Appended(msgspec.Struct, frozen=True):
    """The result of adding an entry. ``skipped``: why nothing was written."""

    entry_id: str
    path: str
    written: bool
    skipped: Skipped | None = None


class Target(msgspec.Struct, frozen=True):
    """An entry as it was read. An empty ``hash`` skips the comparison, after a recent read."""

    path: str
    entry_id: str
    hash: str = ""


def target_of(path: str, entry: Entry) -> Target:
    """Return the target for an entry as it is now."""
    return Target(path, entry.id, entry.hash)


def find_target(document: Document, target: Target) -> Entry:
    """Return a target's entry.

    Raises:
        NotFound: no such entry.
        Conflict: the entry changed since it was read.
    """
    entry = document.find(target.entry_id)
    if entry is None:
        raise NotFound(
            f"no entry {target.entry_id} in {target.path}",
            "`memsearch entries` lists what is there; it may have moved",
        )
    if target.hash and entry.hash != target.hash:
        raise Conflict(
            f"entry {entry.id} changed since it was read "
            f"(hash {target.hash} expected, {entry.hash} found)",
            "read it again and decide which text to keep",
            current=entry.content,
        )
    return entry
