"""Where Claude Code lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client(
    "Claude Code",
    ".claude.json",
    ("mcpServers",),
    lambda program: {"type": "stdio", **plain_entry(program)},
    "CLAUDE_CONFIG_DIR",
)
