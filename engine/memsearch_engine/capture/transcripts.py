"""The conversations behind notes, from their agents or from the archive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memsearch_engine.core.errors import NotFound
from memsearch_engine.search.scope import Scope

if TYPE_CHECKING:
    from memsearch_engine.agents.transcripts.locate import Excerpt
    from memsearch_engine.agents.transcripts.model import Conversation, Turn
    from memsearch_engine.journal.model import Entry
    from memsearch_engine.journal.note import Note


class Transcripts:
    """The conversations of agents, whole or around a turn.

    >>> with Memory() as memory:
    ...     note = memory.add("Staging runs Postgres 16")
    ...     memory.transcripts.state(memory.files.section(note.id).entry)
    ''
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def conversation(
        self,
        entry: Entry,
        *,
        turn: str = "",
        context: int | None = None,
        near: datetime | None = None,
    ) -> Excerpt:
        """The conversation behind an entry, from its agent, else from the archive. Raises NotFound
        where it is lost.

        Args:
            turn: another turn of the same session.
            context: turns on both sides; None for the whole session.
            near: when the entry was noted; then a conversation that lacks the turn is opened at
                the one that began nearest.
        """
        from memsearch_engine.agents.transcripts.evidence import Archive
        from memsearch_engine.agents.transcripts.locate import Excerpt, around, place_at, window

        turn = turn or entry.turn
        try:
            return window(self._live(entry), turn, context)
        except NotFound:
            kept = (
                Archive(self._scope.home).get(entry.agent, entry.session, turn)
                if entry.anchor
                else None
            )
            if kept is not None:
                return Excerpt(str(self._scope.home.evidence), [kept], 0, 0, 1, "archived")
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
        """The turn at *place* of the conversation behind an entry, counted from 0, with *context*
        turns on both sides.

        Raises NotFound where the agent has the conversation no more.
        """
        from memsearch_engine.agents.transcripts.locate import around

        live = self._live(entry)
        return around(live, max(0, min(place, len(live.ids) - 1)), context)

    def turn_with(self, entry: Entry, words: Sequence[str], start: int, step: int) -> int:
        """The place of the next turn (*step* 1) or the one before (-1) from *start* in which one of
        *words* (casefolded) stands; -1 where there is none. Raises NotFound where the agent has the
        conversation no more.
        """
        from memsearch_engine.agents.transcripts.locate import place_with

        return place_with(self._live(entry), words, start, step)

    def _live(self, entry: Entry) -> Conversation:
        from memsearch_engine.agents.transcripts.locate import anchored

        anchor = entry.anchor
        if anchor is None:
            raise NotFound(f"entry {entry.id} was written by hand: it has no conversation")
        return anchored(
            anchor.agent,
            anchor.session,
            anchor.path,
            self._scope.folders,
            cache=self._scope.home.offsets,
        )

    def state(self, entry: Entry) -> str:
        """``live`` where the agent still has the conversation, ``archived`` where we keep it, else
        ``lost``; '' for notes that a person wrote.
        """
        from memsearch_engine.agents.transcripts.evidence import Archive
        from memsearch_engine.agents.transcripts.locate import find_session

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
        """A transcript of any agent by its file, whole or around a turn; ``session`` where the file
        is a database of many.
        """
        from memsearch_engine.agents.transcripts.locate import open_file

        if not os.path.isfile(path):
            raise NotFound(f"no transcript file {path}")
        return self.presentable(
            open_file(path, turn, session, context=context, cache=self._scope.home.offsets),
            full,
            raw,
        )

    def presentable(self, found: Excerpt, full: bool, raw: bool) -> Excerpt:
        """*found* without secrets (unless *raw*), cut to about 15,000 tokens (unless *full*)."""
        if not raw:  # what one agent was told must not reach another's model
            from memsearch_engine.capture.clean import without_secrets

            found.turns = [without_secrets(turn, self._scope.home) for turn in found.turns]
        if not full:
            found.shorten()
        return found

    def note_of_turn(self, turn: Turn) -> Note:
        """The note that was made of a turn. Raises NotFound where there is none."""
        from memsearch_engine.journal.parse import turn_id

        return self._scope.note(turn_id(turn.agent, turn.session, turn.turn))
