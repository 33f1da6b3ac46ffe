"""Where it lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client

CLIENT = Client(
    "OpenCode", ".config/opencode/opencode.json", ("mcp",),
    lambda program: {"type": "local", "command": [program, "mcp"], "enabled": True}, comments=True,
)  # fmt: skip
