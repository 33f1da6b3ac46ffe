"""The state of the browse screen, shared by its controllers. No widget here."""

from __future__ import annotations

from dataclasses import dataclass, field

import memsearch_engine as engine

from memsearch_tui.library import HeaderState, Item, Library, Seen
from memsearch_tui.timeline import Hits, Key, Timeline

#: The levels of the screen: the list, one note, one turn of the note's conversation.
LEVELS = ("entries", "section", "turn")


@dataclass
class BrowseState:
    """The state of the browse screen.

    Attributes:
        library: one project, or all of them.
        level: one of ``LEVELS``.
        timeline: all notes.
        shown: the content of the list: the timeline or the hits of a query.
        item: the row under the cursor.
        note: the text of ``item``; None while it is being read.
        query: the text in the search box.
        sought: the words that are searched in the open text.
        chosen: the user moved the cursor, so new hits do not move it.
        before_search: the row to which the end of a search returns.
        editing: an editor is open.
        deleted: notes that were deleted here; the index may still list them.
        evidence: key -> ``NoteReader.evidence`` of the examined rows.
        bodies: (key, hash) -> the beginning of the text of the examined notes.
        standing: the state in the header and the rail.
        cursor_wanted: the key for the cursor when the list is read again.
        agents_here: agents with sessions on this machine; read only if there are no notes.
    """

    library: Library
    timeline: Timeline = field(init=False)
    shown: Timeline | Hits = field(default_factory=lambda: Hits([]))
    level: str = "entries"
    item: Item | None = None
    note: Seen | None = None
    query: str = ""
    sought: str = ""
    chosen: bool = False
    before_search: Key | None = None
    cursor_wanted: Key | None = None
    editing: bool = False
    deleted: set[Key] = field(default_factory=set)
    evidence: dict[Key, str] = field(default_factory=dict)
    bodies: dict[tuple[Key, str], str] = field(default_factory=dict)
    standing: HeaderState = field(default_factory=HeaderState)
    agents_here: list[str] = field(default_factory=list)
    _words: tuple[str, list[str]] = ("", [])

    @property
    def entry(self) -> engine.Entry | None:
        """The entry under the cursor, once it is read."""
        return self.note.entry if self.note is not None else None

    def words(self) -> list[str]:
        """Return the query's plain words, casefolded, for highlighting. Every row calls this."""
        if self._words[0] != self.query:
            words = (word.casefold() for word in engine.parse_query(self.query).text.split())
            self._words = (
                self.query,
                [word for word in words if len(word) > 1 and word not in engine.STOP_WORDS],
            )
        return self._words[1]

    def marks(self) -> list[str]:
        """Return the highlighted words of the open text: the words searched in it, else the query's
        words.
        """
        return [self.sought.casefold()] if self.sought else self.words() if self.query else []

    def use(self, library: Library) -> None:
        """Show another project, or all of them, and drop the data of the one before."""
        self.library = library
        self.deleted.clear()
        self.evidence.clear()
        self.bodies.clear()
        self.standing = HeaderState()
