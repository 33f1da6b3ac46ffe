"""What was found out about a name in a note, and about a note. Plain values."""

from __future__ import annotations

from typing import Literal

import msgspec

#: ``fresh``: there, as far as it matters as it was; ``changed``: there, and not as it was;
#: ``moved``, ``gone``; ``unknown``: nothing can be said.
State = Literal["fresh", "changed", "moved", "gone", "unknown"]


Kind = Literal["file", "symbol", "setting", "command", "commit", "branch"]


class Reference(msgspec.Struct, frozen=True):
    """A name, as it is looked for: a path without its line number, an identifier without what it
    belongs to and without brackets.
    """

    kind: Kind
    name: str


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name, and how it stands.

    Attributes:
        name: as the note has it.
        path: the file that is meant, or had it last; to: where it is now, where it moved.
        commit: the one with which it went or moved (the first 10 digits); day: that commit's,
            ``YYYY-MM-DD``.
        commits: how many have changed it since; share: of the lines that it had, how many are
            not there any more, 0 to 1.
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
        """For people and agents, in a few words."""
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
            return f"{name}: changed since by {self.commits} {'commit' if self.commits == 1 else 'commits'}{much}"
        return f"{name}: {'still there' if self.state == 'fresh' else 'can’t tell'}"


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a note stands.

    Attributes:
        unmerged: the branch that its turn ran on, where that was not merged; '' else.
    """

    findings: list[Finding] = []
    unmerged: str = ""

    @property
    def state(self) -> str:
        """``gone``: all that could be checked of what it names is; ``partly``: some of it;
        ``moved``: some is elsewhere; '' else.
        """
        states = [finding.state for finding in self.findings if finding.state != "unknown"]
        if "gone" in states:
            return "partly" if set(states) - {"gone"} else "gone"
        return "moved" if "moved" in states else ""

    @property
    def stale(self) -> list[Finding]:
        """What is gone, then what is elsewhere."""
        return [f for f in self.findings if f.state == "gone"] + [
            f for f in self.findings if f.state == "moved"
        ]

    @property
    def words(self) -> str:
        """The weightiest of it, in a few words; '' where nothing is stale."""
        stale = self.stale
        more = f", and {len(stale) - 1} more" if len(stale) > 1 else ""
        return f"{stale[0].words}{more}" if stale else ""


class Checked(msgspec.Struct):
    """A note that was compared as it was, with what it names."""

    entry_id: str
    hash: str
    references: list[Reference]
    standing: Standing
