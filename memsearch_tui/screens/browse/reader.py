"""Shows the note under the cursor.

Notes are read in threads, and read ahead when the cursor rests.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial

import memsearch_engine as engine
from memsearch_engine import MemsearchError

from memsearch_tui.aside import NOTES, READS, away
from memsearch_tui.library import Item, Seen
from memsearch_tui.library.rows import short_path
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.timeline import Key, Timeline, is_heading
from memsearch_tui.widgets import render
from memsearch_tui.widgets.pieces import Row

_HOLD_FRAME_S = 0.02  # longest time that a frame waits for the note
_AHEAD_REST_S = 0.05  # rest of the cursor before notes are read ahead
_SAID_REST_S = 0.2  # rest of the cursor before a conversation is read
_LOST = "The conversation is gone: the agent no longer has it."
_CACHED = 60  # recently read notes
_BODY = 300  # characters of a note that its row may show


class Reader:
    """Shows the note under the cursor and the facts about it."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._state, self._panes = desk, desk.state, desk.panes
        self._cache: dict[tuple[Key, str], Seen] = {}
        self._frame = contextlib.ExitStack()
        self.reading: asyncio.Task[None] | None = None

    @property
    def cached(self) -> set[tuple[Key, str]]:
        """(key, as-of day) of the notes in the cache."""
        return set(self._cache)

    def forget(self) -> None:
        """Clear the cache, because another project is shown."""
        self._cache.clear()

    def preview(self) -> None:
        """Show the entry under the cursor: at once if it is cached, else when it is read."""
        state = self._state
        if state.editing:
            return  # an edited note stays while the list moves
        if self.reading is not None:
            self.reading.cancel()
        state.item, before = state.shown.item(self._panes.entries.key), state.item
        self._desk.status.forget_unless(state.item.key if state.item else None)
        self.reading = None
        if state.item is None:
            state.note = None
            self._panes.reader.show([])
            self._panes.said.show([])
            return
        item = state.item
        known = self._cache.get((item.key, item.as_of))
        is_same = before is not None and (before.key, before.as_of) == (item.key, item.as_of)
        if is_same and state.level == "turn":
            return  # the conversation of this note is open
        if known is not None:
            state.note = known
            self.show_section(keep_place=is_same)
        elif not is_same:
            state.note = None
        self.reading = asyncio.create_task(self._read(item, is_same))

    def hold_frame(self) -> None:
        """Delay painting for a moment, so that the note appears in the same frame as the cursor."""
        if self._state.note is None:
            self._frame.enter_context(self._desk.screen.app.batch_update())
            self._desk.screen.set_timer(_HOLD_FRAME_S, self._frame.close)

    async def _read(self, item: Item, keep_place: bool) -> None:
        await self._desk.painted.wait()
        state, key = self._state, (item.key, item.as_of)
        try:
            seen = await NOTES.run(partial(state.library.notes.seen, item))
        except Exception as error:  # a file may have any content: show the error instead
            self._cache.pop(key, None)
            if state.item is item and not state.editing:
                state.note = None
                rows: list[Row] = [[(str(error), "warn")], [("r reads the lists again", "dim")]]
                self._panes.reader.show(rows)
            return
        is_shown = self._cache.get(key) == seen and state.entry is not None
        may_show = state.item is item and state.level != "turn" and not state.editing
        if may_show and not is_shown:
            self._remember(item, seen)
            state.note = seen
            self.show_section(keep_place=keep_place)
        self._frame.close()

    def _remember(self, item: Item, seen: Seen) -> None:
        self._cache[item.key, item.as_of] = seen
        self._note_facts(item, seen.entry, seen.evidence)
        if len(self._cache) > _CACHED:
            del self._cache[next(iter(self._cache))]

    def _note_facts(self, item: Item, entry: engine.Entry, evidence: str) -> None:
        """Store what the row of a note shows besides its title."""
        self._state.evidence[item.key] = evidence
        self._state.bodies[item.key, entry.hash] = entry.body[:_BODY]

    def show_section(self, *, keep_place: bool = False) -> None:
        """Draw the note, and start reading what is shown beside it."""
        entry, start = self._state.entry, self._desk.start
        if entry is None or self._state.item is None:
            return
        self._draw(keep_place=keep_place)
        start(partial(self._show_amendments, entry), "amendments", only=True)
        start(self._read_ahead, "read ahead", only=True)
        start(self._look_for_lost, "lost", only=True)
        self.show_conversation(keep_place=keep_place)

    def show_conversation(self, *, keep_place: bool = True) -> None:
        """Start reading the turn behind the note, if its pane is visible."""
        note = self._state.note
        is_lost = note is not None and note.evidence == "lost"
        if is_lost or not keep_place:  # never show the conversation of another note
            self._panes.said.show([[(_LOST, "dim")]] if is_lost else [])
        if note is not None and not is_lost and self._panes.said.display:
            self._desk.start(partial(self._show_conversation, note.entry), "said", only=True)

    def _draw(
        self, amendments: Sequence[engine.Supersession] = (), *, keep_place: bool = False
    ) -> None:
        state, view = self._state, self._panes.reader
        if state.note is None or state.item is None:
            return
        evidence = state.note.evidence
        has_conversation = evidence in ("live", "archived")
        view.entitle("note")
        view.entitle(subtitle=f"conversation {evidence} · enter opens it" * has_conversation)
        rows = render.entry_rows(
            state.note.entry,
            state.item.day,
            short_path(state.library.memory, state.item.path),
            evidence,
            amendments,
            state.note.standing,
        )
        view.show(rows, marks=state.marks(), keep_place=keep_place)

    async def _read_ahead(self) -> None:
        """Read the notes that the next key may show, and the days that scrolling may show."""
        await asyncio.sleep(_AHEAD_REST_S)
        state, entries = self._state, self._panes.entries
        here, timeline = entries.cursor, state.shown
        for key in (entries.beside(1), entries.beside(-1)):
            item = state.shown.item(key)
            if item is not None and (item.key, item.as_of) not in self._cache:
                with contextlib.suppress(MemsearchError, OSError):
                    # the error is shown when the note is opened
                    self._remember(item, await READS.run(partial(state.library.notes.seen, item)))
        if isinstance(timeline, Timeline) and state.shown is timeline:
            for day in timeline.unread(here):
                timeline.take(await READS.run(partial(timeline.read, [day])))
            timeline.forget_far(entries.cursor)

    async def _look_for_lost(self) -> None:
        """Find out which notes have a conversation, and their text, once the cursor rests.

        The next pages are included, so that a row is not drawn twice when it is scrolled to.
        """
        await asyncio.sleep(_SAID_REST_S)
        state, entries = self._state, self._panes.entries
        library = state.library
        notes = [state.shown.item(key) for key in entries.around() if not is_heading(key)]
        items = [item for item in notes if item and (item.key, item.hash) not in state.bodies]
        found = await READS.run(partial(library.notes.examined, items)) if items else []
        if library is state.library:
            for item, entry, evidence in found:
                self._note_facts(item, entry, evidence)
            entries.refresh_changed()  # also the row of the note that was read meanwhile

    async def _show_amendments(self, entry: engine.Entry) -> None:
        """Add the notes that the note supersedes or is superseded by, once the cursor rests."""
        await asyncio.sleep(_SAID_REST_S)
        state = self._state
        try:
            found = await READS.run(partial(state.library.notes.supersessions, entry))
        except (MemsearchError, OSError):  # the note can be read without them
            return
        if found and state.entry is entry and state.level != "turn" and not state.editing:
            self._draw(found, keep_place=True)

    async def _show_conversation(self, entry: engine.Entry) -> None:
        """Show the turn behind the note, once the cursor rests on it."""
        await asyncio.sleep(_SAID_REST_S)
        rows: list[Row] = []
        try:
            found = await away(partial(self._state.library.notes.conversation, entry))
        except Exception as error:
            # a foreign file may have any content, and the user did not ask for it
            rows = [[(str(error), "dim")]]
        else:
            if found.turns:
                place = max(0, found.index)
                number = found.first + place + 1
                rows = render.turn_rows(found.turns[place], number, found.total, unfolded=False)
        if self._state.entry is entry:
            self._panes.said.show(rows, marks=self._state.marks())

    def scroll(self, step: int) -> None:
        """Scroll the note by *step* lines, whichever pane has the focus."""
        view = self._panes.reader
        view.scroll_to(y=view.scroll_offset.y + step, animate=False, force=True)
