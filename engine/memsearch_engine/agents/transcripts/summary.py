"""Reads the summary that an agent wrote into a transcript when it compacted its context."""

from __future__ import annotations

import os

import msgspec

from memsearch_engine.agents.transcripts.model import Session, well_formed
from memsearch_engine.agents.transcripts.readers import reader

_LOOKED_THROUGH = 8 * 1024 * 1024  # bytes from the end: the summary has just been written


def last(where: Session) -> str:
    """Return the newest summary of a session; ``""`` if there is none or it cannot be read."""
    reads = reader(where.agent)
    if reads is None or not reads.compaction_mark or not where.path.endswith(".jsonl"):
        return ""
    try:
        with open(where.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_THROUGH))
            lines = file.read(_LOOKED_THROUGH).split(b"\n")
    except OSError:
        return ""
    for raw in reversed(lines):
        if reads.compaction_mark not in raw.replace(b" ", b""):
            continue
        try:
            line = msgspec.json.decode(well_formed(raw))
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(line, dict) and (found := reads.compaction_summary(line)) is not None:
            return found
    return ""
