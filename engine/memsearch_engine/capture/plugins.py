"""Installs our plugins into agents, uninstalls them, and reports their state.

The package of each agent describes what the agent needs, in the form that ``installing.py``
defines.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import time

import msgspec

from memsearch_engine.agents import mcp_clients
from memsearch_engine.agents.installing import Installer, missing
from memsearch_engine.agents.patches import Patch, apply, record, revert, was_edited
from memsearch_engine.capture.ledger import CaptureLedger
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Conflict, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.search.scope import ScopePart

_MINIMAL_PATH = "/usr/local/bin:/usr/bin:/bin"  # of programs that no shell started


class PluginStatus(msgspec.Struct):
    """The state of a plugin.

    Attributes:
        version: the version that we installed.
        program: the path of the agent's program.
        problems: reasons why the plugin does not work.
        peer: files of memsearch's own plugin, if it is also installed.
        plugin: the version that is installed from a marketplace of the agent.
        notes: possible improvements, which are not problems.
    """

    agent: str
    installed: bool
    version: str
    program: str
    files: list[str]
    problems: list[str]
    peer: list[str]
    plugin: str = ""
    notes: list[str] = []


def installer(agent: str) -> Installer:
    """Return the installer of an agent.

    Raises:
        UsageError: there is no such agent, or it has no plugins.
    """
    part = agent_registry.part(agent, "installer")
    if part is None:
        if agent not in agent_registry.names():
            raise UsageError(
                f"no agent named {agent}", f"known: {', '.join(agent_registry.live())}"
            )
        how = (
            f"install mcp --for {agent}` gives it our server"
            if agent in mcp_clients.CLIENTS
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
    """Install the plugin of *agent*. Parts that are already installed are not changed.

    If our plugin was installed from a marketplace, which brings hooks and skills, only trust and
    rules are added.

    Args:
        dry_run: only return the changes.
        replace_peer: switch off memsearch's own plugin for this agent.
        trust: tell the agent that its user trusts these hooks, if it asks (``Installer.trusted``).
        allow: allow the agent to search without asking, if it asks (``Installer.rules``).

    Returns:
        The changes.

    Raises:
        Conflict: memsearch's own plugin is installed, and *replace_peer* is off.
    """
    kind = installer(agent)
    by_plugin = bool(kind.plugin()) and not kind.hooked()
    peer = kind.peer()
    if peer and not replace_peer:
        raise Conflict(
            f"memsearch's own plugin is active in {agent}: {'; '.join(peer)}",
            "two would write everything twice: "
            f"`memsearch agents install {agent} --replace` takes its place",
        )
    patches = [] if by_plugin else kind.patches(replace_peer=bool(peer))
    patches = kind.with_rules(patches) if allow else patches
    if dry_run:
        found = [patch for patch in patches if patch.changes]
        return found + (kind.trust_planned() if found and trust else [])
    done = apply(home, agent, patches)
    with contextlib.closing(CaptureLedger(home)) as ledger:
        ledger.capturing(agent, time.time())
    if trust:
        done += apply(home, agent, kind.trusted(plugins=by_plugin))
    return done


def uninstall(home: Home, agent: str, *, dry_run: bool = False) -> list[Patch]:
    """Restore the agent's configuration and end its capture. Waiting events are deleted.

    Args:
        dry_run: only return the changes.

    Returns:
        The changes.
    """
    from memsearch_engine.capture import event_queue  # 50 ms, which the state need not

    kind = installer(agent)
    done = revert(home, agent, kind.strip, dry_run=dry_run)
    if not dry_run:
        with contextlib.closing(CaptureLedger(home)) as ledger:
            ledger.capturing(agent, None)
        event_queue.drop_of(home, agent)
    return done


def status(home: Home, agent: str) -> PluginStatus:
    """Return the state of the plugin of *agent*. Unreadable settings of the agent are a problem."""
    try:
        return _status(home, agent)
    except (UsageError, Unreachable) as error:
        recorded = record(home, agent)
        program = shutil.which(agent_registry.agent(agent).program) or ""
        return PluginStatus(
            agent,
            recorded is not None,
            recorded.version if recorded else "",
            program,
            [],
            [f"{error} ({error.hint})"],
            [],
        )


def _status(home: Home, agent: str) -> PluginStatus:
    kind = installer(agent)
    recorded = record(home, agent)
    problems: list[str] = []
    plugin = kind.plugin()
    by_plugin = bool(plugin) and not kind.hooked()
    if recorded is not None and not by_plugin:
        changed = [patch.path for patch in kind.patches(replace_peer=False) if patch.changes]
        again = f"`memsearch agents install {agent}` mends it"
        as_installed = {
            file.path for file in recorded.files if file.path in changed and not was_edited(file)
        }
        problems += [
            f"{path} is of an earlier installation: `memsearch agents install {agent}` updates it"
            if path in as_installed
            else f"{path} is not as it was installed: {again}"
            for path in changed
        ]
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
    return PluginStatus(
        agent,
        recorded is not None or bool(plugin),
        recorded.version if recorded else plugin,
        program,
        [f.path for f in recorded.files] if recorded else [],
        problems,
        kind.peer(),
        plugin,
        (kind.notes() + (_by_name() if by_plugin else [])) if recorded or plugin else [],
    )


def _by_name() -> list[str]:
    """Say that the hooks of a marketplace's plugin need ``memsearch`` on the agent's PATH.

    The files of such a plugin are the same on all machines, so they can't name a path.
    """
    if shutil.which("memsearch", path=_MINIMAL_PATH):
        return []
    found = shutil.which("memsearch") or os.path.join(os.path.dirname(sys.executable), "memsearch")
    return [
        "its hooks start `memsearch` by name; an agent that was started by a desktop or an editor "
        f"may not find it: `sudo ln -s {shlex.quote(found)} /usr/local/bin/memsearch` mends it"
    ]


class Plugins(ScopePart):
    """Our hooks and skills in the agents' own configuration.

    >>> with Memory() as memory:
    ...     memory.plugins.status("codex").installed
    False
    """

    def status(self, agent: str) -> PluginStatus:
        """Return the state of our plugin in an agent, and the reasons if it does not work."""
        return status(self._home, agent)

    def is_here(self, state: PluginStatus) -> bool:
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
        """Install the missing parts of our plugin, and return the changes.

        Args:
            dry_run: only return the changes.
            replace_peer: switch off memsearch's own plugin.
            trust: tell the agent that its user trusts these hooks.
            allow: allow the agent to search without asking.

        Raises:
            UsageError: there is no such agent, or it has no plugins.
            Conflict: memsearch's own plugin is installed, and *replace_peer* is off.
            OSError: a file can't be written.
        """
        return install(
            self._home, agent, dry_run=dry_run, replace_peer=replace_peer, trust=trust, allow=allow
        )

    def uninstall(self, agent: str, *, dry_run: bool = False) -> list[Patch]:
        """Restore the agent's configuration byte for byte, and return the changes."""
        return uninstall(self._home, agent, dry_run=dry_run)

    def installer(self, agent: str) -> Installer:
        """Return the agent's installer, which knows what the agent asks its user."""
        return installer(agent)

    def rules(self) -> list[str]:
        """Return the names of the agents that ask before they search the memory."""
        return [name for name in agent_registry.live() if installer(name).rules()]


class McpClients(ScopePart):
    """Adds ``memsearch mcp`` to the server lists of MCP clients.

    >>> with Memory() as memory:
    ...     "cursor" in memory.mcp_clients.names()
    True
    """

    def names(self) -> list[str]:
        """Return the names of the known clients."""
        return list(mcp_clients.CLIENTS)

    def title(self, client: str) -> str:
        """Return the display name of a client.

        Raises:
            UsageError: there is no such client.
        """
        return mcp_clients.client(client).title

    def entry_text(self, client: str = "") -> str:
        """Return the entry as it is written for a client; without a name, for any client."""
        return mcp_clients.entry_text(client)

    def install(self, client: str, *, dry_run: bool = False) -> list[Patch]:
        """Write the entry into a client's server list, and return the changes.

        Raises:
            UsageError: there is no such client.
            Conflict: another entry has this name.
        """
        patch = mcp_clients.patch(mcp_clients.client(client))
        if dry_run:
            return [patch] if patch.changes else []
        return apply(self._home, f"mcp-{client}", [patch])

    def uninstall(self, client: str, *, dry_run: bool = False) -> list[Patch]:
        """Remove the entry byte for byte, and return the changes."""
        known = mcp_clients.client(client)
        return revert(
            self._home,
            f"mcp-{client}",
            lambda path, now, before: mcp_clients.without(known, now, before),
            dry_run=dry_run,
        )
