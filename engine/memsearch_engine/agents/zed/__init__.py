"""Zed's own agent: its threads are read. By its source (2026): it could not be driven."""

from __future__ import annotations

from memsearch_engine.core.agent_registry import Agent

TYPE_CHECKING = False  # see registry
if TYPE_CHECKING:
    from memsearch_engine.agents.transcripts.readers import Reader
    from memsearch_engine.agents.zed import reader

    _: Reader = reader

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
