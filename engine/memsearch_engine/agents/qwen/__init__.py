"""Qwen Code (tested with 0.15 and 0.24)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="qwen",
    title="Qwen Code",
    tag="qw",
    program="qwen",
    resume=("qwen", "--resume", "{session}"),
    home_variable="QWEN_HOME",
    home=".qwen",
    sessions="projects",
    writes=".jsonl",
    context_lines=30,
    sessions_variable="QWEN_RUNTIME_DIR",
    also_called=("qwen-code", "qwencode", "qwen_code"),
    session_marks=("QWEN_CODE_", "QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    # Context from a hook at the start is part of the system prompt and in no file, so a resumed
    # session gets it again.
    injected_in=(),
    compacted=(b'"subtype":"chat_compression"',),
    escapes=True,
    is_quiet=True,
    shell_marks=(
        "QWEN_CODE",
        "QWEN_CODE_SESSION_ID",
    ),
    session_variable="QWEN_CODE_SESSION_ID",
)
