"""The summary that Copilot writes after a context compaction: an event."""

from __future__ import annotations

from typing import Any

MARK = b'"type":"session.compaction_complete"'


def summary(line: dict[str, Any]) -> str | None:
    """Return the summary in a line, or None."""
    data = line.get("data") if line.get("type") == "session.compaction_complete" else None
    text = data.get("summaryContent") if isinstance(data, dict) else None
    return text if isinstance(text, str) and data and data.get("success") is True else None
