"""The list of all notes, and the parts that follow it: header, calendars and rail."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial

from memsearch_engine import agent_names

from memsearch_tui.aside import NOTES
from memsearch_tui.counted import many
from memsearch_tui.library import HeaderState, Library
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.screens.browse.reader import Reader
from memsearch_tui.screens.browse.rows import PlaceRows, first_steps, named_day
from memsearch_tui.timeline import Key, Timeline
from memsearch_tui.widgets.bars import parts

_LOOK_AGAIN_S = 2.0  # between two queries of the service's state while it changes
#: A cursor key that means the newest note at the time when the list is read.
NEWEST: Key = ("", "newest")


class TimelineController:
    """Reads the timeline in threads and keeps the cursor on the same note."""

    def __init__(self, desk: Desk, reader: Reader, places: PlaceRows) -> None:
        self._desk, self._reader, self._places = desk, reader, places
        self._state, self._panes = desk.state, desk.panes
        self._is_looking = self._look_again = False
        self.listing: asyncio.Task[None] | None = None
        self.going: asyncio.Task[None] | None = None

    @property
    def is_all(self) -> bool:
        """Whether all notes are listed."""
        return self._state.shown is self._state.timeline

    # -- the timeline

    def begin(self, cursor: Key | None, near: str) -> None:
        """List the notes for the first frame.

        Args:
            cursor: the key for the cursor.
            near: the ISO day around which notes are read at once.
        """
        state = self._state
        state.timeline, state.agents_here = self._listed(state.library, near)
        self.show(cursor)

    def show(self, cursor: Key | None = None) -> None:
        """Show all notes as of the last reading."""
        state, entries = self._state, self._panes.entries
        state.shown = state.timeline
        if not len(state.timeline):
            entries.empty = first_steps(state.library.memory.place.root, state.agents_here)
        entries.want_two_lines(False)
        entries.show_keys(state.timeline, cursor=cursor)
        entries.entitle(subtitle="")
        self.show_title()
        self.show_calendar(state.timeline.counts)
        self._show_header()
        self._reader.preview()

    def _listed(self, library: Library, near: str) -> tuple[Timeline, list[str]]:
        """Return all notes; if there are none, also the agents of this machine. Thread-safe."""
        timeline = Timeline(library, self.recount, near=near)
        if len(timeline):
            return timeline, []
        has_sessions = library.memory.plugins.has_sessions
        return timeline, [agent for agent in agent_names() if has_sessions(agent)]

    def read_again(self, stand_on: Key | None = None) -> None:
        """List all notes again in a thread.

        Args:
            stand_on: the key for the cursor; None: the cursor stays.
        """
        if self.listing is not None:
            self.listing.cancel()
        # a cursor key of a replaced reading still applies
        self._state.cursor_wanted = stand_on or self._state.cursor_wanted
        self.listing = asyncio.create_task(self._list())

    async def _list(self) -> None:
        state, entries = self._state, self._panes.entries
        library, was_empty = state.library, not len(state.timeline)
        near = state.timeline.day_at(entries.cursor) or library.today()
        try:
            timeline, here = await NOTES.run(partial(self._listed, library, near))
        except Exception as error:  # the list stays unchanged
            self._desk.complain(error)
            return
        if library is not state.library or state.level == "turn":
            return  # leaving the conversation lists the notes again
        is_all, state.timeline, state.agents_here = self.is_all, timeline, here
        if not is_all:
            return
        key, line, stand_on = entries.key, entries.cursor_line, state.cursor_wanted
        state.cursor_wanted = None
        if stand_on == NEWEST:
            stand_on = timeline[0] if len(timeline) else None
        at_top = entries.scroll_offset.y == 0 and entries.cursor == 0
        self.show(stand_on if stand_on in timeline else key)
        if not at_top and stand_on is None and not was_empty:
            entries.hold(line)

    def recount(self) -> None:
        """Correct the positions of rows after the next frame, because a day had another number of
        notes.
        """
        self._desk.screen.call_later(self._settle)

    def _settle(self) -> None:
        state, entries = self._state, self._panes.entries
        key, line = entries.key, entries.cursor_line
        for timeline in (state.timeline, state.shown):
            if isinstance(timeline, Timeline):
                timeline.settle()
        if isinstance(state.shown, Timeline):
            entries.show_keys(state.shown, cursor=key)
            entries.hold(line)
            self._show_header()

    # -- days

    def go_to_day(self, day: str) -> None:
        """Move the cursor to the newest note of *day*, or of the next older day that has one."""
        if self.going is not None:
            self.going.cancel()
        self.going = asyncio.create_task(self._go_to_day(day))

    async def _go_to_day(self, day: str) -> None:
        timeline, entries = self._state.timeline, self._panes.entries
        await self._read_around(timeline, timeline.start(day))
        if self._state.shown is not timeline:
            return  # a search began meanwhile
        start = timeline.start(day)
        entries.move_to(start)
        entries.show_first(start)
        self._desk.go("entries")

    async def _read_around(self, timeline: Timeline, index: int) -> None:
        """Read the days around a row that the cursor moves to, beside the event loop."""
        if unread := timeline.unread(index):
            timeline.take(await NOTES.run(partial(timeline.read, unread)))

    async def next_day(self, step: int) -> None:
        """Go to the next older day (1) or the next newer one (-1)."""
        timeline, entries = self._state.shown, self._panes.entries
        if not isinstance(timeline, Timeline) or not len(timeline):
            return
        place = timeline.other_day(entries.cursor, step)
        await self._read_around(timeline, place)
        if self._state.shown is timeline:
            entries.move_to(place)

    # -- parts that follow the list

    def show_title(self) -> None:
        """Show the day of the first row if the row does not name it; move the calendars."""
        state, entries = self._state, self._panes.entries
        shown = state.shown if isinstance(state.shown, Timeline) else state.timeline
        is_listed = state.shown is shown
        day = shown.day_at(entries.cursor) if is_listed and not state.item else ""
        if is_listed or not state.query:  # hits have a title of their own
            first = entries.scroll_offset.y // entries.tall
            named = [] if self.is_all else [many(shown.total, "note")]
            if first < len(shown) and not shown.begins_day(shown[first]):
                named.append(named_day(shown.day_at(first), state.library.today()))
            entries.entitle(" · ".join(named) or "notes")
        for calendar in self._panes.calendars:
            calendar.mark(state.item.day if state.item else day)

    def show_calendar(self, counts: dict[str, int]) -> None:
        """Colour the calendars.

        Args:
            counts: ISO day -> number of notes or hits.
        """
        for calendar in self._panes.calendars:
            calendar.show(counts, self._state.library.today())

    def _show_header(self) -> None:
        state = self._state
        memory, timeline = state.library.memory, state.timeline
        name = "all projects" if memory.everything else memory.project.name
        counted = timeline.total, sum(map(bool, timeline.counts.values()))
        self._panes.header.show(parts(name, *counted, state.standing, state.library.today()))

    def show_places(self) -> None:
        """Fill the rail."""
        places = self._panes.places
        places.show_keys(self._places.keys(self._desk.saved.saved_searches))
        places.display = bool(places.keys)

    # -- the service's state

    def look(self) -> None:
        """Query the service's state in a thread, without starting a service.

        Quitting does not wait for the thread. A call during a running query causes one more query.
        """
        self._look_again = self._is_looking
        if not self._is_looking:
            self._is_looking = True
            threading.Thread(target=self._find_standing, name="standing", daemon=True).start()

    def _find_standing(self) -> None:
        library = self._state.library
        found = library.status.header()
        take: Callable[[], None] = partial(self._take_standing, library, found)
        with contextlib.suppress(RuntimeError):  # the app is closing
            self._desk.screen.app.call_from_thread(take)

    def _take_standing(self, library: Library, found: HeaderState) -> None:
        self._is_looking = False
        if library is self._state.library:
            self._state.standing = found
            self._show_header()
            self.show_places()
        if self._look_again:
            self._desk.screen.set_timer(_LOOK_AGAIN_S, self.look)
