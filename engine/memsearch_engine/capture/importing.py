"""Imports sessions from before the capture: plan first, then write."""

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
    """An import of old sessions: plan first, then write. Close it after use.

    Args:
        agents: names of agents; empty for all that have sessions here.
        since: the first day (``YYYY-MM-DD``).
        into: import only the turns of this memory folder.
        orphans: a project folder for turns whose folder no longer exists; ``""`` to skip them.
        summarize: use the model of ``capture.summarize``, within its budgets; otherwise no model,
            whatever the settings are.

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
        self._choice = backfill.ImportSelection(names, since, into, orphans)
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
        """Close the resources of the import."""
        self._keeper.close()

    def writer(self, agent: str) -> str:
        """Return what writes an agent's notes: ``extractive``, ``native`` or a provider."""
        return summaries.chosen(self._settings, agent).provider

    def plan(
        self, progress: Progress | None = None, *, run_follows: bool = False
    ) -> backfill.ImportPlan:
        """Read every session, and count what would be written. No note is written.

        Args:
            progress: called with phase, done and total.
            run_follows: start the second process of ``run`` now, so that it is ready for it.
        """
        if run_follows:
            self._keeper.preparer.start()
        return backfill.plan(
            self._scope.home, self._keeper, self._scope.folders, self._choice, progress
        )

    def run(
        self,
        plan: backfill.ImportPlan,
        progress: Progress | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> backfill.ImportReport:
        """Write the planned turns. Repeat it after an interruption to continue.

        If a service runs, it indexes the new notes.

        Args:
            progress: called with phase, done and total.
            stopped: asked before each turn.
        """
        report = backfill.run(self._keeper, plan, self._choice, progress, stopped)
        if report.memories:
            with contextlib.suppress(MemsearchError):  # otherwise the next search indexes them
                self._scope.call("attach", type(None), memories=report.memories)
        return report
