"""The verbs of old sessions, and of the conversations that are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.evidence import Status as Kept
from memsearch_engine.agents.transcripts.locate import find_session
from memsearch_engine.capture import backfill, retention, summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.retention import Survey
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.settings import load
from memsearch_engine.memory import Memory

Progress = Callable[[str, int, int], None]


class Import:
    """Bringing old sessions in: planned first, then written. Closed after use.

    Args:
        memory: of the home they go to.
        agents: whose sessions; all that have any here where none is named.
        since: ISO day; earlier turns are left out.
        into: only turns that belong into this memory folder.
        orphans: a project folder for turns whose own is gone; without it they are left out.
        summarize: by the model of ``capture.summarize``, within its budgets; else without a
            model, whatever the settings say.

    >>> with Memory() as memory, Import(memory, ("codex",)) as old:
    ...     old.plan().new
    0
    """

    def __init__(
        self,
        memory: Memory,
        agents: tuple[str, ...] = (),
        *,
        since: str = "",
        into: str = "",
        orphans: str = "",
        summarize: bool = False,
    ) -> None:
        self._memory, self._settings = memory, load(memory.home)
        if not summarize:
            self._settings.capture.summarize.provider, self._settings.plugins = "extractive", {}
        names = agents or tuple(backfill.agents_here(memory.folders))
        self._choice = backfill.Choice(names, since, into, orphans)
        self._keeper = CapturePipeline(memory.home, settings=self._settings)

    def __enter__(self) -> Import:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened."""
        self._keeper.close()

    def writer(self, agent: str) -> str:
        """Who would write the notes of an agent's turns: ``extractive``, ``native`` or a provider."""
        return summaries.chosen(self._settings, agent).provider

    def plan(self, progress: Progress | None = None) -> backfill.Plan:
        """Read every session and count what would be written. Nothing is."""
        return backfill.plan(
            self._memory.home, self._keeper, self._memory.folders, self._choice, progress
        )

    def run(
        self,
        plan: backfill.Plan,
        progress: Progress | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> backfill.ImportReport:
        """Write what was planned; an interrupted run goes on from where it was. The service indexes
        it, where there is one.
        """
        report = backfill.run(self._keeper, plan, self._choice, progress, stopped)
        if report.memories:
            with contextlib.suppress(MemsearchError):  # the next search does it
                self._memory.call("attach", type(None), memories=report.memories)
        return report


class Evidence:
    """The conversations behind memories, as far as we keep them.

    >>> with Memory(everything=True) as memory:
    ...     Evidence(memory).kept().turns
    0
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._home = memory, memory.home

    def kept(self) -> Kept:
        """What is kept, and how large it is."""
        with contextlib.closing(Archive(self._home)) as archive:
            return archive.status()

    def survey(self) -> Survey:
        """How many cited conversations are live, kept or lost, and which their agent will delete
        soon.
        """
        return retention.survey(self._home, self._memory.projects, self._memory.folders)

    def archive(self, progress: Progress | None = None) -> tuple[int, list[tuple[str, str]]]:
        """Keep every conversation that a memory of these projects cites and its agent still has:
        how many, and what failed why.
        """
        return retention.archive_all(
            self._home, self._memory.projects, self._memory.folders, progress
        )

    def prune(self, *, max_bytes: int, max_days: float, dry_run: bool = False) -> tuple[int, int]:
        """Forget the oldest kept conversations beyond a size or an age (0: no limit): how many, and
        of how many none else is left.
        """
        with contextlib.closing(Archive(self._home)) as archive:
            gone = archive.prune(max_bytes=max_bytes, max_days=max_days, dry_run=dry_run)
        folders = self._memory.folders
        return len(gone), sum(
            find_session(agent, session, "", folders) is None for agent, session, _ in gone
        )
