"""Single notes: their current or earlier text, conversation, staleness and supersessions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from datetime import datetime

import memsearch_engine as engine

from memsearch_tui.library.rows import Item, Seen

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

    def evidence_of(self, items: Sequence[Item]) -> dict[tuple[str, str], str]:
        """Return key -> ``evidence``, for the items that can be read."""
        found: dict[tuple[str, str], str] = {}
        for item in items:
            with contextlib.suppress(engine.MemsearchError, OSError):
                found[item.key] = self.evidence(self.entry(item))
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
