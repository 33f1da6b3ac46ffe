"""Day files that were merged line by line: found and taken apart again.

git's ``union`` driver leaves two notes under one heading where both sides began with the same
lines: the second note's anchor then stands in the middle of the first one's text, where capture
never writes one. A conflict that somebody committed leaves git's markers. Both are put together
anew by ``journal.merge``. Pure bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from memsearch_engine.journal.merge import Unmergeable, merge
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import anchors_at, parse, parse_anchor

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
    return bool(_OPENING.search(data)) or any(map(_second_notes, entries))


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
    """Split entries that contain the anchors of other turns. *entries*: those of *data*."""
    evidence: list[str] = []
    while any(map(_second_notes, entries)):
        left, own, lines = _without_second_notes(data, entries)
        evidence += lines
        data = merge(b"", left, own, name).data
        entries = parse(data, name).entries
    return data, evidence


def _without_second_notes(data: bytes, entries: list[Entry]) -> tuple[bytes, bytes, list[str]]:
    """Return the file without second notes, a file of them, and the lines that begin them.

    The following entries of the session of a second note move with it.
    """
    left: list[bytes] = []
    moved: dict[tuple[str, ...], list[bytes]] = {}  # (headings above, session) -> notes
    lines: list[str] = []
    stop = 0
    following: tuple[str, ...] = ()  # the key in *moved* of notes that belong to the last one
    for entry in entries:
        newline = b"\r\n" if b"\r\n" in entry.raw else b"\n"
        heading, places = entry.raw.splitlines()[0] + newline, _second_notes(entry)
        begins = [0, *places, len(entry.raw)]
        first, *notes = (entry.raw[begin:end].rstrip() for begin, end in pairwise(begins))
        if following == (*entry.trail, entry.session):
            moved[following].append(first)
            left.append(data[stop : entry.start])
            stop = entry.stop
        else:
            following = ()
        if places and not following:
            left += [data[stop : entry.start], first]
            stop = entry.end
        for place, note in zip(places, notes):
            session = anchors_at(entry.raw, place)[0].session
            target = (*entry.trail, session)
            moved.setdefault(target, []).append(heading + note)
            lines.append(note.splitlines()[0].decode("utf-8", "replace").strip())
            following = target if session != entry.session else ()
    left.append(data[stop:])
    return b"".join(left), _file_of(moved), lines


def _file_of(notes: dict[tuple[str, ...], list[bytes]]) -> bytes:
    """Return a file of notes. *notes*: (headings above, session) -> notes."""
    newline = b"\r\n" if any(b"\r\n" in note for some in notes.values() for note in some) else b"\n"
    parts: list[bytes] = []
    day = ""
    for (*trail, _), some in notes.items():
        above, heading = ["", "", *trail][-2:]
        if above not in ("", day):
            day = above
            parts.append(f"# {day}".encode())
        parts += [f"## {heading}".encode()] if heading else []
        parts += some
    return (newline * 2).join(parts) + newline


def _second_notes(entry: Entry) -> list[int]:
    """Where the anchors of other turns are in an entry's text; fenced text is quoted."""
    if entry.level != 3 or not entry.anchors:
        return []
    places: list[int] = []
    own, body = entry.anchors, entry.body_start - entry.start
    counted, fences = body, 0
    for match in _ANCHOR.finditer(entry.raw, body):
        place = match.start()
        anchor = parse_anchor(match[1].decode("utf-8", "replace").strip())
        fences += entry.raw.count(b"```", counted, place)
        counted = place
        is_foreign = anchor and anchor.turn and anchor not in own and not fences % 2
        if is_foreign and place > body:
            places.append(place)
            own = anchors_at(entry.raw, place)
    return places
