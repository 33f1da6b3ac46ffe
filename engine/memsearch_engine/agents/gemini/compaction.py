"""The summary that Gemini CLI writes after a compression: the first of the new list of messages."""

from __future__ import annotations

from typing import Any

MARK = b"<state_snapshot>"


def summary(line: dict[str, Any]) -> str | None:
    """Return the summary in a line, or None."""
    change = line.get("$set")
    messages = change.get("messages") if isinstance(change, dict) else None
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else []:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str) and text.startswith("<state_snapshot>"):
                return text
    return None
