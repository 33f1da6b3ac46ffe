"""The summary that pi writes after a context compaction: a line."""

from __future__ import annotations

from typing import Any

MARK = b'"type":"compaction"'


def summary(line: dict[str, Any]) -> str | None:
    """Return the summary in a line, or None."""
    text = line.get("summary") if line.get("type") == "compaction" else None
    return text if isinstance(text, str) else None
