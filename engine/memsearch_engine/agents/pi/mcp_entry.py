"""Where pi lists its servers of the Model Context Protocol (since 1.5)."""

from __future__ import annotations

from typing import Any

from memsearch_engine.agents.installing import Client, plain_entry


def _entry(program: str) -> dict[str, Any]:
    """Return the entry.

    It exposes the tools to the model; by default, pi hides them behind one that runs code.
    """
    return {**plain_entry(program), "exposure": "direct"}


CLIENT = Client("pi", ".pi/agent/mcp.json", ("mcpServers",), _entry, "PI_CODING_AGENT_DIR")
