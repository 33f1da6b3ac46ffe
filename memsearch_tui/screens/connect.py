"""The screen that connects agents and imports their old sessions.

It previews the changes and counts the sessions first. ``memsearch agents install`` and ``memsearch
agents import`` do the same with more options.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import memsearch_engine as engine
import msgspec
from memsearch_engine import Conflict, Memory, MemsearchError, agent_named, agents_live
from textual.binding import Binding, BindingType

from memsearch_tui.aside import Lane, away, write
from memsearch_tui.counted import many
from memsearch_tui.library import Library
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row

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


# a lane of its own: an import may take minutes, and no edit waits for it
_IMPORTS = Lane("imports")


class ConnectScreen(Page[None]):
    """The agents on the left, the planned changes on the right."""

    TITLES = "agents", "what connecting changes"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("connect", "Connect", "yes"),
        Binding("i", "take_in", "Import old sessions", id="connect.import"),
        Binding("minus", "disconnect", "Disconnect", id="connect.no"),
        Binding("r", "reload", "Read again", id="connect.reload"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__(["looking for agents …"])
        self._memory = library.memory
        self._agents: dict[str, ConnectedAgent] = {}
        self._stop: threading.Event | None = None

    async def on_mount(self) -> None:
        """Look for agents."""
        await self.action_reload()

    def _complain(self, error: Exception) -> None:
        self.notify(f"{error}. {getattr(error, 'hint', '')}", severity="error", timeout=8)

    async def action_reload(self) -> None:
        """Look for agents again."""
        await self.read("looking for agents", partial(agents, self._memory), self._show)

    def _show(self, agents: list[ConnectedAgent]) -> None:
        self._agents = {agent.name: agent for agent in agents}
        self._list.show_keys(list(self._agents))
        self._moved()

    @property
    def _agent(self) -> ConnectedAgent | None:
        return self._agents.get(self._list.key) if self._list.key else None

    def _row(self, index: int, width: int) -> Row:
        agent = self._agents[self._list.keys[index]]
        if agent.connected:
            state: Row = [("has a problem", "warn")] if agent.problems else [("connected", "good")]
        else:
            state = [("not connected", "text")] if agent.here else [("not on this machine", "dim")]
        return [(f"{agent.title:20s}", "strong"), *state]

    def _moved(self, by_hand: bool = False) -> None:
        agent = self._agent
        if agent is None:
            return
        rows: list[Row] = [[(f"! {text}", "warn")] for text in agent.problems]
        if agent.refused:
            rows += [[(agent.refused, "warn")]]
        elif agent.connected and not agent.changes:
            rows += [
                [("Connected: its turns are noted as they end.", "good")],
                [],
                [("- disconnects it and puts its configuration back, byte for byte.", "dim")],
            ]
        else:
            rows += [[("enter writes:", "dim")], []]
            for path, why in agent.changes:
                rows += [[(path, "accent")], [(f"  {why}", "text")]]
            rows += [
                [],
                [
                    (
                        (
                            "Everything else in these files stays as it is. "
                            "Notes are taken without a model; "
                        ),
                        "dim",
                    )
                ],
                [("`memsearch agents install` has more choices.", "dim")],
            ]
        rows += [[], [("i counts its old sessions, and takes them in if you say so.", "dim")]]
        self._detail.show(rows)

    # -- connecting

    async def action_open(self) -> None:
        """Connect the agent under the cursor."""
        agent = self._agent
        if agent and agent.changes and not agent.refused:
            await self._carry_out(
                f"connecting {agent.title}", partial(connect, self._memory, agent.name)
            )

    async def action_disconnect(self) -> None:
        """Disconnect the agent under the cursor."""
        agent = self._agent
        if agent and agent.connected:
            work = partial(disconnect, self._memory, agent.name)
            await self._carry_out(f"disconnecting {agent.title}", work)

    async def _carry_out(self, what: str, work: partial[str]) -> None:
        def done(message: str) -> None:
            self.say(message)
            self.run_worker(self.action_reload(), group="read")

        await write(self, what, work, done, self._complain)

    # -- old sessions

    def action_take_in(self) -> None:
        """Import the old sessions of the agent under the cursor."""
        if self._agent and self._stop is None:
            self._stop = threading.Event()
            self.run_worker(self._take_in(self._agent, self._stop), group="import")

    @property
    def is_busy(self) -> bool:
        """Whether an import runs, which another screen would have to stop."""
        return self._stop is not None

    def _progress(self, phase: str, done: int, total: int) -> None:
        if done % 20 == 0:
            with contextlib.suppress(RuntimeError):  # the app is closing
                self.app.call_from_thread(self.say, f"{phase} {done:,} of {total:,} · escape stops")

    async def _take_in(self, agent: ConnectedAgent, stop: threading.Event) -> None:
        try:
            await self._count_and_take_in(agent, stop)
        finally:
            self._stop = None

    async def _count_and_take_in(self, agent: ConnectedAgent, stop: threading.Event) -> None:
        from memsearch_tui.screens.dialogs import ChoiceRow, ChooseScreen

        self.say(f"counting the sessions of {agent.title} …")
        try:
            made = await away(partial(plan, self._memory, agent.name, self._progress))
        except Exception as error:  # foreign files may raise any error
            self._complain(error)
            return
        count = made.counts[agent.name]
        counted = (
            f"{many(count.sessions, 'session')}, {many(count.turns, 'turn')}: "
            f"{count.known} in memory, {count.trivial} trivial"
        )
        self.say(counted)
        if not made.new:
            self.say(f"nothing new to take in · {counted}")
            return
        span = f"{count.first_day} to {count.last_day}, free and offline"
        answer = await self.app.push_screen_wait(
            ChooseScreen(
                f"{agent.title}: {counted}",
                [
                    ChoiceRow("yes", f"Write {many(made.new, 'note')}", span),
                    ChoiceRow("", "Leave it"),
                ],
            )
        )
        if answer != "yes":
            return
        try:
            message = await _IMPORTS.run(
                partial(take_in, self._memory, agent.name, made, self._progress, stop.is_set)
            )
            self.say(f"{'stopped: ' if stop.is_set() else ''}{message}")
        except Exception as error:
            self._complain(error)

    def action_leave(self) -> None:
        """Stop a running import; without one, leave the screen."""
        if self._stop is not None:
            self._stop.set()
        else:
            self.dismiss(None)
