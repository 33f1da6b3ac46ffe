"""Kimi Code (2.1.0 was driven): its sessions are read."""

from __future__ import annotations

from memsearch_engine.core.agent_registry import Agent

TYPE_CHECKING = False  # see registry
if TYPE_CHECKING:
    from memsearch_engine.agents.kimi import reader
    from memsearch_engine.agents.transcripts.readers import Reader

    _: Reader = reader

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
