"""Where Zed lists its servers of the Model Context Protocol."""

from memsearch_engine.agents.installing import Client, plain_entry

CLIENT = Client(
    "Zed", ".config/zed/settings.json", ("context_servers",), plain_entry, comments=True
)
