"""What the service does between requests: it keeps the index, contexts, summaries, the long-term
memory and other machines up to date.

Each task has a thread of its own, and none ends for an error of its: one bad file must not stop the
keeping of everything else.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memsearch_engine.actions.index import Actions
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture import summaries
from memsearch_engine.capture import worker as inbox
from memsearch_engine.capture.coverage import reconcile
from memsearch_engine.capture.keep import Keeper
from memsearch_engine.capture.ledger import known_folders
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.core.settings import Settings, load
from memsearch_engine.core.settings import Sync as Where
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import pages, pipeline, skills
from memsearch_engine.longterm.injected import prepare
from memsearch_engine.longterm.workspace import MEMORY, NOTES, SUMMARY
from memsearch_engine.service.activity import Activity
from memsearch_engine.service.indexing import Indexer, distinct
from memsearch_engine.sync import run as sync_run
from memsearch_engine.sync import state as sync_state

if TYPE_CHECKING:
    pass

log = logging.getLogger("memsearch.service")
_TICK_S = 1.0
#: How often transcripts are looked through for what hooks missed; unchanged ones cost a stat each.
_RECONCILE_S = 300.0
_NATIVE_S = 15.0
_SUMMARIES_S = 15.0
_LONGTERM_S = 30.0
_SYNC_S = 20.0  # how often it is asked whether a round of sync is due
_AT_ONCE = 100  # turns whose actions are noted in one go


class Keeping:
    """
    Attributes:
        version: grows with every change that a screen should show.
        activity: uses by others; the only thing that postpones the service's end.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.activity = Activity()
        self.started = time.time()
        self.stopping = threading.Event()
        self.version = 0
        self._changed = threading.Condition()
        self.registry = Registry(home)
        self.journal = Journal(home)
        self.indexer = Indexer(home, self.registry, self.stopping, self._bump)
        self._config_stamp: tuple[int, int] | None = None
        self._paused = ""  # why capture waits
        self._look_at_settings()
        self._summarise_now = threading.Event()
        self._unnoted: list[tuple[tuple[str, str, str], tuple[str, str]]] | None = None
        self._sync_now, self._syncing = threading.Event(), False
        self._sent = -1  # the version that the last round of sync has taken along
        self._last_round = -1  # the use after which the last round before the end was made
        self._longterm_seen = self._longterm_stamp()  # before a project is read for the first time
        self._remembering = self._was_asked = False

    def start(self) -> None:
        for task, name in (
            (self._keeper, "keeper"),
            (self._summariser, "summaries"),
            (self._rememberer, "longterm"),
            (self._syncer, "sync"),
        ):
            threading.Thread(target=task, name=name, daemon=True).start()

    @property
    def settings(self) -> Settings:
        return self.indexer.settings

    def may_sleep(self) -> bool:
        """Whether nothing is left that others wait for: a run that a person asked for, and the
        other machines. What was written since the last round goes to them first, once after the
        last use, however that round ends.
        """
        if self._is_asked_for:
            return False
        uses = self.activity.uses
        wanted = self.settings.sync.remote and self.settings.sync.every_minutes
        if wanted and self._sent != self.version and self._last_round != uses:
            self._last_round = uses
            self._syncing = True
            self._sync_now.set()
        return not self._syncing

    @property
    def _is_asked_for(self) -> bool:
        return self._remembering and self._was_asked

    def stop(self) -> None:
        """Have all that waits come to its end."""
        self.stopping.set()
        self._summarise_now.set()
        self._sync_now.set()
        self._bump()

    def close(self) -> None:
        self.indexer.close()
        self.registry.close()

    def _bump(self) -> None:
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    def _keeper(self) -> None:
        """Reconcile now and then: the inbox fills, watches can be lost, settings can change,
        projects appear.
        """
        for project in self._registered():
            self.indexer.attach(project)
        seen: object = None
        reconciled, looked = 0.0, time.monotonic()
        while not self.stopping.wait(_TICK_S):
            try:
                self._look_at_settings()
                self.drain()
                if time.monotonic() - reconciled > _RECONCILE_S:
                    reconciled = time.monotonic()
                    self._reconcile()
                longterm = self._longterm_stamp()
                if self._longterm_seen != longterm:
                    self._longterm_seen = longterm
                    for project in self._registered():
                        self.indexer.refresh(project)
                now = (
                    self.version,
                    self._config_stamp,
                    longterm,
                    _stamp(self.home.generation),
                    date.today(),
                )
                if (
                    seen != now and self.indexer.ready.is_set()
                ):  # opening the index comes first: a search waits for it
                    seen = now
                    self._prepare_contexts()
                self.indexer.check_disk()
                if time.monotonic() - looked > _NATIVE_S:
                    looked = time.monotonic()
                    self.indexer.look_at_native()
                self._note_actions()
            except Exception:  # one bad file must not end the keeping of everything else
                log.exception("housekeeping")

    def _longterm_stamp(self) -> tuple[tuple[int, int], ...]:
        """Changes with what the long-term memory says."""
        return tuple(_stamp(self.home.longterm / name) for name in ("", SUMMARY, MEMORY, NOTES))

    def _look_at_settings(self) -> None:
        """Take changed settings over. While they can't be read, capture waits: what they forbid is
        not known.
        """
        stamp = _stamp(self.home.config)
        if stamp == self._config_stamp:
            return
        self._config_stamp = stamp
        try:
            self.indexer.settings = load(self.home)
            self._paused = ""
        except MemsearchError as error:
            self._paused = f"the settings can't be read: {error}"
            log.warning("capture waits: %s", error)

    def _summariser(self) -> None:
        """Ask models for better notes where the user agreed to it; a thread of its own, since an
        answer takes seconds.
        """
        while not self.stopping.is_set():
            try:
                if self._asks_models():
                    self._look_at(summaries.work(self.home, self.journal, self.settings))
            except MemsearchError as error:
                log.warning("summaries: %s", error)
            except Exception:
                log.exception("summaries")
            self._summarise_now.wait(_SUMMARIES_S)
            self._summarise_now.clear()

    def _rememberer(self) -> None:
        """Run the long-term pipeline when its time has come: every six hours at most, and only
        where the owner chose models.
        """
        while not self.stopping.wait(_LONGTERM_S):
            try:
                if not self._paused and pipeline.due(self.home, self.settings):
                    self._remember(background=True)
                self._keep_pages()
            except MemsearchError as error:
                log.warning("long-term memory: %s", error)
            except Exception:  # a project's files may be anything
                log.exception("long-term memory")

    def _syncer(self) -> None:
        """Meet the owner's other machines now and then, later and later while that fails. What goes
        wrong is kept with the round: the header, `sync status` and `doctor` say it.
        """
        while not self.stopping.is_set():
            now = self._sync_now.wait(_SYNC_S)
            self._sync_now.clear()
            wanted = self.settings.sync
            try:
                if (
                    wanted.remote
                    and wanted.every_minutes
                    and not self._paused
                    and not self.stopping.is_set()
                ):
                    with sync_state.opened(self.home) as state:
                        is_due = now or sync_state.due(state, wanted.every_minutes)
                    if is_due:
                        self._sync(wanted)
            except MemsearchError as error:
                log.warning("sync: %s", error)
            except Exception:  # a remote may hold anything
                log.exception("sync")
            finally:
                self._syncing = False

    def _sync(self, where: Where) -> None:
        version, journal = self.version, Journal(self.home)
        try:
            projects = self._registered()
            done = sync_run.sync(self.home, journal, where, projects, stop=self.stopping.is_set)
        finally:
            journal.close()
        self._sent = version
        if done.turns_left:
            self._sync_now.set()
        if done.received or done.gone or done.conflicts:
            self._look_at(
                [project.memory for project in distinct(projects) if has_notes(project.memory)]
            )
            self._bump()
        log.info("sync: %s", msgspec.json.encode(done).decode())

    def _keep_pages(self) -> None:
        """Have changes to PROJECT.md and USER.md proposed, and skills drafted, where that is
        enabled, notes have come, and the pause is over.
        """
        if skills.chosen(self.settings) and not self._paused and not self._remembering:
            for project in distinct(self._registered()):
                if os.path.isdir(project.memory) and not self.stopping.is_set():
                    drafted = skills.distill(
                        self.home, self.settings, project, stop=self.stopping.is_set
                    )
                    if drafted.state != "skipped":
                        log.info(
                            "skills of %s: %s", project.slug, msgspec.json.encode(drafted).decode()
                        )
                        self._bump()
        due = [] if self._paused or self._remembering else pages.due(self.settings)
        for project in distinct(self._registered()) if due else ():
            for page in due:
                if not self.stopping.is_set() and os.path.isdir(project.memory):
                    result = pages.run(
                        self.home, self.settings, project, page, stop=self.stopping.is_set
                    )
                    if result.state != "skipped":
                        log.info(
                            "%s of %s: %s",
                            pages.FILES[page],
                            project.slug,
                            msgspec.json.encode(result).decode(),
                        )
                        self._bump()

    def _remember(self, *, was_asked: bool = False, **how: Any) -> None:
        """Run the pipeline in a thread of its own. Where a person asked for it, the service does
        not end meanwhile.
        """

        def work() -> None:
            try:
                folders = AgentFolders.from_env(seen=known_folders(self.home))
                report = pipeline.run(
                    self.home, self.settings, folders, stop=self.stopping.is_set, **how
                )
                log.info("long-term memory: %s", msgspec.json.encode(report).decode())
            except MemsearchError as error:
                log.warning("long-term memory: %s", error)
            except Exception:
                log.exception("long-term memory")
            finally:
                self._remembering = False
                self._bump()

        self._remembering, self._was_asked = True, was_asked
        threading.Thread(target=work, name="longterm-run", daemon=True).start()

    def _asks_models(self) -> bool:
        settings = self.settings
        return (
            not self._paused
            and settings.capture.enabled
            and any(
                summaries.chosen(settings, agent).provider != "extractive"
                for agent in agent_registry.names()
            )
        )

    def _reconcile(self) -> None:
        """Take the turns that no hook brought."""
        if self._paused or not self.settings.capture.enabled:
            return
        keeper = Keeper(self.home, self.journal, self.settings)
        try:
            written = reconcile(keeper, AgentFolders.from_env(seen=known_folders(self.home)))
        except MemsearchError as error:
            log.warning("not reconciled: %s", error)
            return
        finally:
            keeper.close()
        self._prune_evidence()
        limits = self.settings.history
        if gone := self.journal.history.prune(
            max_bytes=int(limits.max_mb * 1e6), max_days=limits.max_days
        ):
            log.info(
                "%d old changes can't be undone any more: the history is over its limits", gone
            )
        if written:
            log.info("turns that no hook brought were written to %s", ", ".join(written))
            self._look_at(written)
            self._bump()

    def _note_actions(self) -> None:
        """Note what kept turns did that were captured by an earlier version, some at a time."""
        if self._unnoted is None:
            if not self.indexer.ready.is_set():
                return
            self._unnoted = self._find_unnoted()
        some, self._unnoted = self._unnoted[:_AT_ONCE], self._unnoted[_AT_ONCE:]
        if not some:
            return
        archive, actions = Archive(self.home), Actions(self.home)
        try:
            for name, (memory, entry) in some:
                turn = archive.get(*name)
                if turn is not None:
                    actions.put(turn, memory, entry, Keeper.started(turn))
        except MemsearchError as error:
            log.warning("what turns did is not noted: %s", error)
            self._unnoted = []
        finally:
            actions.close()

    def _find_unnoted(self) -> list[tuple[tuple[str, str, str], tuple[str, str]]]:
        names = Archive(self.home).names() - Actions(self.home).names()
        if not names:
            return []
        memories = {project.id: project.memory for project in self._registered()}
        notes = {
            turn: (memories[project], entry)
            for turn, (project, entry) in self.indexer.catalog.turns().items()
            if project in memories
        }
        return [(name, notes[name]) for name in sorted(names & notes.keys())]

    def _prune_evidence(self) -> None:
        """Keep the archive within the owner's limits."""
        limits = self.settings.evidence
        if not (limits.max_mb or limits.max_days):
            return
        archive = Archive(self.home)
        try:
            gone = archive.prune(max_bytes=int(limits.max_mb * 1e6), max_days=limits.max_days)
            if gone:
                log.info("%d kept conversations were over the limits and went", len(gone))
        except (OSError, MemsearchError) as error:
            log.warning("evidence not pruned: %s", error)
        finally:
            archive.close()

    def _prepare_contexts(self) -> None:
        """Keep ready what new sessions are told; hooks only print it."""
        for memory, identity in {
            project.memory: project.id for project in self._registered()
        }.items():
            self._prepare_context(memory, identity)

    def _prepare_context(self, memory: str, identity: str) -> None:
        if self._paused:  # what settings that can't be read forbid is not known
            return
        try:
            if has_notes(memory):
                prepare(self.home, self.settings, memory, identity)
        except (OSError, MemsearchError) as error:
            log.warning("context of %s not prepared: %s", memory, error)

    def _registered(self) -> list[Project]:
        try:
            return self.registry.all()
        except MemsearchError as error:
            log.error("registry: %s", error)
            return []

    def drain(self) -> inbox.Outcome:
        """Work the inbox off, and index what came of it."""
        if self._paused:
            waiting = [(event.path, self._paused) for event in inbox.events(self.home)]
            return inbox.Outcome(waiting=waiting, memories=[], opened=[])
        outcome = inbox.work(self.home, self.journal, self.settings)
        if outcome.captured or outcome.skipped or outcome.already or outcome.opened:
            self.activity.note("hook")
        known = (
            {project.memory for project in self.indexer.known.values()} if outcome.opened else set()
        )
        opened = [memory for memory in outcome.opened if memory not in known]
        self._look_at([*outcome.memories, *opened])
        if outcome.captured:
            self._summarise_now.set()
        if outcome.captured or opened:
            self._bump()
        return outcome

    def _look_at(self, memories: list[str]) -> None:
        """Index memory folders that were written, in the background."""
        for memory in memories:
            project = next((p for p in self._registered() if p.memory == memory), None)
            if project is None:
                root = os.path.dirname(os.path.dirname(memory))
                project = self.registry.at(locate(root, self.home))
            self.indexer.attach(project)
            self.indexer.watch(project)
            self.indexer.refresh(project)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_mtime_ns, info.st_size
