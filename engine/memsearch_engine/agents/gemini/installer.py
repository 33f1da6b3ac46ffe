"""Ours in Gemini CLI: hooks in its ``settings.json``, skills beside its own.

What is said at a session's start is put into its first prompt, which is lost when the session is
resumed (0.61): it comes with the prompt itself (``BeforeAgent``) instead. What is said before a
tool runs does not reach the model, so it comes with the tool's result. Numbers are milliseconds. An
answer is followed by one event (``AfterAgent``); that something is compressed is told by none.
"""

from __future__ import annotations

from memsearch_engine.agents.gemini import AGENT
from memsearch_engine.agents.hooks_json import InSettings
from memsearch_engine.agents.installing import moved_or
from memsearch_engine.core.home import user_home


class Installer(InSettings):
    name = AGENT.name

    def __init__(self) -> None:
        self.base = moved_or("GEMINI_CLI_HOME", user_home()) / ".gemini"

    def problems(self) -> list[str]:
        hooks = self.table().get("hooksConfig")
        is_off = isinstance(hooks, dict) and hooks.get("enabled") is False
        return (
            [f"`hooksConfig.enabled` is off in {self.settings}: Gemini CLI runs no hook"]
            if is_off
            else []
        )
