"""Claude Code (tested with 2.1)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="claude-code",
    title="Claude Code",
    tag="cl",
    program="claude",
    resume=("claude", "--resume", "{session}"),
    home_variable="CLAUDE_CONFIG_DIR",
    home=".claude",
    sessions="projects",
    writes=".jsonl",
    context_lines=30,
    also_called=("claude", "claudecode", "claude_code"),
    anchor="transcript",
    session_marks=(
        "CLAUDECODE",
        "CLAUDE_CODE_",
        "CLAUDE_PID",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PLUGIN_",
    ),
    injected_in=(b'"hook_additional_context"',),
    compacted=(b'"subtype":"compact_boundary"',),
    is_quiet=True,
    shell_marks=(
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
    ),
    session_variable="CLAUDE_CODE_SESSION_ID",
)
