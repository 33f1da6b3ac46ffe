"""Sessions of agents from before the capture: planned first, then written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType

from memsearch_engine.capture import backfill, summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.settings import load
from memsearch_engine.search.scope import Scope

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

    >>> with Memory() as memory, memory.import_sessions("codex") as old:
    ...     old.plan().new
    0
    """

    def __init__(
        self,
        scope: Scope,
        agents: tuple[str, ...] = (),
        *,
        since: str = "",
        into: str = "",
        orphans: str = "",
        summarize: bool = False,
    ) -> None:
        self._scope, self._settings = scope, load(scope.home)
        if not summarize:
            self._settings.capture.summarize.provider, self._settings.plugins = "extractive", {}
        names = agents or tuple(backfill.agents_here(scope.folders))
        self._choice = backfill.Choice(names, since, into, orphans)
        self._keeper = CapturePipeline(scope.home, settings=self._settings)

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
        """Who would write the notes of an agent's turns: ``extractive``, ``native`` or a
        provider.
        """
        return summaries.chosen(self._settings, agent).provider

    def plan(self, progress: Progress | None = None) -> backfill.Plan:
        """Read every session and count what would be written. Nothing is."""
        return backfill.plan(
            self._scope.home, self._keeper, self._scope.folders, self._choice, progress
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
                self._scope.call("attach", type(None), memories=report.memories)
        return report
