"""What a day file is made of: a Document holds Entries, an Entry may have an Anchor and marks.

Offsets are bytes into the file as it was read, so that a change can replace exactly the lines of
one entry.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from memsearch_engine.core import agent_registry


class Waits(StrEnum):
    """Why a note is told to no session before its owner's word: this home did not write it, it took
    in content from outside, it reads like an order to agents, its file contradicts what the owner
    decided. OUTSIDE and SUSPECT are values of the ``trust`` mark.
    """

    ARRIVED = "arrived"
    CONTRADICTS = "contradicts"
    OUTSIDE = "outside"
    SUSPECT = "suspect"


UNTRUSTED = (Waits.OUTSIDE, Waits.SUSPECT)
#: The value of the ``trust`` mark of a note that the owner has looked at.
RELEASED = "released"
#: The mark of an entry whose text was changed in two places, and the one of the text that waits
#: beside it (its value: the entry's id).
CONFLICT, CONFLICT_OF = "conflict", "conflict-of"
#: What an entry has among its marks where it is shown and contradicts a decision of the owner:
#: never in a file.
CONTRADICTS = "contradicts"


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The comment that ties an entry to the turn it came from.

    ``kind`` is ``transcript`` (Claude Code, OpenClaw), ``rollout`` (Codex) or ``db`` (OpenCode,
    OpenClaw), and ``path`` its value. Both are untrusted text: a reader checks where a path leads
    before opening it.
    """

    session: str = ""
    turn: str = ""
    agent: str = ""
    kind: str = ""
    path: str = ""

    def render(self) -> str:
        # session, turn and path first, and nothing behind them where they say whose it is:
        # memsearch's readers want just that
        told = agent_of(self.kind, self.path) == self.agent
        fields = [
            ("session", self.session),
            ("turn", self.turn),
            (self.kind, self.path),
            ("agent", "" if told else self.agent),
        ]
        words = " ".join(f"{key}:{clean_comment(value)}" for key, value in fields if key and value)
        return f"<!-- {words} -->"


#: How the heading of a digest begins (memsearch 0.4's own words).
DIGEST = "Memory Compact"


class Entry(msgspec.Struct):
    """One memory: a ``###`` section with its anchor, or any other section or preamble that holds
    text.

    Attributes:
        id: stable name; from the anchor's turn, an ``id`` comment, else the content.
        hash: of the entry's bytes as they are now; what an edit compares.
        start, end: byte span of the entry's own lines (heading included, trailing blank lines
            excluded).
        body_start: byte offset of the first line after heading, anchors and marks.
        stop: byte offset where the next section begins (blank lines included).
        start_line, end_line: 1-based, inclusive.
        trail: headings above this one, outermost first, each as written without ``#``.
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
        return self.anchors[0] if self.anchors else None

    @property
    def agent(self) -> str:
        """Whose turn it came from, or which agent wrote it of its own accord; '' for what a person
        wrote.
        """
        return self.anchor.agent if self.anchor else self.marks.get("by", "")

    @property
    def session(self) -> str:
        return self.anchor.session if self.anchor else ""

    @property
    def turn(self) -> str:
        return self.anchor.turn if self.anchor else ""

    @property
    def content(self) -> str:
        """The entry as written, heading and comments included; undecodable bytes become U+FFFD."""
        return self.raw.decode("utf-8", "replace")

    @property
    def body(self) -> str:
        """The text alone: without heading, anchors and marks at its top."""
        return self.raw[self.body_start - self.start :].decode("utf-8", "replace").strip("\r\n")

    @property
    def is_digest(self) -> bool:
        """Whether it only repeats other notes: nobody is told it beside them, and it is no newer
        word on their matter.
        """
        return self.heading.startswith(DIGEST)

    @property
    def kind(self) -> str:
        """``turn`` for what an agent's turn left, ``note`` for what a person wrote."""
        return "turn" if self.anchors else "note"

    @property
    def title(self) -> str:
        """The first line of text, without list and quote markers: what a list shows."""
        for line in self.body.splitlines():
            text = line.strip().lstrip("-*+> ").strip()
            if text and not text.startswith(("```", "~~~", "<!--")):
                return text
        return self.heading


class Document(msgspec.Struct):
    """A parsed file. ``newline`` is the file's own line end, kept by every write."""

    data: bytes
    entries: list[Entry]
    newline: str

    def find(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.id == entry_id), None)


def agent_of(kind: str, path: str) -> str:
    """Whose an anchor is that does not say it."""
    return agent_registry.owner(kind, path)


def path_said(value: str) -> str:
    """A path as it was before ``clean_comment``: agents name folders after paths, in which two
    dashes are nothing rare.
    """
    return value.replace("-\u2010", "--")


#: A branch's name that is told: letters, digits and a few characters. git allows more, hidden
#: letters and directions of writing among it.
_BRANCH = re.compile(r"[\w./+@#=,-]{1,120}")


def branch_said(value: str) -> str:
    """A branch's name (``path_said``) as it may be repeated to agents; '' for one that may not."""
    name = path_said(value)
    return name if name != "HEAD" and _BRANCH.fullmatch(name) else ""


def clean_comment(value: str) -> str:
    """*value* as one line that can't end the comment it stands in."""
    return (
        " ".join(value.replace("--", "-\u2010").split())
        if "--" in value or "\n" in value
        else value.strip()
    )
