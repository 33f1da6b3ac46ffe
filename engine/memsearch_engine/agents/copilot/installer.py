"""Installs into Copilot CLI: a file of hooks, and skills beside its own.

The client finds both by their location; its settings stay unchanged. There is no hook before an
action, because the client refuses every tool if that hook's command is missing or fails. Context
for an action comes with its result.
"""

from __future__ import annotations

from typing import Any

from memsearch_engine.agents import installing
from memsearch_engine.agents.hooks_json import json_table, merge_hooks, starts
from memsearch_engine.agents.installing import own_file
from memsearch_engine.agents.patches import Patch, json_text, read
from memsearch_engine.core import agent_registry


class Installer(installing.Installer):
    """Installs into Copilot CLI."""

    agent = agent_registry.agent("copilot")
    source = "hooks/memsearch.json"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        table: dict[str, Any] = {"version": 1}
        merge_hooks(table, self.bundle(), self.base / self.source)
        file = own_file(self.base / self.source, json_text(table, None).decode(), "hooks")
        return [file, *self._skills(self.base / "skills")]

    def starts(self) -> list[list[str]]:
        """Return how the installed hooks are started: the arguments before ``hook``."""
        hooks = self.base / self.source
        return starts(json_table(hooks, read(hooks)))
