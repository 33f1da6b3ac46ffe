"""Installing our plugins into agents, taking them out again, and saying how they stand. What each
agent needs, its own package knows (``installing.py`` says in what form).
"""

from __future__ import annotations

import shutil
import time

import msgspec

from memsearch_engine.agents import mcp_clients
from memsearch_engine.agents.installing import Installer, missing
from memsearch_engine.agents.patches import Patch, apply, record, revert
from memsearch_engine.capture import event_queue
from memsearch_engine.capture.ledger import Ledger
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Conflict, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.search.scope import Scope


class Status(msgspec.Struct):
    """How a plugin stands. ``problems``: what keeps it from working; ``peer``: memsearch's own
    plugin, found beside.
    """

    agent: str
    installed: bool
    version: str
    program: str
    files: list[str]
    problems: list[str]
    peer: list[str]
    plugin: str = ""  # the version that came by a marketplace of the agent's own
    notes: list[str] = []  # what could be, and is not wrong


def installer(agent: str) -> Installer:
    """Raises UsageError where no agent is called so, or ours can't be put into it."""
    part = agent_registry.part(agent, "installer")
    if part is None:
        if agent not in agent_registry.names():
            raise UsageError(
                f"no agent named {agent}", f"known: {', '.join(agent_registry.live())}"
            )
        how = (
            f"install mcp --for {agent}` gives it our server"
            if agent_registry.part(agent, "mcp_entry")
            else "install mcp --print` is what to give it, if it takes servers"
        )
        raise UsageError(
            f"sessions of {agent} are only read (`memsearch agents import {agent}`)",
            f"`memsearch plugins {how}",
        )
    made: Installer = part.Installer()
    return made


def install(
    home: Home,
    agent: str,
    *,
    dry_run: bool = False,
    replace_peer: bool = False,
    trust: bool = True,
    allow: bool = False,
) -> list[Patch]:
    """Install the plugin of *agent*; what stands already is left alone. Returns the changes.

    Args:
        replace_peer: switch off memsearch's own plugin for this agent; without it, Conflict.
        trust: let the agent know that its user trusts these hooks, where it wants to know
            (``Installer.trusted``).
        allow: let the agent look things up without asking each time, where it asks
            (``Installer.rules``).

    Where ours came by a marketplace of the agent's own, its hooks and skills are there: only trust
    and rules are added.
    """
    kind = installer(agent)
    by_plugin = bool(kind.plugin()) and not kind.hooked()
    peer = kind.peer()
    if peer and not replace_peer:
        raise Conflict(
            f"memsearch's own plugin is active in {agent}: {'; '.join(peer)}",
            f"two would write everything twice: `memsearch agents install {agent} --replace` takes its place",
        )
    patches = [] if by_plugin else kind.patches(replace_peer=bool(peer))
    patches = kind.with_rules(patches) if allow else patches
    if dry_run:
        found = [patch for patch in patches if patch.changes]
        return found + (kind.trust_planned() if found and trust else [])
    done = apply(home, agent, patches)
    ledger = Ledger(home)
    try:
        ledger.capturing(agent, time.time())
    finally:
        ledger.close()
    if trust:
        done += apply(home, agent, kind.trusted(plugins=by_plugin))
    return done


def uninstall(home: Home, agent: str, *, dry_run: bool = False) -> list[Patch]:
    """Put the agent's configuration back as it was, and end its capture: what waits is dropped,
    what still comes is not taken.
    """
    kind = installer(agent)
    done = revert(home, agent, kind.strip, dry_run=dry_run)
    if not dry_run:
        ledger = Ledger(home)
        try:
            ledger.capturing(agent, None)
        finally:
            ledger.close()
        event_queue.drop_of(home, agent)
    return done


def status(home: Home, agent: str) -> Status:
    """How the plugin of *agent* stands; settings of its that can't be read are a problem of its own
    alone.
    """
    try:
        return _status(home, agent)
    except (UsageError, Unreachable) as error:
        kept = record(home, agent)
        program = shutil.which(agent_registry.agent(agent).program) or ""
        return Status(
            agent,
            kept is not None,
            kept.version if kept else "",
            program,
            [],
            [f"{error} ({error.hint})"],
            [],
        )


def _status(home: Home, agent: str) -> Status:
    kind = installer(agent)
    kept = record(home, agent)
    problems: list[str] = []
    plugin = kind.plugin()
    by_plugin = bool(plugin) and not kind.hooked()
    if kept is not None and not by_plugin:
        changed = [patch.path for patch in kind.patches(replace_peer=False) if patch.changes]
        again = f"`memsearch agents install {agent}` mends it"
        problems += [f"{path} is not as it was installed: {again}" for path in changed]
        problems += [
            f"its hooks can't be started: {why}: {again}"
            for why in filter(None, map(missing, kind.starts()))
        ]
        problems += kind.problems()
    if plugin and not by_plugin:
        problems.append(f"it is here twice, and tells everything twice: {kind.one_way_out}")
    elif plugin:
        problems += kind.plugin_problems()
    program = shutil.which(agent_registry.agent(agent).program) or ""
    return Status(
        agent,
        kept is not None or bool(plugin),
        kept.version if kept else plugin,
        program,
        [f.path for f in kept.files] if kept else [],
        problems,
        kind.peer(),
        plugin,
        kind.notes() if kept or plugin else [],
    )


class Plugins:
    """Our hooks and skills in the agents' own configuration.

    >>> with Memory() as memory:
    ...     memory.plugins.status("codex").installed
    False
    """

    def __init__(self, scope: Scope) -> None:
        self._home, self._scope = scope.home, scope

    def status(self, agent: str) -> Status:
        """How ours stands in an agent, and what keeps it from working."""
        return status(self._home, agent)

    def is_here(self, state: Status) -> bool:
        """Whether an agent's program or its sessions are on this machine."""
        return bool(state.program) or bool(self._scope.folders.here(state.agent))

    def has_sessions(self, agent: str) -> bool:
        """Whether an agent has stored sessions on this machine."""
        return bool(self._scope.folders.here(agent))

    def install(
        self,
        agent: str,
        *,
        dry_run: bool = False,
        replace_peer: bool = False,
        trust: bool = True,
        allow: bool = False,
    ) -> list[Patch]:
        """Write what is missing of ours; the changes.

        Args:
            replace_peer: switch off memsearch's own plugin, which is a Conflict otherwise.
            trust: let the agent know that its user trusts these hooks. allow: let it look
                things up without asking.

        Raises:
            UsageError, Conflict, OSError.
        """
        return install(
            self._home, agent, dry_run=dry_run, replace_peer=replace_peer, trust=trust, allow=allow
        )

    def uninstall(self, agent: str, *, dry_run: bool = False) -> list[Patch]:
        """Put the agent's configuration back byte for byte; the changes."""
        return uninstall(self._home, agent, dry_run=dry_run)

    def installer(self, agent: str) -> Installer:
        """What an agent asks of its user before it lets ours in."""
        return installer(agent)

    def rules(self) -> list[str]:
        """Names of the agents that ask before they look a memory up."""
        return [name for name in agent_registry.live() if installer(name).rules()]


class McpClients:
    """``memsearch mcp`` in the lists of its clients.

    >>> with Memory() as memory:
    ...     "cursor" in memory.mcp_clients.names()
    True
    """

    def __init__(self, scope: Scope) -> None:
        self._home = scope.home

    def names(self) -> list[str]:
        """Clients whose lists are known."""
        return list(mcp_clients.clients())

    def title(self, client: str) -> str:
        """Raises UsageError where no client is called so."""
        return mcp_clients.client(client).title

    def entry_text(self, client: str = "") -> str:
        """The entry as it is written, for any client where none is named."""
        return mcp_clients.entry_text(client)

    def install(self, client: str, *, dry_run: bool = False) -> list[Patch]:
        """Write the entry into a client's own list; the changes. Raises UsageError, Conflict."""
        return mcp_clients.install(self._home, client, dry_run=dry_run)

    def uninstall(self, client: str, *, dry_run: bool = False) -> list[Patch]:
        """Take it out byte for byte; the changes."""
        return mcp_clients.uninstall(self._home, client, dry_run=dry_run)
