"""Parses a day file: a line scanner for headings, fences, comments and anchors.

It reads every form in use (memsearch's four plugins, hand-written notes, front matter, CRLF, CJK,
10 MB days) in one pass, and is not misled by headings inside code. Rules, after CommonMark 0.31:

- an ATX heading is 1-6 ``#`` after at most three blanks; levels 1-3 divide a day, deeper ones
  belong to their entry;
- a fence hides headings up to its closing line. A fence that never closes hides nothing, so that
  a cut-off answer cannot swallow the
  rest of a day (CommonMark would run it to the end of the file);
- an HTML comment hides headings up to ``-->``; one in which another ``<!--`` begins never closed;
- anchors and marks count only in the comment lines right under a heading: text further down may
  come from anyone.
"""

from __future__ import annotations

import re

from memsearch_engine.core.ids import digest
from memsearch_engine.journal.model import Anchor, Document, Entry, agent_of, restored_path

_BOM = b"\xef\xbb\xbf"
_CANDIDATE = re.compile(
    rb"^ {0,3}(?:(?P<hashes>#{1,6})(?=[ \t\r\n]|\Z)|(?P<fence>`{3,}|~{3,})|(?P<comment><!--))", re.M
)
_TIME = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?\b")
_COMMENT_LINE = re.compile(rb"[ \t]*<!--(.*?)-->[ \t]*\r?\n?", re.S)
_BLANK_LINE = re.compile(rb"[ \t]*\r?\n")
_ANCHOR_KEY = re.compile(r"(?:^|\s)(agent|session|turn|transcript|rollout|db):")
_MARK = re.compile(
    r"(id|by|conflict-of|copy-of|shared|review|expires|superseded-by|"
    r"trust|summary|confidence|branch|verified):\s*(\S+)$"
)
_MARK_ID = re.compile(r"[A-Za-z0-9_-]{4,64}$")
_WHOLE = 256 * 1024
_LINE_ENDS = 4096
FLAG_MARKS = frozenset({"pin", "conflict"})


def parse(data: bytes, name: str = "") -> Document:
    """Parse a day file.

    Args:
        data: the file, in any encoding; only ASCII characters matter.
        name: the day or file stem, part of the id of entries without another name.
    """
    found = sections(data)
    lines = _LineCounter(data)
    entries: list[Entry] = []
    seen: dict[str, int] = {}
    trail: list[tuple[int, str]] = []
    for index, (level, heading, start, after) in enumerate(found):
        stop = found[index + 1][2] if index + 1 < len(found) else len(data)
        while level and trail and trail[-1][0] >= level:
            trail.pop()
        anchors, marks, body_start = _head(data, after, stop)
        end = start + len(data[start:stop].rstrip())
        if end > body_start or anchors:
            entry = _entry(
                data,
                level,
                heading,
                start,
                min(body_start, end),
                end,
                stop,
                anchors,
                marks,
                name,
                seen,
            )
            entry.trail = [text for _, text in trail]
            entry.start_line, entry.end_line = lines.at(start), lines.at(max(start, end - 1))
            entries.append(entry)
        if level:
            trail.append((level, heading))
    return Document(data, entries, "\r\n" if _mostly_crlf(data) else "\n")


def parse_end(data: bytes, name: str = "") -> Document:
    """Parse the last session of a long file, or all of a short one.

    The time does not grow with the day. Offsets are relative to the parsed piece. It has no entries
    if code or a comment may have begun before it.
    """
    if len(data) <= _WHOLE:
        return parse(data, name)
    start = data.rfind(b"\n## ", len(data) - _WHOLE)
    piece = data[start + 1 :] if start >= 0 else data[-_LINE_ENDS:]
    if (
        start < 0
        or b"```" in piece
        or b"~~~" in piece
        or piece.count(b"<!--") != piece.count(b"-->")
    ):
        return Document(piece, [], "\r\n" if b"\r\n" in piece else "\n")
    return parse(piece, name)


def heading_count(data: bytes) -> int:
    """Number of headings of levels 1-3 in *data*."""
    return sum(1 for level, *_ in sections(data) if level)


def sections(data: bytes) -> list[tuple[int, str, int, int]]:
    """Return (level, heading, start, offset after the heading line) of each section.

    Level 0 is the text before the first heading.
    """
    found: list[tuple[int, str, int, int]] = []
    start = _after_front_matter(data)
    if data.startswith(_BOM):
        data = (
            b"\n\n\n" + data[3:]
        )  # same offsets, and a heading right after the mark begins a line
    unclosed: dict[bytes, int] = {}
    closed = 0  # where the last comment that was looked at ends; -1 if no comment ends any more
    position = start
    first = start
    while match := _CANDIDATE.search(data, position):
        line_end = data.find(b"\n", match.start())
        line_end = len(data) if line_end < 0 else line_end + 1
        position = line_end
        if match["hashes"]:
            level = len(match["hashes"])
            if level <= 3:
                text = data[match.end() : line_end].strip()
                heading = re.sub(rb"(^|[ \t])#+$", b"", text).strip().decode("utf-8", "replace")
                found.append((level, heading, match.start(), line_end))
        elif match["fence"]:
            position = _fence_end(data, match["fence"], match.end(), line_end, unclosed) or line_end
        elif closed >= 0:
            if closed < match.end():  # else several comments begin before this end
                closed = data.find(b"-->", match.end())
            if closed >= line_end and data.find(b"<!--", match.end(), closed + 3) < 0:
                next_line = data.find(b"\n", closed)
                position = len(data) if next_line < 0 else next_line + 1
    preamble_end = found[0][2] if found else len(data)
    if data[first:preamble_end].strip():
        lead = len(data[first:preamble_end]) - len(data[first:preamble_end].lstrip())
        begin = data.rfind(b"\n", 0, first + lead) + 1
        found.insert(0, (0, "", max(first, begin), max(first, begin)))
    return found


def _fence_end(
    data: bytes, fence: bytes, after: int, line_end: int, unclosed: dict[bytes, int]
) -> int | None:
    """Offset after the closing line; None if there is none or the opener is inline code."""
    sign, length = fence[:1], len(fence)
    if sign == b"`" and b"`" in data[after:line_end]:
        return None
    if length >= unclosed.get(sign, 1 << 30):
        return None
    closing = re.compile(rb"^ {0,3}" + re.escape(sign) + b"{%d,}[ \\t]*\\r?$" % length, re.M)
    match = closing.search(data, line_end)
    if match is None:
        unclosed[sign] = min(length, unclosed.get(sign, length))
        return None
    end = data.find(b"\n", match.end())
    return len(data) if end < 0 else end + 1


def _after_front_matter(data: bytes) -> int:
    start = 3 if data.startswith(_BOM) else 0
    if re.compile(rb"---[ \t]*\r?\n").match(data, start):
        match = re.compile(rb"^(---|\.\.\.)[ \t]*\r?$", re.M).search(data, start + 4)
        if match:
            return min(len(data), match.end() + 1)
    return start


def anchors_at(data: bytes, position: int) -> list[Anchor]:
    """The anchors in the comment lines from *position* on."""
    return _head(data, position, len(data))[0]


def _head(data: bytes, position: int, stop: int) -> tuple[list[Anchor], dict[str, str], int]:
    """Anchors and marks in the comment lines under a heading, and the offset of the body."""
    anchors: list[Anchor] = []
    marks: dict[str, str] = {}
    while position < stop:
        if blank := _BLANK_LINE.match(data, position, stop):
            position = blank.end()
            continue
        comment = _COMMENT_LINE.match(data, position, stop)
        if comment is None or b"<!--" in comment[1]:
            break
        text = comment[1].decode("utf-8", "replace").strip()
        anchor, mark = parse_anchor(text), parse_mark(text)
        if anchor:
            anchors.append(anchor)
        elif mark:
            marks[mark[0]] = mark[1]
        else:
            break
        position = comment.end()
    return anchors, marks, position


def parse_anchor(text: str) -> Anchor | None:
    """Parse ``session:… turn:… transcript:…``. A value ends at the next key, not at a blank."""
    keys = list(_ANCHOR_KEY.finditer(text))
    if not keys or text[: keys[0].start()].strip() or "\n" in text:
        return None
    values: dict[str, str] = {}
    for index, match in enumerate(keys):
        end = keys[index + 1].start() if index + 1 < len(keys) else len(text)
        values.setdefault(match[1], text[match.end() : end].strip())
    kind = next((key for key in ("transcript", "rollout", "db") if values.get(key)), "")
    if not values.get("session") and not kind:
        return None
    path = restored_path(values.get(kind, ""))
    return Anchor(
        values.get("session", ""),
        values.get("turn", ""),
        values.get("agent") or agent_of(kind, path),
        kind,
        path,
    )


def parse_mark(text: str) -> tuple[str, str] | None:
    """Parse the text of a mark's comment as (name, value); None if it is no mark."""
    if text in FLAG_MARKS:
        return text, ""
    match = _MARK.match(text)
    if match is None or (match[1] == "id" and not _MARK_ID.match(match[2])):
        return None
    return match[1], match[2]


def _entry(
    data: bytes,
    level: int,
    heading: str,
    start: int,
    body_start: int,
    end: int,
    stop: int,
    anchors: list[Anchor],
    marks: dict[str, str],
    name: str,
    seen: dict[str, int],
) -> Entry:
    raw = data[start:end]
    time = _TIME.search(heading)
    anchor = anchors[0] if anchors else None
    if "id" in marks:
        base = marks["id"]
    elif anchor and anchor.turn:
        base = turn_id(anchor.agent, anchor.session, anchor.turn)
    else:
        base = digest("text", anchor.session if anchor else name, raw.replace(b"\r\n", b"\n"))
    if marks.get("superseded-by") == base:  # earlier versions marked a repeated turn so
        del marks["superseded-by"]
    seen[base] = seen.get(base, 0) + 1
    return Entry(
        id=base if seen[base] == 1 else digest(base, str(seen[base])),
        hash=digest(raw, size=8),
        heading=heading,
        level=level,
        start=start,
        body_start=body_start,
        end=end,
        stop=stop,
        start_line=0,
        end_line=0,
        time=f"{int(time[1]):02d}:{time[2]}" if time else "",
        trail=[],
        anchors=anchors,
        marks=marks,
        raw=raw,
    )


def turn_id(agent: str, session: str, turn: str) -> str:
    """Entry id of a turn, the same for live capture and import."""
    return digest("turn", agent, session, turn)


def _mostly_crlf(data: bytes) -> bool:
    first = data.find(b"\n")
    return first > 0 and data[first - 1 : first] == b"\r"


class _LineCounter:
    """Line numbers for rising offsets, counting each byte once."""

    def __init__(self, data: bytes) -> None:
        self.data, self.offset, self.line = data, 0, 1

    def at(self, offset: int) -> int:
        if offset < self.offset:
            return self.line - self.data.count(b"\n", offset, self.offset)
        self.line += self.data.count(b"\n", self.offset, offset)
        self.offset = offset
        return self.line
