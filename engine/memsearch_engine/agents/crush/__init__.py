"""Crush: its sessions are read, in the projects that are known. By its source (August 2026): it
could not be driven.
"""

from __future__ import annotations

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
