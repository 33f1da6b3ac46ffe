"""Where Codex lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client("Codex CLI", ".codex/config.toml", ("mcp_servers",), plain_entry, "CODEX_HOME")
