"""Ours in Gemini CLI: hooks in its ``settings.json``, skills beside its own.

What is said at a session's start is put into its first prompt, which is lost when the session is resumed (0.61): it comes with the prompt
itself (``BeforeAgent``) instead. What is said before a tool runs does not reach the model, so it comes with the tool's result. Numbers are
milliseconds. An answer is followed by one event (``AfterAgent``); that something is compressed is told by none.
"""

from __future__ import annotations

import os
from pathlib import Path

from memsearch_engine.agents import installing
from memsearch_engine.agents.gemini import AGENT
from memsearch_engine.agents.hooks_json import commands, drop_hooks, json_like, json_table, merge_hooks
from memsearch_engine.agents.installing import OURS
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.home import user_home


class Installer(installing.Installer):
    name = AGENT.name

    def __init__(self) -> None:
        self.base = Path(os.environ.get("GEMINI_CLI_HOME") or user_home()) / ".gemini"
        self.settings = self.base / "settings.json"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        before = read(self.settings)
        table = json_table(self.settings, before, comments=True)
        merge_hooks(table, self.bundle())
        return [
            Patch(str(self.settings), before, json_like(table, before), "hooks"),
            *self._skills(self.base / "skills"),
        ]

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        if path != str(self.settings):
            return super().strip(path, now, before)
        table = json_table(self.settings, now, comments=True)
        drop_hooks(table, OURS)
        return json_like(table, now)

    def hooked(self) -> bool:
        return any(
            OURS.search(line) for line in commands(json_table(self.settings, read(self.settings), comments=True))
        )

    def problems(self) -> list[str]:
        off = json_table(self.settings, read(self.settings), comments=True).get("hooksConfig")
        is_off = isinstance(off, dict) and off.get("enabled") is False
        return [f"`hooksConfig.enabled` is off in {self.settings}: Gemini CLI runs no hook"] if is_off else []
