"""Installs into Gemini CLI: hooks in its ``settings.json``, skills beside its own.

The client puts context from a session's start into the first prompt and loses it when the session
is resumed (0.61). So it comes with the prompt itself (``BeforeAgent``). Context from before a tool
call does not reach the model, so it comes with the tool's result. Timeouts are in milliseconds. One
event follows an answer (``AfterAgent``). No event reports a compression.
"""

from __future__ import annotations

from memsearch_engine.agents.hooks_json import InSettings
from memsearch_engine.agents.transcripts.model import table_of
from memsearch_engine.core import agent_registry


class Installer(InSettings):
    """Installs into Gemini CLI."""

    agent = agent_registry.agent("gemini")
    within = ".gemini"

    def problems(self) -> list[str]:
        """Return the reasons in the agent's configuration why our hooks do not run."""
        if table_of(self.table(), "hooksConfig").get("enabled") is not False:
            return []
        return [f"`hooksConfig.enabled` is off in {self.settings}: Gemini CLI runs no hook"]
