"""The resident process as its clients see it: how it is, and what it does with turns.

Modules are imported by the methods that need them: most methods only ask the service.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memsearch_engine.search.scope import Scope
from memsearch_engine.service import launch
from memsearch_engine.service.answers import Health, Inbox, Standing, Status

if TYPE_CHECKING:
    from memsearch_engine.capture.coverage import Coverage
    from memsearch_engine.capture.discover import Here
    from memsearch_engine.capture.ledger import Missed, Outcome
    from memsearch_engine.core.llm.spend import Spent

Progress = Callable[[str, int, int], None]
_LONG_S = 300.0


class Capture:
    """Turns on their way into memory.

    >>> with Memory() as memory:
    ...     memory.capture.inbox().waiting
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    def inbox(self, timeout_s: float = _LONG_S) -> Inbox:
        """Work off what hooks have left; what came of it, and what still waits. Raises
        Unreachable.
        """
        return self._scope.call("inbox", Inbox, timeout_s=timeout_s)

    def retry(self) -> int:
        """Let events that could not be read and summaries that failed be tried again; how many."""
        from memsearch_engine.capture import event_queue, summaries

        return event_queue.retry(self._home) + summaries.retry(self._home)

    def drop(self, names: list[str]) -> int:
        """Forget waiting events (all without *names*); their turns stay in the agents'
        transcripts.
        """
        from memsearch_engine.capture import event_queue

        return event_queue.drop(self._home, names)

    def coverage(self, since: str = "") -> Coverage:
        """Turns seen in transcripts against turns in memory since capture began, or since a day.
        Raises Unreachable.
        """
        from memsearch_engine.capture.coverage import Coverage

        return self._scope.call("coverage", Coverage, timeout_s=_LONG_S, since=since)

    def missed(self, outcomes: Sequence[Outcome]) -> list[Missed]:
        """Turns that are not in memory, newest first, each with its reason."""
        from memsearch_engine.capture.ledger import Missed

        return self._scope.call("missed", list[Missed], outcomes=outcomes)

    def standing(self, *, start: bool = True) -> Standing:
        """Who is captured and since when, whose turns don't arrive, and how many decisions the
        owner owes. Raises Unreachable.
        """
        scope = self._scope
        place, everything = scope.place_param, scope.everything
        return scope.call(
            "standing", Standing, start=start, timeout_s=120, place=place, all_projects=everything
        )

    def spent(self, since: str = "") -> list[Spent]:
        """What models have cost, by day, purpose and model."""
        from memsearch_engine.core.llm import spend

        return spend.by_day(self._home, since)

    def spent_today(self) -> int:
        """Tokens that summaries took today."""
        from memsearch_engine.capture import summaries
        from memsearch_engine.core.llm import spend

        return spend.today(self._home, summaries.PURPOSE)

    def summaries(self) -> dict[str, int]:
        """How many summaries wait for a model, by state."""
        from memsearch_engine.capture import summaries

        return summaries.waiting(self._home)

    def failures(self) -> list[dict[str, str]]:
        """Summaries that failed, newest first, each with its reason."""
        from memsearch_engine.capture import summaries

        return summaries.failures(self._home)

    def summarised(self, agent: str, text: str, name: str = "") -> str:
        """Notes of a turn by the model that is set for an agent; nothing is kept. *name*: what the
        prompt calls the agent.
        """
        from memsearch_engine.capture import summaries
        from memsearch_engine.core.settings import load

        settings = load(self._home, self._scope.place.settings_file)
        return summaries.bullets_of(self._home, settings, agent, text, name)

    def unknown_records(self) -> list[tuple[str, str, str, int]]:
        """(agent, record kind, agent's version, times) of records in transcripts that no reader
        knows.
        """
        from memsearch_engine.capture.ledger import Ledger

        with contextlib.closing(Ledger(self._home)) as ledger:
            return ledger.unknown()

    def agents(self, *, versions: bool = True, progress: Progress | None = None) -> list[Here]:
        """Which agents are on this machine, where their sessions lie, and how many of their turns
        are in memory.
        """
        from memsearch_engine.capture.discover import discover

        return discover(self._home, self._scope.folders, versions=versions, progress=progress)


class Service:
    """The resident process.

    >>> with Memory() as memory:
    ...     memory.service.status().running
    True
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    @property
    def log(self) -> Path:
        return self._home.log

    def status(self, *, start: bool = True) -> Status:
        """How it is; started where it does not run, unless *start* is off. Raises Unreachable."""
        return self._scope.call("status", Status, start=start)

    def health(self) -> Health:
        """State of files, index, models and watching, each problem with what mends it. Raises
        Unreachable.
        """
        scope = self._scope
        return scope.call(
            "health", Health, place=scope.place_param, timeout_s=60, all_projects=scope.everything
        )

    def stop(self) -> bool:
        """End it; nothing is lost. Whether it ran."""
        return launch.stop(self._home)

    def reset(self) -> list[str]:
        """Throw the index of these projects away and build it again in the background; the
        projects' names. Raises Unreachable.
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
        """The last lines of its log, as they stand. Raises FileNotFoundError."""
        with self._home.log.open(encoding="utf-8", errors="replace") as file:
            return list(deque(file, lines))
