"""Installs into Gemini CLI: hooks in its ``settings.json``, skills beside its own.

The client puts context from a session's start into the first prompt and loses it when the session
is resumed (0.61). So it comes with the prompt itself (``BeforeAgent``). Context from before a tool
call does not reach the model, so it comes with the tool's result. Timeouts are in milliseconds. One
event follows an answer (``AfterAgent``). No event reports a compression.
"""

from __future__ import annotations

from memsearch_engine.agents.gemini import AGENT
from memsearch_engine.agents.hooks_json import InSettings
from memsearch_engine.agents.installing import moved_or
from memsearch_engine.core.home import user_home


class Installer(InSettings):
    """Installs into Gemini CLI."""

    name = AGENT.name

    def __init__(self) -> None:
        self.base = moved_or("GEMINI_CLI_HOME", user_home()) / ".gemini"

    def problems(self) -> list[str]:
        """Return the reasons in the agent's configuration why our hooks do not run."""
        hooks = self.table().get("hooksConfig")
        is_off = isinstance(hooks, dict) and hooks.get("enabled") is False
        return (
            [f"`hooksConfig.enabled` is off in {self.settings}: Gemini CLI runs no hook"]
            if is_off
            else []
        )
