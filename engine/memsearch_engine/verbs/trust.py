"""The verbs of trust: notes that wait for a word."""

from __future__ import annotations

from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.write import Target
from memsearch_engine.memory import Memory
from memsearch_engine.review import inbox
from memsearch_engine.review.inbox import Held


class Trust:
    """Notes that took in content from outside, read like orders, or were not written on this
    machine.

    >>> with Memory() as memory:
    ...     Trust(memory).held()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def held(self) -> list[Held]:
        """What waits for the owner's word, and why."""
        return inbox.held(self._memory)

    def release(self, targets: list[Target]) -> list[Entry]:
        """Let sessions be told what these notes say. Undoable."""
        return inbox.release(self._memory, targets)

    def release_files(self, paths: list[str]) -> int:
        """The same for all that stands in files now; how many notes that are."""
        return inbox.release_files(self._memory, paths)

    def release_author(self, author: str) -> tuple[int, list[str]]:
        """The same for the files that nobody but this e-mail address has committed: how many notes,
        and which files.
        """
        return inbox.release_author(self._memory, author)

    def release_folder(self) -> int:
        """The same for all that stands in this project's memory folder, and in what its team
        shares, now.
        """
        return inbox.release_folder(self._memory)

    def hold(self, targets: list[Target]) -> list[Entry]:
        """Don't tell sessions what these notes say (any more). Undoable."""
        return inbox.hold(self._memory, targets)

    def accept(self, targets: list[Target]) -> list[Entry]:
        """Say that the file is right where it contradicts a decision: sessions are given these
        notes as they stand.
        """
        return inbox.accept(self._memory, targets)

    def reject(self, targets: list[Target], *, leave: bool = False) -> list[str]:
        """Say that the decision holds: ``put back`` or ``deleted`` where the file was put right
        (undoable), ``left out`` where it stays as it is and its text is injected nowhere. *leave*:
        always the latter.
        """
        return inbox.reject(self._memory, targets, leave=leave)

    def sources(self, entry: Entry) -> list[str]:
        """Where an entry came from: ``user``, ``model``, ``inside``, ``outside``. It is trusted as
        the last.
        """
        return inbox.sources_of(self._memory, entry)
