"""Codex CLI (reads 0.116 to 0.169, tested with 0.169)."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="codex",
    title="Codex CLI",
    tag="cx",
    program="codex",
    resume=("codex", "resume", "{session}"),
    home_variable="CODEX_HOME",
    home=".codex",
    sessions="sessions",
    writes=".jsonl",
    context_lines=30,
    anchor="rollout",
    noted_by_minute=True,
    injected_in=(b'"role":"developer"',),
    compacted=(b'"type":"compacted"',),
    is_quiet=True,
    shell_marks=(
        "CODEX_THREAD_ID",
        "CODEX_CI",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
    ),
    session_variable="CODEX_THREAD_ID",
)
