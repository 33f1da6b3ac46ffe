"""Hooks in its ``settings.json``."""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.agents.hooks_json import InSettings
from memsearch_engine.agents.patches import Patch

from pocket import AGENT


class Installer(InSettings):
    agent = AGENT

    def bundle(self) -> Path:
        return Path(__file__).parent / "bundle"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        return super().patches(replace_peer=replace_peer)[:1]  # it has no skills
