"""The verbs of mending: junk and repetitions among notes, and a damaged undo history."""

from __future__ import annotations

from collections.abc import Iterable

from memsearch_engine.memory import Memory
from memsearch_engine.review import repair
from memsearch_engine.review.repair import Finding as Mendable


class Repair:
    """Junk, notes that say nearly the same, and a damaged undo history.

    >>> with Memory() as memory:
    ...     Repair(memory).findings()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def findings(self, names: Iterable[str] = ()) -> list[Mendable]:
        """What could be mended, with the evidence. *names*: only these ids and kinds."""
        found = repair.findings(self._memory)
        return repair.chosen(found, names) if names else found

    def history_fault(self) -> str:
        """What is wrong with the undo history; '' where it is sound. Raises Unreachable where it is
        in use, or a newer version's.
        """
        return self._memory.journal.history.check()

    def set_history_aside(self) -> str:
        """Begin a new undo history beside a damaged one; where that one is now. It may hold old
        texts.
        """
        return str(self._memory.journal.history.set_aside())

    def mend(self, finding: Mendable) -> None:
        """Delete junk; make repetitions one note with all their anchors. Undoable."""
        repair.mend(self._memory, finding)
