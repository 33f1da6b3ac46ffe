"""Reads what the app shows from the engine. No widget here.

Lists of files that are indexed in their current state come from the catalog, which answers in
milliseconds at 30,000 entries. Lists of other files come from the files themselves. Every text
comes from its file, so the reader sees the current text.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import memsearch_engine as engine
import msgspec
from memsearch_engine import (
    Answer,
    DayFile,
    Entry,
    Memory,
    MemsearchError,
    NotFound,
    UsageError,
    agent_named,
    agent_names,
    count_entries,
)

if TYPE_CHECKING:  # not needed for the first frame
    from collections.abc import Sequence

    from memsearch_engine import (
        AgentFile,
        AgentFileSection,
        Change,
        Document,
        Excerpt,
        Fact,
        Note,
        NotesAsOf,
        NoteStaleness,
        PlannedShare,
        Project,
        Row,
        Supersession,
        Target,
        Turn,
    )

#: Turns that are read on each side of the opened one.
AROUND = 40
_TITLE = 300  # characters of a title in the catalog
_PINNED = 20
_PERHAPS = 0.2  # least probability of a supersession that is listed with "?"
_FILES = 8  # files of a note for which related turns are searched
_PATH = re.compile(r"`([\w@.-]+(?:/[\w@.-]+)*\.\w{1,8})`")
_CITED, _SOURCES = re.compile(r"\[mem:([0-9a-f, ]+)\]"), re.compile(r"[0-9a-f]{4,32}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")


class Item(msgspec.Struct, frozen=True):
    """A row of the list: the id and file of an entry, and the values that the row shows."""

    entry_id: str
    path: str
    day: str
    time: str
    agent: str
    title: str
    marks: dict[str, str]
    project: str = ""
    hash: str = ""
    reasons: tuple[str, ...] = ()
    by_meaning: bool = False  # the note has no word of the query
    doubtful: bool = False  # only faintly similar
    text: str = ""  # the matching part
    superseded: bool = False  # superseded by a hit above
    replaced: tuple[tuple[str, str], ...] = ()  # (day, title) of superseded hits
    earlier: tuple[tuple[str, str], ...] = ()  # the same, of older hits on its topic
    session: str = ""
    stale: str = ""  # its stale reference, if any
    as_of: str = ""  # ISO day of an as-of search
    unmerged: str = ""  # branch of its turn, if not merged

    @property
    def key(self) -> tuple[str, str]:
        """(path, entry id)."""
        return self.path, self.entry_id

    @property
    def author(self) -> str:
        """The team member who shared it; '' for the project's own notes."""
        return engine.shared_author(self.path)

    @property
    def target(self) -> Target:
        """The entry as a target of the engine's commands."""
        from memsearch_engine import Target

        return Target(self.path, self.entry_id, self.hash)


class Related(msgspec.Struct, frozen=True):
    """A related note.

    Attributes:
        how: its relation to the open note: a file that both turns wrote to, or its place in the
            revision chain.
        amends: ids of the entries on the topic that it supersedes.
    """

    how: str
    item: Item
    amends: tuple[str, ...] = ()


class HeaderState(msgspec.Struct, frozen=True):
    """The state of the memory that the header and the rail show.

    Attributes:
        capturing: agent -> seconds since 1970 from which its turns are captured.
        connected: agents that have our hooks installed and no problem with them.
        alarms: messages about agents whose turns do not arrive.
        waiting: number of cases in the review queue.
        agents: (agent, number of notes, newest day).
        pinned: the newest pinned notes.
        sync: when this machine last synced, as text; '' without sync.
        synced: whether the last sync succeeded.
        served: whether the service answered; without it, values that only the service knows are
            missing.
    """

    capturing: dict[str, float] = {}
    alarms: list[str] = []
    waiting: int = 0
    agents: list[tuple[str, int, str]] = []
    pinned: list[Item] = []
    sync: str = ""
    synced: bool = True
    served: bool = False
    connected: list[str] = []


class Seen(msgspec.Struct, frozen=True):
    """A note as the reader shows it: its entry, the state of its conversation
    (``Library.evidence``) and its staleness.
    """

    entry: Entry
    evidence: str
    standing: NoteStaleness | None


class ProjectRow(msgspec.Struct, frozen=True):
    """A known project. ``here``: its folder is on this machine."""

    name: str
    root: str
    entries: int
    days: int
    newest: str
    here: bool


class Library:
    """The notes of one project, or of all projects."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._files: dict[str, list[DayFile]] = {}
        # caches one day's files while the cursor moves
        self._read: tuple[DayFile, Document] | None = None
        self._names: list[str] = []
        self._then: NotesAsOf | None = None  # the last as-of day and the changes since
        # a cursor move must not search the agents' folders
        self._evidence: dict[tuple[str, str, str], str] = {}

    def days(self) -> list[tuple[str, int]]:
        """Return (day, number of entries), newest first.

        For a file that is not indexed in its current state, the number of its headings is used,
        which is nearly right.
        """
        listed = self.memory.days()
        counts = _count_notes(self.memory, listed)
        files: dict[str, list[DayFile]] = {}
        for file in listed:
            files.setdefault(file.day, []).append(file)
        # replaced in one step: another thread may read it
        self._files, self._evidence, self._then = (
            files,
            {},
            None,
        )
        return list(counts.items())

    def day(self, day: str) -> list[Item]:
        """Return the entries of a day, oldest first; those without a time come last."""
        items = []
        for file in self._files.get(day, ()):
            titles = None
            with contextlib.suppress(MemsearchError):
                titles = self.memory.files.titles(file)
            if titles is not None:
                project = self._project_of(file.path)
                items += [
                    Item(
                        t.entry_id,
                        file.path,
                        day,
                        t.time,
                        t.agent,
                        t.title,
                        t.marks,
                        project,
                        t.hash,
                        stale=t.stale,
                        unmerged=t.unmerged,
                    )
                    for t in titles
                ]
                continue
            try:
                entries = self.memory.files.read(file)
            except OSError:
                continue
            items += [self._item(entry, file.path, day) for entry in entries]
        return sorted(items, key=lambda item: (item.time or "99", item.path))

    def day_of(self, path: str) -> str:
        """Return the day of a listed file; '' for a file that is not listed."""
        day = os.path.basename(path).removesuffix(".md")
        return day if any(file.path == path for file in self._files.get(day, ())) else ""

    def written(self, day: str) -> list[tuple[str, str]]:
        """Return (path, text) of a day's files, as they are on disk."""
        found = []
        for file in self._files.get(day, ()):
            try:
                text = self.memory.files.source(file.path)
            except OSError as error:
                text = str(error)
            found.append((self.short(file.path), text))
        return found

    def today(self) -> str:
        """Return today as an ISO day."""
        return date.today().isoformat()

    def _item(self, entry: Entry, path: str, day: str) -> Item:
        return Item(
            entry.id,
            path,
            day,
            entry.time,
            entry.agent,
            entry.title[:_TITLE],
            entry.marks,
            self._project_of(path),
            entry.hash,
        )

    def _project_of(self, path: str) -> str:
        project = self.memory.files.project_of(path)
        return project.name if project else ""

    def is_as_listed(self, item: Item, entry: Entry) -> bool:
        """Return whether an entry still has the text that the list shows."""
        return entry.title[:_TITLE] == item.title[:_TITLE]

    def items(self, answer: Answer, query: str = "") -> list[Item]:
        """Return the hits of *query* as rows."""
        superseded, as_of = answer.superseded, answer.as_of
        rows = {hit.id: hit.row for hit in answer.hits}
        return [
            msgspec.structs.replace(
                self._of_row(hit.row),
                reasons=(*(f"{name} #{place}" for name, place in hit.ranks.items()), *hit.reasons),
                by_meaning=hit.by_meaning,
                doubtful=hit.is_doubtful,
                text=hit.row.text,
                superseded=hit.id in superseded,
                replaced=_titles_of(rows, hit.supersedes),
                earlier=_titles_of(rows, hit.possibly_supersedes),
                session=hit.row.session,
                as_of=as_of,
            )
            for hit in answer.hits
        ]

    def narrows(self, query: str) -> bool:
        """Return whether *query* has only filters, asks for current notes and not for other kinds
        of text.

        Such a query lists all matching notes in order of time.
        """
        request = engine.parse_query(query)
        is_of_notes = not set(request.filter.kinds) - {"turn", "note"}
        return request.is_empty and not request.as_of and is_of_notes

    def narrowed(self, query: str) -> tuple[Library, dict[str, set[str]]]:
        """Return the notes that match the filters of *query*. This may take seconds.

        Returns:
            A library that has these notes, and their ids by file.

        Raises:
            MemsearchError: the query cannot be answered.
        """
        found: dict[str, set[str]] = {}
        request = engine.parse_query(query)
        for target in self.memory.files.admitted(request):
            found.setdefault(target.path, set()).add(target.entry_id)
        if request.projects:
            return Library(
                Memory(self.memory.place.root, home=self.memory.home, everything=True)
            ), found
        return self, found

    def by_conversation(self, answer: Answer, query: str = "") -> list[Item]:
        """Return the hits of *query* as rows, grouped by conversation."""
        order = {
            (hit.path, hit.id): place
            for place, hit in enumerate(h for group in answer.by_session() for h in group.hits)
        }
        return sorted(self.items(answer, query), key=lambda item: order[item.key])

    def _of_row(self, row: Row) -> Item:
        project = next((p.name for p in self.memory.projects if p.id == row.project), "")
        return Item(
            row.entry_id,
            row.path,
            row.day,
            row.time,
            row.agent,
            row.title,
            row.marks,
            project,
            row.hash,
            stale=row.stale,
            unmerged=row.unmerged,
        )

    def entry(self, item: Item) -> Entry:
        """Return an entry from its file: its current state, or its state on the as-of day.

        Raises:
            NotFound: the entry is not in the file.
            OSError: the file cannot be read.
        """
        if item.as_of:
            if self._then is None or self._then.day != item.as_of:
                self._then = self.memory.queries.then(item.as_of)
            earlier_text = self._then.entries.get((item.path, item.entry_id))
            if earlier_text is not None:
                return earlier_text
        return self.entry_at(item.path, item.entry_id)

    def entry_at(self, path: str, entry_id: str) -> Entry:
        """Return an entry by its file and id. Thread-safe."""
        file, read = DayFile.at(path), self._read
        if read is None or read[0] != file:
            read = self._read = file, self.memory.files.document(path)
        entry = read[1].find(entry_id)
        if entry is None:
            raise NotFound(f"the entry {entry_id} is no longer in {path}")
        return entry

    def short(self, path: str) -> str:
        """Return *path* from the project's name on: enough for a person to find the file."""
        project = next((p for p in self.memory.projects if path.startswith(p.root + os.sep)), None)
        return os.path.join(project.name, os.path.relpath(path, project.root)) if project else path

    def seen(self, item: Item) -> Seen:
        """Return all that the reader shows of a note. Thread-safe.

        Raises:
            NotFound: the entry is not in the file.
            OSError: the file cannot be read.
        """
        entry = self.entry(item)
        return Seen(
            entry, self.evidence(entry), None if item.as_of else self.standing_of(entry, item.path)
        )

    def evidence_of(self, items: Sequence[Item]) -> dict[tuple[str, str], str]:
        """Return key -> state of the conversation (``evidence``), for the items that can be read.

        Thread-safe.
        """
        found: dict[tuple[str, str], str] = {}
        for item in items:
            with contextlib.suppress(MemsearchError, OSError):
                found[item.key] = self.evidence(self.entry(item))
        return found

    def evidence(self, entry: Entry) -> str:
        """Return ``live``, ``archived`` or ``lost``; '' for an entry without a conversation."""
        key = (entry.agent, entry.session, entry.turn)
        if key not in self._evidence:
            self._evidence[key] = self.memory.transcripts.state(entry)
        return self._evidence[key]

    def supersessions_of(self, entry: Entry) -> list[Supersession]:
        """Return the probable supersessions of an entry in both directions. Thread-safe."""
        return [found for found in self.memory.supersession.pairs(entry.id) if found.is_effective]

    def standing_of(self, entry: Entry, path: str) -> NoteStaleness | None:
        """Return the staleness of a note, if it was compared with its project's repository."""
        return self.memory.staleness.of_entry(entry, path)

    def still_true(self, names: Sequence[str]) -> None:
        """Record that notes are true as of now.

        Raises:
            MemsearchError: it cannot be recorded.
        """
        for name in names:
            self.memory.staleness.confirm(name)

    def with_new_paths(self, names: Sequence[str]) -> None:
        """Replace the paths of moved files in notes.

        Raises:
            MemsearchError: a note cannot be changed.
        """
        for name in names:
            self.memory.staleness.moved(name)

    def conversation(self, entry: Entry, day: str = "") -> Excerpt:
        """Return the conversation around the entry's turn.

        Args:
            day: if the conversation lacks that turn, use the turn nearest to the entry's time on
                this ISO day. This reads the whole session. '': do not search.
        """
        near = None
        with contextlib.suppress(ValueError):
            near = datetime.fromisoformat(f"{day} {entry.time or '12:00'}").astimezone()
        return self.memory.transcripts.conversation(entry, context=AROUND, near=near)

    def stretch(self, entry: Entry, place: int) -> Excerpt:
        """Return the conversation of an entry around turn number *place*, counted from 0."""
        return self.memory.transcripts.turns_around(entry, place, AROUND)

    def place_of_new(self, beside: Item | None) -> Project:
        """Return the project of a new note: the project that is shown or, for all projects, that of
        the note *beside* it.
        """
        memory = self.memory
        if memory.everything and beside:
            return memory.files.project_of(beside.path) or memory.project
        return memory.project

    def add(self, text: str, day: str, root: str = "") -> Note:
        """Write a note of *day*.

        Args:
            root: the project's folder; '': the project that is shown.

        Raises:
            MemsearchError: the note cannot be written.
        """
        with Memory(root or self.memory.place.root, home=self.memory.home) as memory:
            return memory.add(text, day=day)

    def remember(self, fact: str, root: str) -> Fact:
        """Store a fact that is injected into every new session of the project at *root*.

        Raises:
            MemsearchError: the fact cannot be stored.
        """
        with Memory(root, home=self.memory.home) as memory:
            return memory.remember(fact)

    def plan_share(self, items: Sequence[Item]) -> tuple[str, list[PlannedShare]]:
        """Return what sharing these notes with the team would write. This may take seconds.

        Returns:
            The root of their project, and the planned copies.

        Raises:
            MemsearchError: the notes cannot be shared.
        """
        project = self._project_of_all(items)
        with Memory(project.root, home=self.memory.home) as memory:
            return project.root, memory.sharing.plan([item.entry_id for item in items])

    def share(self, root: str, planned: list[PlannedShare]) -> list[str]:
        """Write the planned copies and return their files.

        Raises:
            MemsearchError: a copy cannot be written.
        """
        with Memory(root, home=self.memory.home) as memory:
            return memory.sharing.share(planned)

    def withdraw(self, items: Sequence[Item]) -> list[Note]:
        """Remove shared notes from the project.

        Raises:
            MemsearchError: a note cannot be removed.
        """
        with Memory(self._project_of_all(items).root, home=self.memory.home) as memory:
            return memory.sharing.withdraw([item.entry_id for item in items])

    def _project_of_all(self, items: Sequence[Item]) -> Project:
        projects = {
            project.root: project
            for item in items
            if (project := self.memory.files.project_of(item.path))
        }
        if len(projects) != 1:
            raise UsageError(
                "these are notes of several projects, or of none", "choose those of one"
            )
        return next(iter(projects.values()))

    def changes(self, limit: int) -> list[Change]:
        """Return the changes of notes, newest first."""
        memory = self.memory
        return memory.history(limit=limit, everywhere=memory.everything)

    def agent_files(self, *, compare: bool = False) -> list[AgentFile]:
        """Return the agent files.

        Args:
            compare: also find sections that may be outdated; this needs the service.
        """
        return self.memory.agent_files.all(compare=compare)

    def agent_file_path(self, path: str) -> str:
        """Return the path of an agent file relative to the project or to the user's home."""
        return engine.agent_file_path(path, self.memory.place.root)

    def copy_sections(self, chosen: list[tuple[AgentFile, AgentFileSection]]) -> list[Note]:
        """Copy sections of agent files into today's notes.

        Raises:
            UsageError: a section cannot be taken.
            Unreachable: the service does not answer.
        """
        files = self.memory.agent_files
        return [files.take(memory, section) for memory, section in chosen]

    def memory_of_turn(self, turn: Turn) -> Item | None:
        """Return the entry that was made from a turn, or None."""
        try:
            return self._noted(self.memory.transcripts.note_of_turn(turn).id)
        except MemsearchError:
            return None

    def behind(self, notes: Sequence[str], sessions: Sequence[str]) -> list[Item]:
        """Return the notes with these ids, and the newest note of each of these sessions.

        Missing notes are left out.
        """
        found = [item for name in notes if (item := self._noted(name))]
        everywhere = Memory(self.memory.place.root, home=self.memory.home, everything=True)
        try:
            for session in sessions:
                found += [
                    self._of_row(hit.row)
                    for hit in everywhere.queries.lexical(f"session:{session}", 1).hits
                ]
        finally:
            everywhere.close()
        return found

    def agents_here(self) -> list[str]:
        """Return the agents that have sessions on this machine."""
        return [agent for agent in agent_names() if self.memory.plugins.has_sessions(agent)]

    def standing(self, *, start: bool = False) -> HeaderState:
        """Return the current state of the memory. This may take seconds.

        Args:
            start: start the service if it does not run; otherwise values that only the service
                knows are left out.
        """
        agents, pinned = [], []
        with contextlib.suppress(MemsearchError):
            agents = self.memory.files.agents()
            pinned = [self._of_row(row) for row in self.memory.files.marked("pin", _PINNED)]
        try:
            known = self.memory.capture.standing(start=start)
        except MemsearchError:
            return HeaderState(agents=agents, pinned=pinned)
        sync, synced = self._met()
        return HeaderState(
            known.capturing,
            known.alarms,
            known.waiting,
            agents,
            pinned,
            sync,
            synced,
            served=True,
            connected=self.connected(),
        )

    def connected(self) -> list[str]:
        """Return the agents whose hooks are installed and work.

        The screen for connecting agents and the doctor use the same data.
        """
        plugins, found = self.memory.plugins, []
        for name in engine.agents_live():
            with contextlib.suppress(MemsearchError, OSError):
                state = plugins.status(name)
                if state.installed and not state.problems:
                    found.append(name)
        return found

    def _met(self) -> tuple[str, bool]:
        """Return when this machine last synced, and whether sync needs no decision."""
        try:
            if not self.memory.config.value("sync.remote"):
                return "", True
            state = self.memory.sync.state(elsewhere=False)
        except MemsearchError:
            return "", True
        last = state.last
        at = datetime.fromtimestamp(state.worked).strftime("%Y-%m-%d %H:%M") if state.worked else ""
        return at or "not yet", not (last and (last.problems or last.error))

    def related(self, item: Item, entry: Entry) -> tuple[list[Related], str]:
        """Return the related notes of an entry.

        This may take seconds, because it may start the service.

        Returns:
            The other notes on the entry's topic, oldest first, then those whose turns wrote to its
            files, newest first; and why the topic could not be searched, '' if it could.
        """
        from memsearch_engine import files_named

        found: list[Related] = []
        problem = ""
        try:
            words = self.memory.supersession.trace(note=item.entry_id)
            days = {word.row.entry_id: word.row.day for word in words}
            for word in words:
                row, amends = word.row, tuple(name for name in word.replaces if name in days)
                # the owner's override
                sure = " ✓" if any(word.replaces[name] == 1 for name in amends) else ""
                what = (
                    f"supersedes {', '.join(days[name] for name in amends)}{sure}"
                    if amends
                    else "the first note"
                )
                if row.entry_id == item.entry_id:
                    what = f"this note, {what}" if amends else "this note"
                if len(words) > 1:
                    found.append(Related(what, self._of_row(row), amends))
            found += self._perhaps(item, set(days) if len(words) > 1 else {item.entry_id})
        except MemsearchError as error:
            problem = str(error)
        for name in dict.fromkeys(_SOURCES.findall(" ".join(_CITED.findall(entry.body)))):
            if (source := self._noted(name)) is not None:
                found.append(Related("comes from", source))
        for path in dict.fromkeys([*files_named(entry.body), *_PATH.findall(entry.body)][:_FILES]):
            try:
                acts = self.memory.actions.blame(path)
            except MemsearchError as error:
                problem = problem or str(error)
                break
            for act in acts:
                if act.entry != item.entry_id and (other := self._noted(act.entry)) is not None:
                    found.append(Related(act.path, other))
        return found, problem

    def _perhaps(self, item: Item, listed: set[str]) -> list[Related]:
        """Return the notes that may supersede this one, or be superseded by it, as Review asks.

        Args:
            listed: ids of the entries that are not returned.
        """
        found = []
        for pair in self.memory.supersession.pairs(item.entry_id):
            is_newer = pair.newer.entry_id != item.entry_id
            other = pair.newer if is_newer else pair.older
            if pair.sure >= _PERHAPS and other.entry_id not in listed:
                how = "supersedes it" if is_newer else "superseded by it"
                amends = (item.entry_id,) if is_newer else ()
                found.append(Related(f"? {how}, {pair.sure:.0%}", self._of_row(other), amends))
        return found

    def _noted(self, entry_id: str) -> Item | None:
        try:
            section = self.memory.files.section(entry_id)
        except MemsearchError:
            return None
        return self._item(section.entry, section.path, section.day)

    def resume(self, entry: Entry) -> tuple[list[str], str]:
        """Return how to resume an entry's session.

        Returns:
            The command and the folder to run it in; ([], '') if the session cannot be resumed.
        """
        if entry.agent not in agent_names() or not _SESSION.match(entry.session):
            # an anchor is untrusted text
            return [], ""
        argv = [
            part.replace("{session}", entry.session) for part in agent_named(entry.agent).resume
        ]
        if not argv:  # only the agent's own window opens a session
            return [], ""
        try:
            folder = self.memory.transcripts.conversation(entry, context=0).turns[0].cwd
        except (MemsearchError, OSError, IndexError):
            folder = self.memory.place.root
        return argv, folder

    def as_markdown(self, entries: list[Entry], items: list[Item]) -> str:
        """Return entries as markdown, each under the name of its file."""
        return "\n\n".join(
            f"<!-- {os.path.basename(item.path)} -->\n{e.content}"
            for e, item in zip(entries, items)
        )

    def export(self, entries: list[Entry], items: list[Item], path: str) -> str:
        """Write entries to a new file and return its full path.

        Args:
            path: JSON if its name ends in ``.json``, else markdown.

        Raises:
            OSError: the file cannot be written.
        """
        target = os.path.abspath(os.path.expanduser(path))
        if target.endswith(".json"):
            rows = [
                {
                    "entry_id": e.id,
                    "day": item.day,
                    "time": e.time,
                    "agent": e.agent,
                    "session": e.session,
                    "turn": e.turn,
                    "source": item.path,
                    "content": e.content,
                    "body": e.body,
                    "marks": e.marks,
                }
                for e, item in zip(entries, items)
            ]
            data = msgspec.json.format(
                msgspec.json.encode({"schema_version": 1, "entries": rows}), indent=2
            ).decode()
        else:
            data = self.as_markdown(entries, items)
        with open(target, "x", encoding="utf-8") as out:
            out.write(data + "\n")
        return target

    def project_names(self) -> list[str]:
        """Return the names of all known projects; [] if the registry cannot be read."""
        if not self._names:
            with contextlib.suppress(MemsearchError):
                self._names = sorted({project.name for project in self.memory.known()})
        return self._names

    def projects(self) -> list[ProjectRow]:
        """Return every known project, the one with the newest note first."""
        everything = Memory(self.memory.place.root, home=self.memory.home, everything=True)
        rows, files = [], everything.days()
        for project in everything.projects:
            own = [file for file in files if everything.files.project_of(file.path) == project]
            counts = {day: n for day, n in _count_notes(everything, own).items() if n}
            here = os.path.isdir(project.root)
            notes, newest = sum(counts.values()), max(counts, default="")
            rows.append(ProjectRow(project.name, project.root, notes, len(counts), newest, here))
        everything.close()
        return sorted(rows, key=lambda row: (row.newest, row.name), reverse=True)

    def activity(self) -> dict[str, Any]:
        """Return the data of the activity page."""
        capture = self.memory.capture
        state: dict[str, Any] = {
            "capturing": {},
            "percent": 100,
            "seen": 0,
            "trivial": 0,
            "days": [],
            "alarms": [],
            "waiting": [],
            "missed": [],
            "error": "",
            "summaries": {},
            "failures": [],
            "spend": [],
            "told": [],
            "today_tokens": 0,
            "daily_tokens": 0,
            "provider": "extractive",
        }
        try:
            settings = self.memory.settings
            state |= {
                "daily_tokens": settings.capture.daily_tokens,
                "provider": settings.capture.summarize.provider,
            }
            state |= {"summaries": capture.summaries(), "failures": capture.failures()}
            state |= {
                "spend": capture.spent(),
                "today_tokens": capture.spent_today(),
                "told": self.memory.injection.log(),
            }
            state["waiting"] = msgspec.to_builtins(capture.inbox().waiting)
            state["missed"] = capture.missed(["failed", "homeless", "new"])
            covered = capture.coverage()
            state |= {
                name: getattr(covered, name)
                for name in ("percent", "seen", "trivial", "days", "alarms")
            }
            state["capturing"] = covered.agents
        except MemsearchError as error:
            state["error"] = str(error)
        return state

    def retry(self) -> int:
        """Retry waiting events and failed summaries; ``activity`` shows the result.

        Returns:
            The number of events and summaries that are tried again.
        """
        return self.memory.capture.retry()

    def bring_model(self, name: str) -> None:
        """Download the files of a model.

        Raises:
            Unreachable: the files cannot be fetched.
        """
        self.memory.models.pull(name)

    def health(self) -> dict[str, Any]:
        """Return the data of the health page: the service's state, or why there is none."""
        service = self.memory.service
        try:
            state: dict[str, Any] = msgspec.to_builtins(service.health())
            state["service"] = msgspec.to_builtins(service.status())
            state["sync"] = msgspec.to_builtins(self.memory.sync.state())
            return state
        except MemsearchError as error:
            return {"error": str(error), "hint": error.hint}


def _titles_of(rows: dict[str, Row], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (day, title) of the named entries that are among the hits."""
    return tuple((rows[name].day, rows[name].title) for name in names if name in rows)


def _count_notes(memory: Memory, files: Sequence[DayFile]) -> dict[str, int]:
    """Return ISO day -> number of notes, in the order of *files*.

    For a file that is not indexed in its current state, the number of its headings is used, which
    is nearly right.
    """
    known: dict[str, tuple[int, int, int]] = {}
    with contextlib.suppress(MemsearchError):  # a damaged catalog is being rebuilt
        known = memory.files.indexed()
    counts: dict[str, int] = {}
    for file in files:
        mtime_ns, size, count = known.get(file.path, (0, 0, 0))
        is_known = (mtime_ns, size) == (file.mtime_ns, file.size)
        counts[file.day] = counts.get(file.day, 0) + (count if is_known else count_entries([file]))
    return counts
