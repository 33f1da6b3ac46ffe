"""One project's memory, or all of them: every verb that a program, a command or a screen has.

It decides, once and for all callers, which project is meant, what is taken out of a text before it
is written, what is compared before a note is changed, and who is told of it. It talks to the
resident process, starts it when it is needed, and does without it: reading never fails for want of
it. It knows no screen and no command line.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memsearch_engine.core.errors import MemsearchError, NotFound, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Place, Project, locate, offline_project
from memsearch_engine.search.hits import Answer
from memsearch_engine.service.connection import Connection, ServiceGone
from memsearch_engine.service.launch import connect

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine.actions.answers import Fix, Way
    from memsearch_engine.actions.index import Act, Actions
    from memsearch_engine.agents.transcripts.locate import Excerpt
    from memsearch_engine.agents.transcripts.model import Conversation, Turn
    from memsearch_engine.core.home import AgentFolders
    from memsearch_engine.core.settings import Settings
    from memsearch_engine.index.catalog import Catalog
    from memsearch_engine.index.rows import IndexResult
    from memsearch_engine.injection.injection_log import Receipt
    from memsearch_engine.injection.prompt import Telling
    from memsearch_engine.injection.session_start import Context
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.model import Document, Entry, Waits
    from memsearch_engine.journal.note import Note
    from memsearch_engine.journal.write import Journal, Target
    from memsearch_engine.longterm.facts import Fact
    from memsearch_engine.longterm.forgetting import Match
    from memsearch_engine.search.as_of import Then
    from memsearch_engine.search.explain import Absence
    from memsearch_engine.search.request import SearchRequest
    from memsearch_engine.search.sections import Section
    from memsearch_engine.search.supersession.contradictions import Contradiction
    from memsearch_engine.search.supersession.listing import Supersession
    from memsearch_engine.search.supersession.revisions import Revision
    from memsearch_engine.service.changes import Update

T = TypeVar("T")
HYBRID_WAIT_S = 4.0
_CALLS = 3
_TYPED_REQUESTS = 2  # the first protocol that takes them
_ANSWER_S = 0.5  # what a service may take longer than the deadline that it was given
_TITLE = 300  # characters
_MIN_NAME = 8  # digits by which a note may be named where nothing is asked
_LONG_S = 24 * 3600.0
_NOTES_ASKED = 5  # whose turns are looked into for how something was done


class Memory:
    """One project's memory (or all of them).

    It may be shared by threads: what is open is locked or bound to none. In asyncio, call it by
    ``asyncio.to_thread``.

    Args:
        path: a folder inside the project; the current one by default.
        home: where indexes, settings and the history lie; ``MEMSEARCH_HOME``, else
            ``~/.memsearch`` by default.
        everything: all registered projects instead of one.
        project: a registered project by name instead of the one at *path* (``*``: all).

    Raises:
        UsageError: no project of that name.

    >>> with Memory() as memory:
    ...     note = memory.add("Staging runs Postgres 16")
    ...     [hit.text for hit in memory.search("which postgres on staging")]
    ['- Staging runs Postgres 16']
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        home: Home | str | os.PathLike[str] | None = None,
        everything: bool = False,
        project: str | None = None,
    ) -> None:
        self.home = (
            home
            if isinstance(home, Home)
            else Home(Path(home).expanduser().absolute())
            if home
            else Home.from_env()
        )
        with contextlib.suppress(
            FileNotFoundError
        ):  # a folder that is gone matters to who asks for its project
            path = path or os.getcwd()
        self._path, self._place = path, None
        self.everything = everything or project == "*"
        self._catalog: Catalog | None = None
        self._projects: list[Project] | None = None
        self._is_known = False
        self._journal: Journal | None = None
        self._folders: AgentFolders | None = None
        self.shortfall = ""  # why an answer was less than it could be
        if project and not self.everything:
            chosen = self._named([project])[0]
            self._place = Place(
                chosen.root, chosen.memory, locate(chosen.root, self.home).common_dir
            )

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened. The service goes on."""
        if self._catalog is not None:
            self._catalog.close()
        if self._journal is not None:
            self._journal.history.close()
            self._journal.origin.close()

    # -- where

    @property
    def place(self) -> Place:
        """Where the project lies. Raises FileNotFoundError where the current folder is gone."""
        if self._place is None:
            self._place = locate(self._path, self.home)
        return self._place

    @property
    def projects(self) -> list[Project]:
        if self._projects is not None:
            return self._projects
        found = self._find_projects()
        if self._is_known:  # else its identity may still change: with its first commit
            self._projects = found
        return found

    def _find_projects(self, *, register: bool = False) -> list[Project]:
        from memsearch_engine.core.project_registry import Registry

        registry = Registry(self.home)
        try:
            here = registry.at(self.place, register=register)
            self._is_known = registry.knows(here.root)
            return (registry.all() if self.everything else []) or [here]
        except (MemsearchError, OSError) as error:
            self.shortfall = str(error)
            self._is_known = True
            return [offline_project(self.place)]
        finally:
            registry.close()

    def _register(self) -> None:
        """Something is kept of this project: the service has to know it from now on."""
        self._projects = self._find_projects(register=True)

    def known(self) -> list[Project]:
        """Every project that the home knows, one row per path where it lives, newest first. Raises
        Unreachable.
        """
        from memsearch_engine.core.project_registry import Registry

        with contextlib.closing(Registry(self.home)) as registry:
            return registry.all()

    @property
    def project(self) -> Project:
        return next((p for p in self.projects if p.root == self.place.root), self.projects[0])

    @property
    def catalog(self) -> Catalog | None:
        if self._catalog is None:
            from memsearch_engine.index.catalog import Catalog

            self._catalog = Catalog.open_readonly(self.home.cache_db)
        return self._catalog

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            from memsearch_engine.journal.write import Journal

            self._journal = Journal(self.home)
        return self._journal

    @property
    def settings(self) -> Settings:
        """The owner's settings, read now; what a project's file may set concerns the index alone.
        Raises SettingsError.
        """
        from memsearch_engine.core.settings import load

        return load(self.home)

    @property
    def place_param(self) -> dict[str, str]:
        return {
            "root": self.place.root,
            "memory": self.place.memory,
            "common_dir": self.place.common_dir,
        }

    def connect(self, *, start: bool = True) -> Connection:
        """A connection to the resident process, started where none runs. Raises Unreachable."""
        return connect(self.home, start=start)

    def call(
        self,
        method: str,
        kind: type[T],
        *,
        start: bool = True,
        timeout_s: float = 30.0,
        progress: Callable[[dict[str, Any]], None] | None = None,
        request: SearchRequest | None = None,
        **params: Any,
    ) -> T:
        """One call to the service; once more where it ended meanwhile (a restart, an update, a
        kill).
        """
        for attempt in range(_CALLS):
            connection = connect(self.home, start=start)
            try:
                sent = _sent(request, connection) if request is not None else {}
                return connection.call(
                    method, kind, timeout_s=timeout_s, progress=progress, **params, **sent
                )
            except ServiceGone:
                if attempt == _CALLS - 1:
                    raise
            finally:
                connection.close()
        raise AssertionError("unreachable")

    # -- L1

    def search(
        self,
        query: str | SearchRequest,
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        *,
        wait: bool = True,
    ) -> Answer:
        """Search by meaning and words; by words alone where the index can't answer in time.

        Args:
            query: as a person types it, or a parsed request, whose own limit, mode and fusion then
                count.
            limit: number of hits.
            mode: ``hybrid``, ``dense``, ``bm25`` or ``lexical``.
            fusion: ``weighted`` or ``rrf``; the configured one by default.
            wait: start the service if needed and give it ``HYBRID_WAIT_S``; else answer from
                what is here now.
        """
        request = _parsed(query, limit=limit, mode=mode, fusion=fusion)
        answer = self._as_of(self._search(_deepened(request), wait), request)
        from memsearch_engine.search.views import mark_contradicting

        with contextlib.suppress(MemsearchError):  # of a home that can't be read
            mark_contradicting(self.journal.origin, answer.hits)
        return answer

    def _search(self, request: SearchRequest, wait: bool) -> Answer:
        if request.mode == "lexical" and not wait:
            return self._lexical(request)
        if os.environ.get("MEMSEARCH_OFFLINE", "") not in ("", "0") and (
            reason := self._would_leave()
        ):
            return self._fallback(request, reason)
        start = time.monotonic()
        try:
            connection = connect(self.home, start=wait, wait_s=HYBRID_WAIT_S)
        except Unreachable as error:
            reason = str(error) if wait else "the service is not running"
            return self._fallback(request, "" if request.mode == "lexical" else reason)
        try:
            left = max(0.2, HYBRID_WAIT_S - (time.monotonic() - start)) if wait else 0.15
            return connection.call(
                "search",
                Answer,
                timeout_s=left + _ANSWER_S,
                deadline_s=left,
                place=self.place_param,
                projects=["*"] if self.everything else [],
                **_sent(request, connection),
            )
        except MemsearchError as error:
            if error.exit_code != Unreachable.exit_code:
                raise
            return self._fallback(request, str(error))
        finally:
            connection.close()

    def _would_leave(self) -> str:
        """Why the service, which may have been started without ``--offline``, is not asked; ''
        where it stays on this machine.
        """
        from memsearch_engine.core.network import is_local
        from memsearch_engine.core.settings import load

        settings = load(self.home)
        embedding, uri = settings.embedding, settings.milvus.uri
        if embedding.provider != "onnx" and not is_local(embedding.base_url or "elsewhere"):
            return f"offline: {embedding.provider} is not asked"
        return f"offline: {uri} is not asked" if uri and not is_local(uri) else ""

    def lexical(self, query: str | SearchRequest, limit: int = 10) -> Answer:
        """Answer by words, in this process, from the catalog and the files."""
        request = _parsed(query, limit=limit)
        return self._as_of(self._lexical(_deepened(request)), request)

    def admitted(self, query: str | SearchRequest) -> list[Target]:
        """All notes that the filters of *query* admit (``agent:codex after:7d is:pinned -draft``),
        in no order, however many they are. Words that are searched for do not count.

        Raises:
            UsageError: it names an unknown project.
            Unreachable: the catalog is damaged.
        """
        from memsearch_engine.journal.write import Target
        from memsearch_engine.search import lexical

        request = _parsed(query)
        rows = lexical.admitted(self.catalog, self._scope(request.projects), request)
        return [Target(row.path, row.entry_id, row.hash) for row in rows]

    def _as_of(self, answer: Answer, request: SearchRequest) -> Answer:
        """*answer*, with the notes as they were on the day that the request asks for, if any."""
        if request.as_of:
            from memsearch_engine.search.as_of import put_back

            scope = self._scope(request.projects)
            put_back(self.catalog, answer, request, self.then(request.as_of, scope), scope)
        return answer

    def then(self, day: str, projects: list[Project] | None = None) -> Then:
        """What of the notes of these projects (of this one, by default) was changed after the end
        of *day* (``YYYY-MM-DD``), as it stood then.

        Raises:
            Unreachable: the history can't be read.
        """
        from memsearch_engine.longterm import fact_history
        from memsearch_engine.search.as_of import Then, end_of

        scope = projects or self.projects
        memories = {os.path.abspath(project.memory) for project in scope}
        longterm: dict[tuple[str, str], str] = {}
        with contextlib.suppress(MemsearchError, OSError):  # the notes are told without it
            longterm = fact_history.at(
                self.home, sorted({project.id[:8] for project in scope}), end_of(day)
            )
        return Then(self.journal.history, sorted(memories), day, longterm)

    def _lexical(self, request: SearchRequest) -> Answer:
        from memsearch_engine.search import lexical

        return lexical.search(self.catalog, self._scope(request.projects), request)

    def _fallback(self, request: SearchRequest, reason: str) -> Answer:
        answer = self._lexical(request)
        answer.reason = "; ".join(
            dict.fromkeys(part for part in (reason, answer.reason, self.shortfall) if part)
        )
        return answer

    def _scope(self, names: list[str]) -> list[Project]:
        return self._named(names) if names else self.projects

    def _named(self, names: list[str]) -> list[Project]:
        known = self.known()
        chosen = (
            known
            if "*" in names
            else [p for p in known if {p.slug, p.name, p.id, p.collection} & set(names)]
        )
        if not chosen:
            raise UsageError(
                f"no project named {', '.join(names)}",
                f"known: {', '.join(sorted({p.name for p in known})) or 'none'}",
            )
        return chosen

    # -- L3

    @property
    def folders(self) -> AgentFolders:
        """Where the agents keep their sessions, as far as this machine has shown."""
        if self._folders is None:
            from memsearch_engine.capture.ledger import known_folders
            from memsearch_engine.core.home import AgentFolders

            roots: list[str] = []
            with contextlib.suppress(FileNotFoundError):  # the current folder is gone
                roots.append(self.place.root)
            self._folders = AgentFolders.from_env(seen=known_folders(self.home, *roots))
        return self._folders

    def conversation(
        self,
        entry: Entry,
        *,
        turn: str = "",
        context: int | None = None,
        near: datetime | None = None,
    ) -> Excerpt:
        """The conversation behind an entry, from its agent, else from the archive. Raises NotFound
        where it is lost.

        Args:
            turn: another turn of the same session.
            context: turns on both sides; None for the whole session.
            near: when the entry was noted; then a conversation that lacks the turn is opened at
                the one that began nearest.
        """
        from memsearch_engine.agents.transcripts.evidence import Archive
        from memsearch_engine.agents.transcripts.locate import Excerpt, around, place_at, window

        turn = turn or entry.turn
        try:
            return window(self._live(entry), turn, context)
        except NotFound:
            kept = (
                Archive(self.home).get(entry.agent, entry.session, turn) if entry.anchor else None
            )
            if kept is not None:
                return Excerpt(str(self.home.evidence), [kept], 0, 0, 1, "archived")
            if near is None:
                raise
            live = self._live(entry)
            place = place_at(live, near)
            if place < 0:
                raise
            found = around(live, place, context)
            found.is_near = True
            return found

    def turns_around(self, entry: Entry, place: int, context: int) -> Excerpt:
        """The turn at *place* of the conversation behind an entry, counted from 0, with *context*
        turns on both sides.

        Raises NotFound where the agent has the conversation no more.
        """
        from memsearch_engine.agents.transcripts.locate import around

        live = self._live(entry)
        return around(live, max(0, min(place, len(live.ids) - 1)), context)

    def turn_with(self, entry: Entry, words: Sequence[str], start: int, step: int) -> int:
        """The place of the next turn (*step* 1) or the one before (-1) from *start* in which one of
        *words* (casefolded) stands; -1 where there is none. Raises NotFound where the agent has the
        conversation no more.
        """
        from memsearch_engine.agents.transcripts.locate import place_with

        return place_with(self._live(entry), words, start, step)

    def _live(self, entry: Entry) -> Conversation:
        from memsearch_engine.agents.transcripts.locate import anchored

        anchor = entry.anchor
        if anchor is None:
            raise NotFound(
                f"entry {entry.id} was written by hand: no conversation stands behind it"
            )
        return anchored(
            anchor.agent, anchor.session, anchor.path, self.folders, cache=self.home.offsets
        )

    def evidence(self, entry: Entry) -> str:
        """``live`` where the agent still has the conversation, ``archived`` where we keep it, else
        ``lost``; '' for notes that a person wrote.
        """
        from memsearch_engine.agents.transcripts.evidence import Archive
        from memsearch_engine.agents.transcripts.locate import find_session

        anchor = entry.anchor
        if anchor is None or not anchor.agent:
            return ""
        if find_session(anchor.agent, anchor.session, anchor.path, self.folders):
            return "live"
        return (
            "archived"
            if Archive(self.home).has(anchor.agent, anchor.session, anchor.turn)
            else "lost"
        )

    # -- L2 and lists

    def section(self, name: str) -> Section:
        """The entry behind an entry or chunk id. Looks in this project, then in all."""
        from memsearch_engine.search import sections

        try:
            return sections.find(self.catalog, self.projects, name)
        except NotFound:
            if self.everything:
                raise
            others = Memory(self.place.root, home=self.home, everything=True)
            return sections.find(self.catalog, others.projects, name)

    def section_view(
        self, name: str, *, lines: int | None = None, whole: bool = True
    ) -> dict[str, Any]:
        """The section behind an entry or chunk id as ``expand --json`` prints it. Counts as a use.

        Args:
            lines: lines of the file before and after it.
            whole: the whole section, or the lines of the chunk alone.
        """
        from memsearch_engine.search.supersession.overrides import read_overrides
        from memsearch_engine.service import reading

        found = self.section(name)
        reading.note_opened(self.home, found)
        return reading.section_view(
            self.catalog,
            self.journal.origin,
            lambda: read_overrides(self.home),
            found.project or self.project,
            found,
            lines=lines,
            whole=whole,
        )

    def days(self) -> list[DayFile]:
        """Dated files, newest first."""
        from memsearch_engine.journal.shared import list_dated

        found = [day for project in self.projects for day in list_dated(project.memory)]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def files(self) -> list[DayFile]:
        """All markdown files of the memory folders and of what teams share, also undated ones,
        newest day first.
        """
        from memsearch_engine.journal.shared import list_notes

        found = [file for project in self.projects for file in list_notes(project.memory).files]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def copies(self) -> list[tuple[str, str]]:
        """(copy, original) of each file that a sync program or a file manager has copied beside
        another one.
        """
        from memsearch_engine.journal.files import original_of

        return [(file.path, of) for file in self.files() if (of := original_of(file.path))]

    def counts(self, project: Project | None = None) -> dict[str, int]:
        """What is indexed of a project (this one by default): ``files``, ``failed`` of them,
        ``days``, ``entries``, ``chunks``, and how many ``distinct`` ones; {} where there is no
        index. Raises MemsearchError where it is damaged.
        """
        return self.catalog.statistics.counts((project or self.project).id) if self.catalog else {}

    def waits(self, name: str) -> Waits | None:
        """Why a note waits for its owner's word; None where it does not.

        Raises NotFound, Unreachable.
        """
        from memsearch_engine.journal.quarantine import held_back

        section = self.section(name)
        found = held_back(
            self.journal.origin, self.memory_of(section.path), [section.entry], section.path
        )
        return found[0][1] if found else None

    def unreadable(self) -> list[tuple[str, str]]:
        """Files in the memory folders that can't be read, each with why."""
        from memsearch_engine.journal.shared import list_notes

        return [
            problem for project in self.projects for problem in list_notes(project.memory).problems
        ]

    def source(self, path: str) -> str:
        """A file of notes as it is written. Raises OSError."""
        from memsearch_engine.core import safe_files

        return safe_files.read(path).decode("utf-8", "replace")

    def document(self, path: str) -> Document:
        """A file of notes with its entries. Raises OSError."""
        from memsearch_engine.journal.files import read_day

        return read_day(path)

    def read(self, file: DayFile) -> list[Entry]:
        """The entries of a day, read from its file."""
        return self.document(file.path).entries

    def every_entry(self) -> Iterator[tuple[DayFile, Entry]]:
        """All entries, newest day first. Files that can't be read are left out (`doctor` names
        them).
        """
        for file in self.days():
            with contextlib.suppress(OSError):
                for entry in self.read(file):
                    yield file, entry

    def root_of(self, memory: str) -> str:
        """The folder of the project whose memory folder this is."""
        return next(
            (project.root for project in self.projects if project.memory == memory), self.place.root
        )

    def project_of(self, path: str) -> Project | None:
        """Whose notes a file holds, its own or shared ones; None where no project's."""
        from memsearch_engine.journal.shared import belongs

        return next((project for project in self.projects if belongs(path, project.memory)), None)

    def memory_of(self, path: str) -> str:
        """The memory folder that a file belongs to (for the undo history)."""
        project = self.project_of(path)
        return project.memory if project else os.path.dirname(path)

    def owns(self, path: str) -> bool:
        """Whether a file is one of these projects' notes, or holds what their long-term memory
        knows.
        """
        path = os.path.normpath(path)
        longterm = (str(self.home.longterm_search / project.id[:8]) for project in self.projects)
        return self.project_of(path) is not None or any(
            path.startswith(folder + os.sep) for folder in longterm
        )

    def note(self, name: str) -> Note:
        """The entry behind the id of a hit, an entry or a chunk (or an unambiguous beginning of
        one), as it stands now.

        Raises:
            NotFound: no such entry in any project. UsageError: too short an id, or one of several.
        """
        from memsearch_engine.journal.note import Note

        path, entry = self._found(name)
        return Note.of(entry, path)

    def expand(self, name: str) -> Note:
        """The same, read for its content: counts as a use of its session, which is then remembered
        longer, and of what was told.
        """
        note = self.note(name)
        self.opened(note.id, note.agent, note.session)
        return note

    def opened(self, entry_id: str, agent: str, session: str) -> None:
        """Note that an entry was read for its content by whoever looks things up."""
        from memsearch_engine.longterm.store import note_read

        note_read(self.home, agent, session)
        from memsearch_engine.injection.injection_log import mark_opened

        mark_opened(self.home, entry_id)

    def note_of_turn(self, turn: Turn) -> Note:
        """The note that was made of a turn. Raises NotFound where there is none."""
        from memsearch_engine.journal.parse import turn_id

        return self.note(turn_id(turn.agent, turn.session, turn.turn))

    def entries(
        self,
        day: str = "",
        *,
        agent: str = "",
        limit: int | None = None,
        last: str = "",
        as_of: str = "",
    ) -> list[Note]:
        """Notes of one *day* (``YYYY-MM-DD``) or of all, newest day first, each day as its file has
        it.

        Args:
            last: with *day*: the last of several days, *day* being the first.
            as_of: a day, at whose end notes are looked at: as they stood then, as far as the
                history goes back.
        """
        from memsearch_engine.journal.note import Note

        found: list[Note] = []
        then = self.then(as_of) if as_of else None
        for file in self.days():
            if day and not day <= file.day <= (last or day) or as_of and file.day > as_of:
                continue
            with contextlib.suppress(OSError):
                now = self.read(file)
                entries = then.read(file, now) if then else now
                found += [
                    Note.of(entry, file.path)
                    for entry in entries
                    if not agent or entry.agent == agent
                ]
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def transcript(
        self, name: str, *, turn: str = "", context: int = 0, full: bool = False, raw: bool = False
    ) -> Excerpt:
        """The conversation that an entry came from, from its agent, else from the copy that was
        kept. Counts as a use of its session.

        Args:
            turn: another turn of the same session. context: turns on both sides.
            full: whole texts and outputs; else about 15,000 tokens at most, the nearest turns
                first (``Excerpt.left_out``).
            raw: with the secrets that stand in it; they are replaced otherwise.

        Raises:
            NotFound: no such entry, one that a person wrote, or its conversation is lost.
        """
        from memsearch_engine.longterm.store import note_read

        entry = self.section(name).entry
        found = self.conversation(entry, turn=turn, context=context)
        note_read(self.home, entry.agent, entry.session)
        return self._presentable(found, full, raw)

    def transcript_file(
        self,
        path: str,
        *,
        turn: str = "",
        session: str = "",
        context: int = 0,
        full: bool = False,
        raw: bool = False,
    ) -> Excerpt:
        """A transcript of any agent by its file, whole or around a turn; ``session`` where the file
        is a database of many.
        """
        from memsearch_engine.agents.transcripts.locate import open_file

        if not os.path.isfile(path):
            raise NotFound(f"no transcript file {path}")
        return self._presentable(
            open_file(path, turn, session, context=context, cache=self.home.offsets), full, raw
        )

    def _presentable(self, found: Excerpt, full: bool, raw: bool) -> Excerpt:
        if not raw:  # what one agent was told must not reach another's model
            from memsearch_engine.capture.clean import without_secrets

            found.turns = [without_secrets(turn, self.home) for turn in found.turns]
        if not full:
            found.shorten()
        return found

    def why_not(self, query: str, name: str) -> Absence:
        """Why an entry is not among the first hits of *query*."""
        from memsearch_engine.search.explain import why_not

        section = self.section(name)
        return why_not(self.catalog, self.projects, section, _parsed(query), self.search)

    def trace(self, query: str | SearchRequest = "", *, note: str = "") -> list[Revision]:
        """The notes on the topic that *query* is about, oldest first: the last one is what holds
        now.

        Args:
            note: an entry id, for the topic of that note; then nothing is searched for.

        Raises:
            Unreachable: the service can't be started, or has no vectors to compare notes by.
        """
        from memsearch_engine.search.supersession.revisions import Revision

        return self.call(
            "trace",
            list[Revision],
            timeout_s=_LONG_S,
            request=_parsed(query),
            place=self.place_param,
            note=note,
        )

    def amends(self, newer: str, older: str, yes: bool | None = True) -> bool | None:
        """Say that a note supersedes an older one, that it does not (False), or leave it to their
        words again (None). A note that supersedes another is found before it and injected in its
        place.

        Returns:
            What was said before.

        Raises:
            NotFound: no such entry.
        """
        from memsearch_engine.search.supersession.overrides import set_override

        sections = [self.section(name) for name in (older, newer)]
        for section in sections:
            self._check_is_note(section)
        names = [section.entry.id for section in sections]
        if names[0] == names[1]:
            raise UsageError("a note does not amend itself")
        return set_override(self.home, names[0], names[1], yes)

    def amendments(self, name: str = "", *, limit: int = 20) -> list[Supersession]:
        """Which note supersedes which, as it was found by comparing them and as the owner said.

        Args:
            name: a note: what it supersedes and what supersedes it, the most probable first.
                Without it: pairs that are probable but not clear and wait for the owner's word
                (``amends``), the newest first.

        Raises:
            NotFound: no such entry.
        """
        from memsearch_engine.search.supersession import listing
        from memsearch_engine.search.supersession.overrides import read_overrides

        if self.catalog is None:
            return []
        if not name:
            return listing.undecided(
                self.catalog,
                read_overrides(self.home),
                sorted({p.id for p in self.projects}),
                limit,
            )
        section = self.section(name)
        project = section.project or self.project
        found = listing.of_note(
            self.catalog, read_overrides(self.home), project.id, section.entry.id
        )[:limit]
        if not found:
            return []
        from memsearch_engine.injection.notes import mark_withheld  # 6 MB, for what few notes have

        return mark_withheld(found, project.memory, self.journal.origin)

    def contradictions(self, *, limit: int = 20) -> list[Contradiction]:
        """Pairs of notes that give one setting two values without a word of change, and on which
        the owner said nothing (``amends``), the newest first.
        """
        from memsearch_engine.search.supersession import contradictions
        from memsearch_engine.search.supersession.overrides import read_overrides

        if self.catalog is None:
            return []
        return contradictions.undecided(
            self.catalog, read_overrides(self.home), sorted({p.id for p in self.projects}), limit
        )

    # -- what was done

    def how(self, asked: str, *, limit: int = 10) -> list[Way]:
        """The commands by which something was done, best first: those that have the words asked
        for, then those of the turns whose notes are found by them.
        """
        from memsearch_engine.actions import answers

        turns = [
            (anchor.agent, anchor.session, anchor.turn)
            for hit in self.search(asked, limit=_NOTES_ASKED)
            if not hit.is_doubtful
            for anchor in hit.row.anchors
        ]
        with self._actions() as actions:
            return answers.how(actions, self._memories, asked, self._stands(), turns)[:limit]

    def fix(self, error: str, *, limit: int = 5) -> list[Fix]:
        """Where an error was met, and what mended it: the same error first, then those that are
        alike.

        Args:
            error: what was printed, whole or some words of it.
        """
        from memsearch_engine.actions import answers

        with self._actions() as actions:
            return answers.fix(actions, self._memories, error, self._stands())[:limit]

    def blame(self, path: str | os.PathLike[str], *, limit: int = 20) -> list[Act]:
        """The turns that wrote to a file, newest first; ``note(act.entry)`` is what was noted of
        one.

        Args:
            path: absolute, relative to the current folder or to the project, or the last parts
                of one.
        """
        from memsearch_engine.actions import answers, work

        name = os.fspath(path)
        if not name.strip():
            raise UsageError("a file has a name", "memsearch blame PATH")
        is_here = os.path.isabs(name) or os.path.exists(name)
        name = work.within(os.path.abspath(name) if is_here else name, self.place.root)
        with self._actions() as actions:
            return answers.blame(actions, self._memories, name, self._stands())[:limit]

    @property
    def _memories(self) -> list[str]:
        return [] if self.everything else [project.memory for project in self.projects]

    @contextlib.contextmanager
    def _actions(self) -> Iterator[Actions]:
        from memsearch_engine.actions.index import Actions

        actions = Actions(self.home)
        try:
            yield actions
        finally:
            actions.close()

    def _stands(self) -> Callable[[Act], bool]:
        """Whether an action's note is still there: what was deleted is not told of in other words."""
        known: dict[str, bool] = {}
        catalog = self.catalog

        def stands(act: Act) -> bool:
            if act.entry not in known:
                known[act.entry] = (
                    catalog is None
                    or bool(catalog.by_entry(act.entry))
                    or self._is_there(act.entry)
                )
            return known[act.entry]

        return stands

    def _is_there(self, name: str) -> bool:
        try:
            return bool(self.section(name))
        except MemsearchError:
            return False

    # -- writing

    def add(self, text: str, *, day: str = "", time: str = "", by: str = "") -> Note:
        """Write a note into today's file, or into that of *day* (``YYYY-MM-DD``), as of now or of
        *time* (``HH:MM``). Undoable.

        What an agent writes is marked as its word (``by``), and waits for its user where it tells
        agents what to do, or its session took in content from outside.

        Args:
            by: the agent that writes, as it calls itself; '' for whom this process's
                environment names.

        Secrets are replaced (``Note.replaced``); what would begin another entry, a comment or an
        anchor is escaped.

        Raises:
            UsageError: there is nothing in it, or *day* or *time* is none. Unreachable: it
                can't be written.
        """
        from memsearch_engine.journal.note import Note
        from memsearch_engine.secrets.scan import redact

        clean, found = redact(text.strip("\n"), self.home)
        if not clean.strip():
            raise UsageError("nothing to write")
        if not clean.lstrip().startswith(("-", "*", "#", ">", "|", "`")):
            clean = "\n".join(
                f"  {line}" if number else f"- {line}"
                for number, line in enumerate(clean.splitlines())
            )
        day, time = _moment(day, time)
        marks = self._marks_of(by, clean)
        added = self.journal.add_note(self.place.memory, day, time, clean, marks=marks)
        replaced = tuple(finding.placeholder for finding in found)
        try:  # the note is written: an error from here on would have it written again
            self._prepare()
            return Note.of(self._entry_in(added.path, added.entry_id), added.path, replaced)
        except (MemsearchError, OSError, MemoryError) as error:
            why = str(error) or "not enough memory"
            return Note(
                added.entry_id,
                "",
                day,
                time,
                "",
                "",
                "",
                "note",
                clean[:_TITLE],
                clean,
                clean,
                marks,
                added.path,
                0,
                0,
                replaced=replaced,
                unconfirmed=why,
            )

    def _marks_of(self, by: str, text: str) -> dict[str, str]:
        """The marks of what an agent writes; {} where a person does."""
        from memsearch_engine.capture import authors

        author = authors.named(by) if by else authors.here()
        if author is None:
            return {}
        why = authors.doubt(self.home, author, self.place.root, text)
        return {"by": author.agent} | ({"trust": str(why)} if why else {})

    def _prepare(self) -> None:
        """Make what the next session is told include what was just written, also where no service
        runs.
        """
        from memsearch_engine.core.settings import load
        from memsearch_engine.longterm.injected import prepare

        self._register()
        with contextlib.suppress(OSError, MemsearchError):
            prepare(self.home, load(self.home), self.place.memory, self.project.id)

    def edit(
        self, name: str, text: str, *, if_match: str = "", path: str = "", is_checked: bool = False
    ) -> Note:
        """Replace an entry's text; its heading, anchors and marks stay. Secrets in it are replaced.
        Undoable.

        Args:
            if_match: the hash that the entry must still have; '' for whatever it has now.
            path: the file that it stands in, where that is known.
            is_checked: a person has seen the text; else what an agent writes waits as in ``add``.

        Raises:
            NotFound: no such entry. Conflict: it changed since it was read; ``current`` has
                what stands there.
            UsageError: the text is empty, or would begin another entry.
        """
        from memsearch_engine.journal.note import Note
        from memsearch_engine.journal.write import Target, target_of
        from memsearch_engine.secrets.scan import redact

        path, entry = self._found(name, path)
        clean, found = redact(text, self.home)
        now = self.journal.edit(
            self.memory_of(path), Target(path, entry.id, if_match or entry.hash), clean
        )
        if not is_checked and (marks := self._marks_of("", clean)):
            for mark in marks:
                now = self.journal.mark(
                    self.memory_of(path), target_of(path, now), mark, marks[mark]
                )
        self._prepare()
        return Note.of(now, path, tuple(finding.placeholder for finding in found))

    def mark(self, name: str, mark: str, value: str | None = "") -> Note:
        """Set a mark of an entry (``pin``, ``expires``, ``confidence``, ``superseded-by``), or take
        it away with None. Undoable.
        """
        from memsearch_engine.journal.note import Note
        from memsearch_engine.journal.write import target_of

        path, entry = self._found(name)
        if value and mark == "superseded-by":
            self._check_is_note(self.section(value))
        now = self.journal.mark(self.memory_of(path), target_of(path, entry), mark, value)
        self._prepare()
        return Note.of(now, path)

    def delete(self, *notes: str | Note, if_match: str = "") -> list[Note]:
        """Remove entries, all or none; one step of undo. Returns what was removed.

        Args:
            notes: ids; or notes as they were read: then each goes only as long as it is still that.
            if_match: the hash that the entry (one) must still have.

        Raises:
            NotFound: no such entry. Conflict: one changed since it was read.
        """
        from memsearch_engine.journal.note import Note
        from memsearch_engine.journal.write import Target

        gone = [note if isinstance(note, Note) else self.note(note) for note in notes]
        if if_match and len(gone) != 1:
            raise UsageError("if_match is for one entry")
        if gone:
            targets = [Target(note.path, note.id, if_match or note.hash) for note in gone]
            self.journal.delete(self.memory_of(gone[0].path), targets)
            self._prepare()
        return gone

    def remove(self, targets: Sequence[Target]) -> None:
        """Remove entries as somebody saw them, all or none; one step of undo. Raises NotFound,
        Conflict.
        """
        if targets:
            self.journal.delete(self.memory_of(targets[0].path), list(targets))
            self._prepare()

    def mark_each(self, targets: Sequence[Target], mark: str, value: str | None) -> list[Entry]:
        """Set a mark of several entries as somebody saw them, all or none; one step of undo. Raises
        NotFound, Conflict.
        """
        if not targets:
            return []
        marked = self.journal.mark_each(self.memory_of(targets[0].path), list(targets), mark, value)
        self._prepare()
        return marked

    def _check_is_note(self, section: Section) -> None:
        """Raises UsageError for what an agent keeps itself."""
        if section.path.startswith(
            f"{self.home.longterm_search}{os.sep}"
        ) and section.path.endswith(f"{os.sep}native.md"):
            raise UsageError(
                f"{section.entry.id} is in an agent's own file, and no note",
                "`memsearch native import` makes one of it",
            )

    def _found(self, name: str, path: str = "") -> tuple[str, Entry]:
        if path:
            return path, self._entry_in(path, name)
        section = self.section(name)
        return section.path, section.entry

    def _entry_in(self, path: str, name: str) -> Entry:
        from memsearch_engine.journal.files import read_day

        entry = read_day(path).find(name)
        if entry is None:
            raise NotFound(
                f"no entry {name} in {path}",
                "`memsearch entries` lists what is there; it may have moved",
            )
        return entry

    def undo(self, name: str = "", *, everywhere: bool = False) -> list[Change]:
        """Take back the last change of this project, of one entry (also a deleted one) or of all
        projects. Works across restarts.

        Returns what was undone, newest first; [] where there is nothing. Raises Conflict where an
        entry changed since.
        """
        done = self.journal.undo(*self._step(name, everywhere))
        if done:
            self._prepare()
        return done

    def redo(self, name: str = "", *, everywhere: bool = False) -> list[Change]:
        """Do again what was last undone."""
        done = self.journal.redo(*self._step(name, everywhere))
        if done:
            self._prepare()
        return done

    def _step(self, name: str, everywhere: bool) -> tuple[str, str]:
        entry_id = self._also_deleted(name) if name else ""
        return "" if everywhere or entry_id else os.path.abspath(self.place.memory), entry_id

    def _also_deleted(self, name: str) -> str:
        """An entry's full id; *name* itself where it is not there any more."""
        try:
            return self.section(name).entry.id
        except NotFound:
            return name

    def history(self, name: str = "", *, limit: int = 20, everywhere: bool = False) -> list[Change]:
        """Changes of this project's notes (or of all projects'), or of one entry (also a deleted
        one), newest first.
        """
        log = self.journal.history
        where = "" if everywhere else os.path.abspath(self.place.memory)
        found = log.of_entry(self._also_deleted(name)) if name else log.recent(where, limit)
        return found[:limit]

    def forget_changes(self, days: float, *, dry_run: bool = False) -> int:
        """Forget changes older than so many days, of all projects: they can't be undone any more.
        How many.
        """
        return self.journal.history.prune(max_days=days, dry_run=dry_run)

    def restore(self, change: int) -> Change:
        """Bring an entry back to how it stood before a change (its ``seq``), as a new change that
        can itself be undone.
        """
        done = self.journal.restore(change)
        self._prepare()
        return done

    # -- what sessions are told

    def remember(self, fact: str, *, everywhere: bool = False, by: str = "") -> Fact:
        """Note a fact down that every new session of this project (or of all) is told until it is
        forgotten.

        What an agent writes is told as its word. Where ``add`` would have it wait, it becomes a
        note that does (``Fact.waits``).

        Args:
            by: the agent that writes, as it calls itself; '' for whom this process's
                environment names.
        """
        from memsearch_engine.core.settings import load
        from memsearch_engine.longterm.facts import Fact as Made
        from memsearch_engine.longterm.facts import remember
        from memsearch_engine.longterm.injected import refresh

        if not everywhere and fact.strip():
            self._register()
        project = "" if everywhere else self.project.id
        marks = self._marks_of(by, fact)
        if why := marks.get("trust"):
            note = self.add(fact, by=by)
            return Made(note.id, project[:8], note.title, note.path, marks["by"], why)
        name = "" if everywhere else self.project.name
        noted = remember(self.home, fact, project=project, name=name, by=marks.get("by", ""))
        refresh(self.home, load(self.home))
        return noted

    def forgettable(self, words: str) -> list[Match]:
        """Lines of the long-term memory, of this project and of everywhere, that hold every word of
        *words* (or the fact of that id).
        """
        from memsearch_engine.longterm.forgetting import find

        return find(self.home, words, "" if self.everything else self.project.id)

    def forget(self, words: str, matches: list[Match]) -> int:
        """Take what ``forgettable`` found out of the long-term memory. Returns the number by which
        it can be restored.
        """
        from memsearch_engine.core.settings import load
        from memsearch_engine.longterm.forgetting import forget
        from memsearch_engine.longterm.injected import refresh

        number = forget(self.home, words, matches)
        refresh(self.home, load(self.home))
        return number

    def facts(self) -> list[Fact]:
        """Remembered facts that hold here, oldest first."""
        from memsearch_engine.longterm.facts import facts

        return [
            fact
            for fact in facts(self.home)
            if self.everything or fact.scope in ("", self.project.id[:8])
        ]

    def context(self, agent: str = "claude-code") -> Context:
        """Exactly what a new session of *agent* in this project would be told, and how many tokens
        that is.
        """
        from memsearch_engine.core import agent_registry
        from memsearch_engine.core.settings import load
        from memsearch_engine.injection.session_start import build
        from memsearch_engine.longterm.injected import injected, injected_page, outdated

        if agent not in agent_registry.names():
            raise UsageError(
                f"no agent named {agent}", f"known: {', '.join(agent_registry.names())}"
            )
        settings = load(self.home)
        inject = settings.recall.inject
        page = (
            injected_page(self.home, settings, self.place.memory, self.project.id) if inject else ""
        )
        kept = (
            injected(self.home, self.project.id, settings.longterm.max_tokens, page)
            if inject
            else ""
        )
        most = settings.recall.max_tokens if inject else 0
        return build(
            self.home,
            self.place.memory,
            agent_registry.context_lines(agent),
            most,
            longterm=kept,
            origin=self.journal.origin,
            outdated=outdated(self.home, self.project.id),
        )

    def told_at(self, prompt: str, *, agent: str = "", session: str = "") -> Telling:
        """What a session would be told at *prompt*, and why the other notes found would not be;
        nothing is injected by asking.

        Args:
            agent, session: a session that was told things before; a new one where none is named.

        Raises:
            Unreachable: the service can't be started.
        """
        from memsearch_engine.injection.prompt import Telling

        return self.call(
            "recall",
            Telling,
            timeout_s=_LONG_S,
            place=self.place_param,
            prompt=prompt,
            agent=agent,
            session=session,
            dry=True,
        )

    def told_after_compaction(self, agent: str, session: str) -> Telling:
        """What a session would be told if it were compacted now: what it had noted that its agent's
        summary lacks.
        """
        from memsearch_engine.injection.prompt import Telling

        return self.call(
            "carry_on",
            Telling,
            timeout_s=_LONG_S,
            place=self.place_param,
            agent=agent,
            session=session,
            dry=True,
        )

    def receipts(self, session: str = "", limit: int = 50) -> list[Receipt]:
        """What sessions were told unasked, newest first, and what came of it."""

        from memsearch_engine.injection.injection_log import records

        return records(self.home, session, limit)

    def less(self, name: str) -> list[str]:
        """Tell a note no more at prompts like those that it was told at; ``more`` takes that back.
        Returns the entries meant.

        Raises:
            NotFound: no session was told that note.
        """
        from memsearch_engine.injection import injection_log

        if len(name) < _MIN_NAME:
            raise UsageError(f"{name!r} may be any note", f"at least {_MIN_NAME} digits of its id")
        if not (found := injection_log.demote(self.home, name)):
            raise NotFound(
                f"no session was told {name} at a prompt",
                "`memsearch context --log` lists what was told",
            )
        return found

    def more(self, name: str) -> list[str]:
        """Take ``less`` back. Returns the entries meant. Raises NotFound where there is nothing to
        take back.
        """
        from memsearch_engine.injection import injection_log

        if len(name) < _MIN_NAME:
            raise UsageError(f"{name!r} may be any note", f"at least {_MIN_NAME} digits of its id")
        if not (found := injection_log.promote(self.home, name)):
            raise NotFound(
                f"{name} is told wherever it fits", "`memsearch context --less NOTE` makes it rarer"
            )
        return found

    def forget_project(self, name: str) -> Project:
        """Know a project no more, by its name or the path of its folder: it is neither watched nor
        searched, and what is indexed of it is dropped. Its notes and their history stay; working in
        it makes it known again.

        Raises:
            UsageError: no project of that name, or several. Unreachable: the service can't be
                started.
        """
        named = self._named([name]) if os.sep not in name else []
        path = os.path.abspath(name)
        found = [p for p in named or self._named(["*"]) if named or p.root == path]
        if len(found) != 1:
            several = ", ".join(project.root for project in found)
            raise UsageError(
                f"several projects are named {name}: {several}"
                if found
                else f"no project at {path}",
                "name one by its path: `memsearch project --all` lists them",
            )
        (project,) = found
        self.call("forget_project", bool, timeout_s=90, root=project.root)
        self.home.context(project.memory).unlink(missing_ok=True)
        self._projects = None
        return project

    # -- the index

    def index(
        self,
        *paths: str,
        force: bool = False,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[IndexResult]:
        """Bring the index of this project (or of all) up to date now; the service does so by itself
        a moment after each change.

        Args:
            paths: files and folders that are indexed with this project from now on.
            force: read every file again (vectors of known texts are kept).
            progress: is given ``phase``, ``done`` and ``total`` now and then.

        Raises:
            Unreachable: the service can't be started.
        """
        from memsearch_engine.index.rows import IndexResult

        return self.call(
            "index",
            list[IndexResult],
            timeout_s=_LONG_S,
            progress=progress,
            place=self.place_param,
            paths=[os.path.abspath(path) for path in paths],
            force=force,
            all_projects=self.everything,
        )

    def watch(self, *, timeout_s: float | None = None) -> Iterator[Update]:
        """Notes that are added, changed and removed from now on, by whomever; for ever, or for
        *timeout_s* seconds.
        """
        from memsearch_engine.service.changes import updates

        return updates(self._listed_anew, self.connect, timeout_s)

    def _listed_anew(self) -> list[DayFile]:
        if self.everything:
            self._projects = None  # others come
        return self.files()


def _parsed(query: str | SearchRequest, **options: Any) -> SearchRequest:
    """A query as a request. Arguments of a command may hold any bytes: they become valid text."""
    from memsearch_engine.search.request import SearchRequest, parse

    if isinstance(query, SearchRequest):
        return query
    return parse(query.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), **options)


def _deepened(request: SearchRequest) -> SearchRequest:
    """More hits for a request of a past day: some of them did not exist then."""
    return request.with_(limit=3 * request.limit) if request.as_of else request


def _sent(request: SearchRequest, connection: Connection) -> dict[str, Any]:
    """The parameters that carry a request: typed, or as text to a service of protocol 1."""
    is_typed = connection.server.get("protocol", 1) >= _TYPED_REQUESTS
    return {"request": request} if is_typed else {"query": request.raw}


def _moment(day: str, time: str) -> tuple[str, str]:
    """(day, time), those of now where they are ''. Raises UsageError."""
    now = datetime.now()
    try:
        day = date.fromisoformat(day).isoformat() if day else now.date().isoformat()
        time = datetime.strptime(time, "%H:%M").strftime("%H:%M") if time else now.strftime("%H:%M")
    except ValueError as error:
        raise UsageError(str(error), "a day is 2026-02-09, a time 14:30") from error
    return day, time
