"""Installs into pi: an extension, and skills beside its own.

The client finds both by their location; its settings stay unchanged.
"""

from __future__ import annotations

from memsearch_engine.agents import installing
from memsearch_engine.agents.installing import moved_or, own_file, starts_in, with_programs
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.agents.pi import AGENT
from memsearch_engine.core.home import user_home


class Installer(installing.Installer):
    """Installs into pi."""

    name = AGENT.name

    def __init__(self) -> None:
        self.base = moved_or("PI_CODING_AGENT_DIR", user_home() / ".pi" / "agent")

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        text = (self.bundle() / "memsearch.ts").read_text(encoding="utf-8")
        text = with_programs(text)
        extension = own_file(self.base / "extensions" / "memsearch.ts", text, "extension")
        return [extension, *self._skills(self.base / "skills")]

    def starts(self) -> list[list[str]]:
        """Return how the installed hooks are started: the arguments before ``hook``."""
        return starts_in(read(self.base / "extensions" / "memsearch.ts"))
