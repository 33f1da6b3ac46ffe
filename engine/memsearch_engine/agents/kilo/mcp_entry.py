"""Where Kilo CLI lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, moved

CLIENT = Client(
    "Kilo CLI",
    ".config/kilo/kilo.json",
    ("mcp",),
    lambda program: {
        "type": "local",
        "command": [program, "mcp"],
        "enabled": True,
        **({"environment": moved()} if moved() else {}),
    },
    comments=True,
)
