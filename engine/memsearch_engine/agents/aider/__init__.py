"""Aider (0.86.2 was driven): its chat histories are read, in the projects that are known."""

from __future__ import annotations

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
