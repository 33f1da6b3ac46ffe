"""Where Crush lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client(
    "Crush",
    ".config/crush/crush.json",
    ("mcp",),
    lambda program: {"type": "stdio", **plain_entry(program)},
)
