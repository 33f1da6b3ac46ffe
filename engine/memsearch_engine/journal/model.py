"""Documents, entries, anchors and marks of a day file.

Offsets are bytes in the file as it was read, so that a change can replace exactly the lines of one
entry.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

import msgspec

from memsearch_engine.core import agent_registry


class QuarantineReason(StrEnum):
    """Why a note is quarantined.

    This home did not write it, it contains outside content, it reads like an instruction, or its
    file contradicts a decision. OUTSIDE and SUSPECT are values of the ``trust`` mark.
    """

    ARRIVED = "arrived"
    CONTRADICTS = "contradicts"
    OUTSIDE = "outside"
    SUSPECT = "suspect"


UNTRUSTED = (QuarantineReason.OUTSIDE, QuarantineReason.SUSPECT)
#: The value of the ``trust`` mark of a note that the owner has looked at.
RELEASED = "released"
#: The mark of an entry whose text was changed in two places, and the one of the text that waits
#: beside it (its value: the entry's id).
CONFLICT, CONFLICT_OF = "conflict", "conflict-of"
#: What an entry has among its marks where it is shown and contradicts a decision of the owner:
#: never in a file.
CONTRADICTS = "contradicts"


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The comment that links an entry to its turn.

    ``kind`` is ``transcript`` (Claude Code, OpenClaw), ``rollout`` (Codex) or ``db`` (OpenCode,
    OpenClaw); ``path`` is its value.
    Both are untrusted: a reader checks where a path leads before it opens it.
    """

    session: str = ""
    turn: str = ""
    agent: str = ""
    kind: str = ""
    path: str = ""

    def render(self) -> str:
        """Return the anchor as it is written into a comment."""
        # session, turn and path first, and nothing behind them where they say whose it is:
        # memsearch's readers want just that
        is_implied = agent_of(self.kind, self.path) == self.agent
        fields = [
            ("session", self.session),
            ("turn", self.turn),
            (self.kind, self.path),
            ("agent", "" if is_implied else self.agent),
        ]
        words = " ".join(f"{key}:{clean_comment(value)}" for key, value in fields if key and value)
        return f"<!-- {words} -->"


#: How the heading of a digest begins (memsearch 0.4's own words).
DIGEST = "Memory Compact"


class Entry(msgspec.Struct):
    """A ``###`` section with its anchor, or another section or preamble with text.

    Attributes:
        id: stable; from the anchor's turn, an ``id`` comment, or the content.
        hash: of the entry's current bytes; an edit compares it.
        start, end: byte span of its own lines, with heading, without trailing blank lines.
        body_start: byte offset of the first line after heading, anchors and marks.
        stop: byte offset of the next section.
        start_line, end_line: from 1, inclusive.
        trail: headings above it, outermost first, without ``#``.
    """

    id: str
    hash: str
    heading: str
    level: int
    start: int
    body_start: int
    end: int
    stop: int
    start_line: int
    end_line: int
    time: str
    trail: list[str]
    anchors: list[Anchor]
    marks: dict[str, str]
    raw: bytes

    @property
    def anchor(self) -> Anchor | None:
        """The first anchor, or None."""
        return self.anchors[0] if self.anchors else None

    @property
    def agent(self) -> str:
        """Agent of its turn, or agent that wrote it by itself; ``""`` for a person."""
        return self.anchor.agent if self.anchor else self.marks.get("by", "")

    @property
    def session(self) -> str:
        """The session of the first anchor; ``""`` without one."""
        return self.anchor.session if self.anchor else ""

    @property
    def turn(self) -> str:
        """The turn of the first anchor; ``""`` without one."""
        return self.anchor.turn if self.anchor else ""

    @property
    def content(self) -> str:
        """The entry as written, heading and comments included; undecodable bytes become U+FFFD."""
        return self.raw.decode("utf-8", "replace")

    @property
    def body(self) -> str:
        """The text without heading, anchors and marks."""
        return self.raw[self.body_start - self.start :].decode("utf-8", "replace").strip("\r\n")

    @property
    def is_digest(self) -> bool:
        """Whether it is a digest, which repeats other notes.

        Digests are not injected beside these notes and supersede nothing.
        """
        return self.heading.startswith(DIGEST)

    @property
    def kind(self) -> str:
        """``turn`` if it was made from an agent's turn, ``note`` if a person wrote it."""
        return "turn" if self.anchors else "note"

    @property
    def title(self) -> str:
        """First line of text, without list and quote markers."""
        for line in self.body.splitlines():
            text = line.strip().lstrip("-*+> ").strip()
            if text and not text.startswith(("```", "~~~", "<!--")):
                return text
        return self.heading


class Document(msgspec.Struct):
    """A parsed file. ``newline``: the line end of the file, which every write preserves."""

    data: bytes
    entries: list[Entry]
    newline: str

    def find(self, entry_id: str) -> Entry | None:
        """Return the entry with an id, or None."""
        return next((entry for entry in self.entries if entry.id == entry_id), None)


@lru_cache(maxsize=1024)  # all turns of a session have the same path
def agent_of(kind: str, path: str) -> str:
    """Agent of an anchor that does not name it."""
    return agent_registry.owner(kind, path)


def restored_path(value: str) -> str:
    """Return a path as it was before ``clean_comment``.

    Folders that agents name after paths often have two dashes.
    """
    return value.replace("-\u2010", "--")


#: A branch's name that may be shown: letters, digits and a few characters. git allows more, such as
#: hidden letters and directions of writing.
_BRANCH = re.compile(r"[\w./+@#=,-]{1,120}")


def safe_branch(value: str) -> str:
    """A branch name (``restored_path``) that may be repeated to agents, else ``""``."""
    name = restored_path(value)
    return name if name != "HEAD" and _BRANCH.fullmatch(name) else ""


def clean_comment(value: str) -> str:
    """*value* as one line that cannot end its comment."""
    return (
        " ".join(value.replace("--", "-\u2010").split())
        if "--" in value or "\n" in value
        else value.strip()
    )
