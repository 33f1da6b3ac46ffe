"""One type for everything that is pending review, whatever module it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from memsearch_engine.core.ids import digest

if TYPE_CHECKING:
    from memsearch_engine.injection.api import Supersessions
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.targets import Target
    from memsearch_engine.longterm.api import LongTerm
    from memsearch_engine.longterm.pages_api import Pages
    from memsearch_engine.longterm.skills_api import Skills
    from memsearch_engine.review.conflicts import Conflicts
    from memsearch_engine.review.repair import Repair
    from memsearch_engine.review.secrets import Secrets
    from memsearch_engine.review.staleness import Staleness
    from memsearch_engine.review.trust import Trust

MAX_LINES = 40  # maximum lines of one piece of evidence
#: The style of a part of a line: ``text``, ``strong``, ``dim``, ``good``, ``bad``, ``warn``,
#: ``match``, ``agent``.
Tone = str
Line = list[tuple[str, Tone]]
Kind = Literal[
    "longterm",
    "page",
    "skill",
    "conflict",
    "held",
    "secret",
    "repair",
    "amends",
    "contradicts",
    "stale",
    "draft",
    "unread",
]
#: How a decision is undone: the name of a step and its arguments, as JSON values.
Step = list[Any]


class ReviewItem(msgspec.Struct, frozen=True):
    """One item to decide on.

    Attributes:
        key: its name, the same each time the queue is read.
        detail: lines that describe it, with their styles.
        yes, no: what the two answers do; '' if there is no such answer.
        asks: a question to confirm before *yes* is carried out; '' for none.
        text: the text that can be changed before it is accepted; '' for none.
        subject: the data that its module needs to decide it.
        notes: ids of the entries that it is about.
        sessions: the sessions that it comes from.
        single: it is accepted under its own name, but not with its group.
    """

    kind: Kind
    key: str
    title: str
    detail: list[Line]
    yes: str = ""
    no: str = ""
    asks: str = ""
    text: str = ""
    subject: Any = None
    notes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    single: bool = False

    @property
    def id(self) -> str:
        """A short name for commands and programs."""
        return digest(self.key, size=4)

    @property
    def waits(self) -> bool:
        """Whether something is not used until a decision. Other cases are suggestions."""
        return self.kind in ("longterm", "held", "conflict", "page")

    @property
    def seen(self) -> str:
        """A digest of the shown content. Another digest means that the content has changed."""
        return digest(self.title, *("".join(text for text, _ in line) for line in self.detail))


class Decision(msgspec.Struct, frozen=True):
    """A decision that was carried out.

    ``back`` undoes it and returns a message; None if it cannot be undone.
    """

    said: str
    back: Callable[[], str] | None = None


class Parts(Protocol):
    """The parts of a ``Memory`` that contain cases, and the methods that carry out decisions."""

    longterm: LongTerm
    pages: Pages
    skills: Skills
    trust: Trust
    conflicts: Conflicts
    repair: Repair
    supersession: Supersessions
    staleness: Staleness
    secrets: Secrets

    def undo(self, name: str = "", *, everywhere: bool = False) -> list[Change]:
        """Undo a change; see ``Memory.undo``."""
        ...

    def delete_each(self, targets: Sequence[Target]) -> None:
        """Delete entries; see ``Memory.delete_each``."""
        ...


def undone(memory: Parts, name: str) -> str:
    """Undo the last change of an entry. Returns a description of that change."""
    changes = memory.undo(name)
    return f"undone: {changes[0].op} of “{changes[0].title[:40]}”" if changes else "nothing to undo"


def many(count: int, one: str) -> str:
    """``1 note``, ``2 notes``."""
    return f"{count} {one}{'' if count == 1 else 's'}"
