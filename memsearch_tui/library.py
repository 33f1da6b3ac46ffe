"""What the app shows, read from the engine. No widget here: the same calls could feed any other face.

Lists come from the catalog where there is one (it answers in milliseconds at 30,000 entries); the entries of one day
and every text come from the files themselves, so what is read is what is there.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import msgspec
from memsearch_engine.client import Memory
from memsearch_engine.errors import MemsearchError, NotFound
from memsearch_engine.journal.files import DayFile
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.write import Target
from memsearch_engine.search.hits import Answer
from memsearch_engine.transcripts.locate import Found

#: Turns on both sides of the one that is opened.
AROUND = 40


class Item(msgspec.Struct, frozen=True):
    """A row of the list: an entry by its id and file, and what the row shows."""

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
    by_meaning: bool = False  # found without a word of the query

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.entry_id

    @property
    def target(self) -> Target:
        return Target(self.path, self.entry_id, self.hash)


class Library:
    """One project's memory, or all of them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._files: dict[str, list[DayFile]] = {}
        self._evidence: dict[tuple[str, str, str], str] = {}  # a cursor move must not search the agents' folders

    def days(self) -> list[tuple[str, int]]:
        """(day, number of entries), newest first. Counts are the catalog's; a day it does not know yet counts as -1."""
        self._files, self._evidence = {}, {}
        for file in self.memory.days():
            self._files.setdefault(file.day, []).append(file)
        counts: Counter[str] = Counter()
        if self.memory.catalog is not None:
            for project in {p.id for p in self.memory.projects}:
                counts.update(dict(self.memory.catalog.days(project)))
        return [(day, counts.get(day, -1)) for day in self._files]

    def day(self, day: str) -> list[Item]:
        """The entries of a day, in the order they stand in its files."""
        items = []
        for file in self._files.get(day, ()):
            try:
                entries = self.memory.read(file)
            except OSError:
                continue
            items += [self._item(entry, file.path, day) for entry in entries]
        return sorted(items, key=lambda item: (item.time or "99", item.path))

    def _item(self, entry: Entry, path: str, day: str) -> Item:
        project = next((p.name for p in self.memory.projects if path.startswith(p.memory)), "")
        return Item(entry.id, path, day, entry.time, entry.agent, entry.title, entry.marks, project, entry.hash)

    def items(self, answer: Answer) -> list[Item]:
        names = {p.id: p.name for p in self.memory.projects}
        return [
            Item(
                hit.row.entry_id,
                hit.row.path,
                hit.row.day,
                hit.row.time,
                hit.row.agent,
                hit.row.title,
                hit.row.marks,
                names.get(hit.row.project, ""),
                hit.row.hash,
                (
                    *(f"{name} #{place}" for name, place in hit.ranks.items()),
                    *hit.reasons,
                ),
                hit.by_meaning,
            )
            for hit in answer.hits
        ]

    def entry(self, item: Item) -> Entry:
        """The entry as it stands in its file now. Raises NotFound, OSError."""
        from memsearch_engine.journal.files import read_day

        entry = read_day(item.path).find(item.entry_id)
        if entry is None:
            raise NotFound(f"the entry {item.entry_id} is no longer in {item.path}")
        return entry

    def short(self, path: str) -> str:
        """*path* from its project's name on: what a person needs to find the file."""
        project = next((p for p in self.memory.projects if path.startswith(p.root + os.sep)), None)
        return os.path.join(project.name, os.path.relpath(path, project.root)) if project else path

    def evidence(self, entry: Entry) -> str:
        """``live``, ``archived`` or ``lost``; '' where no conversation stands behind the entry."""
        key = (entry.agent, entry.session, entry.turn)
        if key not in self._evidence:
            self._evidence[key] = self.memory.evidence(entry)
        return self._evidence[key]

    def conversation(self, entry: Entry, turn: str = "") -> Found:
        """The conversation around the entry's turn, or around another *turn* of it."""
        return self.memory.conversation(entry, turn=turn, context=AROUND)

    def health(self) -> dict[str, Any]:
        """The service's view of itself, or why there is none."""
        try:
            everything = self.memory.everything
            state = self.memory.call("health", dict, place=self.memory.place_param, all_projects=everything)
            state["service"] = self.memory.call("status", dict)
            return state
        except MemsearchError as error:
            return {"error": str(error), "hint": error.hint}
