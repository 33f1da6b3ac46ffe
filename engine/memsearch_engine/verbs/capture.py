"""The verbs of capture: what waits, what was missed, what it cost. Rooms are opened by the verb
that needs them: most only ask the service.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memsearch_engine.memory import Memory
from memsearch_engine.service.answers import Inbox, Standing

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
    ...     Capture(memory).inbox().waiting
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._home = memory, memory.home

    def inbox(self, timeout_s: float = _LONG_S) -> Inbox:
        """Work off what hooks have left; what came of it, and what still waits. Raises Unreachable."""
        return self._memory.call("inbox", Inbox, timeout_s=timeout_s)

    def retry(self) -> int:
        """Let events that could not be read and summaries that failed be tried again; how many."""
        from memsearch_engine.capture import event_queue, summaries

        return event_queue.retry(self._home) + summaries.retry(self._home)

    def drop(self, names: list[str]) -> int:
        """Forget waiting events (all without *names*); their turns stay in the agents' transcripts."""
        from memsearch_engine.capture import event_queue

        return event_queue.drop(self._home, names)

    def coverage(self, since: str = "") -> Coverage:
        """Turns seen in transcripts against turns in memory since capture began, or since a day.
        Raises Unreachable.
        """
        from memsearch_engine.capture.coverage import Coverage

        return self._memory.call("coverage", Coverage, timeout_s=_LONG_S, since=since)

    def missed(self, outcomes: Sequence[Outcome]) -> list[Missed]:
        """Turns that are not in memory, newest first, each with its reason."""
        from memsearch_engine.capture.ledger import Missed

        return self._memory.call("missed", list[Missed], outcomes=outcomes)

    def standing(self, *, start: bool = True) -> Standing:
        """Who is captured and since when, whose turns don't arrive, and how many decisions the
        owner owes. Raises Unreachable.
        """
        memory = self._memory
        place, everything = memory.place_param, memory.everything
        return memory.call(
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

        settings = load(self._home, self._memory.place.settings_file)
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

        return discover(self._home, self._memory.folders, versions=versions, progress=progress)
