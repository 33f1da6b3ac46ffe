"""Knows which turns a memory folder has, over all its days.

A turn belongs to the day on which it began here. After a journey or a change of time zone that is
another day than the one it was written on. So whether a turn is known is never asked of one day
file. Files are scanned once, later only their new parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core.ids import digest
from memsearch_engine.journal.files import list_files
from memsearch_engine.journal.model import Anchor, Document, Entry
from memsearch_engine.journal.parse import parse_anchor, turn_id

UNIQUE = 20  # a turn id of this length names one turn in the world, not one in its session
_COMMENT = re.compile(rb"^[ \t]*<!--([^\n]*?\bsession:[^\n]*?)-->[ \t]*\r?$", re.M)
_TIME = re.compile(rb"\b(\d{1,2}):(\d{2})\b")
_HEADING = re.compile(rb" {0,3}#{1,3}[ \t]")
_TAIL = 4096
_MAX_LINES = 40  # of comments between a heading and an anchor


#: Zones differ by a multiple of this, except for three.
_ZONES = timedelta(minutes=30)
_FARTHEST = timedelta(hours=26)  # between two zones
_WORD = re.compile(r"[a-z0-9_]{4,}|[^\x00-\u2fff]{2}")
_FRAME = frozenset("user asked agent codex openclaw about with that this from".split())
_BODY = 4000  # bytes of a note that are compared
_SHARED, _SHARE = 2, 0.3  # words that a note has in common with its turn: number, part


class _Unnamed(msgspec.Struct, frozen=True):
    """A note of memsearch whose anchor names a session and no turn.

    Attributes:
        time: local time of the machine that wrote it, ``YYYY-MM-DD HH:MM``.
    """

    agent: str
    session: str
    time: str
    words: frozenset[str]

    def is_of(self, anchor: Anchor, times: list[datetime], words: frozenset[str]) -> bool:
        """Whether this is the note of a turn in any time zone: the minutes and the words agree."""
        if (self.agent, self.session) != (anchor.agent, anchor.session):
            return False
        shared = len(self.words & words)
        if shared < _SHARED or shared < _SHARE * len(self.words):
            return False
        noted = _moment(self.time)
        return noted is not None and any(
            abs(noted - time) <= _FARTHEST and not (noted - time) % _ZONES for time in times
        )


class _DayTurns(msgspec.Struct):
    mtime_ns: int
    size: int
    tail: bytes
    keys: set[str]
    unnamed: list[_Unnamed]


class KnownTurns:
    """The turns of one memory folder. Not shared between threads."""

    def __init__(self, memory: str) -> None:
        self._memory = memory
        self._files: dict[str, _DayTurns] = {}

    def has(
        self,
        anchor: Anchor,
        aliases: Iterable[str] = (),
        times: Iterable[str] = (),
        *,
        text: str = "",
        look: bool = True,
    ) -> bool:
        """Whether the turn of *anchor* has an entry, in its session or in a fork.

        Args:
            aliases: other ids of the turn.
            times: ``YYYY-MM-DD HH:MM`` in which memsearch may have noted it: its anchors for
                Codex and OpenClaw have no turn.
            text: the turn's text. With it, such a note is also found if it was written in another
                time zone.
            look: scan the files first; a caller with many turns scans once.
        """
        if look:
            self.look()
        times = list(times)
        wanted = _wanted(anchor, aliases) | {
            _at(anchor.agent, anchor.session, time) for time in times
        }
        if any(not wanted.isdisjoint(file.keys) for file in self._files.values()):
            return True
        unnamed = [note for file in self._files.values() for note in file.unnamed]
        moments = [moment for time in times if (moment := _moment(time))]
        if not (unnamed and moments and text):
            return False
        words = _words(text)
        return any(note.is_of(anchor, moments, words) for note in unnamed)

    def where(self, anchor: Anchor, aliases: Iterable[str] = ()) -> list[str]:
        """Files with an entry of the turn."""
        self.look()
        wanted = _wanted(anchor, aliases)
        return [path for path, file in self._files.items() if not wanted.isdisjoint(file.keys)]

    def look(self) -> None:
        """Read what has changed."""
        listed = list_files(self._memory).files
        for gone in self._files.keys() - {file.path for file in listed}:
            del self._files[gone]
        for file in listed:
            known = self._files.get(file.path)
            if known and (known.mtime_ns, known.size) == (file.mtime_ns, file.size):
                continue
            try:
                data = safe_files.read(file.path)
            except OSError:
                continue
            end = (
                known.size if known else 0
            )  # what was appended to is read on; what was changed is read anew
            grown = (
                known is not None
                and len(data) > end
                and data[max(0, end - _TAIL) : end] == known.tail
            )
            keys = known.keys if known and grown else set()
            unnamed = known.unnamed if known and grown else []
            more, noted = _scan(data, end if grown else 0, file.day)
            self._files[file.path] = _DayTurns(
                file.mtime_ns, len(data), data[-_TAIL:], keys | more, unnamed + noted
            )


def _scan(data: bytes, start: int, day: str) -> tuple[set[str], list[_Unnamed]]:
    """Return the keys of the turns in a day file from *start* on, and its notes without a turn."""
    keys: set[str] = set()
    unnamed: list[_Unnamed] = []
    for match in _COMMENT.finditer(data, data.rfind(b"\n", 0, start) + 1):
        if _under_heading(data, match.start()):
            anchor = parse_anchor(match[1].decode("utf-8", "replace").strip())
            if anchor and anchor.turn:
                keys |= names_of(anchor)
            elif anchor and (
                time := _TIME.search(data, data.rfind(b"\n#", 0, match.start()), match.start())
            ):
                minute = f"{day} {int(time[1]):02d}:{time[2].decode()}"
                keys.add(_at(anchor.agent, anchor.session, minute))
                end = data.find(b"\n#", match.end(), match.end() + _BODY)
                body = data[match.end() : match.end() + _BODY if end < 0 else end]
                words = _words(body.decode("utf-8", "replace")) - _FRAME
                unnamed.append(_Unnamed(anchor.agent, anchor.session, minute, words))
    return keys, unnamed


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _moment(time: str) -> datetime | None:
    """Convert ``YYYY-MM-DD HH:MM``; None if it is no time."""
    try:
        return datetime.strptime(time, "%Y-%m-%d %H:%M")
    except ValueError:
        return None


def _under_heading(data: bytes, place: int) -> bool:
    """Whether only comments and blank lines are between a line and its heading."""
    for _ in range(_MAX_LINES):
        if place <= 0:
            return False
        start = data.rfind(b"\n", 0, place - 1) + 1
        line = data[start : place - 1].strip()
        if line and not line.startswith(b"<!--"):
            return bool(_HEADING.match(data, start))
        place = start
    return False


def _wanted(anchor: Anchor, aliases: Iterable[str]) -> set[str]:
    return names_of(anchor).union(
        *(names_of(Anchor(anchor.session, name, anchor.agent)) for name in aliases)
    )


def _at(agent: str, session: str, time: str) -> str:
    return digest("at", agent, session, time)


def names_of(anchor: Anchor) -> set[str]:
    """The names by which a turn is known."""
    keys = {turn_id(anchor.agent, anchor.session, anchor.turn)}
    if len(anchor.turn) >= UNIQUE:
        keys.add(digest("copy", anchor.agent, anchor.turn))
    return keys


def copy_of(day: Document, anchor: Anchor) -> Entry | None:
    """Return the entry of a turn that was made in another session; None if there is none."""
    for entry in day.entries:
        if entry.anchor and not names_of(anchor).isdisjoint(names_of(entry.anchor)):
            return entry
    return None
