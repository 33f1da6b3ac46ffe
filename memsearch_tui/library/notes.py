"""Single notes: their current or earlier text, conversation, staleness, supersessions and related
notes; notes as markdown or JSON; and writes to the project of a note, which may not be the one that
the app shows.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

import memsearch_engine as engine
import msgspec

from memsearch_tui.library.rows import Item, ItemMaker, Related, Seen

_AROUND = 40  # turns that are read on each side of the opened one
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")


class NoteReader:
    """Reads notes from their files, and what is known about each. Thread-safe."""

    def __init__(self, memory: engine.Memory) -> None:
        self._memory = memory
        # one file, because the cursor moves within a day
        self._document: tuple[engine.DayFile, engine.Document] | None = None
        self._as_of: engine.NotesAsOf | None = None  # the last as-of day and the changes since
        # a cursor move must not search the agents' folders
        self._evidence: dict[tuple[str, str, str], str] = {}

    def drop_caches(self) -> None:
        """Drop what may have changed since the notes were listed."""
        self._evidence, self._as_of = {}, None

    def entry(self, item: Item) -> engine.Entry:
        """Return an entry from its file: its current state, or its state on the as-of day.

        Raises:
            NotFound: the entry is not in the file.
            OSError: the file cannot be read.
        """
        if item.as_of:
            if self._as_of is None or self._as_of.day != item.as_of:
                self._as_of = self._memory.queries.then(item.as_of)
            earlier = self._as_of.entries.get((item.path, item.entry_id))
            if earlier is not None:
                return earlier
        return self.entry_at(item.path, item.entry_id)

    def entry_at(self, path: str, entry_id: str) -> engine.Entry:
        """Return the current state of an entry by its file and id.

        Raises:
            NotFound: the entry is not in the file.
            OSError: the file cannot be read.
        """
        file, cached = engine.DayFile.at(path), self._document
        if cached is None or cached[0] != file:
            cached = self._document = file, self._memory.files.document(path)
        entry = cached[1].find(entry_id)
        if entry is None:
            raise engine.NotFound(f"the entry {entry_id} is no longer in {path}")
        return entry

    def seen(self, item: Item) -> Seen:
        """Return all that the reader shows of a note.

        Raises:
            NotFound: the entry is not in the file.
            OSError: the file cannot be read.
        """
        entry = self.entry(item)
        staleness = None if item.as_of else self.staleness(entry, item.path)
        return Seen(entry, self.evidence(entry), staleness)

    def staleness(self, entry: engine.Entry, path: str) -> engine.NoteStaleness | None:
        """Return the staleness of a note, if it was compared with its project's repository."""
        return self._memory.staleness.of_entry(entry, path)

    def evidence(self, entry: engine.Entry) -> str:
        """Return ``live``, ``archived`` or ``lost``; '' for an entry without a conversation."""
        key = (entry.agent, entry.session, entry.turn)
        if key not in self._evidence:
            self._evidence[key] = self._memory.transcripts.state(entry)
        return self._evidence[key]

    def examined(self, items: Sequence[Item]) -> list[tuple[Item, engine.Entry, str]]:
        """Return the items that can be read, each with its entry and its ``evidence``."""
        found = []
        for item in items:
            with contextlib.suppress(engine.MemsearchError, OSError):
                entry = self.entry(item)
                found.append((item, entry, self.evidence(entry)))
        return found

    def supersessions(self, entry: engine.Entry) -> list[engine.Supersession]:
        """Return the probable supersessions of an entry in both directions."""
        return [found for found in self._memory.supersession.pairs(entry.id) if found.is_effective]

    # -- the conversation

    def conversation(self, entry: engine.Entry, day: str = "") -> engine.Excerpt:
        """Return the conversation around the entry's turn.

        Args:
            day: if the conversation lacks that turn, use the turn nearest to the entry's time on
                this ISO day. This reads the whole session. '': do not search.
        """
        near = None
        with contextlib.suppress(ValueError):
            near = datetime.fromisoformat(f"{day} {entry.time or '12:00'}").astimezone()
        return self._memory.transcripts.conversation(entry, context=_AROUND, near=near)

    def turns_around(self, entry: engine.Entry, place: int) -> engine.Excerpt:
        """Return the conversation of an entry around turn number *place*, counted from 0."""
        return self._memory.transcripts.turns_around(entry, place, _AROUND)

    def resume(self, entry: engine.Entry) -> tuple[list[str], str]:
        """Return how to resume an entry's session.

        Returns:
            The command and the folder to run it in; ([], '') if the session cannot be resumed.
        """
        if entry.agent not in engine.agent_names() or not _SESSION.match(entry.session):
            # an anchor is untrusted text
            return [], ""
        argv = [
            part.replace("{session}", entry.session)
            for part in engine.agent_named(entry.agent).resume
        ]
        if not argv:  # only the agent's own window opens a session
            return [], ""
        try:
            folder = self._memory.transcripts.conversation(entry, context=0).turns[0].cwd
        except (engine.MemsearchError, OSError, IndexError):
            folder = self._memory.place.root
        return argv, folder


_PERHAPS = 0.2  # least probability of a supersession that is listed with "?"
_FILES = 8  # files of a note for which related turns are searched
_PATH = re.compile(r"`([\w@.-]+(?:/[\w@.-]+)*\.\w{1,8})`")
_CITED, _SOURCES = re.compile(r"\[mem:([0-9a-f, ]+)\]"), re.compile(r"[0-9a-f]{4,32}")


class RelatedNotes:
    """Finds related notes by topic, source, file, turn and session."""

    def __init__(self, memory: engine.Memory, items: ItemMaker) -> None:
        self._memory, self._items = memory, items

    def of(self, item: Item, entry: engine.Entry) -> tuple[list[Related], str]:
        """Return the related notes of an entry.

        This may take seconds, because it may start the service.

        Returns:
            The other notes on the entry's topic, oldest first, then its sources, then those whose
            turns wrote to its files, newest first; and why the search is incomplete, '' if it is
            complete.
        """
        found: list[Related] = []
        problem = ""
        try:
            self._add_on_topic(item, found)
        except engine.MemsearchError as error:
            problem = str(error)
        found.extend(
            Related("comes from", source)
            for name in dict.fromkeys(_SOURCES.findall(" ".join(_CITED.findall(entry.body))))
            if (source := self._items.of_id(name)) is not None
        )
        try:
            self._add_of_files(item, entry, found)
        except engine.MemsearchError as error:
            problem = problem or str(error)
        return found, problem

    def _add_on_topic(self, item: Item, found: list[Related]) -> None:
        """Append the revision chain of a note, then its less probable supersessions."""
        words = self._memory.supersession.trace(note=item.entry_id)
        days = {word.row.entry_id: word.row.day for word in words}
        for word in words if len(words) > 1 else ():
            amends = tuple(name for name in word.replaces if name in days)
            # the owner's override
            sure = " ✓" if any(word.replaces[name] == 1 for name in amends) else ""
            how = (
                f"supersedes {', '.join(days[name] for name in amends)}{sure}"
                if amends
                else "the first note"
            )
            if word.row.entry_id == item.entry_id:
                how = f"this note, {how}" if amends else "this note"
            found.append(Related(how, self._items.of_index(word.row), amends))
        found += self._perhaps(item, set(days) if len(words) > 1 else {item.entry_id})

    def _perhaps(self, item: Item, listed: set[str]) -> list[Related]:
        """Return the notes that may supersede this one, or be superseded by it, as Review asks.

        Args:
            listed: ids of the entries that are not returned.
        """
        found = []
        for pair in self._memory.supersession.pairs(item.entry_id):
            is_newer = pair.newer.entry_id != item.entry_id
            other = pair.newer if is_newer else pair.older
            if pair.sure >= _PERHAPS and other.entry_id not in listed:
                how = "supersedes it" if is_newer else "superseded by it"
                amends = (item.entry_id,) if is_newer else ()
                row = self._items.of_index(other)
                found.append(Related(f"? {how}, {pair.sure:.0%}", row, amends))
        return found

    def _add_of_files(self, item: Item, entry: engine.Entry, found: list[Related]) -> None:
        """Append the notes whose turns wrote to the files that the entry names."""
        for path in dict.fromkeys(
            [*engine.files_named(entry.body), *_PATH.findall(entry.body)][:_FILES]
        ):
            for act in self._memory.actions.blame(path):
                is_other = act.entry != item.entry_id
                if is_other and (other := self._items.of_id(act.entry)) is not None:
                    found.append(Related(act.path, other))

    def of_turn(self, turn: engine.Turn) -> Item | None:
        """Return the note that was made from a turn, or None."""
        try:
            return self._items.of_id(self._memory.transcripts.note_of_turn(turn).id)
        except engine.MemsearchError:
            return None

    def of_case(self, notes: Sequence[str], sessions: Sequence[str]) -> Iterator[Item]:
        """Yield the notes with these ids, and the newest note of each of these sessions.

        Missing notes are left out.
        """
        yield from filter(None, map(self._items.of_id, notes))
        memory = self._memory
        with engine.Memory(memory.place.root, home=memory.home, everything=True) as everywhere:
            for session in sessions:
                answer = everywhere.queries.lexical(f"session:{session}", 1)
                yield from (self._items.of_index(hit.row) for hit in answer.hits)


def as_markdown(entries: Sequence[engine.Entry], items: Sequence[Item]) -> str:
    """Return entries as markdown, each under the name of its file."""
    return "\n\n".join(
        f"<!-- {os.path.basename(item.path)} -->\n{entry.content}"
        for entry, item in zip(entries, items)
    )


def export(entries: Sequence[engine.Entry], items: Sequence[Item], path: str) -> str:
    """Write entries to a new file and return its full path.

    Args:
        path: JSON if its name ends in ``.json``, else markdown.

    Raises:
        OSError: the file cannot be written, or exists.
    """
    target = os.path.abspath(os.path.expanduser(path))
    if target.endswith(".json"):
        document = {"schema_version": 1, "entries": list(map(_as_record, entries, items))}
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    else:
        text = as_markdown(entries, items)
    with open(target, "x", encoding="utf-8") as out:
        out.write(text + "\n")
    return target


def _as_record(entry: engine.Entry, item: Item) -> dict[str, object]:
    return {
        "entry_id": entry.id,
        "day": item.day,
        "time": entry.time,
        "agent": entry.agent,
        "session": entry.session,
        "turn": entry.turn,
        "source": item.path,
        "content": entry.content,
        "body": entry.body,
        "marks": entry.marks,
    }


class LibraryWriter:
    """Adds notes and facts, and shares notes. Each write opens the note's own project."""

    def __init__(self, memory: engine.Memory) -> None:
        self._memory = memory

    def _opened(self, root: str) -> engine.Memory:
        return engine.Memory(root, home=self._memory.home)

    def project_of_new(self, beside: Item | None) -> engine.Project:
        """Return the project of a new note: the project that is shown or, for all projects, that of
        the note *beside* it.
        """
        memory = self._memory
        if memory.everything and beside:
            return memory.files.project_of(beside.path) or memory.project
        return memory.project

    def add(self, text: str, day: str, root: str = "") -> engine.Note:
        """Write a note of the ISO day *day*.

        Args:
            root: the project's folder; '': the project that is shown.

        Raises:
            MemsearchError: the note cannot be written.
        """
        with self._opened(root or self._memory.place.root) as memory:
            return memory.add(text, day=day)

    def remember(self, fact: str, root: str) -> engine.Fact:
        """Store a fact that is injected into every new session of the project at *root*.

        Raises:
            MemsearchError: the fact cannot be stored.
        """
        with self._opened(root) as memory:
            return memory.remember(fact)

    def plan_share(self, items: Sequence[Item]) -> tuple[str, list[engine.PlannedShare]]:
        """Return what sharing these notes with the team would write. This may take seconds.

        Returns:
            The root of their project, and the planned copies.

        Raises:
            MemsearchError: the notes cannot be shared.
        """
        root = self._root_of_all(items)
        with self._opened(root) as memory:
            return root, memory.sharing.plan([item.entry_id for item in items])

    def share(self, root: str, planned: list[engine.PlannedShare]) -> list[str]:
        """Write the planned copies and return their files.

        Raises:
            MemsearchError: a copy cannot be written.
        """
        with self._opened(root) as memory:
            return memory.sharing.share(planned)

    def withdraw(self, items: Sequence[Item]) -> list[engine.Note]:
        """Remove shared notes from the project.

        Raises:
            MemsearchError: a note cannot be removed.
        """
        with self._opened(self._root_of_all(items)) as memory:
            return memory.sharing.withdraw([item.entry_id for item in items])

    def _root_of_all(self, items: Sequence[Item]) -> str:
        projects = map(self._memory.files.project_of, (item.path for item in items))
        roots = {project.root for project in projects if project}
        if len(roots) != 1:
            raise engine.UsageError(
                "these are notes of several projects, or of none", "choose those of one"
            )
        return roots.pop()
