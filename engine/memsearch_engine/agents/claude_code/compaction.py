"""The summary that Claude Code writes after a context compaction: a user line."""

from __future__ import annotations

from typing import Any

from memsearch_engine.agents.transcripts.model import blocks_text

MARK = b'"isCompactSummary":true'


def summary(line: dict[str, Any]) -> str | None:
    """Return the summary in a line, or None."""
    message = line.get("message")
    if line.get("isCompactSummary") is not True or not isinstance(message, dict):
        return None
    return blocks_text(message.get("content"))
