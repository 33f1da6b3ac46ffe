"""How long an agent keeps its sessions, as its package says."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Retention(Protocol):
    """The ``retention`` module of the package of an agent that deletes sessions."""

    def days_kept(self, sessions: Path) -> int:
        """Return after how many days sessions in that folder are deleted; 0 for never."""
