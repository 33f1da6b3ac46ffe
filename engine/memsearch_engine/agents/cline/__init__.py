"""Cline CLI (tested with 3.0.65). Its sessions are read."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="cline",
    title="Cline CLI",
    tag="cn",
    program="cline",
    resume=("cline", "--id", "{session}"),
    home_variable="CLINE_DATA_DIR",
    home=".cline/data",
    sessions="sessions",
    writes=".messages.json",
    context_lines=0,
    also_called=("cline-cli",),
    tells=(),
    shell_marks=("CLINE_ACTIVE",),
)
