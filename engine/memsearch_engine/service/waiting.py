"""Counts the decisions that are pending review, file by file, because screens ask often.

It counts decisions as Review shows them, and not notes: a file that arrived is one decision, and so
is a folder of many.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.journal.files import DayFile, read_day
from memsearch_engine.journal.model import CONFLICT_OF, QuarantineReason
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.quarantine import FILES_ONE_BY_ONE, find_quarantined
from memsearch_engine.journal.shared import list_notes

_SHARE = 1.0  # pause as a multiple of the work, so that sessions and searches are answered


class PendingCounts:
    """Counts pending decisions. Not thread-safe."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        # path -> the file, its decisions, and whether it has notes that arrived
        self._counts: dict[str, tuple[DayFile, int, bool]] = {}

    def count(self, memories: list[str], is_over: Callable[[], bool] = lambda: False) -> int:
        """Count the pending decisions about notes below *memories*.

        The first call reads every note. Later calls read files that changed, and files with pending
        decisions, because a release does not change the file.

        Args:
            is_over: returns whether the caller no longer waits. The count is then incomplete.
        """
        total = 0
        arrived: Counter[str] = Counter()
        for memory in memories:
            if not has_notes(memory):
                continue
            for file in list_notes(memory).files:
                if is_over():
                    break
                known = self._counts.get(file.path)
                if known is None or known[0] != file or known[1] or known[2]:
                    known = self._counts[file.path] = file, *self._in(memory, file)
                total += known[1]
                arrived[os.path.dirname(file.path)] += known[2]
        return total + sum(count if count <= FILES_ONE_BY_ONE else 1 for count in arrived.values())

    def _in(self, memory: str, file: DayFile) -> tuple[int, bool]:
        began = time.monotonic()
        try:
            entries = read_day(file.path).entries
            found = find_quarantined(self._origin, memory, entries, file.path)
        except (OSError, MemsearchError):
            return 0, False  # `doctor` reports the file
        time.sleep((time.monotonic() - began) * _SHARE)
        reasons = [why for _, why, _ in found]
        contested = sum(CONFLICT_OF in entry.marks for entry in entries)
        own = sum(why is not QuarantineReason.ARRIVED for why in reasons)
        return contested + own, QuarantineReason.ARRIVED in reasons
