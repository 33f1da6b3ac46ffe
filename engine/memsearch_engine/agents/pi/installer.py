"""Installs into pi: an extension, and skills beside its own.

The client finds both by their location; its settings stay unchanged.
"""

from __future__ import annotations

from memsearch_engine.agents import installing
from memsearch_engine.agents.patches import Patch
from memsearch_engine.core import agent_registry


class Installer(installing.Installer):
    """Installs into pi."""

    agent = agent_registry.agent("pi")
    source = "extensions/memsearch.ts"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        extension = self._bundled_file("memsearch.ts", self.base / self.source, "extension")
        return [extension, *self._skills(self.base / "skills")]
