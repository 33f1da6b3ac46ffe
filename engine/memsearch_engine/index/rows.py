"""What the index gives back, and what can be asked of it. Plain values: importing this opens and
loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal.model import Anchor

T = TypeVar("T")

#: Of what is derived for a project (``longterm.searchable``, ``native_memories``): file -> what its
#: entries are.
LONGTERM_KINDS = {
    "memory.md": "memory",
    "facts.md": "fact",
    "sessions.md": "summary",
    "project.md": "project",
    "user.md": "user",
    "native.md": "native",
}
#: Kinds that are found by who asks for them alone: agents have read these themselves.
HIDDEN_KINDS = frozenset({"native"})


def comparable(score: float, digits: int = 9) -> float:
    """A score as it is compared with others. The last digits of a sum depend on the order of its
    parts and on the CPU: what differs there alone is equal, and a stable key decides the order.
    """
    return round(score, digits)


class CatalogBroken(Unreachable):
    """The catalog can't be used as it is: damaged, foreign, or our own of another layout
    (``is_ours``).
    """

    def __init__(self, reason: str, *, is_ours: bool = False) -> None:
        super().__init__(
            reason, "`memsearch doctor --fix` builds it again; the notes are untouched"
        )
        self.is_ours = is_ours


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    """What reads values of *kind* that were kept in the catalog; it raises CatalogBroken where a
    value is none.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes) -> T:
        try:
            return decode(data)
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
            TypeError,
        ) as error:  # SQLite has no checksums: anything may stand there
            raise CatalogBroken(f"a value is damaged: {error}") from error

    return read


_decode_anchors = decoder(list[Anchor])
decode_marks = decoder(dict[str, str])


class Row(msgspec.Struct):
    """A chunk with all that is known of its entry. ``id`` is the catalog's own and changes with
    every rebuild; ``asked`` is what its user had asked, where that is searched with it. ``stale``
    (``gone``, ``partly``, ``moved``; '' for none of it), ``stale_why`` and ``unmerged`` (a branch)
    are what was found of it in the repository (``staleness.finding.Standing``).
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

    @property
    def author(self) -> str:
        """Who shared it with the team; '' for the project's own notes."""
        return author_of(self.path)

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Row:
        values = dict(zip(cls.__struct_fields__, row))
        return cls(
            **{
                **values,
                "anchors": _decode_anchors(values["anchors"]),
                "marks": decode_marks(values["marks"]),
            }
        )


class Title(msgspec.Struct, frozen=True):
    """An entry as a list shows it."""

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
    """What one run over a project's files did.

    Attributes:
        files, entries, chunks: how many there are now; changed, removed: files; embedded,
            deleted: chunks.
        meaning: whether the vectors are up to date; reason: why not.
        not_english: the share of the newest notes that the default model hardly knows, 0 to 1.
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
    """What the store can sort out by itself. Empty means anything but the kinds that stand apart;
    days are inclusive ISO dates.
    """

    agents: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    first_day: str = ""
    last_day: str = ""
    as_of: str = ""  # nothing of a later day; what is of no day may have stood then

    def admits(self, day: str, agent: str, session: str, kind: str) -> bool:
        """The same conditions, on values."""
        return not (
            (self.agents and agent not in self.agents)
            or (kind not in self.kinds if self.kinds else kind in HIDDEN_KINDS)
            or (self.sessions and not session.startswith(self.sessions))
            or (self.first_day and day < self.first_day)
            or (self.last_day and not "" < day <= self.last_day)
            or (self.as_of and day > self.as_of)
        )

    def expression(self) -> str:
        """A Milvus boolean expression. Values are quoted here and nowhere else."""
        parts = []
        for field, values in (("agent", self.agents), ("kind", self.kinds)):
            if values:
                parts.append(f"{field} in [{', '.join(_quoted(value) for value in values)}]")
        if self.sessions:
            parts.append(f"({' or '.join(_begins(value) for value in self.sessions)})")
        if self.first_day:
            parts.append(f"day >= {_quoted(self.first_day)}")
        if self.last_day:
            parts.append(f'(day <= {_quoted(self.last_day)} and day != "")')
        if self.as_of:
            parts.append(f"day <= {_quoted(self.as_of)}")
        return " and ".join(parts)


def _begins(session: str) -> str:
    """A session by its beginning. ``_`` stands for any character in a pattern (Query.admits sorts
    that out), ``%`` for all.
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
