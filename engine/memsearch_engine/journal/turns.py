"""Knows which turns a memory folder has, over all its days.

A turn belongs to the day on which it began here. After a journey or a change of time zone that is
another day than the one it was written on. So whether a turn is known is never asked of one day
file. Files are scanned once, later only their new parts.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core.ids import digest
from memsearch_engine.journal.files import DayFile, list_files
from memsearch_engine.journal.model import Anchor, Document, Entry, agent_of
from memsearch_engine.journal.parse import parse_anchor

UNIQUE = 20  # a turn id of this length names one turn in the world, not one in its session
#: An entry as capture writes it, from its heading to its anchor. The pattern begins with a literal,
#: so a file is searched four times faster than for comments.
_CAPTURED = re.compile(
    r"\n### [^\n]*\n<!-- session:([!-~]+) turn:([!-~]+) (transcript|rollout|db):([!-~]+)"
    r"(?: agent:([!-~]+))? -->\r?(?=\n)"
)
_COMMENT = re.compile(rb"^[ \t]*<!--([^\n]*?\bsession:[^\n]*?)-->[ \t]*\r?$", re.M)
_TIME = re.compile(rb"\b(\d{1,2}):(\d{2})\b")
_HEADING = re.compile(rb" {0,3}#{1,3}[ \t]")
_TAIL = 4096
_MAX_LINES = 40  # of comments between a heading and an anchor


#: Zones differ by a multiple of this, except for three.
_ZONES = timedelta(minutes=30)
_FARTHEST = timedelta(hours=26)  # between two zones
_NEAR = 2  # days, for the same reason
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
    day: str
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
        self._days: dict[str, list[str]] = {}
        #: Folder -> time of its last change, as it was before the files were listed.
        self._folders: dict[str, int] = {}
        self._keys: set[str] | None = None  # of all files; None if they must be collected anew
        self._session: str | None = None  # of the last turn with a day that was looked for

    def has(
        self,
        anchor: Anchor,
        aliases: Iterable[str] = (),
        times: Iterable[str] = (),
        *,
        text: str = "",
        look: bool = True,
        day: str = "",
    ) -> bool:
        """Whether the turn of *anchor* has an entry, in its session or in a fork.

        Args:
            aliases: other ids of the turn.
            times: ``YYYY-MM-DD HH:MM`` in which memsearch may have noted it: its anchors for
                Codex and OpenClaw have no turn.
            text: the turn's text. With it, such a note is also found if it was written in another
                time zone.
            look: scan the files first; a caller with many turns scans once.
            day: the day of the turn. For further turns of a session, only the files of days near
                it and near *times* are scanned. A fork may give its copies a later day.
        """
        times = list(times)
        moments = [moment for time in times if (moment := _moment(time))]
        if look:
            is_further = day and anchor.session == self._session
            days = {day, *(moment.date().isoformat() for moment in moments)}
            self.look(days if is_further else ())
            self._session = anchor.session if day else None
        wanted = _wanted(anchor, aliases) | {
            _at(anchor.agent, anchor.session, time) for time in times
        }
        if self._keys is None:
            self._keys = set().union(*(file.keys for file in self._files.values()))
        if not wanted.isdisjoint(self._keys):
            return True
        if not (moments and text):
            return False
        words = _words(text)
        unnamed = (note for file in self._files.values() for note in file.unnamed)
        return any(note.is_of(anchor, moments, words) for note in unnamed)

    def where(self, anchor: Anchor, aliases: Iterable[str] = ()) -> list[str]:
        """Files with an entry of the turn."""
        self.look()
        wanted = _wanted(anchor, aliases)
        return [path for path, file in self._files.items() if not wanted.isdisjoint(file.keys)]

    def look(self, days: Collection[str] = ()) -> None:
        """Read what has changed.

        Args:
            days: read only the files of days near these, in which another process may have written
                a turn of that day in another time zone. Files that came or went are noticed all
                the same.
        """
        folders = {folder: _changed(folder) for folder in self._folders}
        near = self._near(days) if days and folders == self._folders else None
        if near is None:
            near = list_files(self._memory).files
            for gone in self._files.keys() - {file.path for file in near}:
                del self._files[gone]
                self._keys = None
            self._days = {}
            for file in near:
                self._days.setdefault(file.day, []).append(file.path)
            found = {self._memory, *(os.path.dirname(file.path) for file in near)}
            # a folder that was not known before the files were listed is listed once more
            self._folders = {folder: folders.get(folder, -1) for folder in found}
        changed = {
            file.path: file
            for file in near
            if (known := self._files.get(file.path)) is None
            or (known.mtime_ns, known.size) != (file.mtime_ns, file.size)
        }
        for path, data in safe_files.read_each(changed):
            self._read(changed[path], data, self._files.get(path))

    def wrote(self, path: str, block: bytes) -> None:
        """Learn what was just appended to a file, so that the file is not read again for it."""
        known = self._files.get(path)
        with contextlib.suppress(OSError):
            file = DayFile.at(path)
            if known and file.size == known.size + len(block):
                end = len(known.tail)
                self._read(file, known.tail + block, known, known.size - end)

    def _near(self, days: Iterable[str]) -> list[DayFile] | None:
        """The known files of the days near *days*; None if there is one that is not known."""
        middles, steps = map(date.fromisoformat, days), range(-_NEAR, _NEAR + 1)
        found = []
        for name in {str(middle + timedelta(n)) for middle in middles for n in steps}:
            path = os.path.join(self._memory, f"{name}.md")
            paths = self._days.get(name, [])
            if path not in paths and os.path.lexists(path):
                return None
            try:
                found += [DayFile.at(path) for path in paths]
            except OSError:
                return None
        return found

    def _read(self, file: DayFile, data: bytes, known: _DayTurns | None, before: int = 0) -> None:
        """Scan the *data* of a file, which begin *before* bytes after its start.

        What was appended to is read on; what was changed is read anew.
        """
        end = known.size - before if known else 0
        grown = (
            known is not None and len(data) > end and data[max(0, end - _TAIL) : end] == known.tail
        )
        more, noted = _scan(data, end if grown else 0, file.day)
        if known and grown:
            more, noted = known.keys | more, known.unnamed + noted
        elif known:
            self._keys = None
        size = before + len(data)
        self._files[file.path] = _DayTurns(
            file.day, file.mtime_ns, size, data[-_TAIL:], more, noted
        )
        if self._keys is not None:
            self._keys |= more


def _changed(folder: str) -> int:
    """When something was last added to a folder, renamed or removed; 0 if it does not exist."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _scan(data: bytes, start: int, day: str) -> tuple[set[str], list[_Unnamed]]:
    """Return the keys of the turns in a day file from *start* on, and its notes without a turn."""
    if not start and (found := _captured(data.decode("latin-1"))) is not None:
        return found, []
    keys: set[str] = set()
    unnamed: list[_Unnamed] = []
    for match in _COMMENT.finditer(data, data.rfind(b"\n", 0, start) + 1):
        anchor = parse_anchor(match[1].decode("utf-8", "replace").strip())
        if not anchor or not _under_heading(data, match.start()):
            continue
        if anchor.turn:
            keys.add(key_of_turn(anchor))
        elif time := _TIME.search(data, data.rfind(b"\n#", 0, match.start()), match.start()):
            minute = f"{day} {int(time[1]):02d}:{time[2].decode()}"
            keys.add(_at(anchor.agent, anchor.session, minute))
            end = data.find(b"\n#", match.end(), match.end() + _BODY)
            body = data[match.end() : match.end() + _BODY if end < 0 else end]
            words = _words(body.decode("utf-8", "replace")) - _FRAME
            unnamed.append(_Unnamed(anchor.agent, anchor.session, minute, words))
    return keys, unnamed


def _captured(text: str) -> set[str] | None:
    """Return the keys of the turns in a day file; None if it may have other anchors, too."""
    parts = _CAPTURED.split(text)
    if any("session:" in text and _COMMENT.search(text.encode("latin-1")) for text in parts[::6]):
        return None
    keys: set[str] = set()
    owners: dict[tuple[str, str], str] = {}
    for session, turn, kind, path, agent in zip(*(parts[n::6] for n in range(1, 6))):
        if not agent and not (agent := owners.get((kind, path))):
            agent = owners[kind, path] = agent_of(kind, path)
        keys.add(_key(agent, session, turn))
    return keys


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
    return {_key(anchor.agent, anchor.session, name) for name in (anchor.turn, *aliases)}


def _at(agent: str, session: str, time: str) -> str:
    return digest("at", agent, session, time)


def key_of_turn(anchor: Anchor) -> str:
    """The name by which a turn is known, with a unique id also in a fork of its session."""
    return _key(anchor.agent, anchor.session, anchor.turn)


def _key(agent: str, session: str, turn: str) -> str:
    return f"{agent}\0{turn}" if len(turn) >= UNIQUE else f"{agent}\0{session}\0{turn}"


def copy_of(day: Document, anchor: Anchor) -> Entry | None:
    """Return the entry of a turn that was made in another session; None if there is none."""
    key = key_of_turn(anchor)
    return next((e for e in day.entries if e.anchor and key_of_turn(e.anchor) == key), None)
