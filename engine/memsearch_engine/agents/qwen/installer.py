"""Ours in Qwen Code: hooks in its ``settings.json``, skills beside its own.

Its hooks are Claude Code's, with three differences: a number below 1000 is seconds in newer versions and milliseconds in older ones, so
ours are above; what is said before a tool runs does not reach the model, so it comes with the tool's result; and a prompt's event is
sent again, empty, with each result, which is answered with nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from memsearch_engine.agents import installing
from memsearch_engine.agents.hooks_json import commands, drop_hooks, json_like, json_table, merge_hooks
from memsearch_engine.agents.installing import OURS
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.agents.qwen import AGENT
from memsearch_engine.home import user_home


class Installer(installing.Installer):
    name = AGENT.name

    def __init__(self) -> None:
        self.base = Path(os.environ.get("QWEN_HOME") or user_home() / ".qwen")
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
        off = json_table(self.settings, read(self.settings), comments=True).get("disableAllHooks")
        return [f"`disableAllHooks` is set in {self.settings}: Qwen Code runs no hook"] if off else []
