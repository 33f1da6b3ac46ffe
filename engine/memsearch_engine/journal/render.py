"""Renders entries, headings and marks as bytes of a day file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memsearch_engine.core.errors import UsageError
from memsearch_engine.journal.model import Document, Entry, clean_comment
from memsearch_engine.journal.parse import FLAG_MARKS, heading_count, parse, parse_mark, turn_id
from memsearch_engine.journal.text import CleanText, balance_fences

_SESSION_HEADING = re.compile(r"Session\b", re.I)


def is_session(heading: str) -> bool:
    """Whether a heading (without ``#``) is one that capture writes above a session's turns."""
    return bool(_SESSION_HEADING.match(heading))


def is_made(heading: str) -> bool:
    """Whether we write this heading when an entry needs it."""
    return is_session(heading) or heading == "Notes"


def as_block(document: Document, position: int, text: bytes) -> bytes:
    """*text* for insertion at *position*: on its own lines, with a blank line before and after."""
    newline = document.newline.encode()
    before, after = document.data[:position], document.data[position:]
    body = text.strip(b"\r\n")
    lead = (
        b""
        if not before or before.endswith(newline * 2)
        else newline
        if before.endswith(b"\n")
        else newline * 2
    )
    tail = (
        b""
        if after.startswith(newline * 2)
        else newline
        if not after or after.startswith(newline)
        else newline * 2
    )
    return lead + body + tail


def last_session(document: Document) -> str | None:
    """The session whose heading a new entry at the end of the file would be under."""
    if not document.entries:
        return None
    last = document.entries[-1]
    under_session = any(is_session(heading) for heading in last.trail)
    nothing_after = (
        document.data.rfind(b"\n## ", last.end) < 0 and document.data.rfind(b"\n# ", last.end) < 0
    )
    return last.session if last.level == 3 and under_session and nothing_after else None


def in_notes(document: Document) -> bool:
    """Whether the document ends in the section ``Notes``."""
    return (
        bool(document.entries)
        and document.entries[-1].level == 3
        and document.entries[-1].trail[-1:] == ["Notes"]
    )


def as_lines(document: Document, lines: Iterable[str]) -> bytes:
    """Encode lines with the document's line ends."""
    text = "\n".join(lines) + "\n"
    return text.replace("\n", document.newline).encode("utf-8")


def joined(document: Document, lines: list[str]) -> bytes:
    """Return *lines* as a block of the document, with one blank line before it."""
    newline = document.newline.encode()
    tail = document.data[-4:]
    if not document.data or tail.endswith(newline * 2):
        lead = b""
    elif tail.endswith(newline):
        lead = newline
    else:
        lead = newline * 2
    return lead + (
        as_lines(document, lines[:-1] if lines and lines[-1] == "" else lines) if lines else b""
    )


def entry_lines(head: Iterable[str], body: CleanText) -> list[str]:
    """Lines of an entry, with a blank line at the end. ``head``: heading, anchors and marks."""
    return [*head, *body.split("\n"), ""]


def as_bytes(document: Document, body: CleanText) -> bytes:
    """A body with the file's line ends."""
    return body.replace("\n", document.newline).encode("utf-8")


def mark_lines(values: dict[str, str]) -> list[str]:
    """Return marks as comment lines."""
    return [
        f"<!-- {name} -->" if name in FLAG_MARKS else f"<!-- {name}:{clean_comment(value)} -->"
        for name, value in values.items()
    ]


def needs_id(entry: Entry) -> bool:
    """Whether an entry needs an id before a change, because only its content identifies it."""
    if "id" in entry.marks:
        return False
    anchor = entry.anchor
    return not (
        anchor and anchor.turn and turn_id(anchor.agent, anchor.session, anchor.turn) == entry.id
    )


def head_with_id(document: Document, entry: Entry) -> bytes:
    """Return the head of an entry, with an ``id`` comment if it needs one."""
    head = entry.raw[: entry.body_start - entry.start]
    if not needs_id(entry):
        return head
    newline = document.newline.encode()
    comment = f"<!-- id:{entry.id} -->".encode() + newline
    if not head.strip():
        return comment
    stripped = head.rstrip()
    return stripped + newline + comment + head[len(stripped) :].removeprefix(newline)


def with_marks(document: Document, entry: Entry, marks: dict[str, str]) -> bytes:
    """The entry's bytes with other mark lines; heading, anchors and body unchanged."""
    if needs_id(entry):
        marks = {"id": entry.id, **marks}
    newline = document.newline.encode()
    head = entry.raw[: entry.body_start - entry.start]
    lines = [line for line in head.splitlines(keepends=True) if not _is_mark_line(line)]
    while lines and not lines[-1].strip():
        lines.pop()
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += newline
    marked = b"".join(line.encode() + newline for line in mark_lines(marks))
    body = entry.raw[entry.body_start - entry.start :]
    result = b"".join(lines) + marked + body
    return result if body else result.rstrip(b"\r\n")


def with_body(document: Document, entry: Entry, block: bytes, body: CleanText) -> bytes:
    """Return the bytes of an entry with another body.

    Args:
        block: the entry's bytes; its head may have been changed already.
        body: the new body.
    """
    old = len(entry.raw) - (entry.body_start - entry.start)
    return block[: len(block) - old] + as_bytes(document, body)


def _is_mark_line(line: bytes) -> bool:
    text = line.decode("utf-8", "replace").strip()
    return (
        text.startswith("<!--")
        and text.endswith("-->")
        and parse_mark(text[4:-3].strip()) is not None
    )


def body_of(text: str, entry: Entry) -> CleanText:
    """Return the body in *text*, which may repeat the entry's heading and comments.

    `entries --json` shows an entry with these. *text* has no secrets.
    """
    text = text.replace("\r\n", "\n").strip("\n")
    head = (
        entry.raw[: entry.body_start - entry.start]
        .decode("utf-8", "replace")
        .replace("\r\n", "\n")
        .strip()
    )
    if head and text.startswith(head):
        text = text[len(head) :].strip("\n")
    elif entry.level and text.split("\n", 1)[0].strip() == head.split("\n", 1)[0].strip():
        text = text.partition("\n")[2].strip("\n")
    if not text.strip():
        raise UsageError("an entry can't be empty", "use `memsearch delete` to remove it")
    text = balance_fences(text)
    data = b"### probe\n" + text.encode("utf-8", "replace")
    probe = parse(data)
    if heading_count(data) != 1 or probe.entries[0].anchors or probe.entries[0].marks:
        raise UsageError(
            "the new text has a heading or an anchor that would start another entry",
            "use #### or deeper headings inside an entry",
        )
    if text.rfind("<!--") > text.rfind("-->"):
        raise UsageError("the new text opens a comment that it doesn't close", "add `-->`")
    return CleanText(text)


def first_line(text: str) -> str:
    """Return the first line of a text, without its bullet."""
    return text.strip().split("\n", 1)[0].lstrip("-* ")


def place_of(
    document: Document, new: Entry, there: Entry | None, block: bytes
) -> tuple[int, int, bytes]:
    """Return (start, stop, bytes) of the change that puts an entry into a file.

    Args:
        new: the entry, with *block* as its bytes.
        there: the entry that it replaces; without one it is added before the next later entry.
    """
    if there is not None:
        return there.start, there.end, block
    data = document.data
    start = next((other.start for other in document.entries if other.time > new.time), len(data))
    after = as_block(document, start, block) if data else block
    if start == len(data) and not after.endswith(b"\n"):
        after += document.newline.encode()
    return start, start, after
