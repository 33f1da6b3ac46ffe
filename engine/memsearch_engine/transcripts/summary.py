"""What an agent made of a session when it compacted it, where its transcript says so (Claude Code, Codex)."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from memsearch_engine.transcripts.model import Session, blocks_text, text_of, well_formed

_LOOKED_THROUGH = 8 * 1024 * 1024  # bytes, from the end: it has only just been written
_MARKS = {"claude-code": b'"isCompactSummary":true', "codex": b'"type":"compacted"'}


def last(where: Session) -> str:
    """The newest summary of a session; '' where there is none, or none that can be read."""
    mark = _MARKS.get(where.agent)
    if mark is None or not where.path.endswith(".jsonl"):
        return ""
    try:
        with open(where.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_THROUGH))
            lines = file.read(_LOOKED_THROUGH).split(b"\n")
    except OSError:
        return ""
    for raw in reversed(lines):
        if mark not in raw.replace(b" ", b""):
            continue
        try:
            line = msgspec.json.decode(well_formed(raw))
        except (msgspec.DecodeError, RecursionError):
            continue
        if not isinstance(line, dict):
            continue
        for holder in (line.get("message"), line.get("payload")):
            if isinstance(holder, dict) and (line.get("isCompactSummary") is True or line.get("type") == "compacted"):
                return blocks_text(holder.get("content")) or text_of(holder.get("message")) or _replaced(holder)
    return ""


def _replaced(payload: dict[str, Any]) -> str:
    """What Codex keeps of the talk instead of a summary."""
    items = payload.get("replacement_history")
    kinds = ("text", "input_text", "output_text", "summary_text")
    texts = [
        blocks_text(i.get("content"), kinds) for i in (items if isinstance(items, list) else ()) if isinstance(i, dict)
    ]
    return "\n".join(text for text in texts if text)
