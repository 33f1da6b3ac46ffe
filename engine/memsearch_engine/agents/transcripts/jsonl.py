"""Sessions in JSON lines.

A file is read once to find where its turns begin; after that, only the requested turns are read. A
transcript can have 500 MB, because Claude Code records whole requests. So the offsets of its turns
are stored in a small file in the home folder. If a file has grown, it is read from its last turn
on; if it was replaced, it is read from the start.
"""

from __future__ import annotations

import bisect
import contextlib
import mmap
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Conversation,
    Session,
    Turn,
    count,
)
from memsearch_engine.agents.transcripts.records import NOT_JSON, lines, regular
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest

#: Smaller files are read faster than their index is looked up.
_WORTH_AN_INDEX = 1024 * 1024
_HEAD = 4096
_MAX_INDEXES = 4000
_LINE_ID = re.compile(r"[\w.:-]{1,200}", re.A)
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a session id that is safe as a folder's name


class Scanner(ABC):
    """Finds where turns begin, line by line.

    Attributes:
        facts: facts of the session: ``session``, ``parent``, ``cwd``, ``version``, ``branch``, and
            others that the reader's parser needs.
        unknown: kinds of records that the reader does not know, with their counts.
        aliases: other names of turns -> their ids.
        after: see ``Offsets``.
        begun: the ids of the turns so far.
    """

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.unknown: dict[str, int] = {}
        self.aliases: dict[str, str] = {}
        self.after: dict[str, str] = {}
        self.begun: set[str] = set()

    @abstractmethod
    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        """Take one line of the file.

        Args:
            offset: where the line begins, in bytes.
            raw: the line.

        Returns:
            (turn id, offset where that turn begins) as soon as a turn is known, else None.

        Raises:
            msgspec.DecodeError: the line is not a record.
        """

    def is_again(self, turn: str) -> bool:
        """Whether the client has written the line of an earlier turn again.

        Lines without an id of their own may share a name: a fork of Codex writes all lines at once.
        """
        return False

    def count(self, kind: object) -> None:
        """Count a record of a kind that the reader does not know."""
        count(self.unknown, kind)


class LinkedScanner(Scanner):
    """Finds turns in lines that name the line that they follow.

    A turn that follows no line of the turn before it is on another branch of the session. Lines
    that a client writes again when it is opened may follow another line than before.
    """

    def __init__(self) -> None:
        super().__init__()
        # ids of the lines since the last turn began -> the line outside of that turn that they
        # descend from, None if they descend from the turn
        self._roots: dict[str, str | None] = {}
        self._has_begun = False  # lines before the first turn may belong to a turn that is not read

    def is_again(self, turn: str) -> bool:
        """Whether the client has written the line of an earlier turn again."""
        return turn in self.begun

    def link(self, own: str, parent: str | None) -> None:
        """Record a line that begins no turn.

        Args:
            own: its id.
            parent: the id of the line that it follows, ``""`` for the start of the session, None if
                it follows the line before it.
        """
        self._roots[own] = self._root(parent)

    def rewind(self, own: str, parent: str | None) -> None:
        """Record a line with which the person took turns back. See ``link``."""
        self.link(own, parent)
        self.after.pop("", None)  # the person may return to the turn
        if (root := self._roots[own]) is not None:
            self.after[""] = root

    def begin(self, turn: str, own: str, parent: str | None) -> None:
        """Record a line that begins a turn. See ``link``."""
        root = self._root(parent)
        self.after.pop("", None)
        if self._has_begun and root is not None and turn not in self.begun:
            self.after[turn] = root
        self._has_begun = True
        self._roots = {own: None}

    def linked(
        self, found: tuple[str, int] | None, own: str, parent: str | None
    ) -> tuple[str, int] | None:
        """Record a line, and return *found*, which is what ``feed`` returns for it."""
        if found:
            self.begin(found[0], own, parent)
        else:
            self.link(own, parent)
        return found

    def _root(self, parent: str | None) -> str | None:
        # lines without an id are stored under ""
        return self._roots.get(parent, parent) if parent else parent


class LinkedLine(msgspec.Struct):
    """What Claude Code and Qwen Code write in each line; of any type, as files are untrusted."""

    type: Any = None
    uuid: Any = None
    parentUuid: Any = None
    isSidechain: Any = None
    timestamp: Any = None
    sessionId: Any = None
    cwd: Any = None
    gitBranch: Any = None
    version: Any = None


def replaced_turns(
    ids: list[str], after: dict[str, str], follows: Callable[[str, list[int]], int]
) -> dict[int, int]:
    """Find rewound turns and their successors. A branch that continues later is not abandoned.

    Args:
        after: see ``Offsets``. The next turn, named ``""``, has the position after the last one.
        follows: see ``JsonlConversation._follows``.

    Returns:
        Position of a rewound turn -> position of the turn that replaces it.
    """
    found: dict[int, int] = {}
    parents: list[int] = []  # of each turn, the position of the turn that it follows
    for place, name in enumerate([*ids, *([""] if "" in after else [])] if after else ()):
        line = after.get(name)
        parent = min(follows(line, parents), place - 1) if line is not None else place - 1
        parents.append(parent)
        below, branch = {parent}, parent
        while branch in found:
            del found[branch]
            branch = parents[branch]
        for older in range(parent + 1, place):
            if parents[older] in below:
                below.add(older)
                found.setdefault(older, place)
    return found


def turns_back(count: str, parents: list[int]) -> int:
    """Return the position of the turn that *count* turns before the end lead to; -1 for none.

    It is ``JsonlConversation._follows`` for agents that record how many turns were taken back.
    """
    place = len(parents) - 1
    for _ in range(int(count)):
        if place < 0:
            break
        place = parents[place]
    return place


def name_replaced(turns: list[Turn], first: int, ids: list[str], replaced: dict[int, int]) -> None:
    """Write what ``replaced_turns`` found into *turns*, whose first has position *first*."""
    for place, turn in enumerate(turns if replaced else (), first):
        newer = replaced.get(place)
        turn.taken_back = newer == len(ids)
        turn.replaced_by = "" if newer is None or turn.taken_back else ids[newer]
        turn.replaces = [ids[older] for older, by in replaced.items() if by == place]


class Offsets(msgspec.Struct):
    """Where the turns of one file begin.

    Attributes:
        layout: version of this format.
        inode, head: identify the file.
        size: how far the file was read, in bytes.
        ids, starts: id and offset in bytes of each turn.
        after: turns that do not follow the turn before them in the file -> what they follow, in a
            form that the reader defines. The turn ``""`` is the next one: the person has taken
            turns back.
    """

    layout: int
    inode: int
    head: str
    size: int
    ids: list[str]
    starts: list[int]
    facts: dict[str, str]
    unknown: dict[str, int]
    aliases: dict[str, str] = {}  # other names of turns
    before: dict[str, int] = {}  # the part of ``unknown`` that was counted before the last turn
    after: dict[str, str] = {}


_LAYOUT = 10


class JsonlConversation(Conversation):
    """The session in a JSON lines file.

    Attributes:
        scanner: makes a scanner for the file.
        parser: makes turns of lines and the scanner's facts.
        line_id: the key of a line's id.
    """

    scanner: ClassVar[Callable[[], Scanner]]
    parser: ClassVar[Callable[[Iterable[bytes], dict[str, str]], list[Turn]]]
    line_id: ClassVar[str] = "uuid"

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where)
        self._offsets = self._scan(cache)
        self.ids = self._offsets.ids
        self.aliases = self._offsets.aliases
        self.unknown = self._offsets.unknown
        self.session = self._offsets.facts.get("session") or where.session
        self.parent = self._offsets.facts.get("parent", "")
        self.is_ephemeral = bool(self._offsets.facts.get("ephemeral"))
        self.version = self._offsets.facts.get("version", "")

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        first, stop, _ = slice(first, last).indices(len(self.ids))
        if first >= stop:
            return []
        starts = self._offsets.starts
        end = starts[stop] if stop < len(starts) else None
        found = self._once(first, starts[first], end)
        name_replaced(found, first, self.ids, self._replaced)
        return found

    def _once(self, first: int, start: int, stop: int | None) -> list[Turn]:
        """Read turns from the one at position *first* on, without those that were written again."""
        found: list[Turn] = []
        for turn in type(self).parser(self._lines(start, stop), self._offsets.facts):
            place = first + len(found)
            at = self._places.get(turn.turn, place)
            if at >= place:
                found.append(turn)
            elif found and at == place - 1 and _goes_further(turn, found[-1]):
                found[-1] = msgspec.structs.replace(turn, cwd=found[-1].cwd)
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._offsets.ids)}

    def taken_back(self) -> list[int]:
        """Return the positions of turns that the person took back while no other turn follows."""
        return [place for place, newer in self._replaced.items() if newer == len(self.ids)]

    def _follows(self, after: str, parents: list[int]) -> int:
        """Return the position of the turn that another one follows; -1 for the session's start.

        Args:
            after: what the reader's scanner stored in ``Offsets.after``.
            parents: the same position for each earlier turn.
        """
        found = self.place_of_line(after) if after else -1
        return len(parents) - 1 if found is None else found

    def place_of_line(self, line: str) -> int | None:
        """Return the position of the turn with a line; -1 before turns, None for an unknown id.

        Of a line that was written again, the first one counts.
        """
        if not _LINE_ID.fullmatch(line) or self.where.path.endswith(".zst"):
            return None
        with (
            contextlib.suppress(OSError, ValueError),
            open(self.where.path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            forms = ("utf-8", "utf-16-le", "utf-16-be") if b"\0" in data[:4] else ("utf-8",)
            for form, blank in product(forms, ("", " ")):
                pair = f'"{self.line_id}":{blank}"{line}"'.encode(form)
                if (at := data.find(pair)) >= 0:
                    return bisect.bisect_right(self._offsets.starts, at) - 1
        return None

    @cached_property
    def _replaced(self) -> dict[int, int]:
        return replaced_turns(self._offsets.ids, self._offsets.after, self._follows)

    def _scan(self, cache: Path | None) -> Offsets:
        return _scan(self.where.path, type(self).scanner, cache)

    def _lines(self, start: int, stop: int | None) -> Iterable[bytes]:
        return (raw for _, raw in lines(self.where.path, start, stop))


class WithSubAgents(JsonlConversation):
    """A session with a separate file for each sub-agent, all in one folder.

    A turn that started sub-agents has outside content if any sub-agent of the session took some in,
    or if their files cannot be read.
    """

    def sub_agents(self) -> Iterable[Path]:
        """Return the files of the sub-agents.

        Only called if the session's id is safe as a folder's name.
        """
        raise NotImplementedError

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = super().turns(first, last)
        for turn in found:
            sent_off = any(call.name.lower() in SUB_AGENTS for call in turn.tools)
            turn.outside = turn.outside or (sent_off and self._children_read_outside)
        return found

    @cached_property
    def _children_read_outside(self) -> bool:
        files = list(self.sub_agents()) if _PLAIN.fullmatch(self.session) else []
        turns = [turns_of_sub_agent(type(self), self.where, file) for file in files]
        return not turns or any(not some or any(turn.outside for turn in some) for some in turns)


def turns_of_sub_agent(kind: type[JsonlConversation], session: Session, file: Path) -> list[Turn]:
    """Return the turns in a sub-agent's file.

    If it cannot be read, it is one turn that read content from outside.
    """
    try:
        own = Session(session.agent, file.stem, str(file), session.kind)
        return JsonlConversation.turns(kind(own))
    except OSError:
        return [Turn(session.agent, file.stem, "", outside=True)]


def _scan(path: str, scanner: Callable[[], Scanner], cache: Path | None) -> Offsets:
    info = os.stat(path)
    with regular(path) as file:
        head = digest(file.read(_HEAD), size=8)
    stored = _load(path, cache) if info.st_size >= _WORTH_AN_INDEX else None
    known = Offsets(_LAYOUT, info.st_ino, head, info.st_size, [], [], {}, {})
    if (
        stored
        and (stored.layout, stored.inode, stored.head) == (_LAYOUT, info.st_ino, head)
        and stored.size <= info.st_size
    ):
        if stored.size == info.st_size:
            return stored
        known = msgspec.structs.replace(stored, size=info.st_size)
    found = _scanned(path, scanner(), known)
    if not _goes_on(known, found):  # a rewind has written the file again
        found = _scanned(path, scanner(), msgspec.structs.replace(found, ids=[], starts=[]))
    if info.st_size >= _WORTH_AN_INDEX and cache is not None:
        _save(path, cache, found)
    return found


def _goes_further(copy: Turn, turn: Turn) -> bool:
    """Whether the agent was at work on a turn that was written again, and has gone on."""
    return copy.ended > turn.ended and copy.assistant.startswith(turn.assistant)


def _goes_on(known: Offsets, found: Offsets) -> bool:
    """Whether the last known turn is still where it was."""
    last = len(known.ids)
    return (known.ids[-1:], known.starts[-1:]) == (
        found.ids[:last][-1:],
        found.starts[:last][-1:],
    )


def _scanned(path: str, scan: Scanner, known: Offsets) -> Offsets:
    """Return the turns of a file. The last *known* one may have grown, so it is read again."""
    ids, starts = known.ids[:-1], known.starts[:-1]
    before: dict[str, int] = {}
    scan.begun.update(ids)
    if known.ids:
        scan.facts.update(known.facts)
        before = known.before
        scan.unknown.update(before)
        scan.aliases.update(known.aliases)
        scan.after.update({turn: line for turn, line in known.after.items() if turn})
    for offset, raw in lines(path, known.starts[-1] if known.ids else 0, None, scan.unknown):
        try:
            turn = scan.feed(offset, raw)
        except (msgspec.DecodeError, RecursionError):
            scan.count(NOT_JSON)
            continue
        if turn and not scan.is_again(turn[0]):
            before = dict(scan.unknown)
            scan.begun.add(turn[0])
            ids.append(turn[0])
            starts.append(turn[1])
    return Offsets(
        _LAYOUT,
        known.inode,
        known.head,
        known.size,
        ids,
        starts,
        scan.facts,
        scan.unknown,
        scan.aliases,
        before,
        scan.after,
    )


def _load(path: str, cache: Path | None) -> Offsets | None:
    if cache is None:
        return None
    try:
        return msgspec.json.decode((cache / _name(path)).read_bytes(), type=Offsets)
    except (OSError, msgspec.DecodeError):
        return None


def _save(path: str, cache: Path, found: Offsets) -> None:
    """Store the index. It is a cache: a folder that cannot be written is no error."""
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o700, exist_ok=True)
        if len(names := os.listdir(cache)) > _MAX_INDEXES:
            for name in names[: _MAX_INDEXES // 4]:
                (cache / name).unlink(missing_ok=True)
        Home.put(cache / _name(path), msgspec.json.encode(found))


def _name(path: str) -> str:
    return digest(os.fsencode(path), size=12) + ".json"
