"""What the package of an agent says of how long the agent keeps its sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Retention(Protocol):
    """The module ``retention`` of the package of an agent that deletes its sessions."""

    def days_kept(self, sessions: Path) -> int:
        """After how many days it deletes what lies in that folder; 0: never."""
