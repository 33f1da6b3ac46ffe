"""An entry as callers get it: plain values, no bytes and no places in a file."""

from __future__ import annotations

import msgspec

from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal.files import day_of
from memsearch_engine.journal.model import Anchor, Entry


class Note(msgspec.Struct, frozen=True):
    """One memory as it stood in its file when it was read.

    Attributes:
        id: its name for good. hash: of its bytes; ``if_match`` of an edit or a deletion
            compares it.
        day: ``YYYY-MM-DD``, '' in a file that is no day's. time: ``HH:MM``, may be ''.
        agent, session, turn: of the turn that it came from; '' for what a person wrote. kind:
            ``turn`` or ``note``.
        title: its first line. text: without heading, anchors and marks. content: as written,
            with them.
        marks: ``pin``, ``expires``, ``confidence``, ``superseded`` ... by name.
        path: the file; start_line, end_line: where it stands there, from 1, inclusive.
        anchor: where the conversation behind it lies; None for what a person wrote.
        replaced: placeholders of the secrets that were taken out when it was written just now.
        unconfirmed: why a note that was written just now could not be read again or prepared
            for sessions; '' where it was.
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
        """Who shared it with the team; '' for the project's own notes."""
        return author_of(self.path)

    @classmethod
    def of(cls, entry: Entry, path: str, replaced: tuple[str, ...] = ()) -> Note:
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
