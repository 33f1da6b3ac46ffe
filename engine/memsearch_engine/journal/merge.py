"""Three-way merge of a day file, entry by entry.

Works on bytes. Entries are matched by id, wherever they are. An addition on either side stays. A
deletion wins against an unchanged entry, an edit on one side wins. If both sides changed a text,
both texts stay, the older as a note beside the newer. Headings keep their order on each side;
additions of both sides at one place are ordered by time. The result does not depend on which side
is ``ours``.

The order is a topological sort of both sides' orders, smallest key first (Kahn, "Topological
sorting of large networks", 1962). So merging is commutative, and associative as long as no one
moves entries.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Set

import msgspec

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.ids import digest
from memsearch_engine.journal import render
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, Anchor, Document, Entry
from memsearch_engine.journal.parse import parse, sections
from memsearch_engine.journal.text import balance_fences

_CAREFUL = ("", "released", "outside", "suspect")  # of the trust mark, the most careful last
_SURE = ("", "low", "medium", "high")

#: Which of two values of a mark stands where both sides changed it ('' for a mark that was taken
#: away); else the greater one: the later date, and being marked before not being it.
_RANKS: dict[str, Callable[[str], object]] = {
    "trust": lambda value: (_CAREFUL.index(value) if value in _CAREFUL else len(_CAREFUL), value),
    "confidence": lambda value: (-_SURE.index(value) if value in _SURE else 0, value),
    "summary": lambda value: (value == "", value),
}
_ABSENT = "\x00"

#: The entries known to have been deleted or replaced: (id, ``text_key`` of the text at that time).
Dead = Set[tuple[str, str]]
#: Whether the first of two texts of one entry is the newer one.
Newer = Callable[[Entry, Entry], bool]


class Unmergeable(MemsearchError):
    """The pieces cannot be joined so that each is read as before: the caller keeps both files."""


class Merged(msgspec.Struct, frozen=True):
    """The merged file. ``conflicts``: ids of entries whose text both sides changed."""

    data: bytes
    conflicts: list[str] = []


class _Piece(msgspec.Struct, frozen=True):
    """A section of one version: its own lines, without those of sections inside it.

    Attributes:
        key: the entry's id; for a bare heading, its words and what is below it.
        tail: blank lines after it.
        is_last: whether it ends its file.
    """

    key: str
    level: int
    time: str
    raw: bytes
    tail: bytes
    is_last: bool
    parent: str
    entry: Entry | None = None


class _Version(msgspec.Struct, frozen=True):
    """One version of the file. ``head``: everything before the first heading, with front matter."""

    document: Document
    head: bytes
    pieces: dict[str, _Piece]


def merge(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    name: str = "",
    *,
    newer: Newer | None = None,
    dead: Dead = frozenset(),
    clean: Callable[[str], str] = str,
) -> Merged:
    """Merge two versions with the common ancestor *base* (empty if there is none).

    Args:
        name: the day or the file's stem, as in ``parse``.
        newer: decides which of two texts is shown; without it the choice is the same on every
            machine.
        dead: entries deleted or replaced elsewhere; they are no additions.
        clean: removes secrets from texts changed on both sides: one side may have scrubbed what
            the other still has.

    Raises:
        Unmergeable: the result would not be read as written.
    """
    if not dead:
        if ours == theirs or base == theirs:
            return Merged(ours)
        if base == ours:
            return Merged(theirs)
    was = _version(base, name)
    return _Merge(
        [was, _version(ours, name, was), _version(theirs, name, was)], name, newer, dead, clean
    ).done()


def text_key(entry: Entry) -> str:
    """Key of an entry's heading and body, whatever its marks, anchors and line ends."""
    heading = b"#" * entry.level + entry.heading.encode("utf-8", "surrogateescape")
    body = entry.raw[entry.body_start - entry.start :].replace(b"\r\n", b"\n").strip()
    return digest(heading, body, size=8)


# -- taking apart


def _version(data: bytes, name: str, base: _Version | None = None) -> _Version:
    document = parse(data, name)
    found = [section for section in sections(data) if section[0]]
    entries = {entry.start: entry for entry in document.entries if entry.level}
    keys: list[str] = []
    seen: Counter[str] = Counter()
    for i, (_, _, start, _) in enumerate(found):
        if start in entries:
            keys.append(entries[start].id)
        elif base is not None and (key := _key_in(base, i, found, entries)) and key not in keys:
            keys.append(key)
        else:
            key = _heading_key(i, found, entries)
            seen[key] += 1
            keys.append(f"{key} {seen[key]}")
    pieces: dict[str, _Piece] = {}
    trail: list[tuple[int, str]] = []
    for i, (level, _, start, _) in enumerate(found):
        while trail and trail[-1][0] >= level:
            trail.pop()
        raw = data[start : found[i + 1][2] if i + 1 < len(found) else len(data)]
        own = raw.rstrip()
        entry = entries.get(start)
        time = (
            entry.time if entry else next((e.time for e in _below(i, found, entries) if e.time), "")
        )
        is_last = i == len(found) - 1
        parent = trail[-1][1] if trail else ""
        pieces[keys[i]] = _Piece(keys[i], level, time, own, raw[len(own) :], is_last, parent, entry)
        trail.append((level, keys[i]))
    return _Version(document, data[: found[0][2]] if found else data, pieces)


_Sections = list[tuple[int, str, int, int]]


def _below(i: int, found: _Sections, entries: dict[int, Entry]) -> Iterable[Entry]:
    """The entries under a heading."""
    for level, _, start, _ in found[i + 1 :]:
        if level <= found[i][0]:
            return
        if start in entries:
            yield entries[start]


def _heading_key(i: int, found: _Sections, entries: dict[int, Entry]) -> str:
    """Key of a heading: equal words over different sessions or notes are different headings."""
    level, heading = found[i][:2]
    first = next(iter(_below(i, found, entries)), None)
    whose = "" if first is None or level == 1 else first.session or first.id
    return f"{level} {heading} {whose}"


def _key_in(base: _Version, i: int, found: _Sections, entries: dict[int, Entry]) -> str:
    """Key that a bare heading had in the base: the heading that one of its entries was under."""
    level, heading = found[i][:2]
    for entry in _below(i, found, entries):
        parent = base.pieces[entry.id].parent if entry.id in base.pieces else ""
        if parent.startswith(f"{level} {heading} "):
            return parent
    return ""


# -- putting together


class _Merge:
    def __init__(
        self,
        versions: list[_Version],
        name: str,
        newer: Newer | None,
        dead: Dead,
        clean: Callable[[str], str],
    ) -> None:
        self.base, self.ours, self.theirs = versions
        self.versions = versions
        self.name, self.newer, self.dead, self.clean = name, newer, dead, clean
        self.newline = self._newline().encode()
        self.pieces: dict[str, _Piece] = {}
        self.after: dict[str, list[str]] = {}  # entry -> the other texts of it
        self.conflicts: list[str] = []

    def done(self) -> Merged:
        keys = list(dict.fromkeys(key for version in self.versions for key in version.pieces))
        for key in keys:
            if (piece := self._merged(key)) is not None:
                self.pieces[key] = piece
        self._settle_marks()
        self._keep_headings()
        order = self._order()
        head = self._head()
        for balance in (False, True):
            data, expected = self._joined(head, order, balance)
            if self._reads(data, expected):
                return Merged(data, sorted(self.conflicts))
        raise Unmergeable(
            "the two versions can't be put together so that every entry is read as it was",
            "keep both, and put them together by hand",
        )

    # .. what there is ..

    def _merged(self, key: str) -> _Piece | None:
        base, ours, theirs = (version.pieces.get(key) for version in self.versions)
        if base is None or base.entry is None:
            ours, theirs = self._alive(ours, self.theirs), self._alive(theirs, self.ours)
        found = [piece for piece in (ours, theirs) if piece is not None]
        if len(found) == 2:
            return self._of_two(base, *found)
        if not found or base is None:
            return found[0] if found else None
        (left,) = found  # the other side has deleted it
        is_changed = left.entry and base.entry and text_key(left.entry) != text_key(base.entry)
        return left if is_changed else None

    def _alive(self, piece: _Piece | None, other: _Version) -> _Piece | None:
        """Return a piece that the base lacks, unless it was deleted or replaced.

        The other side may have done so, or this side has it only beside a newer text.
        """
        if piece is None or piece.entry is None:
            return piece
        key = text_key(piece.entry)
        if (piece.key, key) in self.dead:
            return None
        of = piece.entry.marks.get(CONFLICT_OF, "")
        was, now = self.base.pieces.get(of), other.pieces.get(of)
        if piece.key not in other.pieces and was and was.entry and text_key(was.entry) == key:
            return piece if now and now.entry and text_key(now.entry) == key else None
        return piece

    def _settle_marks(self) -> None:
        """Remove the conflict mark of entries without another text beside them."""
        for key, piece in self.pieces.items():
            of = piece.entry.marks.get(CONFLICT_OF, "") if piece.entry else ""
            if of in self.pieces and self.pieces[of].parent == piece.parent:
                self.after.setdefault(of, []).append(key)
        for key, piece in self.pieces.items():
            if (
                piece.entry
                and CONFLICT in parse(piece.raw).entries[0].marks
                and key not in self.after
            ):
                lines = piece.raw.splitlines(keepends=True)
                raw = b"".join(
                    line for line in lines if line.strip() != f"<!-- {CONFLICT} -->".encode()
                )
                self.pieces[key] = msgspec.structs.replace(piece, raw=raw.rstrip())

    def _of_two(self, base: _Piece | None, ours: _Piece, theirs: _Piece) -> _Piece:
        one, other = sorted(
            (ours, theirs), key=lambda piece: (piece.raw, piece.is_last, piece.tail)
        )
        parent = self._parent(base, ours, theirs)
        if one.entry is None or other.entry is None or one.raw == other.raw:
            return msgspec.structs.replace(one, parent=parent)
        chosen, rest = self._texts(base, one, other)
        assert chosen.entry is not None
        was = base.entry if base else None
        marks = self._marks(was, one.entry, other.entry)
        anchors = _anchors(was, one.entry, other.entry)
        if rest is not None:
            marks[CONFLICT] = ""
            self.conflicts.append(chosen.key)
            self._keep_beside(chosen.key, rest, parent)
        raw = self._rewritten(chosen, marks, anchors)
        return msgspec.structs.replace(chosen, raw=raw, parent=parent)

    def _texts(
        self, base: _Piece | None, one: _Piece, other: _Piece
    ) -> tuple[_Piece, _Piece | None]:
        """The text that is shown, and the other changed text."""
        assert one.entry and other.entry
        was = text_key(base.entry) if base and base.entry else None
        texts = text_key(one.entry), text_key(other.entry)
        if texts[0] == texts[1] or texts[1] == was:
            return one, None
        if texts[0] == was:
            return other, None
        if self.newer is not None and self.newer(other.entry, one.entry) != self.newer(
            one.entry, other.entry
        ):
            is_first = self.newer(one.entry, other.entry)
        else:
            is_first = texts[0] > texts[1]
        return (one, other) if is_first else (other, one)

    def _keep_beside(self, key: str, rest: _Piece, parent: str) -> None:
        """The other text as a separate note without anchors: a turn has one entry."""
        assert rest.entry
        name = digest("conflict", key, text_key(rest.entry))
        heading = rest.raw.splitlines()[0]
        lines = [f"<!-- id:{name} -->", f"<!-- {CONFLICT_OF}:{key} -->"]
        body = rest.entry.raw[rest.entry.body_start - rest.entry.start :].rstrip()
        raw = b"\n".join([heading, *(line.encode() for line in lines), self._clean(body)])
        self.pieces[name] = msgspec.structs.replace(
            rest, key=name, raw=raw.rstrip(), parent=parent, entry=None, is_last=False, tail=b"\n\n"
        )
        self.after.setdefault(key, []).append(name)

    def _clean(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self.clean(text).encode("utf-8", "surrogateescape")

    def _marks(self, base: Entry | None, one: Entry, other: Entry) -> dict[str, str]:
        was = base.marks if base else {}
        marks: dict[str, str] = {}
        for name in dict.fromkeys((*one.marks, *other.marks)):
            values = [found.get(name, _ABSENT) for found in (was, one.marks, other.marks)]
            value = _value(name, *values)
            if value != _ABSENT:
                marks[name] = value
        return marks

    def _rewritten(self, chosen: _Piece, marks: dict[str, str], anchors: list[Anchor]) -> bytes:
        """The entry's lines with these marks and anchors; unchanged if it has them."""
        entry = chosen.entry
        assert entry is not None
        is_conflict = CONFLICT in marks and CONFLICT not in entry.marks
        if marks == entry.marks and set(anchors) == set(entry.anchors):
            return chosen.raw
        body = entry.raw[entry.body_start - entry.start :]
        if is_conflict:
            body = self._clean(body)
        heading = [chosen.raw.splitlines()[0]] if entry.level else []
        anchor_lines = [anchor.render() for anchor in anchors]
        if "id" in marks or render.needs_id(entry):
            marks = {"id": entry.id, **marks}
        lines = [
            *anchor_lines,
            *render.mark_lines(
                dict(sorted(marks.items(), key=lambda mark: (mark[0] != "id", mark)))
            ),
        ]
        return b"\n".join(
            [*heading, *(line.encode("utf-8", "replace") for line in lines), body]
        ).rstrip()

    def _parent(self, base: _Piece | None, ours: _Piece, theirs: _Piece) -> str:
        if base is not None and ours.parent == base.parent:
            return theirs.parent
        if base is not None and theirs.parent == base.parent:
            return ours.parent
        return min(ours.parent, theirs.parent)

    def _keep_headings(self) -> None:
        """Keep headings with entries, even if one side deleted them. Drop generated empty ones."""
        needed = {piece.parent for piece in self.pieces.values()}
        waiting = list(needed)
        while waiting:
            key = waiting.pop()
            if key and key not in self.pieces:
                piece = next(v.pieces[key] for v in self.versions if key in v.pieces)
                if piece.entry is not None:  # its text was deleted, its heading is needed
                    raw = piece.raw.splitlines()[0]
                    piece = msgspec.structs.replace(
                        piece, raw=raw, entry=None, is_last=False, tail=b"\n\n"
                    )
                self.pieces[key] = piece
                if piece.parent not in needed:
                    needed.add(piece.parent)
                    waiting.append(piece.parent)
        headings = [
            key for key, piece in self.pieces.items() if piece.entry is None and key not in needed
        ]
        for key in set(headings) - self._beside():
            if render.is_made(self.pieces[key].raw.lstrip(b"# ").decode("utf-8", "replace")):
                del self.pieces[key]

    # .. where it stands ..

    def _order(self) -> list[_Piece]:
        children: dict[str, list[str]] = {}
        for key, piece in self.pieces.items():
            children.setdefault(piece.parent, []).append(key)
        placed: dict[str, _Piece] = {}

        def place(keys: list[str]) -> None:
            for key in keys:
                if key not in placed:
                    placed[key] = self.pieces[key]
                    place(self._sorted(key, children.get(key, [])))

        place(self._sorted("", children.get("", [])))
        # the others are under each other: somebody exchanged their levels
        place(sorted(self.pieces.keys() - placed.keys()))
        return list(placed.values())

    def _sorted(self, parent: str, keys: list[str]) -> list[str]:
        known = {key for key in keys if not any(key in names for names in self.after.values())}
        orders = [
            [
                key
                for key, piece in version.pieces.items()
                if key in known and piece.parent == parent
            ]
            for version in self.versions
        ]
        order = topological(orders, known, lambda key: (self.pieces[key].time, key))
        return [name for key in order for name in (key, *sorted(self.after.get(key, [])))]

    # .. its bytes ..

    def _newline(self) -> str:
        base, ours, theirs = (version.document.newline for version in self.versions)
        if not self.base.document.data:
            base = "\n"
        return theirs if ours == base else ours

    def _head(self) -> bytes:
        base, ours, theirs = (version.head.replace(b"\r\n", b"\n") for version in self.versions)
        if ours in (theirs, base):
            return theirs
        if theirs == base:
            return ours
        first, second = sorted((ours, theirs), key=lambda head: (not head.strip(), head))
        known = set(first.splitlines()) | set(base.splitlines())
        added = [line for line in second.splitlines() if line.strip() and line not in known]
        return first.rstrip() + b"\n\n" + b"\n".join(added) + b"\n\n" if added else first

    def _joined(self, head: bytes, order: list[_Piece], balance: bool) -> tuple[bytes, list[bytes]]:
        """Join the pieces. Returns the file and the entries as they must be read in it.

        Args:
            balance: close what a piece leaves open, so that it cannot swallow the next.
        """
        expected: list[bytes] = []
        head = head.replace(b"\r\n", b"\n")
        if order and head.strip() and not head.endswith(b"\n\n"):
            head = head.rstrip(b"\n") + b"\n\n"
        parts = [head]
        for i, piece in enumerate(order):
            raw = piece.raw.replace(b"\r\n", b"\n")
            if balance:
                raw = _closed(raw)
            if piece.entry is not None or piece.key in self._beside():
                expected.append(raw)
            tail = piece.tail.replace(b"\r\n", b"\n")
            if i == len(order) - 1:
                tail = tail if piece.is_last else b"\n"
            elif piece.is_last or b"\n" not in tail:
                tail = b"\n\n"
            parts += [raw, tail]
        data = b"".join(parts)
        return data if self.newline == b"\n" else data.replace(b"\n", self.newline), expected

    def _beside(self) -> set[str]:
        return {name for names in self.after.values() for name in names}

    def _reads(self, data: bytes, expected: list[bytes]) -> bool:
        entries = [entry for entry in parse(data, self.name).entries if entry.level]
        if [entry.raw.replace(b"\r\n", b"\n") for entry in entries] != expected:
            return False
        named = {
            piece.key
            for piece in self.pieces.values()
            if piece.entry and not render.needs_id(piece.entry)
        }
        return named <= {entry.id for entry in entries}


def _closed(raw: bytes) -> bytes:
    text = balance_fences(raw.decode("utf-8", "surrogateescape"))
    if text.rfind("<!--") > text.rfind("-->"):
        text += " -->"
    return text.encode("utf-8", "surrogateescape")


def _value(name: str, base: str, one: str, other: str) -> str:
    if one == other or other == base:
        return one
    if one == base:
        return other
    rank = _RANKS.get(name, str)
    values = {("" if value == _ABSENT else value): value for value in (one, other)}
    return values[max(values, key=lambda value: (rank(value), value))]


def _anchors(base: Entry | None, one: Entry, other: Entry) -> list[Anchor]:
    was = base.anchors if base else []
    common = [anchor for anchor in was if anchor in one.anchors and anchor in other.anchors]
    added = {anchor for anchor in (*one.anchors, *other.anchors) if anchor not in was}
    return common + sorted(added, key=Anchor.render)


def topological(
    orders: list[list[str]], keys: Set[str], sort_key: Callable[[str], tuple[str, str]]
) -> list[str]:
    """Sort all *keys* in agreement with *orders*; without a constraint, the smallest comes first.

    A cycle (from a moved entry) is cut at its smallest key.
    """
    after: dict[str, set[str]] = {key: set() for key in keys}
    for order in orders:
        for one, other in itertools.pairwise(order):
            after[one].add(other)
    before = Counter(other for others in after.values() for other in others)
    ready = [(sort_key(key), key) for key in keys if not before[key]]
    heapq.heapify(ready)
    left = set(keys)
    done: list[str] = []
    while left:
        if not ready:
            key = min(left, key=sort_key)
            ready.append((sort_key(key), key))
        key = heapq.heappop(ready)[1]
        if key not in left:
            continue
        left.discard(key)
        done.append(key)
        for other in after[key]:
            before[other] -= 1
            if not before[other] and other in left:
                heapq.heappush(ready, (sort_key(other), other))
    return done
