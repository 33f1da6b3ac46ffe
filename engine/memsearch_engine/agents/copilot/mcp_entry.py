"""Where Copilot CLI lists its servers of the Model Context Protocol."""

from __future__ import annotations

from typing import Any

from memsearch_engine.agents.installing import Client, plain_entry


def _entry(program: str) -> dict[str, Any]:
    return {"type": "local", **plain_entry(program), "tools": ["*"]}


CLIENT = Client(
    "GitHub Copilot CLI", ".copilot/mcp-config.json", ("mcpServers",), _entry, "COPILOT_HOME"
)
