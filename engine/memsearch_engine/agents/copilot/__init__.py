"""GitHub Copilot CLI (tested with 1.0.102)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="copilot",
    title="GitHub Copilot CLI",
    tag="co",
    program="copilot",
    resume=("copilot", "--resume", "{session}"),
    home_variable="COPILOT_HOME",
    home=".copilot",
    sessions="session-state",
    writes=".jsonl",
    context_lines=30,
    also_called=("copilot-cli", "github-copilot", "copilotcli"),
    session_marks=(
        "COPILOT_AGENT_SESSION_ID",
        "COPILOT_CLI",
        "COPILOT_HOOK_DIR",
        "COPILOT_PROJECT_DIR",
        "CLAUDE_PROJECT_DIR",
    ),
    # Context from a session's start is lost with a context compaction or the process; context of a
    # prompt stays with the prompt.
    injected_in=(b"<system_reminder>",),
    compacted=(b'"type":"session.compaction_complete","data":{"success":true',),
    transcript="{session}/events.jsonl",
    answers_flat=True,
    rewind_erases=True,
    shell_marks=(
        "COPILOT_CLI",
        "COPILOT_AGENT_SESSION_ID",
    ),
    session_variable="COPILOT_AGENT_SESSION_ID",
)
