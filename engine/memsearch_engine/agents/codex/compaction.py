"""Codex' summary after a context compaction: a message, or the shortened conversation."""

from __future__ import annotations

from typing import Any

from memsearch_engine.agents.transcripts.model import blocks_text, text_of

MARK = b'"type":"compacted"'
_KINDS = ("text", "input_text", "output_text", "summary_text")


def summary(line: dict[str, Any]) -> str | None:
    """Return the summary in a line, or None."""
    payload = line.get("payload")
    if line.get("type") != "compacted" or not isinstance(payload, dict):
        return None
    if written := text_of(payload.get("message")):
        return written
    items = payload.get("replacement_history")
    texts = [
        blocks_text(i.get("content"), _KINDS)
        for i in (items if isinstance(items, list) else ())
        if isinstance(i, dict)
    ]
    return "\n".join(text for text in texts if text)
