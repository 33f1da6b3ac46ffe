"""Ours in Qwen Code: hooks in its ``settings.json``, skills beside its own.

Its hooks are Claude Code's, with three differences: a number below 1000 is seconds in newer
versions and milliseconds in older ones, so ours are above; what is said before a tool runs does not
reach the model, so it comes with the tool's result; and a prompt's event is sent again, empty, with
each result, which is answered with nothing.
"""

from __future__ import annotations

from memsearch_engine.agents.hooks_json import InSettings
from memsearch_engine.agents.installing import moved_or
from memsearch_engine.agents.qwen import AGENT
from memsearch_engine.core.home import user_home


class Installer(InSettings):
    name = AGENT.name

    def __init__(self) -> None:
        self.base = moved_or("QWEN_HOME", user_home() / ".qwen")

    def problems(self) -> list[str]:
        off = self.table().get("disableAllHooks")
        return (
            [f"`disableAllHooks` is set in {self.settings}: Qwen Code runs no hook"] if off else []
        )
