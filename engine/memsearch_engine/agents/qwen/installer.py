"""Installs into Qwen Code: hooks in its ``settings.json``, skills beside its own.

Its hooks have Claude Code's format with three differences. A timeout below 1000 is in seconds in
newer versions and in milliseconds in older ones, so ours are above. Context from before a tool call
does not reach the model, so it comes with the tool's result. The event of a prompt is sent again,
empty, with each result; our hook answers it with nothing.
"""

from __future__ import annotations

from memsearch_engine.agents.hooks_json import InSettings
from memsearch_engine.core import agent_registry


class Installer(InSettings):
    """Installs into Qwen Code."""

    agent = agent_registry.agent("qwen")
