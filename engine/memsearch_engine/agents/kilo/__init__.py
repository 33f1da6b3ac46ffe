"""Kilo CLI (tested with 7.7.7). Its sessions are read."""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="kilo",
    title="Kilo CLI",
    tag="ki",
    program="kilo",
    resume=("kilo", "-s", "{session}"),
    home_variable="XDG_DATA_HOME",
    home=".local/share",
    sessions="kilo",
    writes=".db",
    context_lines=0,
    also_called=("kilo-code", "kilocode"),
    tells=(),
    rewind_erases=True,
    shell_marks=("KILO",),
)
