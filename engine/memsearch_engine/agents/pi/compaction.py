"""What pi keeps of a session that it compacted: a line with the summary."""

from __future__ import annotations

from typing import Any

MARK = b'"type":"compaction"'


def summary(line: dict[str, Any]) -> str | None:
    text = line.get("summary") if line.get("type") == "compaction" else None
    return text if isinstance(text, str) else None
