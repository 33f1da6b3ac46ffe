"""Where Cline lists its servers of the Model Context Protocol."""

from __future__ import annotations

from typing import Any

from memsearch_engine.agents.installing import Client, plain_entry


def _entry(program: str) -> dict[str, Any]:
    return {"transport": {"type": "stdio", **plain_entry(program)}}


CLIENT = Client(
    "Cline CLI", ".cline/data/settings/cline_mcp_settings.json", ("mcpServers",), _entry
)
