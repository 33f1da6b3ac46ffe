"""Gemini CLI deletes its sessions after some days.

It also deletes a session that was resumed in another minute at its next start. So evidence is
archived at capture.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_DAYS = 30  # default of its settings
_NEVER = 10_000
_UNITS = {"d": 1, "w": 7, "m": 30, "h": 1 / 24}


def days_kept(sessions: Path) -> int:
    """Return the days after which sessions are deleted."""
    try:
        retention = json.loads((sessions.parent / "settings.json").read_bytes())["general"][
            "sessionRetention"
        ]
        if retention.get("enabled") is False:
            return _NEVER
        age = re.fullmatch(r"(\d{1,4})([dwmh])", str(retention.get("maxAge", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return _DAYS
    return max(1, int(int(age[1]) * _UNITS[age[2]])) if age else _DAYS
