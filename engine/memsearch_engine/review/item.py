"""What waits for the owner's decision, as one kind of value whatever room it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from memsearch_engine.core.ids import digest

if TYPE_CHECKING:
    from memsearch_engine.injection.supersession import Supersession
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.write import Target
    from memsearch_engine.longterm.api import LongTerm
    from memsearch_engine.longterm.pages_api import Pages
    from memsearch_engine.longterm.skills_api import Skills
    from memsearch_engine.review.conflicts import Conflicts
    from memsearch_engine.review.repair import Repair
    from memsearch_engine.review.secrets import Secrets
    from memsearch_engine.review.staleness import Ground
    from memsearch_engine.review.trust import Trust

MAX_LINES = 40  # of one piece of evidence
#: What a piece of a line is, for whoever gives it a look: ``text``, ``strong``, ``dim``, ``good``,
#: ``bad``, ``warn``, ``match``, ``agent``.
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
#: How a decision is undone: the name of a step and its arguments, which JSON can hold.
Step = list[Any]


class Case(msgspec.Struct, frozen=True):
    """One thing to decide.

    Attributes:
        key: its name, the same each time the queue is read.
        detail: lines that say what it is about, with their tones.
        yes, no: what the two answers do; '' where there is no such answer.
        asks: a question to answer before *yes* is carried out, '' for none.
        text: what can be changed before it is accepted; '' for nothing.
        subject: what the room that it comes from needs to decide it.
        notes: ids of the entries that it is about; sessions: those that it comes from.
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

    @property
    def id(self) -> str:
        """A short name for commands and programs."""
        return digest(self.key, size=4)

    @property
    def waits(self) -> bool:
        """Whether something is not used until it is decided; the others are suggestions."""
        return self.kind in ("longterm", "held", "conflict", "page")

    @property
    def seen(self) -> str:
        """A digest of what a person saw of it: another one means that it has changed."""
        return digest(self.title, *("".join(text for text, _ in line) for line in self.detail))


class Decision(msgspec.Struct, frozen=True):
    """What was carried out. ``back`` undoes it and says what came of that; None: nothing can."""

    said: str
    back: Callable[[], str] | None = None


class Parts(Protocol):
    """The parts of a ``Memory`` that have something to decide, and the verbs that carry it out."""

    longterm: LongTerm
    pages: Pages
    skills: Skills
    trust: Trust
    conflicts: Conflicts
    repair: Repair
    supersession: Supersession
    staleness: Ground
    secrets: Secrets

    def undo(self, name: str = "", *, everywhere: bool = False) -> list[Change]: ...
    def delete_each(self, targets: Sequence[Target]) -> None: ...


def undone(memory: Parts, name: str) -> str:
    """Undo the last change of an entry; what that was."""
    changes = memory.undo(name)
    return f"undone: {changes[0].op} of “{changes[0].title[:40]}”" if changes else "nothing to undo"


def many(count: int, one: str) -> str:
    """``1 note``, ``2 notes``."""
    return f"{count} {one}{'' if count == 1 else 's'}"
