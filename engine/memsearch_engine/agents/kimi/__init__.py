"""Kimi Code (tested with 2.1.0). Its sessions are read."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="kimi",
    title="Kimi Code",
    tag="km",
    program="kimi",
    resume=("kimi", "-r", "{session}"),
    home_variable="KIMI_CODE_HOME",
    home=".kimi-code",
    sessions="sessions",
    writes=".jsonl",
    context_lines=0,
    also_called=("kimi-code", "kimi-cli"),
    tells=(),
)
