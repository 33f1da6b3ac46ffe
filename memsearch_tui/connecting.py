"""Connect agents and import their old sessions, with a preview of the changes. No widget here.

``memsearch plugins`` and ``memsearch agents import`` do the same with more options.
"""

from __future__ import annotations

from collections.abc import Callable

import memsearch_engine as engine
import msgspec
from memsearch_engine import Conflict, Memory, MemsearchError, agent_named, agents_live

from memsearch_tui.counted import many

Progress = Callable[[str, int, int], None]


class ConnectedAgent(msgspec.Struct, frozen=True):
    """An agent and its connection to this memory.

    Attributes:
        here: its program or its sessions are on this machine.
        problems: reasons why its hooks do not work.
        changes: (path, reason) of each file that connecting would write; empty if it is connected.
        refused: why it cannot be connected now; '' if it can.
    """

    name: str
    here: bool
    connected: bool
    problems: list[str]
    changes: list[tuple[str, str]]
    refused: str = ""

    @property
    def title(self) -> str:
        """The agent's name for people."""
        return agent_named(self.name).title


def agents(memory: Memory) -> list[ConnectedAgent]:
    """Return all known agents, those on this machine first."""
    found = [_agent(memory, name) for name in agents_live()]
    return sorted(found, key=lambda agent: not agent.here)


def _agent(memory: Memory, name: str) -> ConnectedAgent:
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
    return ConnectedAgent(
        name, plugins.is_here(state), state.installed, state.problems, changes, refused
    )


def connect(memory: Memory, name: str) -> str:
    """Install the plugin into an agent's configuration.

    Returns:
        A message about the result.

    Raises:
        MemsearchError: the agent cannot be connected.
        OSError: a file cannot be written.
    """
    plugins = memory.plugins
    done, problems = plugins.install(name), plugins.status(name).problems
    message = f"{agent_named(name).title} is connected: {many(len(done), 'file')} written"
    return (
        f"{message}, but {problems[0]}" if problems else f"{message}. Its next session is captured."
    )


def disconnect(memory: Memory, name: str) -> str:
    """Restore the agent's configuration byte for byte.

    Returns:
        A message about the result.

    Raises:
        MemsearchError: the agent cannot be disconnected.
        OSError: a file cannot be written.
    """
    done = memory.plugins.uninstall(name)
    return f"{agent_named(name).title} is as it was before: {many(len(done), 'file')} put back"


def plan(memory: Memory, name: str, progress: Progress) -> engine.ImportPlan:
    """Return what an import of the agent's old sessions would write. Nothing is written."""
    with memory.import_sessions(name) as old:
        return old.plan(progress)


def take_in(
    memory: Memory,
    name: str,
    made: engine.ImportPlan,
    progress: Progress,
    stopped: Callable[[], bool],
) -> str:
    """Import old sessions as planned, without a model: an import of years must not cause costs that
    nobody agreed to.

    Args:
        made: the plan.
        stopped: returns True when the import should stop.

    Returns:
        A message about the result.
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
