"""Gemini CLI (tested with 0.61)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="gemini",
    title="Gemini CLI",
    tag="ge",
    program="gemini",
    resume=("gemini", "--resume", "{session}"),
    home_variable="GEMINI_CLI_HOME",
    home="",  # the variable names the parent of the agent's folder
    sessions=".gemini/tmp",
    writes=".jsonl or .json",
    context_lines=30,
    also_called=("gemini-cli", "geminicli", "gemini_cli"),
    session_marks=(
        "GEMINI_SESSION_ID",
        "GEMINI_PROJECT_DIR",
        "GEMINI_CWD",
        "GEMINI_PLANS_DIR",
        "CLAUDE_PROJECT_DIR",
    ),
    injected_in=(b"<hook_context>",),
    compacted=(b'[{"text":"<state_snapshot>',),
    replaced=(b'{"$set":{"messages":',),
    escapes=True,
    is_quiet=True,
    shell_marks=(
        "GEMINI_CLI",
        "GEMINI_SESSION_ID",
    ),
    session_variable="GEMINI_SESSION_ID",
)
