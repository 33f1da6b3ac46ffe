"""The public interface of the long-term memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.settings import load
from memsearch_engine.longterm import injected, review, workspace
from memsearch_engine.longterm.changes import Hunk
from memsearch_engine.longterm.review import Proposal
from memsearch_engine.longterm.store import (
    SessionMemories,
    SessionMemory,
    SessionMemoryUsage,
    note_read,
    overview,
)
from memsearch_engine.search.scope import ScopePart

if TYPE_CHECKING:  # types only: reading the memory needs no model code
    from memsearch_engine.longterm.forgetting import Trash
    from memsearch_engine.longterm.pipeline import LongTermStatus, RunReport

_NUMBER = 8  # minimum digits of an id; a shorter number names an entry of the trash


class LongTerm(ScopePart):
    """The long-term memory: extracting it from sessions, reading it, and deciding on proposals.

    >>> with Memory() as memory:
    ...     memory.longterm.get("00000000") is None
    True
    """

    @property
    def folder(self) -> Path:
        """The folder with the documents."""
        return self._home.longterm

    def run(
        self,
        *,
        phase: int = 0,
        session: str = "",
        since: float = 0.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> RunReport:
        """Read the sessions that are due and consolidate the results, in this process.

        Args:
            phase: 1 reads sessions, 2 consolidates; 0 does both.
            session: read only the session with this id, whatever its age.
            since: also read older sessions, from this time on (seconds since 1970).
            progress: called with a phase, the number of finished steps, and the number of all
                steps.

        Raises:
            SettingsError: no model is configured.
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
        """Start ``run`` in the service, in the background.

        Args:
            phase, session, since: as for ``run``.

        Returns:
            False if the service is already running it.

        Raises:
            SettingsError: no model is configured.
            Unreachable: the service does not answer.
        """
        return self._scope.call(
            "longterm", bool, timeout_s=60, phase=phase, session=session, since=since
        )

    def status(self) -> LongTermStatus:
        """Return what is enabled, done and pending, and why sessions were not read."""
        from memsearch_engine.longterm import pipeline

        return pipeline.status(self._home, load(self._home), self._scope.folders)

    def injected_text(self) -> str:
        """The text that is injected into a new session of this project."""
        return injected.injected(
            self._home, self._scope.project.id, load(self._home).longterm.max_tokens
        )

    def all(self) -> list[SessionMemory]:
        """The session memories of all projects."""
        return SessionMemories(self._home).all()

    def get(self, name: str) -> SessionMemory | None:
        """The memory of one session, by its id. Reading it counts as use."""
        found = SessionMemories(self._home).get(name)
        if found is not None:
            note_read(self._home, found.agent, found.session)
        return found

    def overview(
        self, *, forgotten: bool = False, everything: bool = False
    ) -> list[SessionMemoryUsage]:
        """The session memories of this project, with their use and the day on which they expire.

        Args:
            forgotten: include forgotten ones.
            everything: of all projects.
        """
        mine = ("", self._scope.project.name)
        rows = overview(self._home, load(self._home).longterm.unused_days)
        return [
            row
            for row in rows
            if bool(row.forgotten) == forgotten and (everything or row.project in mine)
        ]

    def trash(self) -> list[Trash]:
        """What the owner has forgotten by hand and can restore."""
        from memsearch_engine.longterm.forgetting import trash

        return trash(self._home)

    def documents(self, *, everything: bool = False) -> dict[str, str]:
        """The texts of ``memory_summary.md`` and ``MEMORY.md``.

        Args:
            everything: the whole documents instead of this project's part.
        """
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
        """The proposal that is pending review."""
        return review.pending(self._home)

    def decisions(self, proposal: Proposal) -> list[list[Hunk]]:
        """The open changes of a proposal. Equal changes of both documents form one group."""
        return review.decisions(proposal)

    def decide(
        self,
        verdict: Literal["accepted", "rejected"],
        numbers: Iterable[int] = (),
        *,
        text: str | None = None,
        proposal: int = 0,
    ) -> list[Hunk]:
        """Accept or reject changes of the pending proposal.

        Sessions that start later see the result.

        Args:
            numbers: the changes; empty for all open ones.
            text: accept one change with these words instead.
            proposal: the id of the proposal that was shown.

        Raises:
            NotFound: no proposal is pending, or no change has that number.
            Conflict: another proposal is pending by now, or the document changed there.
            UsageError: the text is not allowed in the document.
        """
        done = review.decide(self._home, verdict, numbers, text=text, proposal_id=proposal)
        injected.refresh(self._home)
        return done

    def reopen(self, before: Proposal, numbers: Iterable[int]) -> bool:
        """Make rejected changes pending again.

        Returns False if another proposal has replaced theirs.
        """
        return review.reopen(self._home, before, numbers)

    def restore(self, name: str) -> int:
        """Restore a forgotten memory.

        Args:
            name: the id of a session memory, or the number that ``Memory.forget`` returned.

        Returns:
            The number of restored texts.
        """
        from memsearch_engine.longterm import forgetting

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
        injected.refresh(self._home)
        return count

    def set_mode(self, agent: str, session: str, mode: Literal["enabled", "disabled"]) -> None:
        """Set whether a session may be read.

        ``enabled`` also releases a session with outside content.
        """
        from memsearch_engine.longterm import pipeline

        pipeline.set_mode(self._home, agent, session, mode)

    def clear(self) -> Path | None:
        """Remove the whole long-term memory.

        Returns the backup made before; None if there was nothing.
        """
        from memsearch_engine.longterm import pipeline

        backup = pipeline.clear(self._home)
        injected.refresh(self._home)
        return backup
