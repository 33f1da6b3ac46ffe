"""Findings about a name in a note, and about a note. Plain values."""

from __future__ import annotations

from typing import Literal

import msgspec

#: ``fresh``: it exists, unchanged where it matters; ``changed``: it exists, but not as it was;
#: ``moved``, ``gone``; ``unknown``: it could not be compared.
State = Literal["fresh", "changed", "moved", "gone", "unknown"]


Kind = Literal["file", "symbol", "setting", "command", "commit", "branch"]


class Reference(msgspec.Struct, frozen=True):
    """A name as it is searched: a path without line number, or an unqualified identifier."""

    kind: Kind
    name: str


class ReferenceState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name and its state.

    Attributes:
        name: as in the note.
        path: the file that is meant, or had it last.
        to: where it moved.
        commit: that removed or moved it (10 digits).
        day: of that commit, ``YYYY-MM-DD``.
        commits: number of commits that changed it since.
        share: share of its lines that are gone, 0 to 1.
    """

    kind: Kind
    name: str
    state: State
    path: str = ""
    to: str = ""
    commit: str = ""
    day: str = ""
    commits: int = 0
    share: float = 0.0

    @property
    def words(self) -> str:
        """The finding in a few words, for people and agents."""
        name = self.path if self.kind == "file" and self.path else self.name
        with_commit = f" ({self.commit[:7]})" if self.commit else ""
        if self.state == "gone":
            if self.kind == "branch":
                return f"branch {name} is gone"
            if self.kind == "commit":
                return f"no branch has commit {name} any more"
            where = f" (last in {self.path})" if self.path and self.kind != "file" else ""
            return f"{name} was removed on {self.day}{with_commit}{where}"
        if self.state == "moved":
            return f"{name} is {self.to} since {self.day}{with_commit}"
        if self.state == "changed":
            much = f", {self.share:.0%} of its lines" if self.share >= 0.005 else ""
            return (
                f"{name}: changed since by {self.commits} "
                f"{'commit' if self.commits == 1 else 'commits'}{much}"
            )
        return f"{name}: {'still there' if self.state == 'fresh' else 'can’t tell'}"


class NoteStaleness(msgspec.Struct, frozen=True, omit_defaults=True):
    """The staleness of a note.

    Attributes:
        unmerged: the branch of its turn if it was not merged, else ``""``.
    """

    findings: list[ReferenceState] = []
    unmerged: str = ""

    @property
    def state(self) -> str:
        """``gone`` (all that could be checked), ``partly`` (some), ``moved`` (some), or ``""``."""
        states = [finding.state for finding in self.findings if finding.state != "unknown"]
        if "gone" in states:
            return "partly" if set(states) - {"gone"} else "gone"
        return "moved" if "moved" in states else ""

    @property
    def stale(self) -> list[ReferenceState]:
        """Findings of gone names, then of moved ones."""
        return [f for f in self.findings if f.state == "gone"] + [
            f for f in self.findings if f.state == "moved"
        ]

    @property
    def words(self) -> str:
        """The most important finding in a few words; ``""`` if nothing is stale."""
        stale = self.stale
        more = f", and {len(stale) - 1} more" if len(stale) > 1 else ""
        return f"{stale[0].words}{more}" if stale else ""


class CheckedNote(msgspec.Struct):
    """A compared note, with its references."""

    entry_id: str
    hash: str
    references: list[Reference]
    standing: NoteStaleness
