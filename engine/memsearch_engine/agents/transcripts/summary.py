"""Reads the summary that an agent wrote into a transcript when it compacted its context."""

from __future__ import annotations

import os
from typing import Any, Protocol, cast

import msgspec

from memsearch_engine.agents.transcripts.model import Session, well_formed
from memsearch_engine.core import agent_registry

_LOOKED_THROUGH = 8 * 1024 * 1024  # bytes from the end: the summary has just been written


class Compaction(Protocol):
    """The ``compaction`` module of an agent's package, for agents with JSON lines.

    Attributes:
        MARK: bytes that every line with a summary contains, after blanks are removed.
    """

    MARK: bytes

    def summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary in a line, or None."""


def last(where: Session) -> str:
    """Return the newest summary of a session; ``""`` if there is none or it cannot be read."""
    keeps = cast("Compaction | None", agent_registry.part(where.agent, "compaction"))
    if keeps is None or not where.path.endswith(".jsonl"):
        return ""
    try:
        with open(where.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_THROUGH))
            lines = file.read(_LOOKED_THROUGH).split(b"\n")
    except OSError:
        return ""
    for raw in reversed(lines):
        if keeps.MARK not in raw.replace(b" ", b""):
            continue
        try:
            line = msgspec.json.decode(well_formed(raw))
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(line, dict) and (found := keeps.summary(line)) is not None:
            return found
    return ""
