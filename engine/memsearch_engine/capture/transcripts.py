"""The conversations behind notes, from the agents or from the archive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import (
    Excerpt,
    anchored,
    around,
    find_session,
    open_file,
    place_at,
    place_with,
    window,
)
from memsearch_engine.agents.transcripts.model import Conversation, Turn
from memsearch_engine.core.errors import NotFound
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.note import Note
from memsearch_engine.journal.parse import turn_id
from memsearch_engine.search.scope import ScopePart


def by_hand(entry: Entry) -> NotFound:
    """Return the error for the conversation of a handwritten entry."""
    return NotFound(
        f"entry {entry.id} was written by hand: it has no conversation",
        f"`memsearch expand {entry.id}` shows the note",
    )


class Transcripts(ScopePart):
    """The conversations of agents, whole or around a turn.

    >>> with Memory() as memory:
    ...     note = memory.add("Staging runs Postgres 16")
    ...     memory.transcripts.state(memory.files.section(note.id).entry)
    ''
    """

    def conversation(
        self,
        entry: Entry,
        *,
        turn: str = "",
        context: int | None = None,
        near: datetime | None = None,
    ) -> Excerpt:
        """Return the conversation behind an entry, from its agent, or else from the archive.

        Args:
            turn: another turn of the same session.
            context: turns to add before and after it; None for the whole session.
            near: the time of the entry. If the conversation lacks the turn, it opens at the turn
                that began nearest to this time.

        Raises:
            NotFound: the conversation no longer exists.
        """
        turn = turn or entry.turn
        try:
            return window(self._live(entry), turn, context)
        except NotFound:
            archived = (
                Archive(self._scope.home).get(entry.agent, entry.session, turn)
                if entry.anchor
                else None
            )
            if archived is not None:
                return Excerpt(str(self._scope.home.evidence), [archived], 0, 0, 1, "archived")
            if near is None:
                raise
            live = self._live(entry)
            place = place_at(live, near)
            if place < 0:
                raise
            found = around(live, place, context)
            found.is_near = True
            return found

    def turns_around(self, entry: Entry, place: int, context: int) -> Excerpt:
        """Return turns of the conversation behind an entry.

        Args:
            place: index of the turn, from 0.
            context: turns to add before and after it.

        Raises:
            NotFound: the agent no longer has the conversation.
        """
        live = self._live(entry)
        return around(live, max(0, min(place, len(live.ids) - 1)), context)

    def turn_with(self, entry: Entry, words: Sequence[str], start: int, step: int) -> int:
        """Search the conversation behind an entry for words.

        Args:
            words: casefolded; one of them is enough.
            start: the index of the turn where the search starts.
            step: 1 to search forward, -1 to search backward.

        Returns:
            The index of the turn; -1 if no turn has a word.

        Raises:
            NotFound: the agent no longer has the conversation.
        """
        return place_with(self._live(entry), words, start, step)

    def _live(self, entry: Entry) -> Conversation:
        anchor = entry.anchor
        if anchor is None:
            raise by_hand(entry)
        return anchored(
            anchor.agent,
            anchor.session,
            anchor.path,
            self._scope.folders,
            cache=self._scope.home.offsets,
        )

    def state(self, entry: Entry) -> str:
        """Return where the conversation of an entry is.

        Returns:
            ``live`` (the agent has it), ``archived``, ``lost``, or ``""`` for notes by a person.
        """
        anchor = entry.anchor
        if anchor is None or not anchor.agent:
            return ""
        if find_session(anchor.agent, anchor.session, anchor.path, self._scope.folders):
            return "live"
        return (
            "archived"
            if Archive(self._scope.home).has(anchor.agent, anchor.session, anchor.turn)
            else "lost"
        )

    def file(
        self,
        path: str,
        *,
        turn: str = "",
        session: str = "",
        context: int = 0,
        full: bool = False,
        raw: bool = False,
    ) -> Excerpt:
        """Return a transcript of any agent by its file, whole or around a turn.

        Args:
            session: the session, if the file is a database of many.
            turn: the turn; without it, the whole session.
            context: turns to add before and after it.
            full: do not shorten texts.
            raw: do not remove secrets.
        """
        if not os.path.isfile(path):
            raise NotFound(
                f"no transcript file {path}",
                "`memsearch transcript ENTRY` opens the conversation of a note",
            )
        return self.presentable(
            open_file(path, turn, session, context=context, cache=self._scope.home.offsets),
            full,
            raw,
        )

    def presentable(self, found: Excerpt, full: bool, raw: bool) -> Excerpt:
        """Remove secrets (unless *raw*), and shorten to about 15,000 tokens (unless *full*)."""
        if not raw:  # text injected into one agent must not reach the model of another
            from memsearch_engine.capture.clean import without_secrets

            found.turns = [without_secrets(turn, self._scope.home) for turn in found.turns]
        if not full:
            found.shorten()
        return found

    def note_of_turn(self, turn: Turn) -> Note:
        """Return the note that was made of a turn.

        Raises:
            NotFound: there is none.
        """
        return self._scope.note(turn_id(turn.agent, turn.session, turn.turn))
