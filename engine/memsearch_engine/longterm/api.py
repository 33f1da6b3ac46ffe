"""The verbs of the long-term memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.settings import load
from memsearch_engine.longterm import forgetting, injected, learned, review, workspace
from memsearch_engine.longterm.changes import Hunk
from memsearch_engine.longterm.forgetting import Trash
from memsearch_engine.longterm.learned import Learned
from memsearch_engine.longterm.review import Proposal
from memsearch_engine.longterm.store import SessionMemories, SessionMemory, note_read
from memsearch_engine.search.scope import Scope

if TYPE_CHECKING:  # reading what is there needs no model's side
    from memsearch_engine.longterm.pipeline import LongTermStatus, RunReport

_NUMBER = 8  # digits that an id has at least; fewer are the number of something forgotten by hand


class LongTerm:
    """What was learned from sessions: making it, reading it, deciding on what is proposed.

    >>> with Memory() as memory:
    ...     memory.longterm.get("00000000") is None
    True
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    @property
    def folder(self) -> Path:
        """Where its documents lie."""
        return self._home.longterm

    def run(
        self,
        *,
        phase: int = 0,
        session: str = "",
        since: float = 0.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> RunReport:
        """Read sessions that are due and consolidate what they teach, in this process.

        Args:
            phase: 1 reads sessions, 2 consolidates; 0 both.
            session: one session by id, whatever its age.
            since: also older sessions, from this time on (seconds since 1970).
            progress: is given a phase, how much of it is done, and how much there is.

        Raises:
            SettingsError: no model is chosen for it.
        """
        from memsearch_engine.longterm import pipeline

        return pipeline.run(
            self._home,
            load(self._home),
            self._scope.folders,
            phase=phase,
            only=session,
            since=since,
            progress=progress,
        )

    def start(self, *, phase: int = 0, session: str = "", since: float = 0.0) -> bool:
        """Have the service do it in the background. False where it does so already. Raises
        SettingsError, Unreachable.
        """
        return self._scope.call(
            "longterm", bool, timeout_s=60, phase=phase, session=session, since=since
        )

    def status(self) -> LongTermStatus:
        """What is on, what was done, what waits, and why sessions were not read."""
        from memsearch_engine.longterm import pipeline

        return pipeline.status(self._home, load(self._home), self._scope.folders)

    def told(self) -> str:
        """What of it a new session of this project is told."""
        return injected.injected(
            self._home, self._scope.project.id, load(self._home).longterm.max_tokens
        )

    def all(self) -> list[SessionMemory]:
        """What each session taught, of all projects."""
        return SessionMemories(self._home).all()

    def get(self, name: str) -> SessionMemory | None:
        """What one session taught, by its id; counts as use."""
        found = SessionMemories(self._home).get(name)
        if found is not None:
            note_read(self._home, found.agent, found.session)
        return found

    def overview(self, *, forgotten: bool = False, everything: bool = False) -> list[Learned]:
        """What each session of this project (or of all) taught, how it was used, and when it will
        be forgotten.
        """
        mine = ("", self._scope.project.name)
        rows = learned.overview(self._home, load(self._home).longterm.unused_days)
        return [
            row
            for row in rows
            if bool(row.forgotten) == forgotten and (everything or row.project in mine)
        ]

    def trash(self) -> list[Trash]:
        """What was forgotten by hand and can be brought back."""
        return forgetting.trash(self._home)

    def documents(self, *, everything: bool = False) -> dict[str, str]:
        """``memory_summary.md`` and ``MEMORY.md``: this project's part of them, or the whole."""
        texts = {
            name: workspace.read(self._home.longterm, name)
            for name in (workspace.SUMMARY, workspace.MEMORY)
        }
        if everything:
            return texts
        return {
            name: workspace.part_for(text, self._scope.project.id[:8])
            for name, text in texts.items()
        }

    def pending(self) -> Proposal | None:
        """The proposal that waits for a decision."""
        return review.pending(self._home)

    def decisions(self, proposal: Proposal) -> list[list[Hunk]]:
        """What waits of it; what stands in both documents is decided once."""
        return review.decisions(proposal)

    def decide(
        self,
        verdict: Literal["accepted", "rejected"],
        numbers: Iterable[int] = (),
        *,
        text: str | None = None,
        proposal: int = 0,
    ) -> list[Hunk]:
        """Accept or reject changes of the proposal that waits; sessions are told accordingly from
        the next one on.

        Args:
            numbers: which; none for all that are open. text: accept one with these words instead.
            proposal: the one that was seen (its id); another one by now is a Conflict.

        Raises:
            NotFound: nothing waits, or not that number. Conflict. UsageError: the text can't
                stand there.
        """
        done = review.decide(self._home, verdict, numbers, text=text, proposal_id=proposal)
        self._tell_sessions()
        return done

    def reopen(self, before: Proposal, numbers: Iterable[int]) -> bool:
        """Let what was rejected wait again; False where another proposal took its place."""
        return review.reopen(self._home, before, numbers)

    def restore(self, name: str) -> int:
        """Bring back what was forgotten: a memory by its id, or what ``Memory.forget`` took by its
        number. How many came back.
        """
        if len(name) < _NUMBER and name.isascii() and name.isdecimal():
            count = forgetting.restore(self._home, int(name))
        else:
            store = SessionMemories(self._home)
            found = store.get(name)
            if found is None or not found.forgotten:
                raise UsageError(
                    f"no forgotten memory {name}",
                    "`memsearch longterm show --forgotten` lists them",
                )
            store.restore(found.id)
            count = 1
        self._tell_sessions()
        return count

    def set_mode(self, agent: str, session: str, mode: Literal["enabled", "disabled"]) -> None:
        """Whether a session may be learned from; ``enabled`` also releases one that took in content
        from outside.
        """
        from memsearch_engine.longterm import pipeline

        pipeline.set_mode(self._home, agent, session, mode)

    def clear(self) -> Path | None:
        """Remove all of it; the backup that was made first, None where there was nothing."""
        from memsearch_engine.longterm import pipeline

        backup = pipeline.clear(self._home)
        self._tell_sessions()
        return backup

    def _tell_sessions(self) -> None:
        injected.refresh(self._home, load(self._home))
