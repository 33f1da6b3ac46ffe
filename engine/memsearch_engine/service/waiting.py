"""How many decisions wait for the owner, counted file by file: a screen asks for the number all day.

A count of decisions, as Review shows them, not of notes: what arrived with one file is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.journal.files import DayFile, read_day
from memsearch_engine.journal.model import CONFLICT_OF, Waits
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.quarantine import held_back
from memsearch_engine.journal.shared import list_notes

_SHARE = 1.0  # rest for each moment of work: sessions and searches are answered meanwhile


class Waiting:
    """Not for two threads at a time."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._counts: dict[str, tuple[DayFile, int]] = {}

    def count(self, memories: list[str], is_over: Callable[[], bool] = lambda: False) -> int:
        """The decisions about notes below *memories*. The first time reads every note; then only
        files that changed, and those that something waits in, as a release leaves a file as it is.
        *is_over*: nobody waits for the answer any more.
        """
        total = 0
        for memory in memories:
            if not has_notes(memory):
                continue
            for file in list_notes(memory).files:
                if is_over():
                    break
                known = self._counts.get(file.path)
                if known is None or known[0] != file or known[1]:
                    known = self._counts[file.path] = file, self._in(memory, file)
                total += known[1]
        return total

    def _in(self, memory: str, file: DayFile) -> int:
        began = time.monotonic()
        try:
            entries = read_day(file.path).entries
            found = held_back(self._origin, memory, entries, file.path)
        except (OSError, MemsearchError):
            return 0  # `doctor` names it
        time.sleep((time.monotonic() - began) * _SHARE)
        reasons = [why for _, why, _ in found]
        contested = sum(CONFLICT_OF in entry.marks for entry in entries)
        return (
            contested
            + sum(why is not Waits.ARRIVED for why in reasons)
            + (Waits.ARRIVED in reasons)
        )
