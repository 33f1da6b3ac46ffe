"""Letting agents write here, and taking in their old sessions, for a face that shows it first. No widget here.

The command line does the same (``memsearch plugins``, ``memsearch import``) with more choices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from memsearch_engine import Memory
from memsearch_engine.agents import registry
from memsearch_engine.errors import Conflict, MemsearchError

from memsearch_tui.counted import many

if TYPE_CHECKING:
    from memsearch_engine.capture.backfill import Plan

Progress = Callable[[str, int, int], None]


class Agent(msgspec.Struct, frozen=True):
    """An agent and how it stands to us.

    Attributes:
        here: its program or its sessions are on this machine.
        problems: what keeps it from writing here.
        changes: (path, why) of what connecting it would write; nothing where it is connected.
        refused: why it can't be connected as things stand.
    """

    name: str
    here: bool
    connected: bool
    problems: list[str]
    changes: list[tuple[str, str]]
    refused: str = ""

    @property
    def title(self) -> str:
        return registry.agent(self.name).title


def agents(memory: Memory) -> list[Agent]:
    """All agents that are known, those of this machine first."""
    found = [_agent(memory, name) for name in registry.names()]
    return sorted(found, key=lambda agent: not agent.here)


def _agent(memory: Memory, name: str) -> Agent:
    from memsearch_engine.agents import plugins

    state = plugins.status(memory.home, name)
    here = bool(state.program) or any(folder.is_dir() for folder in memory.folders.of(name))
    changes, refused = [], ""
    try:
        changes = [(patch.path, patch.why) for patch in plugins.install(memory.home, name, dry_run=True)]
    except (MemsearchError, OSError) as error:
        refused = f"{error}. {getattr(error, 'hint', '')}" if not isinstance(error, Conflict) else f"{error.hint}"
    return Agent(name, here, state.installed, state.problems, changes, refused)


def connect(memory: Memory, name: str) -> str:
    """Write what was shown. Says what came of it. Raises MemsearchError, OSError."""
    from memsearch_engine.agents import plugins

    done = plugins.install(memory.home, name)
    problems = plugins.status(memory.home, name).problems
    said = f"{registry.agent(name).title} is connected: {many(len(done), 'file')} written"
    return f"{said}, but {problems[0]}" if problems else f"{said}. Its next session is captured."


def disconnect(memory: Memory, name: str) -> str:
    """Put the agent's configuration back byte for byte. Raises MemsearchError, OSError."""
    from memsearch_engine.agents import plugins

    done = plugins.uninstall(memory.home, name)
    return f"{registry.agent(name).title} is as it was before: {many(len(done), 'file')} put back"


def plan(memory: Memory, name: str, progress: Progress) -> Plan:
    """What an import of the agent's old sessions would write. Nothing is written."""
    from memsearch_engine.capture import backfill
    from memsearch_engine.capture.keep import Keeper

    keeper = Keeper(memory.home, settings=_free(memory))
    try:
        return backfill.plan(memory.home, keeper, memory.folders, backfill.Choice((name,)), progress)
    finally:
        keeper.close()


def take_in(memory: Memory, name: str, made: Plan, progress: Progress, stopped: Callable[[], bool]) -> str:
    """Write what was planned, without a model. Says what came of it."""
    import contextlib

    from memsearch_engine.capture import backfill
    from memsearch_engine.capture.keep import Keeper

    keeper = Keeper(memory.home, settings=_free(memory))
    try:
        report = backfill.run(keeper, made, backfill.Choice((name,)), progress, stopped)
    finally:
        keeper.close()
    if report.memories:
        with contextlib.suppress(MemsearchError):  # the next search does it
            memory.call("attach", dict, memories=report.memories)
    failed = f", {many(len(report.failed), 'turn')} failed: {report.failed[0][1]}" if report.failed else ""
    where = f" in {many(len(report.memories), 'project')}" if report.memories else ""
    return f"{many(report.written, 'note')} written{where}{failed}"


def _free(memory: Memory):
    """The settings, without a model: taking in years of sessions must not spend what nobody agreed to."""
    from memsearch_engine.settings import load

    settings = load(memory.home)
    settings.capture.summarize.provider, settings.plugins = "extractive", {}
    return settings
