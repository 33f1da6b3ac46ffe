"""What the repository looks like in which machines meet: names, the mark that tells it from any
other, what was deleted.

memsearch.json                          Mark: the format, and whether all else is encrypted
projects/<identity>/project.json        what it is called
projects/<identity>/memory/…            its notes, as they stand on the machines
projects/<identity>/tombstones          Stones
projects/<identity>/arrived             names of notes that came to a machine with a clone, and wait
there for their owner's word evidence/<hash of its name>.json        a kept conversation (``kept``),
where its owner wants them to travel longterm/…                              MEMORY.md,
memory_summary.md, remembered facts
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
    """Whose a path in the repository is: a project's identity, or LONGTERM."""
    return (
        LONGTERM if path.startswith(BELOW_LONGTERM) else path.split("/")[1] if "/" in path else ""
    )


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What tells a memory from any other repository. ``sealed``: the name of the key that all else
    is encrypted with.
    """

    format: int = 0
    sealed: str = ""


def called(data: bytes) -> str:
    """What a project is called, by whoever wrote it there: a word to show, nothing else."""
    try:
        return shown_line(msgspec.json.decode(data, type=dict[str, str]).get("name", ""))[:80]
    except msgspec.DecodeError:
        return ""


def travels(name: str) -> bool:
    """Whether a file of the long-term memory is synced: what it says and what was remembered, not
    what it is made of.
    """
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


class Stones:
    """What was deleted, or replaced, in a project: lines of an entry's id, a hash of what it said,
    and when.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        found = (line.split(" ") for line in lines)
        self._at = {(parts[0], parts[1]): parts[2] for parts in found if len(parts) == 3}

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """(id, ``text_key``) of each."""
        return set(self._at)

    def last(self, entry_id: str) -> float:
        """When a text of an entry was replaced last (seconds since 1970), 0 where none was."""
        return max(
            (_seconds(at) for (name, _), at in self._at.items() if name == entry_id), default=0.0
        )

    def put(self, fallen: dict[tuple[str, str], float]) -> None:
        for pair, at in fallen.items():
            self._at.setdefault(pair, time.strftime(_STAMP, time.gmtime(at)))

    def drop(self, living: Iterable[tuple[str, str]]) -> None:
        for pair in living:
            self._at.pop(pair, None)

    def lines(self) -> str:
        return "\n".join(sorted(f"{name} {key} {at}" for (name, key), at in self._at.items()))


def _seconds(stamp: str) -> float:
    try:
        return calendar.timegm(time.strptime(stamp, _STAMP))
    except ValueError:
        return 0.0
