"""The memory of one project or of all projects, for programs, commands and screens.

``Memory`` determines the project, removes secrets from a text before it is written, and changes a
note only if the note is as the caller saw it. It calls the resident process and starts it if
needed. Reading works without that process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsearch_engine.core.errors import MemsearchError, NotFound, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Place, Project
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.scope import Scope
from memsearch_engine.service.calls import call
from memsearch_engine.service.launch import connect

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine.agents.transcripts.locate import Excerpt
    from memsearch_engine.capture.importing import Import
    from memsearch_engine.capture.plugins import McpClients, Plugins
    from memsearch_engine.capture.retention import Evidence
    from memsearch_engine.capture.transcripts import Transcripts
    from memsearch_engine.core.settings import Settings
    from memsearch_engine.index.rows import IndexResult
    from memsearch_engine.injection.api import Injections
    from memsearch_engine.injection.session_start import Context
    from memsearch_engine.injection.supersessions import Supersessions
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.history import Change
    from memsearch_engine.journal.model import Entry
    from memsearch_engine.journal.note import Note
    from memsearch_engine.journal.write import Target
    from memsearch_engine.longterm.api import LongTerm
    from memsearch_engine.longterm.digest.api import Compact
    from memsearch_engine.longterm.digest.compact import DigestRequest
    from memsearch_engine.longterm.facts import Fact
    from memsearch_engine.longterm.forgetting import Match
    from memsearch_engine.longterm.pages_api import Pages
    from memsearch_engine.longterm.skills_api import Skills
    from memsearch_engine.review.agent_files import AgentFiles
    from memsearch_engine.review.conflicts import Conflicts
    from memsearch_engine.review.queue import ReviewQueue
    from memsearch_engine.review.repair import Repair
    from memsearch_engine.review.secrets import Secrets
    from memsearch_engine.review.staleness import Staleness
    from memsearch_engine.review.trust import Trust
    from memsearch_engine.search.files import Files
    from memsearch_engine.search.request import SearchRequest
    from memsearch_engine.service.answers import IndexStatus
    from memsearch_engine.service.api import Capture, Service
    from memsearch_engine.service.changes import Update
    from memsearch_engine.service.configuration import Configuration
    from memsearch_engine.service.models import Models
    from memsearch_engine.service.past_actions import PastActions
    from memsearch_engine.service.search_client import Searcher
    from memsearch_engine.sync.api import Sync
    from memsearch_engine.sync.sharing.api import Sharing

_TITLE = 300  # characters
_LONG_S = 24 * 3600.0

#: The parts of a memory: attribute -> module and class. Each is imported when it is first used.
_PARTS = {
    "actions": "service.past_actions:PastActions",
    "agent_files": "review.agent_files:AgentFiles",
    "capture": "service.api:Capture",
    "config": "service.configuration:Configuration",
    "conflicts": "review.conflicts:Conflicts",
    "evidence": "capture.retention:Evidence",
    "files": "search.files:Files",
    "injection": "injection.api:Injections",
    "longterm": "longterm.api:LongTerm",
    "mcp_clients": "capture.plugins:McpClients",
    "models": "service.models:Models",
    "pages": "longterm.pages_api:Pages",
    "plugins": "capture.plugins:Plugins",
    "queries": "service.search_client:Searcher",
    "repair": "review.repair:Repair",
    "review": "review.queue:ReviewQueue",
    "secrets": "review.secrets:Secrets",
    "service": "service.api:Service",
    "sharing": "sync.sharing.api:Sharing",
    "skills": "longterm.skills_api:Skills",
    "staleness": "review.staleness:Staleness",
    "supersession": "injection.supersessions:Supersessions",
    "sync": "sync.api:Sync",
    "transcripts": "capture.transcripts:Transcripts",
    "trust": "review.trust:Trust",
}
_WRITERS = (
    "agent_files",
    "review",
    "staleness",
)  # parts that change notes as the memory itself does


class Memory:
    """One project's memory (or all of them).

    Threads may share it: each open store is locked or bound to no thread. In asyncio, call it by
    ``asyncio.to_thread``.

    Args:
        path: a folder inside the project; the current one by default.
        home: the folder with indexes, settings and history; by default ``MEMSEARCH_HOME``, else
            ``~/.memsearch``.
        everything: all registered projects instead of one.
        project: a registered project by name instead of the one at *path* (``*``: all).

    Raises:
        UsageError: no project of that name.

    >>> with Memory() as memory:
    ...     note = memory.add("Staging runs Postgres 16")
    ...     [hit.text for hit in memory.search("which postgres on staging")]
    ['- Staging runs Postgres 16']
    """

    actions: PastActions
    """What agents did: commands, errors, files."""
    agent_files: AgentFiles
    """Memories that agents keep by themselves (CLAUDE.md, AGENTS.md, auto memories)."""
    capture: Capture
    """Turns on their way into memory: the queue, coverage, cost."""
    config: Configuration
    """The settings, read and changed."""
    conflicts: Conflicts
    """Notes whose text was changed in two places."""
    evidence: Evidence
    """The archive of conversations."""
    files: Files
    """The files of notes, and what the index knows of them."""
    injection: Injections
    """What is injected into sessions: previews and the log."""
    longterm: LongTerm
    """What was learned from sessions."""
    mcp_clients: McpClients
    """``memsearch mcp`` in the settings of its clients."""
    models: Models
    """Embedding models."""
    pages: Pages
    """PROJECT.md and USER.md."""
    plugins: Plugins
    """Hooks and skills in the agents' own configuration."""
    queries: Searcher
    """More ways to search: by words alone, by filters alone, as of a day."""
    repair: Repair
    """Junk and repetitions among notes."""
    review: ReviewQueue
    """All that waits for the owner's decision."""
    secrets: Secrets
    """Secrets in notes, and removing them."""
    service: Service
    """The resident process."""
    sharing: Sharing
    """Notes for the project's team."""
    skills: Skills
    """Skills that were drafted from notes."""
    staleness: Staleness
    """Whether what notes name still exists in the repository."""
    supersession: Supersessions
    """Which notes supersede which."""
    sync: Sync
    """One memory on several machines."""
    transcripts: Transcripts
    """The conversations behind notes."""
    trust: Trust
    """Quarantined notes."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        home: Home | str | os.PathLike[str] | None = None,
        everything: bool = False,
        project: str | None = None,
    ) -> None:
        if not isinstance(home, Home):
            home = Home(Path(home).expanduser().absolute()) if home else Home.from_env()
        with contextlib.suppress(FileNotFoundError):  # said by whoever needs the folder's project
            path = path or os.getcwd()
        self._scope = Scope(
            home, path, everything=everything, project=project, call=partial(call, home)
        )

    if not TYPE_CHECKING:  # else each attribute would be taken for one of them

        def __getattr__(self, name: str) -> Any:
            if name not in _PARTS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            room, _, kind = _PARTS[name].partition(":")
            made = getattr(import_module(f"memsearch_engine.{room}"), kind)
            part = made(self._scope, self) if name in _WRITERS else made(self._scope)
            setattr(self, name, part)
            return part

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files and connections. The service continues to run."""
        self._scope.close()

    # -- which projects

    @property
    def home(self) -> Home:
        """The folder with indexes, settings and history."""
        return self._scope.home

    @property
    def everything(self) -> bool:
        """Whether this is about all registered projects."""
        return self._scope.everything

    @property
    def place(self) -> Place:
        """The project's folders.

        Raises:
            FileNotFoundError: the current folder no longer exists.
        """
        return self._scope.place

    @property
    def project(self) -> Project:
        """The project at ``place``."""
        return self._scope.project

    @property
    def projects(self) -> list[Project]:
        """The projects that this memory is about."""
        return self._scope.projects

    @property
    def shortfall(self) -> str:
        """Why some projects could not be listed; ``""`` if all are known."""
        return self._scope.shortfall

    @property
    def settings(self) -> Settings:
        """The owner's settings, read now. A project's file only adds settings of its index.

        Raises:
            SettingsError: a file can't be read.
        """
        return self._scope.settings

    def known(self) -> list[Project]:
        """Every registered project, one for each path, newest first. Raises Unreachable."""
        return self._scope.known()

    def forget_project(self, name: str) -> Project:
        """Unregister a project and drop its index. Its notes and their history stay.

        The project is registered again when somebody works in it.

        Args:
            name: the project's name, or the path of its folder.

        Raises:
            UsageError: no project of that name, or several. Unreachable: the service can't be
                started.
        """
        named = self._scope.named([name]) if os.sep not in name else []
        path = os.path.abspath(name)
        found = [p for p in named or self._scope.named(["*"]) if named or p.root == path]
        if len(found) != 1:
            several = ", ".join(project.root for project in found)
            raise UsageError(
                f"several projects are named {name}: {several}"
                if found
                else f"no project at {path}",
                "name one by its path: `memsearch project --all` lists them",
            )
        (project,) = found
        self._scope.call("forget_project", bool, timeout_s=90, root=project.root)
        self._scope.home.context(project.memory).unlink(missing_ok=True)
        self._scope.forget_projects()
        return project

    # -- finding and reading

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
            query: words, and filters such as ``agent:codex after:7d is:pinned -draft``; or a parsed
                request, whose own limit, mode and fusion then count.
            limit: number of hits.
            mode: ``hybrid``, ``dense`` (meaning), ``bm25`` or ``lexical`` (words).
            fusion: ``weighted`` or ``rrf``; the configured one by default.
            wait: start the service if needed and give it four seconds; else answer from what is
                here now.

        Raises:
            UsageError: the query names an unknown project or filter.
        """
        return self.queries.search(query, limit, mode, fusion, wait=wait)

    def note(self, name: str) -> Note:
        """Return the current version of an entry.

        Args:
            name: the id of a hit, an entry or a chunk, or an unambiguous prefix of one.

        Raises:
            NotFound: no such entry in any project. UsageError: the id is too short or ambiguous.
        """
        return self._scope.note(name)

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

        found = self._scope.section(name)
        reading.note_opened(self._scope.home, found)
        return reading.section_view(
            self._scope.catalog,
            self._scope.journal.origin,
            lambda: read_overrides(self._scope.home),
            found.project or self._scope.project,
            found,
            lines=lines,
            whole=whole,
        )

    def expand(self, name: str) -> Note:
        """Return the same as ``note``, and record a use.

        The use counts for the note's session, which is then remembered longer, and for the
        injection log.
        """
        note = self.note(name)
        self.opened(note.id, note.agent, note.session)
        return note

    def opened(self, entry_id: str, agent: str, session: str) -> None:
        """Record that the content of an entry was read."""
        from memsearch_engine.longterm.store import note_read

        note_read(self._scope.home, agent, session)
        from memsearch_engine.injection.injection_log import mark_opened

        mark_opened(self._scope.home, entry_id)

    def days(self) -> list[DayFile]:
        """Dated files, newest first."""
        from memsearch_engine.journal.shared import list_dated

        found = [day for project in self._scope.projects for day in list_dated(project.memory)]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def every_entry(self) -> Iterator[tuple[DayFile, Entry]]:
        """All entries, newest day first. Files that can't be read are left out."""
        return self._scope.every_entry()

    def entries(
        self,
        day: str = "",
        *,
        agent: str = "",
        limit: int | None = None,
        last: str = "",
        as_of: str = "",
    ) -> list[Note]:
        """Return notes, newest day first, and within a day in the order of the file.

        Args:
            day: only this day (``YYYY-MM-DD``); all days by default.
            agent: only notes of this agent.
            limit: maximum number of notes.
            last: the last day of a range that begins with *day*.
            as_of: a day; notes are returned as they were at its end, as far as the history reaches.
        """
        from memsearch_engine.journal.note import Note

        found: list[Note] = []
        then = self.queries.then(as_of) if as_of else None
        for file in self.days():
            if (day and not day <= file.day <= (last or day)) or (as_of and file.day > as_of):
                continue
            with contextlib.suppress(OSError):
                now = self._scope.read(file)
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
        """Return the conversation of an entry, from its agent or from the archive.

        This counts as a use of the session.

        Args:
            turn: another turn of the same session.
            context: number of turns before and after it.
            full: whole texts and outputs; else at most about 15,000 tokens, the nearest turns
                first (``Excerpt.left_out``).
            raw: include secrets; they are replaced otherwise.

        Raises:
            NotFound: no such entry, one that a person wrote, or its conversation is lost.
        """
        from memsearch_engine.longterm.store import note_read

        entry = self._scope.section(name).entry
        found = self.transcripts.conversation(entry, turn=turn, context=context)
        note_read(self._scope.home, entry.agent, entry.session)
        return self.transcripts.presentable(found, full, raw)

    def compact(self, source: str = "", asked: DigestRequest | None = None) -> Compact:
        """A digest of many notes, which can be written into today's file as one note.

        Args:
            source: a file, a day, days (``A..B``), ``week`` for the seven days before today, or a
                query; '' for all notes.
            asked: who writes it and how; the settings say so where it is None.

        Raises:
            UsageError. NotFound: no notes. SettingsError: no such provider.
        """
        from memsearch_engine.longterm.digest.api import Compact
        from memsearch_engine.longterm.digest.compact import DigestRequest

        return Compact(self._scope, self.search, source, asked or DigestRequest())

    def import_sessions(
        self,
        *agents: str,
        since: str = "",
        into: str = "",
        orphans: str = "",
        summarize: bool = False,
    ) -> Import:
        """Import sessions of agents from before the capture: planned first, then written.

        Args:
            agents: whose sessions; those of all agents on this machine where none is named.
            since: ISO day; earlier turns are left out.
            into: only turns that belong into this memory folder.
            orphans: a project folder for turns whose own is gone; without it they are left out.
            summarize: by the model of ``capture.summarize``, within its budgets; else without one.
        """
        from memsearch_engine.capture.importing import Import

        return Import(
            self._scope, agents, since=since, into=into, orphans=orphans, summarize=summarize
        )

    # -- writing

    def add(self, text: str, *, day: str = "", time: str = "", by: str = "") -> Note:
        """Write a note. It can be undone.

        A note by an agent has the mark ``by``. It is quarantined if it addresses agents with
        instructions, or if the agent's session involved outside content. Secrets are replaced
        (``Note.replaced``). Text that would begin another entry, a comment or an anchor is escaped.

        Args:
            day: ``YYYY-MM-DD``; today by default.
            time: ``HH:MM``; now by default.
            by: name of the agent that writes; by default the agent that runs this process, if any.

        Raises:
            UsageError: the text is empty, or *day* or *time* is not valid.
            Unreachable: the file can't be written.
        """
        from memsearch_engine.journal.note import Note
        from memsearch_engine.secrets.scan import redact

        clean, found = redact(text.strip("\n"), self._scope.home)
        if not clean.strip():
            raise UsageError("nothing to write")
        if not clean.lstrip().startswith(("-", "*", "#", ">", "|", "`")):
            clean = "\n".join(
                f"  {line}" if number else f"- {line}"
                for number, line in enumerate(clean.splitlines())
            )
        day, time = _moment(day, time)
        marks = self._marks_of(by, clean)
        added = self._scope.journal.add_note(
            self._scope.place.memory, day, time, clean, marks=marks
        )
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
        """Return the marks of a text that an agent writes; {} if a person writes it."""
        from memsearch_engine.capture import authors

        author = authors.named(by) if by else authors.here()
        if author is None:
            return {}
        why = authors.doubt(self._scope.home, author, self._scope.place.root, text)
        return {"by": author.agent} | ({"trust": str(why)} if why else {})

    def _prepare(self) -> None:
        """Update the context that is injected at the next start of a session.

        This also works without the service.
        """
        from memsearch_engine.core.settings import load
        from memsearch_engine.longterm.injected import prepare

        self._scope.register()
        with contextlib.suppress(OSError, MemsearchError):
            prepare(
                self._scope.home,
                load(self._scope.home),
                self._scope.place.memory,
                self._scope.project.id,
            )

    def edit(
        self, name: str, text: str, *, if_match: str = "", path: str = "", is_checked: bool = False
    ) -> Note:
        """Replace an entry's text. Its heading, anchors and marks stay. It can be undone.

        Secrets in the text are replaced.

        Args:
            if_match: the expected hash of the entry; ``""`` accepts any.
            path: the entry's file, if it is known.
            is_checked: a person has read the text; else an agent's text may be quarantined as in
                ``add``.

        Raises:
            NotFound: no such entry.
            Conflict: it changed since it was read; ``current`` has its present text.
            UsageError: the text is empty, or would begin another entry.
        """
        from memsearch_engine.journal.note import Note
        from memsearch_engine.journal.write import Target, target_of
        from memsearch_engine.secrets.scan import redact

        path, entry = self._found(name, path)
        clean, found = redact(text, self._scope.home)
        now = self._scope.journal.edit(
            self._scope.memory_of(path), Target(path, entry.id, if_match or entry.hash), clean
        )
        if not is_checked and (marks := self._marks_of("", clean)):
            for mark in marks:
                now = self._scope.journal.mark(
                    self._scope.memory_of(path), target_of(path, now), mark, marks[mark]
                )
        self._prepare()
        return Note.of(now, path, tuple(finding.placeholder for finding in found))

    def mark(self, name: str, mark: str, value: str | None = "") -> Note:
        """Set or remove a mark of an entry. It can be undone.

        Args:
            mark: ``pin``, ``expires``, ``confidence`` or ``superseded-by``.
            value: None removes the mark.
        """
        from memsearch_engine.injection.supersessions import check_is_note
        from memsearch_engine.journal.note import Note
        from memsearch_engine.journal.write import target_of

        path, entry = self._found(name)
        if value and mark == "superseded-by":
            check_is_note(self._scope.home, self._scope.section(value))
        now = self._scope.journal.mark(
            self._scope.memory_of(path), target_of(path, entry), mark, value
        )
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
            self._scope.journal.delete(self._scope.memory_of(gone[0].path), targets)
            self._prepare()
        return gone

    def delete_each(self, targets: Sequence[Target]) -> None:
        """Remove entries, all or none, as one step of undo.

        Args:
            targets: the entries as they were read.

        Raises:
            NotFound: an entry does not exist.
            Conflict: an entry has changed.
        """
        if targets:
            self._scope.journal.delete(self._scope.memory_of(targets[0].path), list(targets))
            self._prepare()

    def mark_each(self, targets: Sequence[Target], mark: str, value: str | None) -> list[Entry]:
        """Set a mark of several entries, all or none, as one step of undo.

        Args:
            targets: the entries as they were read.

        Raises:
            NotFound: an entry does not exist.
            Conflict: an entry has changed.
        """
        if not targets:
            return []
        marked = self._scope.journal.mark_each(
            self._scope.memory_of(targets[0].path), list(targets), mark, value
        )
        self._prepare()
        return marked

    def _found(self, name: str, path: str = "") -> tuple[str, Entry]:
        if path:
            return path, self._entry_in(path, name)
        section = self._scope.section(name)
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
        """Undo the last change of this project. This also works after a restart.

        Args:
            name: undo the last change of this entry, which may be deleted.
            everywhere: undo the last change of all projects.

        Returns:
            The undone changes, newest first; [] if there are none.

        Raises:
            Conflict: an entry has changed since.
        """
        done = self._scope.journal.undo(*self._step(name, everywhere))
        if done:
            self._prepare()
        return done

    def redo(self, name: str = "", *, everywhere: bool = False) -> list[Change]:
        """Redo the last undone change. The arguments are those of ``undo``."""
        done = self._scope.journal.redo(*self._step(name, everywhere))
        if done:
            self._prepare()
        return done

    def _step(self, name: str, everywhere: bool) -> tuple[str, str]:
        entry_id = self._also_deleted(name) if name else ""
        return "" if everywhere or entry_id else os.path.abspath(self._scope.place.memory), entry_id

    def _also_deleted(self, name: str) -> str:
        """An entry's full id; *name* itself where it is not there any more."""
        try:
            return self._scope.section(name).entry.id
        except NotFound:
            return name

    def history(self, name: str = "", *, limit: int = 20, everywhere: bool = False) -> list[Change]:
        """Return changes of notes, newest first.

        Args:
            name: only changes of this entry, which may be deleted.
            everywhere: of all projects.
        """
        log = self._scope.journal.history
        where = "" if everywhere else os.path.abspath(self._scope.place.memory)
        found = log.of_entry(self._also_deleted(name)) if name else log.recent(where, limit)
        return found[:limit]

    def forget_changes(self, days: float, *, dry_run: bool = False) -> int:
        """Forget the changes of all projects that are older than *days*. They can't be undone then.

        Returns:
            The number of changes.
        """
        return self._scope.journal.history.prune(max_days=days, dry_run=dry_run)

    def restore(self, change: int) -> Change:
        """Restore an entry as it was before a change.

        This is a new change, which can be undone.

        Args:
            change: the number (``seq``) of the change.
        """
        done = self._scope.journal.restore(change)
        self._prepare()
        return done

    # -- what new sessions get

    def remember(self, fact: str, *, everywhere: bool = False, by: str = "") -> Fact:
        """Store a fact that is injected into every new session until it is forgotten.

        A fact by an agent is injected with the agent's name. If ``add`` would quarantine the text,
        it becomes a quarantined note instead (``Fact.waits``).

        Args:
            everywhere: for all projects instead of this one.
            by: name of the agent that writes; by default the agent that runs this process, if any.
        """
        from memsearch_engine.core.settings import load
        from memsearch_engine.longterm.facts import Fact as Made
        from memsearch_engine.longterm.facts import remember
        from memsearch_engine.longterm.injected import refresh

        if not everywhere and fact.strip():
            self._scope.register()
        project = "" if everywhere else self._scope.project.id
        marks = self._marks_of(by, fact)
        if why := marks.get("trust"):
            note = self.add(fact, by=by)
            return Made(note.id, project[:8], note.title, note.path, marks["by"], why)
        name = "" if everywhere else self._scope.project.name
        noted = remember(self._scope.home, fact, project=project, name=name, by=marks.get("by", ""))
        refresh(self._scope.home, load(self._scope.home))
        return noted

    def forgettable(self, words: str) -> list[Match]:
        """Find lines of the long-term memory, for this project and for all, with every word.

        Args:
            words: the words, or the id of a fact.
        """
        from memsearch_engine.longterm.forgetting import find

        return find(
            self._scope.home, words, "" if self._scope.everything else self._scope.project.id
        )

    def forget(self, words: str, matches: list[Match]) -> int:
        """Remove the lines that ``forgettable`` found from the long-term memory.

        Returns:
            The number with which they can be restored.
        """
        from memsearch_engine.core.settings import load
        from memsearch_engine.longterm.forgetting import forget
        from memsearch_engine.longterm.injected import refresh

        number = forget(self._scope.home, words, matches)
        refresh(self._scope.home, load(self._scope.home))
        return number

    def facts(self) -> list[Fact]:
        """Remembered facts that hold here, oldest first."""
        from memsearch_engine.longterm.facts import facts

        return [
            fact
            for fact in facts(self._scope.home)
            if self._scope.everything or fact.scope in ("", self._scope.project.id[:8])
        ]

    def context(self, agent: str = "claude-code") -> Context:
        """Return the context that a new session of *agent* in this project gets, with its tokens.

        Raises:
            UsageError: no such agent.
        """
        from memsearch_engine.core import agent_registry
        from memsearch_engine.core.settings import load
        from memsearch_engine.injection.hook_answers import text_for
        from memsearch_engine.injection.session_start import build
        from memsearch_engine.longterm.injected import injected, injected_page, outdated

        if agent not in agent_registry.names():
            raise UsageError(
                f"no agent named {agent}", f"known: {', '.join(agent_registry.names())}"
            )
        settings = load(self._scope.home)
        inject = settings.recall.inject
        page = (
            injected_page(
                self._scope.home, settings, self._scope.place.memory, self._scope.project.id
            )
            if inject
            else ""
        )
        kept = (
            injected(self._scope.home, self._scope.project.id, settings.longterm.max_tokens, page)
            if inject
            else ""
        )
        most = settings.recall.max_tokens if inject else 0
        context = build(
            self._scope.home,
            self._scope.place.memory,
            agent_registry.context_lines(agent),
            most,
            longterm=kept,
            origin=self._scope.journal.origin,
            outdated=outdated(self._scope.home, self._scope.project.id),
        )
        context.text = text_for(agent_registry.agent(agent), context.text)
        return context

    # -- the service

    def index(
        self,
        *paths: str,
        force: bool = False,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[IndexResult]:
        """Update the index of this project (or of all) now.

        The service does this by itself a moment after each change.

        Args:
            paths: files and folders that are indexed with this project from now on.
            force: read unchanged files too. Stored vectors are reused.
            progress: called with ``phase``, ``done`` and ``total``.

        Raises:
            Unreachable: the service can't be started.
        """
        from memsearch_engine.index.rows import IndexResult

        return self._scope.call(
            "index",
            list[IndexResult],
            timeout_s=_LONG_S,
            progress=progress,
            place=self._scope.place_param,
            paths=[os.path.abspath(path) for path in paths],
            force=force,
            all_projects=self._scope.everything,
        )

    def watch(self, *, timeout_s: float | None = None) -> Iterator[Update]:
        """Yield the notes that are added, changed and removed from now on, by anyone.

        Args:
            timeout_s: seconds until the end; None for no end.
        """
        from memsearch_engine.service.changes import updates

        return updates(self._listed_anew, partial(connect, self._scope.home), timeout_s)

    def changes(self, *, every_s: float = 30.0) -> Iterator[IndexStatus]:
        """Yield the state of the service: now, after each change, and at regular times.

        Args:
            every_s: the longest time between two states, in seconds.

        Raises:
            Unreachable: the service can't be started, or it ended.
        """
        from memsearch_engine.service.changes import states

        return states(partial(connect, self.home), every_s)

    def _listed_anew(self) -> list[DayFile]:
        if self._scope.everything:
            self._scope.forget_projects()
        return self._scope.files()


def _moment(day: str, time: str) -> tuple[str, str]:
    """(day, time), those of now where they are ''. Raises UsageError."""
    now = datetime.now()
    try:
        day = date.fromisoformat(day).isoformat() if day else now.date().isoformat()
        time = datetime.strptime(time, "%H:%M").strftime("%H:%M") if time else now.strftime("%H:%M")
    except ValueError as error:
        raise UsageError(str(error), "a day is 2026-02-09, a time 14:30") from error
    return day, time
