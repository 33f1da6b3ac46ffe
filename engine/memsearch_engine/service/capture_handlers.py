"""Handlers of requests about capture, pending decisions and the long-term memory.

Pending decisions are counted as Review shows them, and not as notes: a file that arrived is one
decision, and so is a folder of many. They are counted file by file, because screens ask often.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from memsearch_engine.capture import event_queue
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.coverage import Coverage, alarms, report
from memsearch_engine.capture.ledger import MissedTurn, TurnOutcome
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.projects import Project
from memsearch_engine.journal.files import DayFile, read_day
from memsearch_engine.journal.model import CONFLICT_OF, QuarantineReason
from memsearch_engine.journal.origin import FILES_ONE_BY_ONE, Origin, find_quarantined
from memsearch_engine.journal.outline import FileOutline, arrived_in
from memsearch_engine.journal.shared import list_notes
from memsearch_engine.longterm import pages, pipeline, review
from memsearch_engine.service.answers import (
    CaptureStatus,
    QueuedEvent,
    QueueReport,
)
from memsearch_engine.service.commands import RequestContext, distinct
from memsearch_engine.service.service_state import ServiceState
from memsearch_engine.service.tasks import BackgroundTasks

log = logging.getLogger("memsearch.service")


class CaptureHandlers:
    """Requests about capture and the long-term memory."""

    def __init__(self, state: ServiceState, tasks: BackgroundTasks) -> None:
        self._state, self._tasks = state, tasks
        self._waiting, self._counting = PendingCounts(state.journal.origin), threading.Lock()

    def coverage(self, call: RequestContext, since: str = "") -> Coverage:
        """Process the queue, reconcile with the transcripts, and count the captured turns."""
        self._tasks.capture.drain()
        self._tasks.capture.reconcile()
        with self._capturing() as capturing:
            return report(capturing, since)

    def standing(
        self, call: RequestContext, place: dict[str, str], all_projects: bool = False
    ) -> CaptureStatus:
        """Return the state of capture, and how many decisions are pending review."""
        projects = self._state.projects_of(place, all_projects)
        proposal = review.pending(self._state.home)
        proposed = len(review.decisions(proposal)) if proposal else 0
        proposed += sum(
            len(draft.waiting)
            for project in distinct(projects)
            for draft in pages.pending(self._state.home, project)
        )
        with self._counting:
            quarantined = self._waiting.count(
                sorted({project.memory for project in projects}),
                lambda memory: self._outlines(p for p in projects if p.memory == memory),
                lambda: call.cancelled() or self._state.stopping.is_set(),
            )
        with self._capturing() as capturing:
            return CaptureStatus(
                capturing.ledger.captured_since(), self.alarms(), quarantined + proposed
            )

    def missed(
        self, call: RequestContext, outcomes: list[TurnOutcome], limit: int = 200
    ) -> list[MissedTurn]:
        """Return the turns that are not in memory, newest first, each with the reason."""
        with self._capturing() as capturing:
            return capturing.ledger.missed(outcomes, limit)

    def longterm(
        self, call: RequestContext, phase: int = 0, session: str = "", since: float = 0.0
    ) -> bool:
        """Start the long-term pipeline in the background.

        Args:
            phase: only this phase (1 or 2); 0 for both.
            session: only this session; ``""`` for all.
            since: only sessions that changed after this time (seconds since 1970).

        Returns:
            Whether it was started; False if it is already running.

        Raises:
            SettingsError: no model is chosen.
        """
        pipeline.check_models(self._state.settings, phase)
        if self._tasks.longterm.is_running:
            return False
        self._tasks.longterm.start_run(was_asked=True, phase=phase, only=session, since=since)
        return True

    def inbox(self, call: RequestContext) -> QueueReport:
        """Process the event queue now, and return the result and the events that still wait."""
        outcome = self._tasks.capture.drain()
        return QueueReport(
            captured=outcome.captured,
            skipped=outcome.skipped,
            already=outcome.already,
            waiting=[
                QueuedEvent(os.path.basename(path), reason) for path, reason in outcome.waiting
            ],
            set_aside=[
                QueuedEvent(name, reason) for name, reason in event_queue.bad(self._state.home)
            ],
        )

    def alarms(self) -> list[str]:
        """Return one sentence for each agent from which turns have stopped arriving."""
        try:
            with self._capturing() as capturing:
                return alarms(capturing)
        except MemsearchError as error:
            return [str(error)]

    def _outlines(self, projects: Iterable[Project]) -> dict[DayFile, FileOutline]:
        found: dict[DayFile, FileOutline] = {}
        with contextlib.suppress(MemsearchError):  # the files are parsed then
            for project in projects:
                found |= self._state.indexer.catalog.outlines.of(project.id)
        return found

    def _capturing(self) -> contextlib.closing[CapturePipeline]:
        return contextlib.closing(CapturePipeline(self._state.home, self._state.journal))


_FEW = 5  # files that are parsed sooner than the outlines of all are read
_SHARE = 1.0  # pause as a multiple of the work, so that sessions and searches are answered


class PendingCounts:
    """Counts pending decisions. Not thread-safe."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        # path -> the file, its decisions, and whether it has notes that arrived
        self._counts: dict[str, tuple[DayFile, int, bool]] = {}

    def count(
        self,
        memories: list[str],
        outlines: Callable[[str], Mapping[DayFile, FileOutline]] = lambda memory: {},
        is_over: Callable[[], bool] = lambda: False,
    ) -> int:
        """Count the pending decisions about notes below *memories*.

        The first call looks at every file. Later calls look at files that changed, and at files
        with pending decisions, because a release does not change the file. A file that has an
        outline is only parsed if its notes need it.

        Args:
            outlines: returns the outlines of the files below a memory folder.
            is_over: returns whether the caller no longer waits. The count is then incomplete.
        """
        total = 0
        arrived: Counter[str] = Counter()
        for memory in memories:
            if is_over() or not has_notes(memory):
                continue
            files = list_notes(memory).files
            due = {file for file in files if self._is_due(file)}
            if len(due) > _FEW:
                due -= self._outlined(memory, due, outlines(memory))
            for file in files:
                if is_over():
                    break
                if file in due:
                    self._counts[file.path] = file, *self._in(memory, file)
                _, decisions, has_arrived = self._counts[file.path]
                total += decisions
                arrived[os.path.dirname(file.path)] += has_arrived
        return total + sum(count if count <= FILES_ONE_BY_ONE else 1 for count in arrived.values())

    def _is_due(self, file: DayFile) -> bool:
        known = self._counts.get(file.path)
        return known is None or known[0] != file or bool(known[1]) or known[2]

    def _outlined(
        self, memory: str, due: set[DayFile], outlines: Mapping[DayFile, FileOutline]
    ) -> set[DayFile]:
        """Count by the outlines. Return the files that need not be parsed."""
        try:
            found = arrived_in(
                self._origin, memory, {file: outlines[file] for file in due if file in outlines}
            )
        except MemsearchError:
            return set()
        self._counts |= {file.path: (file, 0, bool(notes)) for file, notes in found.items()}
        return set(found)

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
