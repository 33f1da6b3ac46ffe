"""Where Gemini CLI lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client(
    "Gemini CLI",
    ".gemini/settings.json",
    ("mcpServers",),
    plain_entry,
    "GEMINI_CLI_HOME",
    comments=True,
    moved_within=".gemini",
)
