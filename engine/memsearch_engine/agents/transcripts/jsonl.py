"""Sessions kept as JSON lines: read once for where its turns begin, then only the turns that are
asked for.

A transcript can have 500 MB (Claude Code records whole requests), so the places of its turns are
kept in a small file in the home folder. A file that has grown is read on from its last turn; one
that was replaced is read anew.

``records`` is the only splitter of lines for all agents. A crash, a full disk or two writers leave
zero bytes, byte order marks, torn records and records that share a line; every whole record is
read, and what is lost is counted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec

from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Conversation,
    Session,
    Turn,
    well_formed,
)
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest

MAX_LINE = 256 * 1024 * 1024
#: Smaller files are read faster than their index is found.
_WORTH_AN_INDEX = 1024 * 1024
_HEAD = 4096
_MAX_INDEXES = 4000
_MAX_JOINED = 64 * 1024 * 1024
_MAX_TRIES = 64
_BLANK = b" \t\r\n\0"
_ZERO_IS_NEWLINE = bytes.maketrans(b"\0", b"\n")
_BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(r'\{[ \t\r\n]*"')
_ZEROS = re.compile(rb"\0+")
#: Keys of a record's own that the objects inside it do not have.
_TIMES = ("timestamp", "time", "created")
NOT_JSON, ZERO_BYTES, TOO_LONG, BAD_ARCHIVE = (
    "(not JSON)",
    "(zero bytes)",
    "(line too long)",
    "(damaged archive)",
)
#: The kinds in ``Conversation.unknown`` that count damage, not records of a new kind.
DAMAGE = frozenset((NOT_JSON, ZERO_BYTES, TOO_LONG, BAD_ARCHIVE))
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a session's id that can be a folder's name


class Scanner(Protocol):
    """Finds where turns begin, line by line."""

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        """Take a line; (turn id, offset where that turn begins) once it is known. Raises
        msgspec.DecodeError.
        """
        ...

    facts: dict[str, str]
    unknown: dict[str, int]
    aliases: dict[str, str]
    after: dict[str, str]  # see ``Offsets``


class Offsets(msgspec.Struct):
    """Where the turns of one file begin.

    Attributes:
        size: how far the file was read, in bytes.
        after: turns that do not follow the one before them in the file -> what they follow, in
            the reader's own words.
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
    before: dict[str, int] = {}  # what of ``unknown`` was counted before the last turn
    after: dict[str, str] = {}


_LAYOUT = 5


class JsonlConversation(Conversation):
    """A session file. *cache* is the folder of offset indexes; None where the home can't be written
    or used.
    """

    def __init__(
        self,
        where: Session,
        scanner: Callable[[], Scanner],
        parse: Callable[[Iterable[bytes], dict[str, str]], list[Turn]],
        cache: Path | None = None,
    ) -> None:
        super().__init__(where)
        self._parse = parse
        self._offsets = self._scan(scanner, cache)
        self.ids = self._offsets.ids
        self.aliases = self._offsets.aliases
        self.unknown = self._offsets.unknown
        self.session = self._offsets.facts.get("session") or where.session
        self.parent = self._offsets.facts.get("parent", "")
        self.is_ephemeral = bool(self._offsets.facts.get("ephemeral"))
        self.version = self._offsets.facts.get("version", "")

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        first, stop, _ = slice(first, last).indices(len(self.ids))
        if first >= stop:
            return []
        starts = self._offsets.starts
        end = starts[stop] if stop < len(starts) else None
        found = self._parse(self._lines(starts[first], end), self._offsets.facts)
        if self._replaced:
            for place, turn in enumerate(found, first):
                newer = self._replaced.get(place)
                turn.replaced_by = "" if newer is None else self.ids[newer]
                turn.replaces = [
                    self.ids[older] for older, by in self._replaced.items() if by == place
                ]
        return found

    def _follows(self, after: str, parents: list[int]) -> int:
        """The place of the turn that another one follows, -1 for the session's start.

        Args:
            after: as the reader's scanner noted it in ``Offsets.after``.
            parents: the same of each turn before that one.
        """
        raise NotImplementedError

    @cached_property
    def _replaced(self) -> dict[int, int]:
        """Rewound turns and those that followed them -> the turn that was sent in their place; by
        their places in the file. A branch that goes on later was not abandoned.
        """
        found: dict[int, int] = {}
        parents: list[int] = []
        for place, name in enumerate(self._offsets.ids if self._offsets.after else ()):
            after = self._offsets.after.get(name)
            parent = (
                min(self._follows(after, parents), place - 1) if after is not None else place - 1
            )
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

    def _scan(self, scanner: Callable[[], Scanner], cache: Path | None) -> Offsets:
        return _scan(self.where.path, scanner, cache)

    def _lines(self, start: int, stop: int | None) -> Iterable[bytes]:
        return (raw for _, raw in lines(self.where.path, start, stop))


class WithSubAgents(JsonlConversation):
    """A session whose sub-agents have files of their own, all in one folder. A turn in which one
    was sent off took in content from outside where any of them did; so it is said, too, where their
    files can't be read.
    """

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


def lines(
    path: str, start: int = 0, stop: int | None = None, skipped: dict[str, int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """(offset, record) of a file; see ``records``. Raises OSError."""
    with _opened(path) as file:
        _skip(file, start)
        try:
            for _, offset, record in records(file, start, stop, skipped):
                yield offset, record
        except _archive_errors(path):
            _count(skipped, BAD_ARCHIVE)


def numbered(path: str, skipped: dict[str, int]) -> Iterator[tuple[int, bytes]]:
    """(line number, record) of a file, for agents whose turns are named by their lines. Raises
    OSError.
    """
    with _regular(path) as file:
        for number, _, record in records(file, skipped=skipped):
            yield number, record


def first_record(path: str | os.PathLike[str], longest: int) -> bytes:
    """The first record of a file, ``{}`` where it has none. Lines over *longest* bytes are passed
    over. Raises OSError.
    """
    with _regular(os.fspath(path)) as file:
        return next((record for _, _, record in records(file, longest=longest)), b"{}")


def records(
    file: Any,
    start: int = 0,
    stop: int | None = None,
    skipped: dict[str, int] | None = None,
    *,
    longest: int = MAX_LINE,
) -> Iterator[tuple[int, int, bytes]]:
    """(line number, offset, JSON object) of each whole record. A half-written last line is left for
    the next reading.

    Args:
        file: a binary file whose position is *start*.
        start, stop: offsets in bytes; no record that begins at *stop* or later is given.
        skipped: where damage is counted, by its kind (``DAMAGE``).
        longest: bytes; a longer line is passed over.
    """
    number, offset = 1, start
    broken = _Broken(skipped)
    while stop is None or offset < stop:
        raw = file.readline(longest)
        if not raw:
            break
        is_long = len(raw) == longest and not raw.endswith(b"\n")
        lead, record = (0, b"") if is_long else _alone(raw)
        is_whole = bool(record) and _is_object(record)
        if broken.lines and (is_long or is_whole or broken.size > _MAX_JOINED):
            yield from broken.records(stop)
        if is_long:
            _count(skipped, TOO_LONG)
            offset += _rest_of_line(file)
        elif is_whole:
            if stop is not None and offset + lead >= stop:
                return
            if b"\0" in raw:
                _count(skipped, ZERO_BYTES)
            yield number, offset + lead, _text(record)
        elif record or broken.lines:
            broken.add(number, offset, raw)
        elif b"\0" in raw:
            _count(skipped, ZERO_BYTES)
        number, offset = number + 1, offset + len(raw)
    if broken.lines:
        yield from broken.records(stop)


class _Object(msgspec.Struct):
    """Any JSON object: its fields are checked and not built."""


_check = msgspec.json.Decoder(_Object).decode


def _is_object(raw: bytes) -> bool:
    try:
        _check(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _alone(raw: bytes) -> tuple[int, bytes]:
    """(offset, text) of what a line holds without white space, zero bytes and byte order marks."""
    raw = well_formed(raw)
    if raw.startswith(b"{") and b"\0" not in raw:
        return 0, raw
    text = raw.lstrip(_BLANK)
    while text.startswith(_BOM):
        text = text[len(_BOM) :].lstrip(_BLANK)
    return len(raw) - len(text), text.rstrip(_BLANK)


def _text(record: bytes) -> bytes:
    """A record as UTF-8: bytes that are none become U+FFFD."""
    if record.isascii():
        return record
    try:
        record.decode()
    except UnicodeDecodeError:
        return record.decode("utf-8", "replace").encode()
    return record


class _Broken:
    """A line that is no record, and the lines after it up to the next that is one: they may be the
    rest of its record.
    """

    def __init__(self, skipped: dict[str, int] | None) -> None:
        self.lines: list[bytes] = []
        self.size = 0
        self._skipped = skipped
        self._number = self._offset = 0

    def add(self, number: int, offset: int, raw: bytes) -> None:
        if not self.lines:
            self._number, self._offset, self.size = number, offset, 0
        self.lines.append(raw)
        self.size += len(raw)

    def records(self, stop: int | None) -> Iterator[tuple[int, int, bytes]]:
        """The whole records among them; what lies between is counted. They are forgotten then."""
        data, self.lines = b"".join(self.lines), []
        if zeros := len(_ZEROS.findall(data)):
            _count(self._skipped, ZERO_BYTES, zeros)
        # one character a byte, so that places are offsets; zero bytes separate as line ends do
        text = data.translate(_ZERO_IS_NEWLINE).decode("latin-1")
        read = 0
        for begin, end in _objects(text, is_cut=not data.endswith(b"\n")):
            if stop is not None and self._offset + begin >= stop:
                break
            self._count_lost(text[read:begin])
            read = end
            yield (
                self._number + data.count(b"\n", 0, begin),
                self._offset + begin,
                _mended(data[begin:end]),
            )
        else:
            if data.endswith(b"\n"):  # else it may be written on
                self._count_lost(text[read:])

    def _count_lost(self, text: str) -> None:
        """Count each line that holds something."""
        lost = sum(bool(line.strip(" \t\r\n\xef\xbb\xbf")) for line in text.split("\n"))
        if lost:
            _count(self._skipped, NOT_JSON, lost)


def _objects(text: str, *, is_cut: bool) -> Iterator[tuple[int, int]]:
    """Where whole records lie in a text with torn ones. *is_cut*: its last line may be written on."""
    at = tries = 0
    while found := _OPENING.search(text, at):
        begin = found.start()
        try:
            value, at = _lenient(text, begin)
        except (ValueError, RecursionError):
            at, tries = begin + 1, tries + 1
            if tries == _MAX_TRIES:  # a deep nest: looking into each level would take hours
                at, tries = text.find("\n", begin) + 1, 0
                if not at:
                    return
            continue
        if _is_record(text, begin, at, value, is_cut=is_cut):
            tries = 0
            yield begin, at


def _is_record(text: str, begin: int, end: int, value: dict[str, Any], *, is_cut: bool) -> bool:
    """Whether an object is a record, not a part of a torn one. Where it follows ``:``, ``,`` or
    ``[`` it may be either.
    """
    before, after = text[max(0, begin - 40) : begin], text[end : end + 40].lstrip(" \t\r")[:1]
    if after in tuple("}],"):
        return False
    if not before or before[-1] == "\n" or before.rstrip()[-1:] not in tuple(":,["):
        return True
    return not is_cut and after in ("", "\n", "{") and any(name in value for name in _TIMES)


def _mended(record: bytes) -> bytes:
    """A record in JSON that strict decoders take: line ends inside its strings are escaped, zero
    bytes are one space.
    """
    record = well_formed(_ZEROS.sub(b" ", record))
    if _is_object(record):
        return _text(record)
    with contextlib.suppress(ValueError, RecursionError):
        return json.dumps(_lenient(record.decode("utf-8", "replace"), 0)[0]).encode()
    return record


_lenient = json.JSONDecoder(strict=False, parse_constant=lambda _: None).raw_decode


def _count(skipped: dict[str, int] | None, kind: str, times: int = 1) -> None:
    if skipped is not None:
        skipped[kind] = skipped.get(kind, 0) + times


def _rest_of_line(file: Any) -> int:
    """Pass over the rest of a line. Returns its bytes."""
    size = 0
    while raw := file.readline(1 << 20):
        size += len(raw)
        if raw.endswith(b"\n"):
            break
    return size


def _archive_errors(path: str) -> tuple[type[Exception], ...]:
    if not path.endswith(".zst"):
        return ()
    import zstandard

    return (zstandard.ZstdError,)


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
        scan.unknown.update(kept.before)
        found.before = kept.before
        scan.aliases.update(kept.aliases)
        scan.after.update(kept.after)
    for offset, raw in lines(path, start, None, scan.unknown):
        try:
            turn = scan.feed(offset, raw)
        except (msgspec.DecodeError, RecursionError):
            _count(scan.unknown, NOT_JSON)
            continue
        if turn:
            found.before = dict(scan.unknown)
            found.ids.append(turn[0])
            found.starts.append(turn[1])
    found.facts, found.unknown, found.aliases, found.after = (
        scan.facts,
        scan.unknown,
        scan.aliases,
        scan.after,
    )
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
