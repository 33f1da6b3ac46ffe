"""Mistral Vibe (tested with 2.16 and 3.0.2). Its sessions are read."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="vibe",
    title="Mistral Vibe",
    tag="vi",
    program="vibe",
    resume=("vibe", "--resume", "{session}"),
    home_variable="VIBE_HOME",
    home=".vibe",
    sessions="logs/session",
    writes="CURRENT and .jsonl",
    context_lines=0,
    also_called=("mistral-vibe", "mistral"),
    tells=(),
)
