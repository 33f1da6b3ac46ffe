"""Layout of the sync repository.

memsearch.json                      Mark: format, and whether the rest is encrypted
projects/<identity>/project.json    the project's name
projects/<identity>/memory/…        its notes
projects/<identity>/tombstones      deleted and replaced entries
projects/<identity>/arrived         ids of quarantined notes that came with a clone
evidence/<hash>.json                an archived turn (``conversations``), if the owner wants that
longterm/…                          MEMORY.md, memory_summary.md, facts
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Iterable

import msgspec

from memsearch_engine.core.safe_text import shown_line
from memsearch_engine.journal.files import MARKDOWN
from memsearch_engine.longterm import workspace

FORMAT = 1
MARK = "memsearch.json"
LONGTERM = "longterm"
BELOW_LONGTERM = "longterm/"
NOTE = re.compile(r"projects/([0-9a-f]{32})/memory/(.+)")
_DAY_IN_CAPITALS = re.compile(r"\d{4}-\d\d-\d\d\.(?!md$|markdown$)[A-Za-z]+")
_STAMP = "%Y-%m-%dT%H:%M:%SZ"


def owner(path: str) -> str:
    """Owner of a path: a project identity, or LONGTERM."""
    return (
        LONGTERM if path.startswith(BELOW_LONGTERM) else path.split("/")[1] if "/" in path else ""
    )


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mark of a sync repository. ``sealed``: name of the encryption key."""

    format: int = 0
    sealed: str = ""


def called(data: bytes) -> str:
    """Display name of a project; untrusted."""
    try:
        return shown_line(msgspec.json.decode(data, type=dict[str, str]).get("name", ""))[:80]
    except msgspec.DecodeError:
        return ""


def travels(name: str) -> bool:
    """Whether a long-term file is synced: results and facts, not their sources."""
    return name in (workspace.MEMORY, workspace.SUMMARY) or (
        name.startswith(f"{workspace.NOTES}/") and is_note(name)
    )


def is_note(name: str) -> bool:
    """Whether a path of the remote, below its folder, may be a note.

    A day such as ``2026-11-20.MD`` is refused: where file names have no case, it would replace
    ``2026-11-20.md``.
    """
    if _DAY_IN_CAPITALS.fullmatch(name.rsplit("/", 1)[-1]):
        return False
    parts = name.split("/")
    return name.lower().endswith(MARKDOWN) and all(
        0 < len(part) < 200 and part.isprintable() and part[0] != "." for part in parts
    )


class Tombstones:
    """Tombstones of a project: entry id, hash of the text, time."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = (line.split(" ") for line in lines)
        self._at = {(parts[0], parts[1]): parts[2] for parts in found if len(parts) == 3}

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """(id, ``text_key``) of each."""
        return set(self._at)

    def last(self, entry_id: str) -> float:
        """Time of the last replacement of an entry, in seconds since 1970; 0 for none."""
        return max(
            (_seconds(at) for (name, _), at in self._at.items() if name == entry_id), default=0.0
        )

    def put(self, removed: dict[tuple[str, str], float]) -> None:
        """Add tombstones: (entry id, text key) -> time in seconds since 1970."""
        for pair, at in removed.items():
            self._at.setdefault(pair, time.strftime(_STAMP, time.gmtime(at)))

    def drop(self, present: Iterable[tuple[str, str]]) -> None:
        """Remove the tombstones of texts that exist again."""
        for pair in present:
            self._at.pop(pair, None)

    def lines(self) -> str:
        """Return the content of the tombstones' file."""
        return "\n".join(sorted(f"{name} {key} {at}" for (name, key), at in self._at.items()))


def _seconds(stamp: str) -> float:
    try:
        return calendar.timegm(time.strptime(stamp, _STAMP))
    except ValueError:
        return 0.0
