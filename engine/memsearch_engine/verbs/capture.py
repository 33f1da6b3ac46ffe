"""The verbs of capture: what waits, what was missed, what it cost; old sessions; the conversations that are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from memsearch_engine.agents.discover import discover
from memsearch_engine.capture import backfill, retention, summaries, worker
from memsearch_engine.capture.keep import Keeper
from memsearch_engine.capture.ledger import Ledger
from memsearch_engine.capture.retention import Survey
from memsearch_engine.errors import MemsearchError
from memsearch_engine.llm import spend
from memsearch_engine.memory import Memory
from memsearch_engine.service.answers import Coverage, Inbox, Standing
from memsearch_engine.settings import load
from memsearch_engine.transcripts.evidence import Archive
from memsearch_engine.transcripts.evidence import Status as Kept
from memsearch_engine.transcripts.locate import find_session

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
        return worker.retry(self._home) + summaries.retry(self._home)

    def drop(self, names: list[str]) -> int:
        """Forget waiting events (all without *names*); their turns stay in the agents' transcripts."""
        return worker.drop(self._home, names)

    def coverage(self, since: str = "") -> Coverage:
        """Turns seen in transcripts against turns in memory since capture began, or since a day. Raises Unreachable."""
        return self._memory.call("coverage", Coverage, timeout_s=_LONG_S, since=since)

    def missed(self, outcomes: list[str]) -> list[dict[str, str]]:
        """Turns that are not in memory, newest first, each with its reason. *outcomes*: the ledger's words for why."""
        return self._memory.call("turns", list[dict[str, str]], outcomes=outcomes)

    def standing(self, *, start: bool = True) -> Standing:
        """Who is captured and since when, whose turns don't arrive, and how many decisions the owner owes. Raises Unreachable."""
        memory = self._memory
        place, everything = memory.place_param, memory.everything
        return memory.call("standing", Standing, start=start, timeout_s=120, place=place, all_projects=everything)

    def spent(self, since: str = "") -> list[dict[str, Any]]:
        """What models have cost, by day, purpose and model."""
        return spend.by_day(self._home, since)

    def spent_today(self) -> int:
        """Tokens that summaries took today."""
        return spend.today(self._home, summaries.PURPOSE)

    def summaries(self) -> dict[str, int]:
        """How many summaries wait for a model, by state."""
        return summaries.waiting(self._home)

    def failures(self) -> list[dict[str, str]]:
        """Summaries that failed, newest first, each with its reason."""
        return summaries.failures(self._home)

    def summarised(self, agent: str, text: str, name: str = "") -> str:
        """Notes of a turn by the model that is set for an agent; nothing is kept. *name*: what the prompt calls the agent."""
        settings = load(self._home, self._memory.place.settings_file)
        return summaries.bullets_of(self._home, settings, agent, text, name)

    def unknown_records(self) -> list[tuple[str, str, str, int]]:
        """(agent, record kind, agent's version, times) of records in transcripts that no reader knows."""
        with contextlib.closing(Ledger(self._home)) as ledger:
            return ledger.unknown()

    def agents(self, *, versions: bool = True, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Which agents are on this machine, where their sessions lie, and how many of their turns are in memory."""
        return discover(self._home, self._memory.folders, versions=versions, progress=progress)


class Import:
    """Bringing old sessions in: planned first, then written. Closed after use.

    Args:
        memory: of the home they go to.
        agents: whose sessions; all that have any here where none is named.
        since: ISO day; earlier turns are left out.
        into: only turns that belong into this memory folder.
        orphans: a project folder for turns whose own is gone; without it they are left out.
        summarize: by the model of ``capture.summarize``, within its budgets; else without a model, whatever the settings say.

    >>> with Memory() as memory, Import(memory, ("codex",)) as old:
    ...     old.plan().new
    0
    """

    def __init__(
        self, memory: Memory, agents: tuple[str, ...] = (), *, since: str = "", into: str = "", orphans: str = "", summarize: bool = False
    ) -> None:  # fmt: skip
        self._memory, self._settings = memory, load(memory.home)
        if not summarize:
            self._settings.capture.summarize.provider, self._settings.plugins = "extractive", {}
        names = agents or tuple(backfill.agents_here(memory.folders))
        self._choice = backfill.Choice(names, since, into, orphans)
        self._keeper = Keeper(memory.home, settings=self._settings)

    def __enter__(self) -> Import:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
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
        return backfill.plan(self._memory.home, self._keeper, self._memory.folders, self._choice, progress)

    def run(
        self, plan: backfill.Plan, progress: Progress | None = None, stopped: Callable[[], bool] | None = None
    ) -> backfill.Report:
        """Write what was planned; an interrupted run goes on from where it was. The service indexes it, where there is one."""
        report = backfill.run(self._keeper, plan, self._choice, progress, stopped)
        if report.memories:
            with contextlib.suppress(MemsearchError):  # the next search does it
                self._memory.call("attach", dict, memories=report.memories)
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
        """How many cited conversations are live, kept or lost, and which their agent will delete soon."""
        return retention.survey(self._home, self._memory.projects, self._memory.folders)

    def archive(self, progress: Progress | None = None) -> tuple[int, list[tuple[str, str]]]:
        """Keep every conversation that a memory of these projects cites and its agent still has: how many, and what failed why."""
        return retention.archive_all(self._home, self._memory.projects, self._memory.folders, progress)

    def prune(self, *, max_bytes: int, max_days: float, dry_run: bool = False) -> tuple[int, int]:
        """Forget the oldest kept conversations beyond a size or an age (0: no limit): how many, and of how many none else is left."""
        with contextlib.closing(Archive(self._home)) as archive:
            gone = archive.prune(max_bytes=max_bytes, max_days=max_days, dry_run=dry_run)
        folders = self._memory.folders
        return len(gone), sum(find_session(agent, session, "", folders) is None for agent, session, _ in gone)
