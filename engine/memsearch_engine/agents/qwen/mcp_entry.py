"""Where Qwen Code lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client(
    "Qwen Code", ".qwen/settings.json", ("mcpServers",), plain_entry, "QWEN_HOME", comments=True
)
