"""Letting agents write here, and taking in their old sessions, for a face that shows it first. No
widget here.

The command line does the same (``memsearch plugins``, ``memsearch agents import``) with more choices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from memsearch_engine import Conflict, Memory, MemsearchError, agent_named, agents_live

from memsearch_tui.counted import many

if TYPE_CHECKING:
    from memsearch_engine import ImportPlan

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
        return agent_named(self.name).title


def agents(memory: Memory) -> list[Agent]:
    """All agents that are known, those of this machine first."""
    found = [_agent(memory, name) for name in agents_live()]
    return sorted(found, key=lambda agent: not agent.here)


def _agent(memory: Memory, name: str) -> Agent:
    plugins = memory.plugins
    state = plugins.status(name)
    changes, refused = [], ""
    try:
        changes = [(patch.path, patch.why) for patch in plugins.install(name, dry_run=True)]
    except (MemsearchError, OSError) as error:
        refused = (
            f"{error}. {getattr(error, 'hint', '')}"
            if not isinstance(error, Conflict)
            else f"{error.hint}"
        )
    return Agent(name, plugins.is_here(state), state.installed, state.problems, changes, refused)


def connect(memory: Memory, name: str) -> str:
    """Write what was shown. Says what came of it. Raises MemsearchError, OSError."""
    plugins = memory.plugins
    done, problems = plugins.install(name), plugins.status(name).problems
    said = f"{agent_named(name).title} is connected: {many(len(done), 'file')} written"
    return f"{said}, but {problems[0]}" if problems else f"{said}. Its next session is captured."


def disconnect(memory: Memory, name: str) -> str:
    """Put the agent's configuration back byte for byte. Raises MemsearchError, OSError."""
    done = memory.plugins.uninstall(name)
    return f"{agent_named(name).title} is as it was before: {many(len(done), 'file')} put back"


def plan(memory: Memory, name: str, progress: Progress) -> ImportPlan:
    """What an import of the agent's old sessions would write. Nothing is written."""
    with memory.import_sessions(name) as old:
        return old.plan(progress)


def take_in(
    memory: Memory, name: str, made: ImportPlan, progress: Progress, stopped: Callable[[], bool]
) -> str:
    """Write what was planned, without a model: years of sessions must not spend what nobody agreed
    to. Says what came of it.
    """
    with memory.import_sessions(name) as old:
        report = old.run(made, progress, stopped)
    failed = (
        f", {many(len(report.failed), 'turn')} failed: {report.failed[0][1]}"
        if report.failed
        else ""
    )
    where = f" in {many(len(report.memories), 'project')}" if report.memories else ""
    return f"{many(report.written, 'note')} written{where}{failed}"
