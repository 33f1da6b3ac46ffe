"""What an agent made of a session when it compacted it, where its transcript says so (Claude Code, Codex)."""

from __future__ import annotations

import os

import msgspec

from memsearch_engine.transcripts.model import Session, blocks_text, text_of

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
            line = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            continue
        if not isinstance(line, dict):
            continue
        for holder in (line.get("message"), line.get("payload")):
            if isinstance(holder, dict) and (line.get("isCompactSummary") is True or line.get("type") == "compacted"):
                return blocks_text(holder.get("content")) or text_of(holder.get("message"))
    return ""
