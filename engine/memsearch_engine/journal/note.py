"""A note: an entry as plain values, without bytes and offsets."""

from __future__ import annotations

import msgspec

from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal.files import day_of
from memsearch_engine.journal.model import Anchor, Entry


class Note(msgspec.Struct, frozen=True):
    """A note as its file had it when it was read.

    Attributes:
        id: stable.
        hash: of its bytes; ``if_match`` of an edit or deletion compares it.
        day: ``YYYY-MM-DD``; ``""`` in a file that is no day.
        time: ``HH:MM`` or ``""``.
        agent, session, turn: of its turn; ``""`` if a person wrote it.
        kind: ``turn`` or ``note``.
        title: its first line.
        text: without heading, anchors and marks.
        content: as written.
        marks: ``pin``, ``expires``, ``confidence``, ``superseded-by`` and others, by name.
        path: the file.
        start_line, end_line: from 1, inclusive.
        anchor: where its conversation is; None if a person wrote it.
        replaced: placeholders of secrets that were removed when it was written just now.
        unconfirmed: why a note that was written just now could not be read again or prepared for
            sessions, or ``""``.
    """

    id: str
    hash: str
    day: str
    time: str
    agent: str
    session: str
    turn: str
    kind: str
    title: str
    text: str
    content: str
    marks: dict[str, str]
    path: str
    start_line: int
    end_line: int
    anchor: Anchor | None = None
    replaced: tuple[str, ...] = ()
    unconfirmed: str = ""

    @property
    def author(self) -> str:
        """Who shared it; ``""`` for the project's own notes."""
        return author_of(self.path)

    @classmethod
    def of(cls, entry: Entry, path: str, replaced: tuple[str, ...] = ()) -> Note:
        """Make a note of an entry.

        Args:
            path: the entry's day file.
            replaced: placeholders of secrets that were removed.
        """
        return cls(
            entry.id,
            entry.hash,
            day_of(path),
            entry.time,
            entry.agent,
            entry.session,
            entry.turn,
            entry.kind,
            entry.title,
            entry.body,
            entry.content,
            entry.marks,
            path,
            entry.start_line,
            entry.end_line,
            entry.anchor,
            replaced,
        )
