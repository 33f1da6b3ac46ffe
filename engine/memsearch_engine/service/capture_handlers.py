"""Handlers of requests about capture, pending decisions and the long-term memory."""

from __future__ import annotations

import logging
import os
import threading

from memsearch_engine.capture import event_queue
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.coverage import Coverage, alarms, report
from memsearch_engine.capture.ledger import MissedTurn, TurnOutcome
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.longterm import pages, pipeline, review
from memsearch_engine.service.answers import (
    CaptureStatus,
    QueuedEvent,
    QueueReport,
)
from memsearch_engine.service.commands import RequestContext, distinct
from memsearch_engine.service.service_state import ServiceState
from memsearch_engine.service.tasks import BackgroundTasks
from memsearch_engine.service.waiting import PendingCounts

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
        capturing = CapturePipeline(self._state.home, self._state.journal)
        try:
            return report(capturing, since)
        finally:
            capturing.close()

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
                lambda: call.cancelled() or self._state.stopping.is_set(),
            )
        capturing = CapturePipeline(self._state.home, self._state.journal)
        try:
            return CaptureStatus(
                capturing.ledger.captured_since(), self.alarms(), quarantined + proposed
            )
        finally:
            capturing.close()

    def missed(
        self, call: RequestContext, outcomes: list[TurnOutcome], limit: int = 200
    ) -> list[MissedTurn]:
        """Return the turns that are not in memory, newest first, each with the reason."""
        capturing = CapturePipeline(self._state.home, self._state.journal)
        try:
            return capturing.ledger.missed(outcomes, limit)
        finally:
            capturing.close()

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
        capturing = CapturePipeline(self._state.home, self._state.journal)
        try:
            return alarms(capturing)
        except MemsearchError as error:
            return [str(error)]
        finally:
            capturing.close()
