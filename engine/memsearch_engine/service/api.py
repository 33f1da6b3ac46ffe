"""The resident process and the capture of turns, as parts of ``Memory``.

Methods import the modules that they need, because most methods only call the service.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsearch_engine.capture.ledger import CaptureLedger, MissedTurn, TurnOutcome
from memsearch_engine.core.llm import spend
from memsearch_engine.index.rows import IndexResult
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.service import launch
from memsearch_engine.service.answers import CaptureStatus, Health, QueueReport, ServiceStatus

if TYPE_CHECKING:
    from memsearch_engine.capture.coverage import Coverage
    from memsearch_engine.capture.discover import FoundAgent

Progress = Callable[[str, int, int], None]
_LONG_S, _INDEX_S = 300.0, 24 * 3600.0


class Capture(ScopePart):
    """The capture of turns: event queue, coverage, summaries, cost.

    >>> with Memory() as memory:
    ...     memory.capture.inbox().waiting
    []
    """

    def inbox(self, timeout_s: float = _LONG_S) -> QueueReport:
        """Process the event queue now, and return the result and the events that still wait.

        Raises:
            Unreachable: the service does not answer.
        """
        return self._scope.call("inbox", QueueReport, timeout_s=timeout_s)

    def retry(self) -> int:
        """Retry unreadable events and failed summaries, and return how many there are."""
        from memsearch_engine.capture import event_queue, summaries

        return event_queue.retry(self._home) + summaries.retry(self._home)

    def drop(self, names: list[str]) -> int:
        """Delete waiting events. Their turns stay in the agents' transcripts.

        Args:
            names: file names of the events; an empty list means all.

        Returns:
            The number of deleted events.
        """
        from memsearch_engine.capture import event_queue

        return event_queue.drop(self._home, names)

    def coverage(self, since: str = "") -> Coverage:
        """Count the turns in transcripts and those of them that are in memory.

        Args:
            since: the first day (``YYYY-MM-DD``); by default the start of capture.

        Raises:
            Unreachable: the service does not answer.
        """
        from memsearch_engine.capture.coverage import Coverage

        return self._scope.call("coverage", Coverage, timeout_s=_LONG_S, since=since)

    def missed(self, outcomes: Sequence[TurnOutcome], *, limit: int = 200) -> list[MissedTurn]:
        """Return the turns that are not in memory, newest first, each with the reason.

        Args:
            limit: at most this many; -1 for all.

        Raises:
            Unreachable: the service does not answer.
        """
        return self._scope.call("missed", list[MissedTurn], outcomes=outcomes, limit=limit)

    def standing(self, *, start: bool = True) -> CaptureStatus:
        """Return the state of capture, and how many decisions are pending review.

        Args:
            start: start the service if it does not run.

        Raises:
            Unreachable: the service does not answer.
        """
        scope = self._scope
        place, everything = scope.place_param, scope.everything
        return scope.call(
            "standing",
            CaptureStatus,
            start=start,
            timeout_s=120,
            place=place,
            all_projects=everything,
        )

    def spent(self, since: str = "") -> list[spend.Spent]:
        """Return the cost of model calls by day, purpose and model.

        Args:
            since: the first day (``YYYY-MM-DD``); all days by default.
        """
        return spend.by_day(self._home, since)

    def spent_today(self) -> int:
        """Return the tokens that summaries have used today."""
        from memsearch_engine.capture import summaries

        return spend.today(self._home, summaries.PURPOSE)

    def summaries(self) -> dict[str, int]:
        """Return the number of summaries for each state (``waiting``, ``done``, …)."""
        from memsearch_engine.capture import summaries

        return summaries.waiting(self._home)

    def failures(self) -> list[dict[str, str]]:
        """Return the failed summaries, newest first, each with the reason."""
        from memsearch_engine.capture import summaries

        return summaries.failures(self._home)

    def summarised(self, agent: str, text: str, name: str = "") -> str:
        """Summarize a turn with the model that is configured for an agent. Nothing is stored.

        Args:
            text: the turn, as another tool recorded it.
            name: how the prompt names the agent; by default *agent*.

        Returns:
            Markdown bullets.
        """
        from memsearch_engine.capture import summaries
        from memsearch_engine.core.settings import load

        settings = load(self._home, self._scope.place.settings_file)
        return summaries.bullets_of(self._home, settings, agent, text, name)

    def unknown_records(self) -> list[tuple[str, str, str, int]]:
        """List the kinds of transcript records that no reader knows.

        Returns:
            Tuples of agent, record kind, the agent's version, and number of records.
        """
        with contextlib.closing(CaptureLedger(self._home)) as ledger:
            return ledger.unknown()

    def unread_files(self) -> list[tuple[str, str]]:
        """List what is in the agents' session folders and is not read.

        Returns:
            Pairs (path, reason).
        """
        from memsearch_engine.agents.transcripts.locate import unread_files
        from memsearch_engine.core import agent_registry
        from memsearch_engine.core.home import AgentFolders

        folders = AgentFolders.from_env()
        return [row for agent in agent_registry.names() for row in unread_files(agent, folders)]

    def agents(
        self, *, versions: bool = True, progress: Progress | None = None
    ) -> list[FoundAgent]:
        """List the agents on this machine, their session folders, and counts of their turns.

        Args:
            versions: run each agent's program to read its version.
            progress: called with phase, done and total while sessions are read.
        """
        from memsearch_engine.capture.discover import discover

        return discover(self._home, self._scope.folders, versions=versions, progress=progress)


class Service(ScopePart):
    """The resident process: its status, health, log and end.

    >>> with Memory() as memory:
    ...     memory.service.status().running
    True
    """

    @property
    def log(self) -> Path:
        """The path of the log file."""
        return self._home.log

    def status(self, *, start: bool = True) -> ServiceStatus:
        """Return the status of the process.

        Args:
            start: start the service if it does not run.

        Raises:
            Unreachable: the service does not answer.
        """
        return self._scope.call("status", ServiceStatus, start=start)

    def health(self) -> Health:
        """Return the state of files, index, models and watches, and a fix for each problem.

        Raises:
            Unreachable: the service does not answer.
        """
        scope = self._scope
        return scope.call(
            "health", Health, place=scope.place_param, timeout_s=60, all_projects=scope.everything
        )

    def index(
        self,
        paths: Sequence[str] = (),
        *,
        force: bool = False,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[IndexResult]:
        """Update the index of these projects now; see ``Memory.index``."""
        scope = self._scope
        return scope.call(
            "index",
            list[IndexResult],
            timeout_s=_INDEX_S,
            progress=progress,
            place=scope.place_param,
            paths=[os.path.abspath(path) for path in paths],
            force=force,
            all_projects=scope.everything,
        )

    def stop(self) -> bool:
        """Stop the service, and return whether it was running. Nothing is lost.

        Raises:
            Unreachable: it did not stop.
        """
        return launch.stop(self._home)

    def reset(self) -> list[str]:
        """Delete the index of these projects and rebuild it in the background.

        Returns:
            The projects' names.

        Raises:
            Unreachable: the service does not answer.
        """
        scope = self._scope
        return scope.call(
            "reset",
            list[str],
            place=scope.place_param,
            all_projects=scope.everything,
            timeout_s=300,
        )

    def tail(self, lines: int) -> list[str]:
        """Return the last *lines* lines of the log.

        Raises:
            FileNotFoundError: there is no log yet.
        """
        with self._home.log.open(encoding="utf-8", errors="replace") as file:
            return list(deque(file, lines))
