"""OpenCode (tested with 1.18)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="opencode",
    title="OpenCode",
    tag="oc",
    program="opencode",
    resume=("opencode", "--session", "{session}"),
    home_variable="XDG_DATA_HOME",
    home=".local/share",
    sessions="opencode",
    writes=".db",
    context_lines=15,
    anchor="db",
    rewind_erases=True,
    shell_marks=("OPENCODE",),
    tools=("memory_search", "memory_get", "memory_transcript"),
)
