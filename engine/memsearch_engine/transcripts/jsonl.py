"""Sessions kept as JSON lines: read once for where its turns begin, then only the turns that are asked for.

A transcript can have 500 MB (Claude Code records whole requests), so the places of its turns are kept in a small file in
the home folder. A file that has grown is read on from its last turn; one that was replaced is read anew.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec

from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.transcripts.model import SUB_AGENTS, Conversation, Session, Turn, well_formed

MAX_LINE = 256 * 1024 * 1024
#: Smaller files are read faster than their index is found.
_WORTH_AN_INDEX = 1024 * 1024
_HEAD = 4096
_MAX_INDEXES = 4000
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a session's id that can be a folder's name


class Scanner(Protocol):
    """Finds where turns begin, line by line."""

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        """Take a line; (turn id, offset where that turn begins) once it is known. Raises msgspec.DecodeError."""
        ...

    facts: dict[str, str]
    unknown: dict[str, int]
    aliases: dict[str, str]


class Offsets(msgspec.Struct):
    """Where the turns of one file begin. ``size``: how far it was read."""

    layout: int
    inode: int
    head: str
    size: int
    ids: list[str]
    starts: list[int]
    facts: dict[str, str]
    unknown: dict[str, int]
    aliases: dict[str, str] = {}  # other names of turns


_LAYOUT = 2


class JsonlConversation(Conversation):
    """A session file. *cache* is the folder of offset indexes; None where the home can't be written or used."""

    def __init__(
        self,
        where: Session,
        scanner: Callable[[], Scanner],
        parse: Callable[[Iterable[bytes], dict[str, str]], list[Turn]],
        cache: Path | None = None,
    ) -> None:
        super().__init__(where)
        self._parse = parse
        self._offsets = _scan(where.path, scanner, cache)
        self.ids = self._offsets.ids
        self.aliases = self._offsets.aliases
        self.unknown = self._offsets.unknown
        self.session = self._offsets.facts.get("session") or where.session
        self.parent = self._offsets.facts.get("parent", "")
        self.version = self._offsets.facts.get("version", "")

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        first, stop, _ = slice(first, last).indices(len(self.ids))
        if first >= stop:
            return []
        starts = self._offsets.starts
        end = starts[stop] if stop < len(starts) else None
        return self._parse((raw for _, raw in lines(self.where.path, starts[first], end)), self._offsets.facts)


class WithSubAgents(JsonlConversation):
    """A session whose sub-agents have files of their own, all in one folder. A turn in which one was sent off took in content from outside
    where any of them did; so it is said, too, where their files can't be read."""

    scanner: ClassVar[Callable[[], Scanner]]
    parser: ClassVar[Callable[[Iterable[bytes], dict[str, str]], list[Turn]]]

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where, type(self).scanner, type(self).parser, cache)

    def sub_agents(self) -> Iterable[Path]:
        """Their files. Called for a session whose id can be a folder's name."""
        raise NotImplementedError

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        found = super().turns(first, last)
        for turn in found:
            sent_off = any(call.name.lower() in SUB_AGENTS for call in turn.tools)
            turn.outside = turn.outside or (sent_off and self._they_took_in)
        return found

    @cached_property
    def _they_took_in(self) -> bool:
        files = list(self.sub_agents()) if _PLAIN.fullmatch(self.session) else []
        for file in files:
            try:
                own = Session(self.agent, file.stem, str(file), self.where.kind)
                turns = JsonlConversation(own, type(self).scanner, type(self).parser).turns()
            except OSError:
                turns = []
            if not turns or any(turn.outside for turn in turns):
                return True
        return not files


def lines(path: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
    """(offset, line) from *start*; a half-written last line is left for the next reading."""
    with _opened(path) as file:
        _skip(file, start)
        offset = start
        while stop is None or offset < stop:
            raw = file.readline(MAX_LINE)
            if not raw or (not raw.endswith(b"\n") and not raw.rstrip().endswith(b"}")):
                return
            yield offset, well_formed(raw)
            offset += len(raw)


def _opened(path: str) -> Any:
    file = _regular(path)
    if not path.endswith(".zst"):
        return file
    import zstandard

    return io.BufferedReader(zstandard.open(file, "rb", closefd=True), 1 << 20)


def _regular(path: str) -> io.BufferedReader:
    """A file's bytes as they lie. Raises OSError, also for a pipe, which would keep us for ever."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = open(fd, "rb")
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file


def _skip(file: Any, start: int) -> None:
    if start and not file.seekable():
        while start > 0 and (chunk := file.read(min(start, 1 << 20))):
            start -= len(chunk)
    elif start:
        file.seek(start)


def _scan(path: str, scanner: Callable[[], Scanner], cache: Path | None) -> Offsets:
    info = os.stat(path)
    head = _head_digest(path)
    kept = _load(path, cache) if info.st_size >= _WORTH_AN_INDEX else None
    if kept and (kept.layout, kept.inode, kept.head) == (_LAYOUT, info.st_ino, head):
        if kept.size == info.st_size:
            return kept
        if kept.size > info.st_size or not kept.starts:
            kept = None
    else:
        kept = None
    found = Offsets(_LAYOUT, info.st_ino, head, info.st_size, [], [], {}, {})
    scan = scanner()
    start = 0
    if kept:  # its last turn may have grown: read on from there
        found.ids, found.starts = kept.ids[:-1], kept.starts[:-1]
        start = kept.starts[-1]
        scan.facts.update(kept.facts)
        scan.unknown.update(kept.unknown)
        scan.aliases.update(kept.aliases)
    for offset, raw in lines(path, start):
        try:
            turn = scan.feed(offset, raw)
        except (msgspec.DecodeError, RecursionError):
            scan.unknown["(not JSON)"] = scan.unknown.get("(not JSON)", 0) + 1
            continue
        if turn:
            found.ids.append(turn[0])
            found.starts.append(turn[1])
    found.facts, found.unknown, found.aliases = scan.facts, scan.unknown, scan.aliases
    if info.st_size >= _WORTH_AN_INDEX and cache is not None:
        _save(path, cache, found)
    return found


def _head_digest(path: str) -> str:
    with _regular(path) as file:
        return digest(file.read(_HEAD), size=8)


def _load(path: str, cache: Path | None) -> Offsets | None:
    if cache is None:
        return None
    try:
        return msgspec.json.decode((cache / _name(path)).read_bytes(), type=Offsets)
    except (OSError, msgspec.DecodeError):
        return None


def _save(path: str, cache: Path, found: Offsets) -> None:
    """Keep the index; it is a cache, so a folder that can't be written is no error."""
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o700, exist_ok=True)
        if len(names := os.listdir(cache)) > _MAX_INDEXES:
            for name in names[: _MAX_INDEXES // 4]:
                (cache / name).unlink(missing_ok=True)
        Home.put(cache / _name(path), msgspec.json.encode(found))


def _name(path: str) -> str:
    return digest(os.fsencode(path), size=12) + ".json"
