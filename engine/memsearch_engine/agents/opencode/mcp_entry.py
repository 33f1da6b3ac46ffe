"""Where OpenCode lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, moved

CLIENT = Client(
    "OpenCode",
    ".config/opencode/opencode.json",
    ("mcp",),
    lambda program: {
        "type": "local",
        "command": [program, "mcp"],
        "enabled": True,
        **({"environment": moved()} if moved() else {}),
    },
    comments=True,
)
