"""Goose (tested with 1.52.0 and 1.37.0). Its sessions are read."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="goose",
    title="Goose",
    tag="gs",
    program="goose",
    resume=("goose", "session", "--resume", "--session-id", "{session}"),
    home_variable="XDG_DATA_HOME",
    home=".local/share",
    sessions="goose/sessions",
    writes=".db",
    context_lines=0,
    tells=(),
    shell_marks=("GOOSE_TERMINAL",),
)
