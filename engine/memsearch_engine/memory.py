"""The memory of one project or of all projects, for programs, commands and screens.

``Memory`` removes secrets from a text before it is written, and changes a note only if the note is
as the caller saw it. It starts the resident process if needed. Reading works without it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memsearch_engine
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Place, Project
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.scope import Scope
from memsearch_engine.service.launch import call, connect

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine import (
        AgentFiles,
        Capture,
        Change,
        Compact,
        Configuration,
        Conflicts,
        Context,
        DayFile,
        DigestRequest,
        Entry,
        Evidence,
        Excerpt,
        Fact,
        Files,
        Import,
        IndexResult,
        IndexStatus,
        Injections,
        LongTerm,
        Match,
        McpClients,
        Models,
        Note,
        Pages,
        PastActions,
        Plugins,
        Repair,
        ReviewQueue,
        Searcher,
        SearchRequest,
        Secrets,
        Service,
        Settings,
        Sharing,
        Skills,
        Staleness,
        Supersessions,
        Sync,
        Target,
        Transcripts,
        Trust,
        Update,
    )
    from memsearch_engine.service.note_editor import NoteEditor

#: Attributes of the scope that are attributes of a memory, too.
_OF_SCOPE = "everything home known place project projects settings shortfall".split()


def _make_editor(memory: Memory) -> NoteEditor:
    from memsearch_engine.service.note_editor import NoteEditor

    return NoteEditor(memory._scope)


class Memory:
    """One project's memory (or all of them).

    Threads may share it. In asyncio, call its methods with ``asyncio.to_thread``.

    Args:
        path: a folder inside the project; the current one by default.
        home: indexes, settings and history; by default ``MEMSEARCH_HOME``, else ``~/.memsearch``.
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
    """The capture of turns: the queue, coverage, cost."""
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
    """Everything that is pending review."""
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

    home: Home
    """The folder with indexes, settings and history."""
    everything: bool
    """Whether this is about all registered projects."""
    place: Place
    """The project's folders. Reading it raises FileNotFoundError if the current folder is gone."""
    project: Project
    """The project at ``place``."""
    projects: list[Project]
    """The projects that this memory is about."""
    shortfall: str
    """Why some projects could not be listed; ``""`` if all are known."""
    settings: Settings
    """The owner's settings, read at each use. Raises SettingsError if a file can't be read."""
    known: Callable[[], list[Project]]
    """Returns every registered project, one for each path, newest first. Raises Unreachable."""

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
        with contextlib.suppress(FileNotFoundError):  # raised when the project is needed
            path = path or os.getcwd()
        self._scope = Scope(
            home, path, everything=everything, project=project, call=partial(call, home)
        )

    _editor = cached_property(_make_editor)

    if not TYPE_CHECKING:  # else each attribute would be taken for one of them

        def __getattr__(self, name: str) -> Any:
            if name in _OF_SCOPE:
                return getattr(self._scope, name)
            if name not in Memory.__annotations__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            # the name of the class is in the annotation; its module is imported on first use
            made = getattr(memsearch_engine, Memory.__annotations__[name])
            part = made(self._scope, self) if name == "review" else made(self._scope)
            setattr(self, name, part)
            return part

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *Memory.__annotations__})

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files and connections. The service continues to run."""
        self._scope.close()

    # -- which projects

    def forget_project(self, name: str) -> Project:
        """Unregister a project and drop its index. Its notes and their history stay.

        The project is registered again when somebody works in it.

        Args:
            name: the project's name, or the path of its folder.

        Raises:
            UsageError: no project of that name, or several.
            Unreachable: the service can't be started.
        """
        return self._scope.forget_project(name)

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
        """Search by meaning and words, or by words alone if the index can't answer in time.

        Args:
            query: words, and filters such as ``agent:codex after:7d is:pinned -draft``; or a parsed
                request. The limit, mode and fusion of a parsed request replace the arguments.
            limit: number of hits.
            mode: ``hybrid``, ``dense`` (meaning), ``bm25`` or ``lexical`` (words).
            fusion: ``weighted`` or ``rrf``; the configured one by default.
            wait: start the service if needed and wait four seconds for it; otherwise answer from
                what is available now.

        Raises:
            UsageError: the query names an unknown project.
        """
        return self.queries.search(query, limit, mode, fusion, wait=wait)

    def note(self, name: str) -> Note:
        """Return the current version of an entry.

        Args:
            name: the id of a hit, an entry or a chunk, or an unambiguous prefix of one.

        Raises:
            NotFound: no such entry in any project.
            UsageError: the id is too short or ambiguous.
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
        from memsearch_engine.service.reading import open_section

        return open_section(self._scope, name, lines=lines, whole=whole)

    def expand(self, name: str) -> Note:
        """Return the same as ``note``, and record a use of the note and of its session."""
        note = self.note(name)
        self.opened(note.id, note.agent, note.session)
        return note

    def opened(self, entry_id: str, agent: str, session: str) -> None:
        """Record that the content of an entry was read."""
        from memsearch_engine.service.reading import note_opened

        note_opened(self.home, entry_id, agent, session)

    def days(self) -> list[DayFile]:
        """Dated files, newest first."""
        return self._scope.days()

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
        return self.queries.entries(day, agent=agent, limit=limit, last=last, as_of=as_of)

    def transcript(
        self, name: str, *, turn: str = "", context: int = 0, full: bool = False, raw: bool = False
    ) -> Excerpt:
        """Return the conversation of an entry, from its agent or from the archive.

        This counts as a use of the session.

        Args:
            turn: another turn of the same session.
            context: number of turns before and after it.
            full: whole texts and outputs; otherwise about 15,000 tokens, the nearest turns
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
        """Prepare a digest of many notes, which can be written into today's file as one note.

        Args:
            source: a file, a day, days (``A..B``), ``week`` for the seven days before today, or a
                query; '' for all notes.
            asked: the provider and the template; None for those of the settings.

        Raises:
            UsageError: the source or the template of *asked* is not valid.
            NotFound: the source has no notes.
            SettingsError: no such provider.
        """
        asked = asked or memsearch_engine.DigestRequest()
        return memsearch_engine.Compact(self._scope, self.search, source, asked)

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
            summarize: use the model of ``capture.summarize``, within its budgets.
        """
        return memsearch_engine.Import(
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
        return self._editor.add(text, day=day, time=time, by=by)

    def edit(
        self, name: str, text: str, *, if_match: str = "", path: str = "", is_checked: bool = False
    ) -> Note:
        """Replace an entry's text. Its heading, anchors and marks stay. It can be undone.

        Secrets in the text are replaced.

        Args:
            if_match: the expected hash of the entry; ``""`` accepts any.
            path: the entry's file, if it is known.
            is_checked: a person has read the text; otherwise an agent's text may be quarantined, as
                in ``add``.

        Raises:
            NotFound: no such entry.
            Conflict: it changed since it was read; ``current`` has its present text.
            UsageError: the text is empty, or would begin another entry.
        """
        return self._editor.edit(name, text, if_match=if_match, path=path, is_checked=is_checked)

    def mark(self, name: str, mark: str, value: str | None = "") -> Note:
        """Set or remove a mark of an entry. It can be undone.

        Args:
            mark: ``pin``, ``expires``, ``confidence`` or ``superseded-by``.
            value: None removes the mark.
        """
        return self._editor.mark(name, mark, value)

    def delete(self, *notes: str | Note, if_match: str = "") -> list[Note]:
        """Remove entries, all or none; one step of undo. Returns what was removed.

        Args:
            notes: ids; or notes as they were read: then each goes only as long as it is still that.
            if_match: the hash that the entry (one) must still have.

        Raises:
            NotFound: no such entry.
            Conflict: one changed since it was read.
        """
        return self._editor.delete(*notes, if_match=if_match)

    def delete_each(self, targets: Sequence[Target]) -> None:
        """Remove entries, all or none, as one step of undo.

        Args:
            targets: the entries as they were read.

        Raises:
            NotFound: an entry does not exist.
            Conflict: an entry has changed.
        """
        self._editor.delete_each(targets)

    def mark_each(self, targets: Sequence[Target], mark: str, value: str | None) -> list[Entry]:
        """Set a mark of several entries, all or none, as one step of undo.

        The errors are those of ``delete_each``, the marks those of ``mark``.
        """
        return self._editor.mark_each(targets, mark, value)

    def undo(self, name: str = "", *, everywhere: bool = False, own: bool = False) -> list[Change]:
        """Undo the last change of this project. This also works after a restart.

        Args:
            name: undo the last change of this entry, which may be deleted.
            everywhere: undo the last change of all projects.
            own: leave changes that other processes have made since this one began.

        Returns:
            The undone changes, newest first; [] if there are none.

        Raises:
            Conflict: an entry has changed since.
        """
        return self._editor.undo(name, everywhere=everywhere, own=own)

    def redo(self, name: str = "", *, everywhere: bool = False, own: bool = False) -> list[Change]:
        """Redo the last undone change. The arguments are those of ``undo``."""
        return self._editor.redo(name, everywhere=everywhere, own=own)

    def history(self, name: str = "", *, limit: int = 20, everywhere: bool = False) -> list[Change]:
        """Return changes of notes, newest first.

        Args:
            name: only changes of this entry, which may be deleted.
            everywhere: of all projects.
        """
        return self._editor.history(name, limit=limit, everywhere=everywhere)

    def restore(self, change: int) -> Change:
        """Restore an entry as it was before a change. This is a new change, which can be undone.

        Args:
            change: the number (``seq``) of the change.
        """
        return self._editor.restore(change)

    # -- what new sessions get

    def remember(self, fact: str, *, everywhere: bool = False, by: str = "") -> Fact:
        """Store a fact that is injected into every new session until it is forgotten.

        A fact by an agent is injected with the agent's name. If ``add`` would quarantine the text,
        it becomes a quarantined note instead (``Fact.waits``).

        Args:
            everywhere: for all projects instead of this one.
            by: name of the agent that writes; by default the agent that runs this process, if any.
        """
        return self._editor.remember(fact, everywhere=everywhere, by=by)

    def forgettable(self, words: str) -> list[Match]:
        """Find lines of the long-term memory, for this project and for all, with every word.

        Args:
            words: the words, or the id of a fact.
        """
        from memsearch_engine.longterm.forgetting import find

        return find(self.home, words, "" if self.everything else self.project.id)

    def forget(self, words: str, matches: list[Match]) -> int:
        """Remove the lines that ``forgettable`` found from the long-term memory.

        Returns:
            The number with which they can be restored.
        """
        from memsearch_engine.longterm.forgetting import forget
        from memsearch_engine.longterm.injected import refresh

        number = forget(self.home, words, matches)
        refresh(self.home)
        return number

    def facts(self) -> list[Fact]:
        """The facts of this project and those for all projects, oldest first."""
        from memsearch_engine.longterm.facts import facts

        here = None if self.everything else ("", self.project.id[:8])
        return [fact for fact in facts(self.home) if here is None or fact.scope in here]

    def context(self, agent: str = "claude-code") -> Context:
        """Return the context that a new session of *agent* in this project gets, with its tokens.

        Raises:
            UsageError: no such agent.
        """
        from memsearch_engine.longterm.injected import session_context

        return session_context(self._scope, agent)

    # -- the service

    def index(
        self,
        *paths: str,
        force: bool = False,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[IndexResult]:
        """Update the index of this project (or of all) now, as the service does after each change.

        Args:
            paths: files and folders that are indexed with this project from now on.
            force: read unchanged files too. Stored vectors are reused.
            progress: called with ``phase``, ``done`` and ``total``.

        Raises:
            Unreachable: the service can't be started.
        """
        return self.service.index(paths, force=force, progress=progress)

    def watch(self, *, timeout_s: float | None = None) -> Iterator[Update]:
        """Yield the notes that are added, changed and removed from now on, by anyone.

        Args:
            timeout_s: seconds until the end; None for no end.
        """
        from memsearch_engine.service.changes import updates

        return updates(self._scope.files_anew, partial(connect, self._scope.home), timeout_s)

    def changes(self, *, every_s: float = 30.0) -> Iterator[IndexStatus]:
        """Yield the state of the service: now, after each change, and at regular times.

        Args:
            every_s: the longest time between two states, in seconds.

        Raises:
            Unreachable: the service can't be started, or it ended.
        """
        from memsearch_engine.service.changes import states

        return states(partial(connect, self.home), every_s)
