"""pi (tested with 0.74, 0.87 and 1.5)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="pi",
    title="pi",
    tag="pi",
    program="pi",
    resume=("pi", "--session", "{session}"),
    home_variable="PI_CODING_AGENT_DIR",
    home=".pi/agent",
    sessions="",  # not in a folder of that name, but directly in the folder that its variable names
    writes=".jsonl",
    context_lines=30,
    sessions_variable="PI_CODING_AGENT_SESSION_DIR",
    also_called=("pi-agent", "pi-coding-agent"),
    session_marks=(
        "PI_SESSION_ID",
        "PI_SESSION_FILE",
    ),  # only these: other variables with this beginning name its folders
    injected_in=(b'"customType":"memsearch"',),
    compacted=(b'{"type":"compaction"',),
    shell_marks=(
        "PI_CODING_AGENT",
        "PI_SESSION_ID",
    ),
    session_variable="PI_SESSION_ID",
)
