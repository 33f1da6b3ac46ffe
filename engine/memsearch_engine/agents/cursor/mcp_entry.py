"""Where Cursor lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client("Cursor", ".cursor/mcp.json", ("mcpServers",), plain_entry)
