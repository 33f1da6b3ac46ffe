"""What Qwen Code keeps of a session that it compressed: a line with the history that is left."""

from __future__ import annotations

from typing import Any

MARK = b'"subtype":"chat_compression"'


def summary(line: dict[str, Any]) -> str | None:
    payload = line.get("systemPayload")
    history = payload.get("compressedHistory") if isinstance(payload, dict) else None
    if line.get("subtype") != "chat_compression" or not isinstance(history, list):
        return None
    parts = [
        part for said in history if isinstance(said, dict) for part in said.get("parts") or [] if isinstance(part, dict)
    ]
    return "\n".join(text for part in parts if isinstance(text := part.get("text"), str))
