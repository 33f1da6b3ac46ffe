"""The verbs of bringing together what was written in several places."""

from __future__ import annotations

from typing import Literal

from memsearch_engine import git_driver
from memsearch_engine.agents.patches import Patch
from memsearch_engine.git_driver import DriverState
from memsearch_engine.memory import Memory
from memsearch_engine.trust import contested
from memsearch_engine.trust.contested import Contested


class Sync:
    """Notes that were changed in two places, and git's merge driver.

    >>> with Memory() as memory:
    ...     Sync(memory).conflicts()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def conflicts(self) -> list[Contested]:
        """Notes whose text was changed in two places, both texts of each, newest day first."""
        return contested.contested(self._memory)

    def conflict(self, name: str) -> Contested:
        """The one of a note, or of its other text. Raises NotFound."""
        return contested.named(self._memory, name)

    def decide(self, case: Contested, keep: Literal["shown", "other", "both"], text: str | None = None) -> None:
        """Have one text hold, *text* in the place of both, or each be a note. Undoable. Raises Conflict, NotFound."""
        contested.decide(self._memory, case, keep, text)

    def driver(self) -> DriverState:
        """Whether git merges this project's notes entry by entry. Raises UsageError where it is in no repository of this user's."""
        return git_driver.state(self._memory.place)

    def install_driver(self, *, dry_run: bool = False) -> list[Patch]:
        """Have git do so; *dry_run*: only say what would change."""
        place = self._memory.place
        return (
            [patch for patch in git_driver.planned(place) if patch.changes]
            if dry_run
            else git_driver.install(self._memory.home, place)
        )

    def uninstall_driver(self, *, dry_run: bool = False) -> list[Patch]:
        """Take it out again, byte for byte."""
        return git_driver.uninstall(self._memory.home, self._memory.place, dry_run=dry_run)

    def merge_files(self, base: str, ours: str, theirs: str, path: str) -> tuple[int, list[str]]:
        """What git calls: *base* and *theirs* into the file *ours*. Its answer to git, and the notes that were changed on both sides."""
        return git_driver.run(self._memory.home, base, ours, theirs, path)
