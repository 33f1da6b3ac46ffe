"""Unsaved edits, kept in the home folder so that a crash in the middle of one loses nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
from memsearch_engine import Home

_NEW = "new "


class Draft(msgspec.Struct, frozen=True):
    """What is typed, and what it began with.

    Attributes:
        path: the entry's file; of a new note the memory folder that it goes to.
        entry_id: of a new note ``new`` and its day.
        hash, base: of the entry when its editing began; '' in drafts of older versions.
    """

    path: str
    entry_id: str
    title: str
    text: str
    hash: str = ""
    base: str = ""

    @property
    def new_day(self) -> str:
        """The day of a new note; '' for an edit."""
        return self.entry_id.removeprefix(_NEW) if self.entry_id.startswith(_NEW) else ""


def of_new(memory: str, day: str) -> Draft:
    return Draft(memory, f"{_NEW}{day}", f"a new note of {day}", "")


def keep(home: Home, draft: Draft) -> None:
    """Write *draft* (secrets replaced: it is written before anybody saved it)."""
    from memsearch_engine import redact

    file = home.draft(draft.path, draft.entry_id)
    with contextlib.suppress(OSError):
        kept = msgspec.structs.replace(
            draft, text=redact(draft.text, home)[0], base=redact(draft.base, home)[0]
        )
        home.ensure()
        home.put(file, msgspec.json.encode(kept))


def load(home: Home, path: str, entry_id: str) -> Draft | None:
    return _read(home.draft(path, entry_id))


def every(home: Home) -> list[Draft]:
    """All drafts, the one that was written last first."""
    try:
        files = sorted(
            (home.root / "drafts").glob("*.json"),
            key=lambda file: file.stat().st_mtime,
            reverse=True,
        )
    except OSError:
        return []
    return [draft for file in files if (draft := _read(file))]


def drop(home: Home, path: str, entry_id: str) -> None:
    home.draft(path, entry_id).unlink(missing_ok=True)


def _read(file: Path) -> Draft | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Draft)
    except (OSError, msgspec.DecodeError):
        return None
