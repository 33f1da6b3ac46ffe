"""Hooks in its ``settings.json``."""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.agents import installing
from memsearch_engine.agents.hooks_json import json_like, json_table, merge_hooks, without_hooks
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.core.home import user_home

from pocket import AGENT


class Installer(installing.Installer):
    name = AGENT.name

    def __init__(self) -> None:
        self.settings = user_home() / AGENT.home / "settings.json"

    def bundle(self) -> Path:
        return Path(__file__).parent / "bundle"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        before = read(self.settings)
        table = json_table(self.settings, before)
        merge_hooks(table, self.bundle())
        return [Patch(str(self.settings), before, json_like(table, before), "hooks")]

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        return without_hooks(path, now)
