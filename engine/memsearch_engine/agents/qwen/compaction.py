"""The summary that Qwen Code writes after a compression: a line with the remaining history."""

from __future__ import annotations

from typing import Any

MARK = b'"subtype":"chat_compression"'


def summary(line: dict[str, Any]) -> str | None:
    """Return the summary in a line, or None."""
    payload = line.get("systemPayload")
    history = payload.get("compressedHistory") if isinstance(payload, dict) else None
    if line.get("subtype") != "chat_compression" or not isinstance(history, list):
        return None
    lists = [message.get("parts") for message in history if isinstance(message, dict)]
    parts = [
        part
        for parts in lists
        if isinstance(parts, list)
        for part in parts
        if isinstance(part, dict)
    ]
    return "\n".join(text for part in parts if isinstance(text := part.get("text"), str))
