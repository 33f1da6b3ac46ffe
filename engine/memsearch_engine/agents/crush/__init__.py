"""Crush.

Its sessions in known projects are read (from its source of August 2026; not tested with the
program).
"""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="crush",
    title="Crush",
    tag="cr",
    program="crush",
    resume=("crush", "--session", "{session}"),
    home_variable="",
    home="",
    sessions=".crush",
    in_projects=True,
    writes=".db",
    context_lines=0,
    tells=(),
    shell_marks=("CRUSH",),
)
