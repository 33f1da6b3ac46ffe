"""The background tasks of the service.

They update the index, contexts, summaries and long-term memory, and sync with other machines. Each
task has its own thread. An error of one file does not end a task.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from datetime import date
from typing import Any

import msgspec

from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import known_folders
from memsearch_engine.agents.transcripts.model import TurnName
from memsearch_engine.capture import event_queue, summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.coverage import reconcile
from memsearch_engine.core import agent_registry, freshness
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders
from memsearch_engine.core.project_location import has_notes, shared_beside
from memsearch_engine.core.settings_schema import SyncSettings as Where
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import page_drafts, pages, pipeline, skill_drafts, skills
from memsearch_engine.longterm.workspace import MEMORY, NOTES, SUMMARY
from memsearch_engine.service.commands import distinct
from memsearch_engine.service.index_thread import give_back_memory
from memsearch_engine.service.service_state import ServiceState
from memsearch_engine.sync import run as sync_run
from memsearch_engine.sync import state as sync_state

log = logging.getLogger("memsearch.service")
_TICK_S = 1.0
#: Work that can wait begins this many seconds after the last request, or after the start.
_CALM_S, _START_S = 1.5, 30.0
#: Seconds between two searches of the transcripts for turns that no hook reported. An unchanged
#: transcript costs one stat.
_RECONCILE_S = 300.0
_SOURCES_S = 15.0
_SUMMARIES_S = 15.0
_LONGTERM_S = 30.0
_SYNC_S = 20.0  # seconds between two checks whether a round of sync is due
_AT_ONCE = 200  # archived turns that are looked at in one step


@contextlib.contextmanager
def _logging(what: str) -> Iterator[None]:
    """Log any error. Files of a project and of a remote may contain anything."""
    try:
        yield
    except MemsearchError as error:
        log.warning("%s: %s", what, error)
    except Exception:
        log.exception(what)


class CaptureTask:
    """Processes the event queue, reconciles with the transcripts, and requests summaries."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self.summarise_now = threading.Event()
        self._looked_at: TurnName | None = ("", "", "")  # the last one; None after all

    def drain(self) -> event_queue.QueueOutcome:
        """Process the event queue, and index the captured notes."""
        if self._state.paused:
            waiting = [
                (event.path, self._state.paused) for event in event_queue.events(self._state.home)
            ]
            return event_queue.QueueOutcome(waiting=waiting, memories=[], opened=[])
        outcome = event_queue.work(self._state.home, self._state.journal, self._state.settings)
        if outcome.captured or outcome.skipped or outcome.already or outcome.opened:
            self._state.activity.note("hook")
        known = (
            {project.memory for project in self._state.indexer.known.values()}
            if outcome.opened
            else set()
        )
        opened = [memory for memory in outcome.opened if memory not in known]
        self._state.index_memories([*outcome.memories, *opened])
        if outcome.captured:
            self.summarise_now.set()
        if outcome.captured or opened:
            self._state.bump()
        return outcome

    def reconcile(self) -> None:
        """Capture turns that no hook reported, and enforce the limits of archive and history."""
        if self._state.paused or not self._state.settings.capture.enabled:
            return
        capturing = CapturePipeline(self._state.home, self._state.journal, self._state.settings)
        folders = AgentFolders.from_env(seen=known_folders(self._state.home))
        try:
            with contextlib.closing(capturing):
                written = reconcile(capturing, folders)
        except MemsearchError as error:
            log.warning("not reconciled: %s", error)
            return
        self._prune_evidence()
        limits = self._state.settings.history
        if gone := self._state.journal.history.prune(
            max_bytes=int(limits.max_mb * 1e6), max_days=limits.max_days
        ):
            log.info(
                "%d old changes can't be undone any more: the history is over its limits", gone
            )
        if written:
            log.info("turns that no hook brought were written to %s", ", ".join(written))
            self._state.index_memories(written)
            self._state.bump()

    def run_summaries(self) -> None:
        """Let models summarize notes if the user enabled it. Its own thread waits for them."""
        while not self._state.stopping.is_set():
            with _logging("summaries"):
                if self._asks_models():
                    self._state.index_memories(
                        summaries.work(self._state.home, self._state.journal, self._state.settings)
                    )
            self.summarise_now.wait(_SUMMARIES_S)
            self.summarise_now.clear()

    def _asks_models(self) -> bool:
        settings = self._state.settings
        return (
            not self._state.paused
            and settings.capture.enabled
            and any(
                summaries.chosen(settings, agent).provider != "extractive"
                for agent in agent_registry.names()
            )
        )

    def note_actions(self) -> None:
        """Record the actions of turns that were archived without, some in each call.

        An earlier version, or another machine, archived them.
        """
        if self._looked_at is None or not self._state.indexer.warmed.is_set():
            return
        archive = Archive(self._state.home)
        names = archive.names_after(self._looked_at, _AT_ONCE)
        if not names:
            self._looked_at = None
            return
        self._looked_at = names[-1]
        memories = {project.id: project.memory for project in self._state.registered()}
        try:
            with contextlib.closing(ActionIndex(self._state.home)) as actions:
                new = set(names) - actions.names(names)
                for name, (project, entry) in self._state.indexer.catalog.notes_of(new).items():
                    turn = archive.get(*name) if project in memories else None
                    if turn is not None:
                        actions.put(turn, memories[project], entry, CapturePipeline.started(turn))
        except MemsearchError as error:
            log.warning("what turns did is not noted: %s", error)
            self._looked_at = None

    def _prune_evidence(self) -> None:
        """Delete archived turns that exceed the owner's limits."""
        limits = self._state.settings.evidence
        if not (limits.max_mb or limits.max_days):
            return
        try:
            with contextlib.closing(Archive(self._state.home)) as archive:
                gone = archive.prune(max_bytes=int(limits.max_mb * 1e6), max_days=limits.max_days)
            if gone:
                log.info(
                    "%d archived conversations were over the limits and are deleted", len(gone)
                )
        except (OSError, MemsearchError) as error:
            log.warning("evidence not pruned: %s", error)


class LongTermTask:
    """Runs the long-term pipeline, and updates pages and skills."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self.is_running = self.was_asked = False

    @property
    def is_asked_for(self) -> bool:
        """Whether a run that a person requested is under way."""
        return self.is_running and self.was_asked

    def run(self) -> None:
        """Run the long-term pipeline every six hours at most, if models are chosen."""
        while not self._state.stopping.wait(_LONGTERM_S):
            with _logging("long-term memory"):
                if not self._state.paused and pipeline.due(self._state.home, self._state.settings):
                    self.start_run(background=True)
                self._keep_pages()

    def start_run(self, *, was_asked: bool = False, **how: Any) -> None:
        """Run the pipeline in its own thread.

        Args:
            was_asked: a person requested the run, so the service does not exit before its end.
            how: arguments of the pipeline.
        """

        def work() -> None:
            with _logging("long-term memory"):
                folders = AgentFolders.from_env(seen=known_folders(self._state.home))
                report = pipeline.run(
                    self._state.home,
                    self._state.settings,
                    folders,
                    stop=self._state.stopping.is_set,
                    **how,
                )
                log.info("long-term memory: %s", msgspec.json.encode(report).decode())
            self.is_running = False
            self._state.bump()

        self.is_running, self.was_asked = True, was_asked
        threading.Thread(target=work, name="longterm-run", daemon=True).start()

    def _keep_pages(self) -> None:
        """Propose changes to pages and draft skills, if enabled and due and there are new notes."""
        if skills.chosen(self._state.settings) and not self._state.paused and not self.is_running:
            for project in distinct(self._state.registered()):
                if os.path.isdir(project.memory) and not self._state.stopping.is_set():
                    drafted = skill_drafts.distill(
                        self._state.home,
                        self._state.settings,
                        project,
                        stop=self._state.stopping.is_set,
                    )
                    if drafted.state != "skipped":
                        log.info(
                            "skills of %s: %s", project.slug, msgspec.json.encode(drafted).decode()
                        )
                        self._state.bump()
        due = [] if self._state.paused or self.is_running else page_drafts.due(self._state.settings)
        for project in distinct(self._state.registered()) if due else ():
            for page in due:
                if not self._state.stopping.is_set() and os.path.isdir(project.memory):
                    result = page_drafts.run(
                        self._state.home,
                        self._state.settings,
                        project,
                        page,
                        stop=self._state.stopping.is_set,
                    )
                    if result.state != "skipped":
                        log.info(
                            "%s of %s: %s",
                            pages.FILES[page],
                            project.slug,
                            msgspec.json.encode(result).decode(),
                        )
                        self._state.bump()


class SyncTask:
    """Syncs with the owner's other machines."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self.sync_now, self.is_syncing = threading.Event(), False
        self._sent = -1  # the version that the last round has sent
        self._last_round = -1  # number of uses at the last round before the exit

    def is_done(self) -> bool:
        """Whether nothing is left to send. Otherwise start a last round.

        There is only one such round after each use, even if it fails.
        """
        uses, wanted = self._state.activity.uses, self._state.settings.sync
        is_on = wanted.remote and wanted.every_minutes
        if is_on and self._sent != self._state.version and self._last_round != uses:
            self._last_round = uses
            self.is_syncing = True
            self.sync_now.set()
        return not self.is_syncing

    def run(self) -> None:
        """Sync at intervals, which grow while it fails. Errors are stored with the round."""
        while not self._state.stopping.is_set():
            now = self.sync_now.wait(_SYNC_S)
            self.sync_now.clear()
            wanted = self._state.settings.sync
            with _logging("sync"):
                if (
                    wanted.remote
                    and wanted.every_minutes
                    and not self._state.paused
                    and not self._state.stopping.is_set()
                ):
                    with sync_state.opened(self._state.home) as state:
                        is_due = now or sync_state.due(state, wanted.every_minutes)
                    if is_due:
                        self.sync(wanted)
            self.is_syncing = False

    def sync(self, where: Where) -> None:
        """Do one round of sync, and index what it received."""
        version, projects = self._state.version, self._state.registered()
        with contextlib.closing(Journal(self._state.home)) as journal:
            done = sync_run.sync(
                self._state.home, journal, where, projects, stop=self._state.stopping.is_set
            )
        self._sent = version
        if done.turns_left:
            self.sync_now.set()
        if done.received or done.gone or done.conflicts:
            self._state.index_memories(
                [project.memory for project in distinct(projects) if has_notes(project.memory)]
            )
            self._state.bump()
        log.info("sync: %s", msgspec.json.encode(done).decode())


class BackgroundTasks:
    """All background tasks, and the loop that checks for changes once a second."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self.capture = CaptureTask(state)
        self.longterm = LongTermTask(state)
        self.sync = SyncTask(state)
        self._prepared: set[str] = set()  # memory folders
        # taken before the first project is read
        self._longterm_seen = self._longterm_stamps()

    def start(self) -> None:
        """Attach the known projects, and start the tasks."""
        for task, name in (
            (self._keep_up, "housekeeping"),
            (self.capture.run_summaries, "summaries"),
            (self.longterm.run, "longterm"),
            (self.sync.run, "sync"),
        ):
            threading.Thread(target=task, name=name, daemon=True).start()

    def stop(self) -> None:
        """End all tasks."""
        self._state.stopping.set()
        self.capture.summarise_now.set()
        self.sync.sync_now.set()
        self._state.bump()

    def may_sleep(self) -> bool:
        """Whether the service may exit: no requested long-term run is left, and nothing to send."""
        return not self.longterm.is_asked_for and self.sync.is_done()

    def _keep_up(self) -> None:
        """Check for changes once a second: events, lost watches, changed settings, new projects."""
        for project in self._state.registered():
            self._state.indexer.attach(project)
        seen: object = None
        began = looked = time.monotonic()
        reconciled, is_calm = 0.0, False
        while not self._state.stopping.wait(_TICK_S):
            try:
                self._state.look_at_settings()
                self.capture.drain()
                if not is_calm and (is_calm := self._has_calmed(began)):
                    give_back_memory()
                    self._state.indexer.check_catalog()
                if is_calm and time.monotonic() - reconciled > _RECONCILE_S:
                    reconciled = time.monotonic()
                    self.capture.reconcile()
                longterm = self._longterm_stamps()
                if self._longterm_seen != longterm:
                    self._longterm_seen = longterm
                    for project in self._state.registered():
                        self._state.indexer.refresh(project)
                now = (
                    self._state.version,
                    self._state.config_stamp,
                    longterm,
                    freshness.stamp(str(self._state.home.generation)),
                    date.today(),
                )
                if seen != now and is_calm:
                    seen = now
                    self._prepare_contexts()
                self._state.indexer.check_disk()
                if time.monotonic() - looked > _SOURCES_S:
                    looked = time.monotonic()
                    self._state.indexer.look_at_sources()
                self.capture.note_actions()
            except Exception:  # an error of one file must not stop the other work
                log.exception("housekeeping")

    def _has_calmed(self, began: float) -> bool:
        """Whether the first requests after the start are answered: they need both cores."""
        indexer = self._state.indexer
        is_busy = indexer.busy or self._state.activity.idle_s < _CALM_S
        return indexer.warmed.is_set() and (not is_busy or time.monotonic() - began > _START_S)

    def _longterm_stamps(self) -> dict[str, list[int]]:
        """Return stamps that change with the long-term memory."""
        folder = self._state.home.longterm
        return freshness.stamps(str(folder / name) for name in ("", SUMMARY, MEMORY, NOTES))

    def _prepare_contexts(self) -> None:
        """Prepare the contexts of new sessions that are out of date, for all projects."""
        for memory, identity in {
            project.memory: project.id for project in self._state.registered()
        }.items():
            # a commit of shared notes changes no stamp
            is_new = memory not in self._prepared and os.path.isdir(shared_beside(memory))
            if self._state.prepare_context(memory, identity, if_stale=not is_new):
                self._prepared.add(memory)
