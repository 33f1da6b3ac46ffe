"""Zed's own agent. Its threads are read (from its source of 2026; not tested with the program)."""

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
