"""Day files that were merged line by line: found and taken apart again.

git's ``union`` driver leaves two notes under one heading where both sides began with the same
lines: the second note's anchor then stands in the middle of the first one's text, where capture
never writes one. A conflict that somebody committed leaves git's markers. Both are put together
anew by ``journal.merge``. Pure bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from memsearch_engine.journal.merge import Unmergeable, merge
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse, parse_anchor

_MARKER = re.compile(
    rb"^(?:(?:<{7}|\|{7})(?: [^\n]*)?\r?\n|={7}\r?\n|>{7}(?: [^\n]*)?(?:\r?\n|\Z))", re.M
)
_OPENING = re.compile(rb"^<{7}(?: |\r?$)", re.M)
_ANCHOR = re.compile(rb"^[ \t]*<!--(?=[^\n]*\bsession:)([^\n]*)-->[ \t]*\r?\n", re.M)
_MARKER_LINE = re.compile(rb"^(?:<{7} |>{7} |={7}\r?$)", re.M)


class Mangled(msgspec.Struct, frozen=True):
    """``data``: the file as it should be. ``evidence``: the lines that gave it away."""

    data: bytes
    evidence: list[str]


def may_be_mangled(data: bytes, entries: list[Entry]) -> bool:
    """Whether ``unmangled`` may find something. The time is linear in the size of the file.

    Args:
        entries: those of *data*.
    """
    return bool(_OPENING.search(data)) or any(_second_note(e) is not None for e in entries)


def unmangled(data: bytes, name: str = "", entries: list[Entry] | None = None) -> Mangled | None:
    """Return the repaired content of a file; None if it is correct or can't be repaired.

    Args:
        name: as in ``parse``.
        entries: the entries of *data*, if they are parsed already.
    """
    try:
        after, evidence = _without_markers(data, name)
        if after is not data or entries is None:
            entries = parse(after, name).entries
        after, blended = _parted(after, name, entries)
    except Unmergeable:
        return None
    return Mangled(after, evidence + blended) if after != data else None


def _without_markers(data: bytes, name: str) -> tuple[bytes, list[str]]:
    rest, ours, base, theirs, lines = [], bytearray(), bytearray(), bytearray(), []
    stop = 0
    for markers in _conflicts(data):
        begin, middle, end = markers[b"<"], markers[b"="], markers[b">"]
        parent = markers.get(b"|", middle)
        rest.append(data[stop : begin.start()])
        ours += rest[-1] + data[begin.end() : parent.start()]
        base += rest[-1] + data[parent.end() : middle.start()]
        theirs += rest[-1] + data[middle.end() : end.start()]
        lines.append(begin[0].splitlines()[0].decode("utf-8", "replace"))
        stop = end.end()
    rest.append(data[stop:])
    if not lines or _MARKER_LINE.search(b"".join(rest)):
        return data, []  # halves of markers: an article about git, say
    base, ours, theirs = (side + rest[-1] for side in (base, ours, theirs))
    return merge(bytes(base), bytes(ours), bytes(theirs), name).data, lines


def _conflicts(data: bytes) -> Iterator[dict[bytes, re.Match[bytes]]]:
    """Yield the marker lines of each complete conflict, by their sign."""
    markers: dict[bytes, re.Match[bytes]] = {}
    for line in _MARKER.finditer(data):
        sign = line[0][:1]
        if sign in (b"<" if not markers else b">" if b"=" in markers else b"|="):
            markers.setdefault(sign, line)
        if b">" in markers:
            yield markers
            markers = {}


def _parted(data: bytes, name: str, entries: list[Entry]) -> tuple[bytes, list[str]]:
    """Split entries that contain the anchor of another turn. *entries*: those of *data*.

    The following entries of the second turn's session move with it.
    """
    evidence: list[str] = []
    while True:
        index, place = next(
            ((i, at) for i, e in enumerate(entries) if (at := _second_note(e)) is not None), (-1, 0)
        )
        if index < 0:
            return data, evidence
        entry = entries[index]
        first, second = entry.raw[:place].rstrip(), entry.raw[place:]
        newline = b"\r\n" if b"\r\n" in entry.raw else b"\n"
        pieces = [entry.raw.splitlines()[0] + newline + second]
        session = parse(pieces[0]).entries[0].session
        moved = []
        for follower in entries[index + 1 :]:
            if (
                session == entry.session
                or follower.session != session
                or follower.trail != entry.trail
            ):
                break
            moved.append(follower)
        left = data
        for follower in reversed(moved):
            left = left[: follower.start] + left[follower.stop :]
        left = left[: entry.start] + first + left[entry.end :]
        headings = [
            f"{'#' * level} {text}".encode()
            for level, text in zip((1, 2), ["", *entry.trail][-2:])
            if text
        ]
        own = (newline * 2).join(
            [*headings, *pieces, *(follower.raw for follower in moved)]
        ) + newline
        evidence.append(second.splitlines()[0].decode("utf-8", "replace").strip())
        data = merge(b"", left, own, name).data
        entries = parse(data, name).entries


def _second_note(entry: Entry) -> int | None:
    """Where the anchor of another turn stands in an entry's text; fenced text is quoted."""
    body = counted = entry.body_start - entry.start
    if entry.level != 3 or not entry.anchors:
        return None
    own, fences = frozenset(entry.anchors), 0
    for match in _ANCHOR.finditer(entry.raw, body):
        anchor = parse_anchor(match[1].decode("utf-8", "replace").strip())
        fences += entry.raw.count(b"```", counted, match.start())
        counted = match.start()
        if anchor and anchor.turn and anchor not in own and not fences % 2 and match.start() > body:
            return match.start()
    return None
