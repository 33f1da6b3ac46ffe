"""Mistral Vibe (2.16 and 3.0.2 were driven): its sessions are read."""

from __future__ import annotations

from memsearch_engine.core.agent_registry import Agent

TYPE_CHECKING = False  # see registry
if TYPE_CHECKING:
    from memsearch_engine.agents.transcripts.readers import Reader
    from memsearch_engine.agents.vibe import reader

    _: Reader = reader

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
