"""Claude Code deletes transcripts after some days."""

from __future__ import annotations

import json
from pathlib import Path

_DAYS = 30  # default of its settings


def days_kept(sessions: Path) -> int:
    """Return the days after which transcripts are deleted."""
    try:
        days = json.loads((sessions.parent / "settings.json").read_bytes()).get("cleanupPeriodDays")
    except (OSError, ValueError, AttributeError):
        return _DAYS
    return int(days) if isinstance(days, int | float) else _DAYS
