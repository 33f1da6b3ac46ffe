"""Where Kimi Code lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client("Kimi Code", ".kimi-code/mcp.json", ("mcpServers",), plain_entry, "KIMI_CODE_HOME")
