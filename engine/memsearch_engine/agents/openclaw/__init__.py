"""OpenClaw (tested with 2026.9)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="openclaw",
    title="OpenClaw",
    tag="ow",
    program="openclaw",
    resume=("openclaw", "tui", "--session", "{session}"),
    home_variable="OPENCLAW_STATE_DIR",
    home=".openclaw",
    sessions="agents",
    writes=".sqlite and .jsonl",
    context_lines=15,
    anchor="transcript db",
    anchor_path="openclaw",
    noted_by_minute=True,
    rewind_copies=True,
    tells=("start", "prompt", "compaction"),
    shell_marks=(
        "OPENCLAW_SHELL",
        "OPENCLAW_CLI",
    ),
    tools=("memsearch_search", "memsearch_get", "memsearch_transcript"),
)
