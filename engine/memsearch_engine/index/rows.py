"""The values that the index returns, and the filter of a search. This module imports little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal.model import Anchor

T = TypeVar("T")

#: Name of a derived file (long-term memory, agent files) -> kind of its entries.
LONGTERM_KINDS = {
    "memory.md": "memory",
    "facts.md": "fact",
    "sessions.md": "summary",
    "project.md": "project",
    "user.md": "user",
    "native.md": "native",
}
#: Kinds that are hidden by default, because agents read these entries by themselves.
HIDDEN_KINDS = frozenset({"native"})


def comparable(score: float, digits: int = 9) -> float:
    """Return a score rounded for comparisons.

    The last digits of a sum depend on the order of its parts and on the CPU. Scores that differ
    only in these digits are equal, and a stable key then decides the order.
    """
    return round(score, digits)


class CatalogBroken(Unreachable):
    """The catalog can't be used.

    Attributes:
        is_ours: the file is a sound catalog with another layout.
    """

    def __init__(self, reason: str, *, is_ours: bool = False) -> None:
        super().__init__(
            reason, "`memsearch doctor --fix` builds it again; the notes are untouched"
        )
        self.is_ours = is_ours


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    """Return a decoder for JSON in the catalog, which raises CatalogBroken for invalid data."""
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes) -> T:
        try:
            return decode(data)
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
            TypeError,
        ) as error:  # SQLite has no checksums: a value may be anything
            raise CatalogBroken(f"a value is damaged: {error}") from error

    return read


decode_anchors = decoder(list[Anchor])
decode_marks = decoder(dict[str, str])


class Row(msgspec.Struct):
    """A chunk with the data of its entry.

    Attributes:
        id: catalog id; it changes when the catalog is built again.
        embedded: the embedded text without the prompt.
        asked: the prompt that is embedded and searched with it.
        stale: ``gone``, ``partly``, ``moved`` or '' (``staleness.finding.NoteStaleness``).
        stale_why: a remark on the stale references.
        unmerged: the branch of its commit if it was not merged; else empty.
        note_text: the embedded text of the whole note if it has several chunks, else ''. The
            headings above the note are repeated in each chunk. Rows of the catalog have it after
            ``Catalog.add_note_texts``.
    """

    id: int
    chunk_id: str
    text: str
    embedded: str
    start_line: int
    end_line: int
    part: int
    entry_id: str
    hash: str
    project: str
    day: str
    time: str
    agent: str
    session: str
    turn: str
    kind: str
    heading: str
    level: int
    title: str
    anchors: list[Anchor]
    marks: dict[str, str]
    path: str
    asked: str = ""
    stale: str = ""
    stale_why: str = ""
    unmerged: str = ""
    note_text: str = ""

    @property
    def author(self) -> str:
        """The team member who shared the note; '' for the project's own notes."""
        return author_of(self.path)

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Row:
        """Make a ``Row`` from the values of ``ROW_COLUMNS``."""
        values = list(row)
        values[_ANCHORS] = decode_anchors(values[_ANCHORS])
        values[_ANCHORS + 1] = decode_marks(values[_ANCHORS + 1])
        return cls(*values)


#: The place of the anchors in ``ROW_COLUMNS``; the marks follow.
_ANCHORS = Row.__struct_fields__.index("anchors")


class Title(msgspec.Struct, frozen=True):
    """The values of an entry that lists show."""

    entry_id: str
    hash: str
    time: str
    agent: str
    title: str
    marks: dict[str, str]
    stale: str = ""
    unmerged: str = ""


class Failure(msgspec.Struct, frozen=True):
    """A file that could not be read, and why."""

    path: str
    reason: str


class IndexResult(msgspec.Struct):
    """The result of indexing a project.

    Attributes:
        files, entries, chunks: their numbers now.
        changed, removed: numbers of files.
        embedded, deleted: numbers of chunks.
        meaning: whether the vectors are up to date.
        reason: why the vectors are not up to date.
        not_english: share of the newest notes in languages that the default model does not know,
            0 to 1.
    """

    project: str
    collection: str
    files: int
    changed: int
    removed: int
    entries: int
    chunks: int
    embedded: int
    deleted: int
    failed: list[Failure]
    meaning: bool
    reason: str
    warnings: list[str]
    seconds: float
    not_english: float = 0.0


class Filter(msgspec.Struct, frozen=True):
    """Conditions that every store can check.

    A filter without kinds admits all kinds except the hidden ones (agents' own files).

    Attributes:
        sessions: beginnings of session ids.
        first_day, last_day: ISO dates, both inclusive.
        as_of: ISO date; entries of a later day are excluded, entries without a day are not.
    """

    agents: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    first_day: str = ""
    last_day: str = ""
    as_of: str = ""

    def admits(self, day: str, agent: str, session: str, kind: str) -> bool:
        """Return whether an entry with these values meets the conditions."""
        return not (
            (self.agents and agent not in self.agents)
            or (kind not in self.kinds if self.kinds else kind in HIDDEN_KINDS)
            or (self.sessions and not session.startswith(self.sessions))
            or (self.first_day and day < self.first_day)
            or (self.last_day and not "" < day <= self.last_day)
            or (self.as_of and day > self.as_of)
        )

    def expression(self) -> str:
        """Return a Milvus boolean expression. Values are quoted here and nowhere else."""
        parts = (
            f"agent in [{', '.join(map(_quoted, self.agents))}]" if self.agents else "",
            f"kind in [{', '.join(map(_quoted, self.kinds))}]" if self.kinds else "",
            f"({' or '.join(map(_begins, self.sessions))})" if self.sessions else "",
            f"day >= {_quoted(self.first_day)}" if self.first_day else "",
            f'(day <= {_quoted(self.last_day)} and day != "")' if self.last_day else "",
            f"day <= {_quoted(self.as_of)}" if self.as_of else "",
        )
        return " and ".join(filter(None, parts))


def _begins(session: str) -> str:
    """Return a Milvus condition on the beginning of a session's id.

    In a pattern, ``%`` matches any text and ``_`` any character. The request checks rows again.
    """
    if "%" in session or session.startswith("_"):
        return f"session == {_quoted(session)}"
    return f"session like {_quoted(session + '%')}"


def _quoted(value: str) -> str:
    return (
        '"'
        + "".join("\\" + char if char in '"\\' else char for char in value if char.isprintable())
        + '"'
    )
