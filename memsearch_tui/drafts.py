"""Unsaved edits, kept in the home folder so that a crash in the middle of one loses nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec
from memsearch_engine.home import Home
from memsearch_engine.ids import digest


class Draft(msgspec.Struct):
    path: str
    entry_id: str
    title: str
    text: str


def _file(home: Home, path: str, entry_id: str) -> Path:
    return home.root / "drafts" / f"{digest(path, entry_id)}.json"


def keep(home: Home, draft: Draft) -> None:
    """Write *draft* (secrets replaced: it is written before anybody saved it)."""
    from memsearch_engine.secrets.scan import redact  # 20 ms, and most starts need none

    file = _file(home, draft.path, draft.entry_id)
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = file.with_suffix(".tmp")
        temporary.write_bytes(msgspec.json.encode(msgspec.structs.replace(draft, text=redact(draft.text, home)[0])))
        os.replace(temporary, file)


def load(home: Home, path: str, entry_id: str) -> Draft | None:
    return _read(_file(home, path, entry_id))


def every(home: Home) -> list[Draft]:
    """All drafts, the one that was written last first."""
    try:
        files = sorted((home.root / "drafts").glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    except OSError:
        return []
    return [draft for file in files if (draft := _read(file))]


def drop(home: Home, path: str, entry_id: str) -> None:
    _file(home, path, entry_id).unlink(missing_ok=True)


def _read(file: Path) -> Draft | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Draft)
    except (OSError, msgspec.DecodeError):
        return None
