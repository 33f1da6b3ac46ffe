"""The only splitter of JSON lines, used for all agents.

A crash, a full disk or two writers leave zero bytes, byte order marks, torn records, records that
share a line, and records that are written twice. PowerShell's ``>`` leaves UTF-16, and a client
may append UTF-8 to it. Every whole record is read once, and losses are counted.
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
from typing import Any, TypeVar

import msgspec

from memsearch_engine.agents.transcripts.model import well_formed

T = TypeVar("T")
MAX_LINE = 256 * 1024 * 1024
_MAX_HEADER = 1 << 20
_MAX_JOINED = 64 * 1024 * 1024
_MAX_TRIES = 64
_BLANK = b" \t\r\n\0"
_ZERO_IS_NEWLINE = bytes.maketrans(b"\0", b"\n")
_BOM = b"\xef\xbb\xbf"
#: A line in UTF-16 up to its record, or a blank one.
_UTF_16 = re.compile(
    rb"(?:\xff\xfe)?(?:[ \t]\0)*(?=\{\0(?:[ \t]\0)*\"\0)|(?=\0?\r\0\n)|"
    rb"(?:\xfe\xff)?(?:\0[ \t])*(?=\0\{(?:\0[ \t])*\0\")"
)
_OPENING = re.compile(r'\{[ \t\r\n]*"')
_ZEROS = re.compile(rb"\0+")
#: A key that tells a record from an equal one.
_OWN = re.compile(rb'"(?:\w*[iI][dD]|timestamp|time|ts|created\w*)"\s*:')
#: Keys that records have and the objects inside records do not have.
_TIMES = ("timestamp", "time", "created")
NOT_JSON, ZERO_BYTES, TOO_LONG, BAD_ARCHIVE = (
    "(not JSON)",
    "(zero bytes)",
    "(line too long)",
    "(damaged archive)",
)
#: Kinds in ``Conversation.unknown`` that count damage, not records of a new kind.
DAMAGE = frozenset((NOT_JSON, ZERO_BYTES, TOO_LONG, BAD_ARCHIVE))


def lines(
    path: str, start: int = 0, stop: int | None = None, skipped: dict[str, int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, record) of a file; see ``records``. Raises OSError."""
    with _opened(path) as file:
        _skip(file, start)
        try:
            for _, offset, record in records(file, start, stop, skipped):
                yield offset, record
        except _archive_errors(path):
            _count(skipped, BAD_ARCHIVE)


def first_record(path: str | os.PathLike[str]) -> bytes:
    """Return the first record of a file, ``{}`` if it has none. Lines over 1 MiB are skipped.

    Raises:
        OSError: the file cannot be read.
    """
    with regular(os.fspath(path)) as file:
        return next((record for _, _, record in records(file, longest=_MAX_HEADER)), b"{}")


def records(
    file: Any,
    start: int = 0,
    stop: int | None = None,
    skipped: dict[str, int] | None = None,
    *,
    longest: int = MAX_LINE,
) -> Iterator[tuple[int, int, bytes]]:
    """Yield (line number, offset, JSON object) of each whole record.

    A record with an id or a time that equals the one before it is skipped. A half-written last line
    is left for the next reading.

    Args:
        file: a binary file at position *start*.
        start, stop: offsets in bytes. Records that begin at *stop* or later are not returned.
        skipped: counts damage by its kind (``DAMAGE``).
        longest: limit in bytes; a longer line is skipped.
    """
    before = b""
    for number, offset, record in _all_records(file, start, stop, skipped, longest):
        if (text := record.rstrip(_BLANK)) != before or not _OWN.search(text):
            yield number, offset, record
        before = text


def _all_records(
    file: Any, start: int, stop: int | None, skipped: dict[str, int] | None, longest: int
) -> Iterator[tuple[int, int, bytes]]:
    number, offset = 1, start
    broken = _Broken(skipped)
    while stop is None or offset < stop:
        raw = file.readline(longest)
        if not raw:
            break
        size, is_long = len(raw), len(raw) == longest and not raw.endswith(b"\n")
        lead, record = (0, b"") if is_long else _alone(raw)
        wide = _UTF_16.match(raw) if b"\0" in raw[:4] and not is_long else None
        if wide:
            lead = wide.end()
            size, raw = _from_utf_16(file, raw, lead)
            record = _alone(raw)[1]
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
        elif wide and record:
            _count(skipped, NOT_JSON)
        elif record or broken.lines:
            broken.add(number, offset, raw)
        elif b"\0" in raw:
            _count(skipped, ZERO_BYTES)
        number, offset = number + 1, offset + size
    if broken.lines:
        yield from broken.records(stop)


def _from_utf_16(file: Any, line: bytes, start: int) -> tuple[int, bytes]:
    """Read the rest of a line in UTF-16, in which a byte of a character may look like a line's end.

    Args:
        line: what was read of it, at least its first character.
        start: where its first character begins.

    Returns:
        (its length in bytes, the text from *start* on in UTF-8).
    """
    is_big, data = line[start] == 0, bytearray(line)  # bytes would be copied for each piece
    while True:
        is_even = (len(data) - start) % 2 == 0
        if is_big and is_even and data.endswith(b"\0\n"):
            break
        if not is_big and not is_even and data.endswith(b"\n"):
            data += file.read(1)
            if data.endswith(b"\0"):
                break
        more = file.readline()
        data += more
        if not more or len(data) > MAX_LINE:
            break
    text = data[start:].decode("utf-16-be" if is_big else "utf-16-le", "replace")
    return len(data), text.encode()


class _Object(msgspec.Struct):
    """Any JSON object. Its fields are checked but not built."""


_check = msgspec.json.Decoder(_Object).decode


def _is_object(raw: bytes) -> bool:
    try:
        _check(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _alone(raw: bytes) -> tuple[int, bytes]:
    """Return (offset, text) of a line without white space, zero bytes and byte order marks."""
    raw = well_formed(raw)
    if raw.startswith(b"{") and b"\0" not in raw:
        return 0, raw
    text = raw.lstrip(_BLANK)
    while text.startswith(_BOM):
        text = text[len(_BOM) :].lstrip(_BLANK)
    return len(raw) - len(text), text.rstrip(_BLANK)


def _text(record: bytes) -> bytes:
    """Return a record as UTF-8. Invalid bytes become U+FFFD."""
    return record if record.isascii() else record.decode("utf-8", "replace").encode()


class _Broken:
    """A line that is not a record, and the lines after it up to the next record.

    These lines may be the rest of one torn record.
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
        """Yield the whole records in these lines, count the rest, and forget the lines."""
        data, self.lines = b"".join(self.lines), []
        if zeros := len(_ZEROS.findall(data)):
            _count(self._skipped, ZERO_BYTES, zeros)
        # Latin-1 has one character per byte, so positions are offsets. Zero bytes separate records
        # like line ends.
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
            if data.endswith(b"\n"):  # else the last line may still grow
                self._count_lost(text[read:])

    def _count_lost(self, text: str) -> None:
        """Count each line that is not blank."""
        lost = sum(bool(line.strip(" \t\r\n\xef\xbb\xbf")) for line in text.split("\n"))
        if lost:
            _count(self._skipped, NOT_JSON, lost)


def _objects(text: str, *, is_cut: bool) -> Iterator[tuple[int, int]]:
    """Yield the positions of whole records in a text with torn ones.

    Args:
        is_cut: the last line may still grow.
    """
    at = tries = 0
    while found := _OPENING.search(text, at):
        begin = found.start()
        try:
            value, at = _lenient(text, begin)
        except (ValueError, RecursionError):
            at, tries = begin + 1, tries + 1
            if tries == _MAX_TRIES:  # a deep nest: trying each level would take hours
                at, tries = text.find("\n", begin) + 1, 0
                if not at:
                    return
            continue
        if _is_record(text, begin, at, value, is_cut=is_cut):
            tries = 0
            yield begin, at


def _is_record(text: str, begin: int, end: int, value: dict[str, Any], *, is_cut: bool) -> bool:
    """Return whether an object is a record and not a part of a torn one.

    After ``:``, ``,`` or ``[`` it may be either.
    """
    before, after = text[max(0, begin - 40) : begin], text[end : end + 40].lstrip(" \t\r")[:1]
    if after in tuple("}],"):
        return False
    if not before or before[-1] == "\n" or before.rstrip()[-1:] not in tuple(":,["):
        return True
    return not is_cut and after in ("", "\n", "{") and any(name in value for name in _TIMES)


def _mended(record: bytes) -> bytes:
    """Return a record as JSON for strict decoders.

    Line ends inside strings are escaped; runs of zero bytes become one blank.
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
    """Skip the rest of a line. Return its length in bytes."""
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
    file = regular(path)
    if not path.endswith(".zst"):
        return file
    import zstandard

    return io.BufferedReader(zstandard.open(file, "rb", closefd=True), 1 << 20)


def regular(path: str) -> io.BufferedReader:
    """Open a regular file for reading bytes.

    Raises:
        OSError: it cannot be opened, or is not a regular file (a pipe might never end).
    """
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


def decoded(raws: Iterable[bytes], decode: Callable[[bytes], T]) -> Iterator[T]:
    """Yield the decoded records, without those that *decode* refuses."""
    for raw in raws:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            yield decode(raw)
