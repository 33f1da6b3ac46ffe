"""Day files that were merged line by line, and notes in several versions: found and settled.

git's ``union`` driver leaves two notes under one heading where both sides began with the same
lines: the second note's anchor then stands in the middle of the first one's text, where capture
never writes one. A conflict that somebody committed leaves git's markers. Both are put together
anew by ``journal.merge``. Equal copies of a note and conflicts between two texts are settled here.
"""

from __future__ import annotations

import re
import uuid

import msgspec

from memsearch_engine.journal import render
from memsearch_engine.journal.merge import Unmergeable, merge
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, Document, Entry
from memsearch_engine.journal.parse import parse, parse_anchor
from memsearch_engine.journal.undo import day_name, read_day_file
from memsearch_engine.journal.write import Journal, Target
from memsearch_engine.secrets.scan import redact

_MARKERS = re.compile(
    rb"^<{7}(?: [^\n]*)?\r?\n(?P<ours>.*?)(?:^\|{7}(?: [^\n]*)?\r?\n"
    rb"(?P<base>.*?))?^={7}\r?\n(?P<theirs>.*?)^>{7}(?: [^\n]*)?(?:\r?\n|\Z)",
    re.M | re.S,
)
_ANCHOR = re.compile(rb"^[ \t]*<!--([^\n]*?\bsession:[^\n]*?)-->[ \t]*\r?\n", re.M)
_MARKER_LINE = re.compile(rb"^(?:<{7} |>{7} |={7}\r?$)", re.M)


class Mangled(msgspec.Struct, frozen=True):
    """``data``: the file as it should be. ``evidence``: the lines that gave it away."""

    data: bytes
    evidence: list[str]


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
    found = list(_MARKERS.finditer(data))
    if not found or _MARKER_LINE.search(_MARKERS.sub(b"", data)):
        return data, []  # halves of markers: an article about git, say
    ours, base, theirs = (_side(data, side) for side in ("ours", "base", "theirs"))
    lines = [match[0].splitlines()[0].decode("utf-8", "replace") for match in found]
    return merge(base, ours, theirs, name).data, lines


def _side(data: bytes, side: str) -> bytes:
    return _MARKERS.sub(lambda match: match[side] or b"", data)


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
    body = entry.body_start - entry.start
    if entry.level != 3 or not entry.anchors:
        return None
    for match in _ANCHOR.finditer(entry.raw, body):
        anchor = parse_anchor(match[1].decode("utf-8", "replace").strip())
        is_quoted = entry.raw.count(b"```", body, match.start()) % 2
        if (
            anchor
            and anchor.turn
            and anchor not in entry.anchors
            and not is_quoted
            and match.start() > body
        ):
            return match.start()
    return None


def merge_equal(journal: Journal, memory: str, first: Target, others: list[Target]) -> Entry:
    """Merge entries with the same content into one, as one step of undo.

    The result has the text of *first* and the anchors of all.
    """
    batch = uuid.uuid4().hex
    document = parse(read_day_file(first.path), day_name(first.path))
    seen = journal.find_target(document, first)
    removed = [
        journal.find_target(parse(read_day_file(t.path), day_name(t.path)), t) for t in others
    ]
    anchors = [anchor for entry in removed for anchor in entry.anchors]

    def change(document: Document, entry: Entry) -> bytes:
        new = [a for a in dict.fromkeys(anchors) if a not in entry.anchors]
        head = render.head_with_id(document, entry)
        if head and not head.endswith(b"\n"):
            head += document.newline.encode()
        lines = "".join(f"{anchor.render()}{document.newline}" for anchor in new).encode()
        return (
            head.rstrip(b"\r\n")
            + document.newline.encode() * bool(head.strip())
            + lines
            + entry.raw[entry.body_start - entry.start :]
        )

    journal.splice(memory, "delete", others, None, batch=batch)
    # the order of equal notes has changed, so the entry is found by its place
    now = parse(read_day_file(first.path), day_name(first.path))
    before = sum(
        target.path == first.path and entry.start < seen.start
        for target, entry in zip(others, removed)
    )
    entry = now.entries[document.entries.index(seen) - before]
    target = Target(first.path, entry.id, first.hash)
    return journal.splice(memory, "edit", [target], change, batch=batch, ours=False)[0]


def decide(journal: Journal, memory: str, shown: Target, other: Target, body: str | None) -> None:
    """Settle a conflict between two texts of a note, as one step of undo.

    The other text is deleted.

    Args:
        body: the text to use; None for the shown one.
    """
    clean = None if body is None else redact(body, journal.home)[0]

    def change(document: Document, entry: Entry) -> bytes:
        marks = dict(entry.marks)
        if sum(found.marks.get(CONFLICT_OF) == entry.id for found in document.entries) < 2:
            marks.pop(CONFLICT, None)
        new = render.with_marks(document, entry, marks)
        if clean is None:
            return new
        return render.with_body(document, entry, new, render.body_of(clean, entry))

    batch = uuid.uuid4().hex
    journal.splice(memory, "edit", [shown], change, batch=batch)
    journal.splice(memory, "delete", [other], None, batch=batch)


def separate(journal: Journal, memory: str, other: Target, shown: Target | None) -> None:
    """Make a note of each version of a conflict. One undo reverts it."""

    def change(document: Document, entry: Entry) -> bytes:
        last = sum(found.marks.get(CONFLICT_OF) == entry.id for found in document.entries) < 2
        gone = {CONFLICT_OF, *([CONFLICT] if last else [])}
        marks = {name: value for name, value in entry.marks.items() if name not in gone}
        return render.with_marks(document, entry, marks)

    batch = uuid.uuid4().hex
    for target in [shown, other] if shown else [other]:
        journal.splice(memory, "mark", [target], change, batch=batch)
