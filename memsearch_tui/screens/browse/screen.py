"""The home screen: all notes under their days, or hits, and beside them the text of a note.

``BrowseState.level`` is the depth: the list, a note (L2), a turn of its conversation (L3). Enter
goes one level down. Escape returns to the same row, scroll position and query. A wide screen also
shows a rail with a calendar and the agents, and the conversation under the note.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import memsearch_engine as engine
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input

from memsearch_tui.commands import PaletteCommand
from memsearch_tui.library import Item, Library
from memsearch_tui.saved import SavedState
from memsearch_tui.screens.browse import keys
from memsearch_tui.screens.browse.changes import Changes, Selection
from memsearch_tui.screens.browse.conversation import Conversation
from memsearch_tui.screens.browse.desk import Desk, Follower, Panes
from memsearch_tui.screens.browse.editor import Editor
from memsearch_tui.screens.browse.listing import NEWEST, TimelineController
from memsearch_tui.screens.browse.marks import Marks
from memsearch_tui.screens.browse.reader import Reader
from memsearch_tui.screens.browse.rows import INDENT, EntryRows, PlaceRows
from memsearch_tui.screens.browse.search import SearchController
from memsearch_tui.screens.browse.state import BrowseState
from memsearch_tui.timeline import Hits, is_heading
from memsearch_tui.widgets.bars import Header, Keys
from memsearch_tui.widgets.calendar import Calendar
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.pieces import Row
from memsearch_tui.widgets.query import FilterSuggester, QueryBox
from memsearch_tui.widgets.text_view import TextView

#: Return value of the app when the user asked for the sample year.
DEMO = 1000


class BrowseScreen(Screen[None]):
    """Composes the controllers. ``actions`` maps each key's verb to a controller."""

    AUTO_FOCUS = "#entries"
    BINDINGS = keys.BINDINGS

    def __init__(self, library: Library, saved: SavedState, *, live: bool = True) -> None:
        """Args:
        saved: the app's saved state.
            live: follow the service's changes.
        """
        super().__init__(classes="at-entries")
        self.state = BrowseState(library)
        self.rows, self.place_rows = EntryRows(self.state), PlaceRows(self.state)
        self.panes = self._make_panes()
        self.desk = Desk(self, self.state, self.panes, saved)
        self.reader = Reader(self.desk)
        self.listing = TimelineController(self.desk, self.reader, self.place_rows)
        self.search = SearchController(self.desk, self.reader, self.listing)
        self.conversation = Conversation(self.desk, self.show_entry, self.search.reload)
        self.selection = Selection(self.desk)
        self.editor = Editor(self.desk, self.reader, self.conversation, self.search.reload)
        self.changes = Changes(self.desk, self.selection, self.conversation, self.search)
        self.marks = Marks(self.desk, self.selection, self.changes, self.conversation, self.search)
        self.follower = Follower(self.desk, self._changed)
        self.actions = self._make_actions()
        self._is_live = live
        self._was_typing = False
        # returns to the screen that opened this note
        self._way_back: Callable[[], None] | None = None

    def _make_panes(self) -> Panes:
        entries = LineList(
            lambda index, width: self.rows.row(entries.keys[index], width, entries.tall),
            moved=self._entry_moved,
            scrolled=lambda: self.listing.show_title(),
            is_heading=is_heading,
            indent=INDENT,
            id="entries",
        )
        places = LineList(
            lambda index, width: self.place_rows.row(places.keys[index]),
            is_heading=is_heading,
            id="places",
        )
        query = QueryBox(
            id="query",
            suggester=FilterSuggester(
                self.state.library, lambda name, values: self.search.offer(name, values)
            ),
        )
        return Panes(
            query=query,
            header=Header(id="header"),
            strip=Calendar(id="strip"),
            year=Calendar(id="year"),
            places=places,
            entries=entries,
            reader=TextView(id="reader"),
            said=TextView(id="said"),
        )

    def _make_actions(self) -> dict[str, Callable[..., Any]]:
        """Return the verbs that keys name."""
        search, editor, changes = self.search, self.editor, self.changes
        return {
            "search": search.focus,
            "arrow": search.arrow,
            "filter_agent": search.filter_agent,
            "filter_projects": search.filter_projects,
            "as_of": search.choose_as_of,
            "by_session": search.group_by_session,
            "saved": search.choose_saved,
            "why": search.explain,
            "reload": search.reload,
            "deeper": self.go_deeper,
            "back": self.go_back,
            "close": lambda: (
                self.app.action_quit() if self.state.level == "entries" else self.go_back()
            ),
            "transcript": self.conversation.open,
            "note_of_turn": self.conversation.go_to_note,
            "unfold": self.conversation.open_or_unfold,
            "find_text": self.conversation.ask_for_text,
            "find": self.conversation.find,
            "resume": self.conversation.resume,
            "new": editor.new,
            "new_on": editor.new_on,
            "edit": editor.edit,
            "edit_outside": editor.edit_outside,
            "open_file": editor.open_file,
            "drop_draft": editor.drop_draft,
            "save": self.save,
            "delete": changes.delete,
            "undo": changes.undo,
            "redo": changes.redo,
            "history": changes.show_history,
            "copy": changes.copy,
            "copy_part": changes.copy_part,
            "export": changes.export,
            "pin": self.marks.pin,
            "marks": self.marks.choose,
            "preview": self.reader.scroll,
            "next": self.go_next,
            "date": self.ask_for_date,
            "day_file": self.show_day_file,
            "related": self.show_related,
            "connect": self.show_connect,
            "demo": lambda: self.app.exit(DEMO),
        }

    async def action_do(self, verb: str, *arguments: object) -> None:
        """Run one of ``actions``."""
        done = self.actions[verb](*arguments)
        if inspect.isawaitable(done):
            await done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key works now."""
        verb = str(parameters[0]) if action == "do" and parameters else action
        state = self.state
        if state.editing and verb not in ("back", "save", "drop_draft"):
            return False  # keys are text, and the palette offers no other action
        if verb == "demo":
            return not len(state.timeline)
        if verb in keys.OF_A_NOTE and state.level == "entries" and not self.panes.entries.keys:
            return False
        if verb == "back":  # the list is the first level
            entries = self.panes.entries
            at_list = state.level == "entries" and self.focused is entries
            return bool(state.editing or state.query or entries.selected or not at_list)
        # Textual knows which keys a box consumes, but not which character a key produces
        return not (verb == "search" and isinstance(self.focused, Input))

    @property
    def shown_keys(self) -> Sequence[tuple[str, str]]:
        """The keys of the last line: (id of a binding, words). If empty, the bindings decide."""
        level = "searching" if self.desk.is_typing else self.state.level
        if level == "entries" and not len(self.state.timeline) and not self.state.query:
            level = "empty"
        return keys.FOOTERS.get("editing" if self.state.editing else level, ())

    # -- start

    def compose(self) -> ComposeResult:
        """Lay out the panes for the size of the first frame."""
        for size, points in (
            (self.app.size.width, self.app.HORIZONTAL_BREAKPOINTS),
            (self.app.size.height, self.app.VERTICAL_BREAKPOINTS),
        ):
            fitting = [name for least, name in points or [] if size >= least]
            self.add_class(fitting[-1], update=False)
        panes = self.panes
        yield panes.header
        yield panes.query
        yield panes.strip
        with Horizontal(id="panes"):
            with Vertical(id="rail"):
                yield panes.year
                yield panes.places
            yield panes.entries
            with Vertical(id="right"):
                yield panes.reader
                yield panes.said
        yield self.desk.status
        yield Keys()

    def on_mount(self) -> None:
        """List the notes for the first frame; all other work begins after it."""
        panes, library = self.panes, self.state.library
        panes.reader.border_title, panes.said.border_title = "note", "conversation"
        panes.entries.folds = self.desk.saved.two_lines
        position = self.desk.saved.position(library.today())
        near = Path(position[0]).stem if position else library.today()
        self.listing.begin(position, near)
        self.call_after_refresh(self.desk.painted.set)
        self.call_after_refresh(self.listing.look)
        self.desk.start(self.editor.mention_draft, "drafts")
        if self._is_live:
            self.call_after_refresh(self.follower.start)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Skip the styles of the first frame: they were applied when the widgets were mounted."""
        if not self.desk.painted.is_set():
            event.refresh_styles = False

    def on_resize(self) -> None:
        """Fill the pane of the conversation, which may have appeared."""
        if self.desk.painted.is_set():
            self.call_after_refresh(self.reader.show_conversation)

    def on_unmount(self) -> None:
        """Stop all work, and save which note is under the cursor."""
        self.follower.stop()
        for task in (self.reader.reading, self.listing.listing, self.listing.going):
            if task is not None:
                task.cancel()
        key = self.state.before_search if self.state.query else self.panes.entries.key
        self.desk.saved.set_position(self.state.library.today(), key)

    def _changed(self, state: engine.IndexStatus) -> None:
        """Show the service's state, and read the lists again."""
        progress = state.progress
        if progress.get("total"):
            done = f"{progress['done']}/{progress['total']}"
            self.desk.status.set_service(f"{progress['phase']} {progress['project']} {done}")
        elif state.index == "ready":
            self.desk.status.set_service("")
        self.search.reload()
        self.listing.look()

    def open(self, library: Library) -> None:
        """Show another project, or all of them."""
        if self.state.query:
            self.search.end()
        self.state.use(library)
        self.reader.forget()
        self.listing.show_places()
        self.panes.entries.show_keys([])
        self.listing.read_again()
        self.desk.go("entries")
        self.desk.status.set_service("")
        self.say("")
        self.listing.look()

    def say(self, text: str) -> None:
        """Show a message in the status line."""
        self.desk.say(text)

    async def settled(self, within_s: float | None = None) -> None:
        """Wait until the list and the note under the cursor match the files.

        Args:
            within_s: seconds after which to give up with a message.
        """
        listing = self.listing
        while busy := [
            task
            for task in (listing.listing, listing.going, self.reader.reading)
            if task is not None and not task.done()
        ]:
            done, _ = await asyncio.wait(busy, timeout=within_s)
            if not done:
                self.say("still reading …")
                return

    # -- focus and the cursor

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        if event.widget is not self.focused:
            return  # the focus has moved on and must not be pulled back
        state, is_box = self.state, isinstance(event.widget, Input)
        if state.query and self._was_typing and not is_box:
            self.search.remember()
        self._was_typing = is_box
        if state.query and not is_box:
            state.chosen = True  # later answers do not move the cursor to another hit
        if is_box and not state.query:
            state.before_search = self.panes.entries.key
        if event.widget is self.panes.entries and state.level != "entries":
            self.desk.go("entries")
        elif event.widget is self.panes.reader and state.level == "entries":
            self.desk.go("section")

    def _entry_moved(self, by_hand: bool) -> None:
        if by_hand:
            self.state.chosen = True
            self._way_back = None
            if self.panes.entries.selected:
                self.refresh_bindings()  # escape works now
        self.reader.preview()
        if by_hand:
            self.reader.hold_frame()
        self.listing.show_title()

    @on(LineList.RowOpened)
    async def _row_opened(self) -> None:
        await self.settled()
        await self.go_deeper()

    @on(Input.Changed, "#query")
    def _query_changed(self, event: Input.Changed) -> None:
        self.search.typed(event.value)

    def on_text_area_changed(self) -> None:
        """Write a draft soon. `@on` would import the editor's widget at the start."""
        self.editor.changed()

    @on(Calendar.Picked)
    def _day_picked(self, event: Calendar.Picked) -> None:
        self.go_to_day(event.day)

    # -- navigation

    async def go_deeper(self) -> None:
        """Go from the box to the hits, from a row to its note, or from a note to its
        conversation. A note that is wholly visible beside the list needs no step of its own.
        """
        state = self.state
        if self.desk.is_typing:
            self.search.remember()  # at once: the next key may end the search
            self.set_focus(self.panes.entries)
        elif self.focused is self.panes.places:
            self._go_to_place()
        elif self.panes.entries.key == Hits.FOLD:
            self.search.unfold()
        elif state.level == "entries" and state.item:
            reader = self.panes.reader
            is_whole = not self.desk.is_narrow and reader.virtual_size.height <= reader.size.height
            if is_whole and state.note and state.note.evidence in ("live", "archived"):
                await self.conversation.open()
            else:
                self.desk.go("section")
        elif state.level == "section":
            await self.conversation.open()

    async def go_back(self) -> None:
        """Go one level up, or leave the editor or the search."""
        state = self.state
        if state.editing:
            await self.editor.leave()
        elif self.focused is self.panes.entries and self.panes.entries.selected:
            self.panes.entries.clear_selection()
            self.refresh_bindings()
        elif self.desk.is_typing or (state.level == "entries" and state.query):
            self.search.end()
        elif state.level == "turn":
            self.desk.go(self.conversation.came_from)
            self.reader.show_section()
            if self.listing.is_all:
                self.search.reload()  # show what arrived meanwhile
        elif state.level == "section" and self._way_back is not None:
            way, self._way_back = self._way_back, None
            self.desk.go("entries")
            way()
        elif state.level == "section" or self.focused is not self.panes.entries:
            self.desk.go("entries")
            self.set_focus(self.panes.entries)

    async def go_next(self, step: int) -> None:
        """Go to another turn of the conversation, or to another day."""
        if self.state.level == "turn":
            await self.conversation.other_turn(step)
        else:
            await self.listing.next_day(step)

    def go_to_day(self, day: str) -> None:
        """Move the cursor to the newest note of *day* (ISO), or of the next older day that has
        one.
        """
        if self.state.query:
            self.search.end()
        self.listing.go_to_day(day)

    def show_entry(self, item: Item, way_back: Callable[[], None] | None = None) -> None:
        """Move the cursor to a note and open it, also one that is not listed.

        Args:
            way_back: returns to the screen that opened the note; escape calls it.
        """
        self._way_back = way_back
        state, entries = self.state, self.panes.entries
        if state.query:
            self.search.end()
        if item.key in state.timeline:
            entries.show_keys(state.timeline, cursor=item.key)
        else:
            state.shown = Hits([item])
            entries.show_keys(state.shown, cursor=item.key)
        self.desk.go("section")
        self.reader.preview()
        self.listing.show_title()

    async def open_conversation(self) -> None:
        """Open the conversation behind the current note, if there is one."""
        await self.settled()
        note = self.state.note
        if self.state.level == "section" and note and note.evidence in ("live", "archived"):
            await self.conversation.open()

    def _go_to_place(self) -> None:
        """Open what a row of the rail names."""
        kind, name = self.panes.places.key or ("", "")
        if kind == "agent":
            self.search.toggle_word(f"agent:{name}" if name else "kind:note")
            self.set_focus(self.panes.entries)
        elif kind == "search":
            self.search.search_for(name)
            self.set_focus(self.panes.entries)
        elif kind == "pin":
            pinned = self.state.standing.pinned
            self.show_entry(next(item for item in pinned if item.entry_id == name))

    # -- other screens

    def save(self) -> None:
        """Save the search in the box, or the text in the editor."""
        if self.desk.is_typing:
            self.search.save()
        self.editor.save()

    def ask_for_date(self) -> None:
        """Go to a date; in a conversation, to a turn."""
        from memsearch_tui.screens.dialogs import DayScreen

        state = self.state
        if state.level == "turn":
            self.conversation.ask_for_turn()
        elif len(state.timeline) and not state.editing:
            today = state.library.today()
            here = state.item.day if state.item else today
            screen = DayScreen(state.timeline.counts, today, here)
            self.desk.open(screen, self.go_to_day)

    async def show_day_file(self) -> None:
        """Show the day's files as they are on disk."""
        from memsearch_tui.screens.help import TextScreen

        if self.state.item is None or self.state.editing:
            return
        day = self.state.item.day

        def show(written: list[tuple[str, str]]) -> None:
            rows: list[Row] = []
            for path, text in written:
                rows += [[(path, "accent")], [], *([(line, "text")] for line in text.split("\n"))]
            self.app.push_screen(TextScreen(day, rows))

        await self.desk.read(
            "reading the file", partial(self.state.library.days.sources, day), show
        )

    def show_related(self) -> None:
        """Show other notes on the topic, and notes of turns that wrote to the same files."""
        from memsearch_tui.screens.related import RelatedScreen

        item, entry = self.state.item, self.state.entry
        if item is not None and entry is not None:
            self.desk.open(RelatedScreen(self.state.library, item, entry), self.show_entry)

    def show_connect(self) -> None:
        """Show the screen that connects agents and imports their old sessions."""
        from memsearch_tui.screens.connect import ConnectScreen

        if not self.state.editing:
            # old sessions are imported from the oldest on
            newest = None if len(self.state.timeline) else NEWEST
            screen = ConnectScreen(self.state.library)
            self.app.push_screen(screen, lambda _: self.search.reload(newest))

    def commands(self, screen: Screen[Any]) -> list[PaletteCommand]:
        """Return the palette's commands that have no key."""
        entries, search = self.panes.entries, self.search
        height = "One line a note" if entries.tall > 1 else "Two lines a note"
        words = "rows lines dense wrap fold height"
        return [
            *self.marks.commands(),
            *self.conversation.commands(),
            PaletteCommand(height, "list", self.change_height, words),
            *(
                PaletteCommand(
                    f"Search: {text}", "saved", partial(search.search_for, text), "saved"
                )
                for text in self.desk.saved.saved_searches
            ),
        ]

    def change_height(self) -> None:
        """Toggle between one and two lines for each note, and save the choice."""
        two = self.panes.entries.tall == 1
        self.desk.saved.save("two_lines", two)
        self.panes.entries.fold(two)
