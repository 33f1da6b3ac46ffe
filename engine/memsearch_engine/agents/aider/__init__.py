"""Aider (tested with 0.86.2). Its chat histories in known projects are read."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="aider",
    title="Aider",
    tag="ai",
    program="aider",
    resume=("aider", "--restore-chat-history"),
    home_variable="",
    home="",
    sessions="",
    in_projects=True,
    writes=".aider.chat.history.md",
    context_lines=0,
    also_called=("aider-chat",),
    tells=(),
)
