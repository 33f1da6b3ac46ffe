"""Notes that are related to a note, a turn or a case of the review queue."""

from __future__ import annotations

import re
from collections.abc import Sequence

import memsearch_engine as engine

from memsearch_tui.library.rows import Item, ItemMaker, Related

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
        for name in dict.fromkeys(_SOURCES.findall(" ".join(_CITED.findall(entry.body)))):
            if (source := self._items.of_id(name)) is not None:
                found.append(Related("comes from", source))
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
        from memsearch_engine import files_named

        for path in dict.fromkeys([*files_named(entry.body), *_PATH.findall(entry.body)][:_FILES]):
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

    def of_case(self, notes: Sequence[str], sessions: Sequence[str]) -> list[Item]:
        """Return the notes with these ids, and the newest note of each of these sessions.

        Missing notes are left out.
        """
        found = [item for name in notes if (item := self._items.of_id(name))]
        memory = self._memory
        with engine.Memory(memory.place.root, home=memory.home, everything=True) as everywhere:
            for session in sessions:
                answer = everywhere.queries.lexical(f"session:{session}", 1)
                found += [self._items.of_index(hit.row) for hit in answer.hits]
        return found
