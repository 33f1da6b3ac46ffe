"""Zed's own agent: its threads are read. By its source (2026): it could not be driven."""

from __future__ import annotations

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="zed",
    title="Zed",
    tag="zd",
    program="zed",
    resume=(),
    home_variable="XDG_DATA_HOME",
    home=".local/share",
    sessions="zed/threads",
    elsewhere=("Library/Application Support/Zed/threads",),
    writes=".db",
    context_lines=0,
    tells=(),
)
