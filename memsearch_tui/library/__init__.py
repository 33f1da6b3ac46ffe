"""Reads what the app shows from the engine. No widget here.

Every text comes from its file, so the reader sees the current text.
"""

from __future__ import annotations

from datetime import date

import memsearch_engine as engine

from memsearch_tui.library.notes import LibraryWriter, NoteReader, RelatedNotes
from memsearch_tui.library.rows import (
    Item,
    ItemMaker,
    KnownProjects,
    NoteDays,
    ProjectRow,
    Related,
    Seen,
)
from memsearch_tui.library.status import HeaderState, MemoryStatus

__all__ = ["HeaderState", "Item", "Library", "ProjectRow", "Related", "Seen"]


class Library:
    """The notes of one project, or of all projects.

    Attributes:
        memory: the engine. Commands that need no row call it directly.
        items: makes rows.
        days: the days and the notes of each.
        notes: single notes and their conversations.
        related: notes that are related to a note, a turn or a case.
        status: the state of capture, service and sync.
        projects: the known projects.
        writer: writes to the project of a note.
    """

    def __init__(self, memory: engine.Memory) -> None:
        self.memory = memory
        self.items = ItemMaker(memory)
        self.days = NoteDays(memory, self.items)
        self.notes = NoteReader(memory)
        self.related = RelatedNotes(memory, self.items)
        self.status = MemoryStatus(memory, self.items)
        self.projects = KnownProjects(memory)
        self.writer = LibraryWriter(memory)

    def list_days(self) -> list[tuple[str, int]]:
        """Return (ISO day, number of notes), newest first, from the current files."""
        found = self.days.read()
        self.notes.drop_caches()
        return found

    def today(self) -> str:
        """Return today as an ISO day."""
        return date.today().isoformat()

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
        if not request.projects:
            return self, found
        memory = self.memory
        return Library(engine.Memory(memory.place.root, home=memory.home, everything=True)), found
