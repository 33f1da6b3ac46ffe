"""The verbs of being in agents: installing into them, and taking out again."""

from __future__ import annotations

from memsearch_engine.agents import mcp_clients
from memsearch_engine.agents.installing import Installer
from memsearch_engine.agents.patches import Patch
from memsearch_engine.capture import plugins
from memsearch_engine.capture.plugins import Status
from memsearch_engine.core import agent_registry
from memsearch_engine.memory import Memory


class Plugins:
    """Our hooks and skills in the agents' own configuration.

    >>> with Memory() as memory:
    ...     Plugins(memory).status("codex").installed
    False
    """

    def __init__(self, memory: Memory) -> None:
        self._home, self._folders = memory.home, memory.folders

    def status(self, agent: str) -> Status:
        """How ours stands in an agent, and what keeps it from working."""
        return plugins.status(self._home, agent)

    def is_here(self, state: Status) -> bool:
        """Whether an agent's program or its sessions are on this machine."""
        return bool(state.program) or bool(self._folders.here(state.agent))

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
        return plugins.install(
            self._home, agent, dry_run=dry_run, replace_peer=replace_peer, trust=trust, allow=allow
        )

    def uninstall(self, agent: str, *, dry_run: bool = False) -> list[Patch]:
        """Put the agent's configuration back byte for byte; the changes."""
        return plugins.uninstall(self._home, agent, dry_run=dry_run)

    def installer(self, agent: str) -> Installer:
        """What an agent asks of its user before it lets ours in."""
        return plugins.installer(agent)

    def rules(self) -> list[str]:
        """Names of the agents that ask before they look a memory up."""
        return [name for name in agent_registry.live() if plugins.installer(name).rules()]


class McpClients:
    """``memsearch mcp`` in the lists of its clients.

    >>> with Memory() as memory:
    ...     "cursor" in McpClients(memory).names()
    True
    """

    def __init__(self, memory: Memory) -> None:
        self._home = memory.home

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
