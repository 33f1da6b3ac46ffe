"""Home: all notes under their days, or hits | what is read. One screen whose panes change weight with depth.

``level`` says how deep we are: entries, section (L2) or turn (L3). Enter goes down, escape comes back to the same row, scroll
and query. On a wide screen a rail shows the year and what waits, and what was said stands under the note.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from memsearch_engine.errors import MemsearchError
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.text import shown_line
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Input, Static, TextArea

from memsearch_tui import drafts
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library, Standing
from memsearch_tui.screens.editing import Editing
from memsearch_tui.timeline import Hits, Key, Timeline, is_heading
from memsearch_tui.widgets import render
from memsearch_tui.widgets.calendar import Calendar
from memsearch_tui.widgets.header import Header, parts, when
from memsearch_tui.widgets.lines import LineList, Row, TextView, mark_words
from memsearch_tui.widgets.query import FilterSuggester, QueryBox

if TYPE_CHECKING:
    from memsearch_engine.transcripts.locate import Excerpt

LEVELS = ("entries", "section", "turn")
_REST_S = 0.14
_SAID_REST_S = 0.2  # that the cursor rests before the conversation behind a note is read
#: One thread each: what was typed over is dropped from the queue, and no thread keeps a database connection for nothing.
_WORDS, _MEANING = ThreadPoolExecutor(1, "words"), ThreadPoolExecutor(1, "meaning")
_LOOK_AGAIN_S = 2.0  # between two looks at what holds, while an index is made say
_LOOK_S = 10  # how often the follower looks whether another project was opened
_HITS = 60
_WIDE_ROW = 64


class BrowseScreen(Editing, Screen[None]):
    """The home screen."""

    AUTO_FOCUS = "#entries"
    BINDINGS: ClassVar[list[BindingType]] = [
        # priority: the app itself goes to the box, before it hands on what was typed right after
        Binding("slash", "search", "Search", id="search", priority=True),
        Binding("enter,right,l", "deeper", "Open", id="open"),
        Binding("escape,left,h", "back", "Back", id="back"),
        Binding("e", "edit", "Edit", id="edit"),
        Binding("E", "edit_outside", "Edit in $EDITOR", id="edit.outside", show=False),
        Binding("d,delete", "delete", "Delete", id="delete"),
        Binding("u", "undo", "Undo", id="undo"),
        Binding("ctrl+r", "redo", "Redo", id="redo", show=False),
        Binding("p", "pin", "Pin or unpin", id="pin", show=False),
        Binding("y", "copy", "Copy", id="copy", show=False),
        Binding("x", "export", "Export to a file", id="export", show=False),
        Binding("t", "transcript", "Conversation", id="transcript", show=False),
        Binding("m", "memory", "The memory of this turn", id="memory", show=False),
        Binding("f", "filter_agent", "Only this agent", id="filter.agent", show=False),
        Binding("F", "filter_projects", "All projects", id="filter.projects", show=False),
        Binding("b", "related", "What stands beside it: its matter, its files", id="related", show=False),
        Binding("w", "why", "Why is this hit here", id="why", show=False),
        Binding("n", "find(1)", "Next match", id="find.next", show=False),
        Binding("N", "find(-1)", "Previous match", id="find.previous", show=False),
        Binding("right_square_bracket", "next(1)", "Next older day; next turn", id="turn.next", show=False),
        Binding("left_square_bracket", "next(-1)", "Next newer day; previous turn", id="turn.previous", show=False),
        Binding("g", "date", "Date", id="date"),
        Binding("D", "day_file", "The day's file as it is written", id="day.file", show=False),
        Binding("o", "unfold", "Unfold tool output", id="unfold", show=False),
        Binding("r", "reload", "Read again", id="reload", show=False),
        Binding("R", "resume", "Resume the session", id="resume", show=False),
        Binding("ctrl+s", "save", "Save", id="save", show=False, priority=True),
        Binding("ctrl+g", "drop_draft", "Drop the draft", id="draft.drop", show=False, priority=True),
        Binding("tab", "app.focus_next", "Next pane", show=False),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.entries = LineList(self._item_row, moved=self._entry_moved, is_heading=is_heading, id="entries")
        self.reader = TextView(id="reader")
        self.said = TextView(id="said")
        self.header = Header(id="header")
        self.strip, self.year = Calendar(id="strip"), Calendar(id="year")
        self.places = LineList(self._place_row, is_heading=lambda key: not key[0], id="places")
        self.level = "entries"
        self.query_text = ""
        self.timeline: Timeline  # both from the first frame on
        self.shown: Timeline | Hits
        self.standing = Standing()
        self._looking = self._look_again = False
        self.entry: Entry | None = None
        self.item: Item | None = None
        self.found: Excerpt | None = None
        self.turn = 0
        self.unfolded = False
        self._marked: tuple[str, list[str]] = ("", [])
        self._generation = 0
        self._moved = False
        self._before_search: Key | None = None
        self._left = threading.Event()
        self.add_class("at-entries")

    def compose(self) -> ComposeResult:
        width = self.app.size.width  # before the first layout: what is laid out for another width is laid out twice
        self.add_class(next(name for least, name in reversed(self.app.HORIZONTAL_BREAKPOINTS or []) if width >= least))
        yield self.header
        yield QueryBox(
            placeholder='words, agent: project: after:7d day: is:pinned -word "phrase"',
            id="query",
            compact=True,
            suggester=FilterSuggester(self.library),
        )
        yield self.strip
        with Horizontal(id="panes"):
            with Vertical(id="rail"):
                yield self.year
                yield self.places
            yield self.entries
            with Vertical(id="right"):
                yield self.reader
                yield self.said
        yield Static("", id="status", markup=False)
        yield Footer(show_command_palette=False)

    # -- start and live -------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        memory = self.library.memory
        self.reader.border_title, self.said.border_title, self.places.border_title = (
            "section",
            "what was said",
            "places",
        )
        self._show_timeline(self._left_at())
        self.call_after_refresh(self._look)
        here = [
            draft
            for draft in drafts.every(memory.home)
            if any(draft.path.startswith(p.memory) for p in memory.projects)
        ]
        if draft := next(iter(here), None):
            self.notify(f"An edit of “{draft.title[:40]}” was not saved. Press e on it to go on.", timeout=8)
        if self.app.live:  # type: ignore[attr-defined]
            follower = threading.Thread(target=self._follow, name="follow", daemon=True)
            self.call_after_refresh(follower.start)  # the first frame first

    def open(self, library: Library) -> None:
        """Show another project, or all of them."""
        if self.editing:
            self._leave_editor()
        self.library = library
        if self.query_text:
            self._end_search()
        self.gone.clear()
        self.standing = Standing()
        self._show_places()
        self.entries.show_keys([])
        self._show_timeline()
        self.go("entries")
        self.say("")
        self._look()

    def on_unmount(self) -> None:
        self._left.set()
        kept = self.entries.key if not self.query_text else self._before_search
        self.app.keep(at=[self.library.today(), *(kept or ())])  # type: ignore[attr-defined]

    def _left_at(self) -> Key | None:
        """Where the reader left off, if that was today: who comes back tomorrow wants the newest."""
        kept = self.app.kept.get("at")  # type: ignore[attr-defined]
        is_ours = isinstance(kept, list) and len(kept) == 3 and all(isinstance(part, str) for part in kept)
        return (kept[1], kept[2]) if is_ours and kept[0] == self.library.today() else None

    def _follow(self) -> None:
        """Wait for changes that the service sees, in a thread of its own; without a service, look now and then."""
        version = -1
        while not self._left.is_set():
            library = self.library
            try:
                connection = library.memory.connect()
                try:
                    connection.call("inbox", dict, timeout_s=60)
                    connection.call("index", list[dict], timeout_s=3600, place=library.memory.place_param,
                                    all_projects=library.memory.everything)  # fmt: skip
                    while not self._left.is_set() and self.library is library:
                        state = connection.call("wait", dict, timeout_s=90, deadline_s=_LOOK_S, version=version)
                        if state["version"] != version and not self._left.is_set():
                            version = state["version"]
                            self.app.call_from_thread(self._changed, state)
                finally:
                    connection.close()
            except MemsearchError as error:
                if self._left.is_set():
                    return
                self.app.call_from_thread(self.say, f"words only: {error}")
                self._left.wait(5)
            except RuntimeError:  # the app is closing
                return

    def _changed(self, state: dict) -> None:
        progress = state.get("progress") or {}
        if progress.get("total"):
            self.say(f"{progress['phase']} {progress['project']} {progress['done']}/{progress['total']}")
        elif state.get("index") == "ready":
            self.say("")
        self.action_reload()
        self._look()

    def say(self, text: str) -> None:
        self.query_one("#status", Static).update(shown_line(text))

    # -- levels ---------------------------------------------------------------------------------------------

    def go(self, level: str) -> None:
        """Change depth; the pane of that depth is focused and, on a narrow screen, the only one."""
        self.level = level
        for name in LEVELS:
            self.set_class(name == level, f"at-{name}")
        target = self.entries if level == "entries" else self.reader
        if self.is_mounted and not isinstance(self.focused, Input):
            self.set_focus(target)
        self.refresh_bindings()
        titles = {"section": "section", "turn": "conversation"}
        self.reader.border_title = titles.get(level, "section")

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        if event.widget is not self.focused:
            return  # told late: the focus has gone on meanwhile, and must not be pulled back
        if self.query_text and not isinstance(event.widget, Input):
            # who has left the query for a hit has chosen it: later answers don't put another in its place
            self._moved = True
        if isinstance(event.widget, Input) and not self.query_text:
            self._before_search = self.entries.key
        if event.widget is self.entries and self.level != "entries":
            self.go("entries")
        elif event.widget is self.reader and self.level == "entries":
            self.go("section")

    def action_deeper(self) -> None:
        if isinstance(self.focused, Input):
            self.set_focus(self.entries)
        elif self.focused is self.places:
            self._go_to_place()
        elif self.level == "entries" and self.item:
            self.go("section")
        elif self.level == "section":
            self.action_transcript()

    def action_back(self) -> None:
        if self.editing:
            self._leave_editor()
        elif isinstance(self.focused, Input) or (self.level == "entries" and self.query_text):
            self._end_search()
        elif self.level == "turn":
            self.found = None
            self.go("section")
            if self.shown is self.timeline:
                self._show_timeline()  # what came meanwhile
            else:
                self._show_section()
        elif self.level == "section" or self.focused is not self.entries:
            self.go("entries")
            self.set_focus(self.entries)

    # -- the timeline ---------------------------------------------------------------------------------------

    def _show_timeline(self, cursor: Key | None = None) -> None:
        """Show all notes, as they are now."""
        self.timeline = self.shown = Timeline(self.library, self._recount)
        self.entries.empty = [] if len(self.timeline) else _first_steps(self.library.agents_here())
        self.entries.show_keys(self.timeline, cursor=cursor)
        self.entries.border_subtitle = ""
        self._title_day()
        self._show_calendar(self.timeline.counts)
        self._show_header()
        self._preview()

    def _recount(self) -> None:
        """A day has another number of notes than was known: once what is drawn now is drawn, places are worked out anew."""
        self.call_later(self._settle)

    def _settle(self) -> None:
        key, row = self.entries.key, self.entries.cursor - self.entries.scroll_offset.y
        self.timeline.settle()
        if self.shown is self.timeline:
            self.entries.show_keys(self.timeline, cursor=key)
            self.entries.hold(row)
            self._show_header()

    def _title_day(self) -> None:
        day = self.item.day if self.item else self.timeline.day_at(self.entries.cursor)
        self.entries.border_title = _named(day, self.library.today()) if day else "notes"
        for calendar in (self.strip, self.year):
            calendar.stand(day)

    def _show_calendar(self, counts: dict[str, int]) -> None:
        for calendar in (self.strip, self.year):
            calendar.show(counts, self.library.today())

    def _show_header(self) -> None:
        memory = self.library.memory
        name = "all projects" if memory.everything else memory.project.name
        self.header.show(
            parts(name, self.timeline.total, len(self.timeline.counts), self.standing, self.library.today())
        )

    def _look(self) -> None:
        """Ask what holds now; where it has no service, one is not started for it. In a thread that quitting does not wait for; who asks
        meanwhile has it asked once more."""
        self._look_again = self._looking
        if not self._looking:
            self._looking = True
            threading.Thread(target=self._find_standing, name="standing", daemon=True).start()

    def _find_standing(self) -> None:
        library = self.library
        found = library.standing()
        with contextlib.suppress(RuntimeError):  # the app is closing
            self.app.call_from_thread(self._stand, library, found)

    def _stand(self, library: Library, found: Standing) -> None:
        self._looking = False
        if library is self.library:
            self.standing = found
            self._show_header()
            self._show_places()
        if self._look_again:
            self.set_timer(_LOOK_AGAIN_S, self._look)

    def _heading_row(self, key: Key, width: int) -> Row:
        if key == Hits.FAINT:
            text, count = "only faintly alike", ""
        else:
            text, count = _named(key[1], self.library.today()), f" {self.timeline.counts.get(key[1], '')}"
        line = "─" * max(2, width - len(text) - len(count) - 4)
        return [(f" {text} ", "strong"), (f"{line}{count}", "dim")]

    def _item_row(self, index: int, width: int) -> Row:
        key = self.entries.keys[index]
        if is_heading(key):
            return self._heading_row(key, width) if key[1] else []
        item = self.shown.item(key)
        if item is None:
            return []
        wide = width >= _WIDE_ROW  # in a narrow list the words of the memory come first
        day = item.day if wide else item.day[5:]
        stamp = (f"{day} {item.time}" if wide else day) if self.query_text else item.time or "     "
        project = f"{item.project} " if self.library.memory.everything and wide else ""
        row: Row = [
            (f"{stamp} ", "dim"),
            (f"{render.agent_tag(item.agent)} ", render.agent_tag(item.agent)),
            (project, "accent"),
        ]
        row += [("~ ", "dim")] if item.by_meaning else []
        row += render.signs(item.marks)
        if item.doubtful:
            return [*row, (item.title, "dim")]
        if not self.query_text:
            return [*row, *render.inline(item.title)]
        room = width - sum(cell_len(text) for text, _ in row)
        return [*row, *mark_words(render.snippet(item.title, item.text, self._words(), room), "text", self._words())]

    def _place_row(self, index: int, width: int) -> Row:
        kind, name = self.places.keys[index]
        if kind == "wait":
            return [("f5 ", "dim"), (f"{self.standing.waiting} to decide", "warn")]
        if kind == "alarm":
            return [("f4 ", "dim"), (name, "bad")]
        if kind == "agent":
            _, count, newest = next(row for row in self.standing.agents if row[0] == name)
            tag = render.agent_tag(name)
            return [(f"{tag} ", tag), (f"{name or 'by hand':12s}", "text"), (f"{count:>7,}  ", "dim"), (when(newest, self.library.today()), "dim")]  # fmt: skip
        if kind == "pin":
            item = next((item for item in self.standing.pinned if item.entry_id == name), None)
            return [("◆ ", "accent"), *render.inline(item.title)] if item else []
        return [(f" {name}", "strong")]

    def _show_places(self) -> None:
        now = self.standing
        keys = [("wait", "")] * bool(now.waiting) + [("alarm", alarm) for alarm in now.alarms]
        keys = [("", "waits"), *keys] if keys else []
        keys += [("", "agents"), *(("agent", agent) for agent, _, _ in now.agents)] if now.agents else []
        keys += [("", "pinned"), *(("pin", item.entry_id) for item in now.pinned)] if now.pinned else []
        self.places.show_keys(keys)

    def _go_to_place(self) -> None:
        kind, name = self.places.key or ("", "")
        if kind == "wait":
            self.call_later(self.app.run_action, "review")
        elif kind == "alarm":
            self.call_later(self.app.run_action, "activity")
        elif kind == "agent" and name:
            self._toggle_word(f"agent:{name}")
            self.set_focus(self.entries)
        elif kind == "agent":
            self._toggle_word("kind:note")
            self.set_focus(self.entries)
        elif kind == "pin":
            self.show_entry(next(item for item in self.standing.pinned if item.entry_id == name))

    # -- days -----------------------------------------------------------------------------------------------

    def go_to_day(self, day: str) -> None:
        """Stand on the newest note of *day*, or of the next older day that has one."""
        if self.query_text:
            self._end_search()
        self.entries.move_to(self.timeline.start(day) + 1)
        self.entries.scroll_to(y=self.timeline.start(day), animate=False, force=True, immediate=True)
        self.go("entries")

    @on(Calendar.Picked)
    def _day_picked(self, event: Calendar.Picked) -> None:
        self.go_to_day(event.day)

    def action_date(self) -> None:
        from memsearch_tui.screens.day import DayScreen

        if len(self.timeline) and not self.editing:
            here = self.item.day if self.item else self.library.today()
            screen = DayScreen(self.timeline.counts, self.library.today(), here)
            self.app.push_screen(screen, lambda day: self.go_to_day(day) if day else None)

    def action_day_file(self) -> None:
        """The day's files as they are written."""
        from memsearch_tui.screens.text import TextScreen

        if self.item is None or self.editing:
            return
        rows: list[Row] = []
        for path, text in self.library.written(self.item.day):
            rows += [[(path, "accent")], [], *([(line, "text")] for line in text.split("\n"))]
        self.app.push_screen(TextScreen(self.item.day, rows))

    def action_next(self, step: int) -> None:
        """Another turn of the conversation, or another day."""
        if self.level == "turn":
            self._other_turn(step)
        elif not self.query_text and len(self.timeline):
            start = self.timeline.start(self.timeline.day_at(self.entries.cursor))
            if step > 0:
                place = next(
                    (n for n in range(self.entries.cursor, len(self.timeline)) if is_heading(self.timeline[n])), -1
                )
            else:
                place = self.timeline.start(self.timeline.day_at(start - 1)) if start else 0
            if place >= 0:
                self.entries.move_to(place + 1)

    # -- the row --------------------------------------------------------------------------------------------

    def _words(self) -> list[str]:
        """The query's plain words, for highlighting; every row asks for them."""
        if self._marked[0] != self.query_text:
            from memsearch_engine.index.analyze import STOP_WORDS
            from memsearch_engine.search.query import parse

            words = (word.casefold() for word in parse(self.query_text).text.split())
            self._marked = self.query_text, [word for word in words if len(word) > 1 and word not in STOP_WORDS]
        return self._marked[1]

    def _entry_moved(self, by_hand: bool) -> None:
        self._moved = self._moved or by_hand
        self._preview()
        if not self.query_text:
            self._title_day()

    @on(LineList.Opened)
    def _row_opened(self) -> None:
        self.action_deeper()

    def _preview(self) -> None:
        """Show the entry under the cursor."""
        if self.editing:
            return  # what is edited stays what it is, wherever the list moves
        self.item = self.shown.item(self.entries.key)
        self.found = None
        if self.item is None:
            self.entry = None
            self.reader.show([])
            self.said.show([])
            return
        try:
            self.entry = self.library.entry(self.item)
        except (MemsearchError, OSError) as error:
            self.entry = None
            self.reader.show([[(str(error), "warn")], [("r reads the lists again", "dim")]])
            return
        self._show_section()

    def _show_section(self) -> None:
        if self.entry is None or self.item is None:
            return
        evidence = self.library.evidence(self.entry)
        self.reader.border_title = "section"
        self.reader.border_subtitle = (
            f"conversation {evidence} · enter opens it" if evidence in ("live", "archived") else ""
        )
        self.reader.show(
            render.entry_rows(self.entry, self.item.day, self.library.short(self.item.path), evidence),
            marks=self._words() if self.query_text else (),
        )
        if self.has_class("-wide"):
            # no coroutine yet: one that the next row replaces may never run
            said = partial(self._show_said, self.entry)
            self.run_worker(said, exclusive=True, group="said")  # type: ignore[arg-type]

    async def _show_said(self, entry: Entry) -> None:
        """The turn behind the note, once the cursor rests on it."""
        await asyncio.sleep(_SAID_REST_S)
        try:
            found = await asyncio.to_thread(self.library.conversation, entry)
        except (MemsearchError, OSError) as error:
            rows: list[Row] = [[(str(error), "dim")]]
        else:
            turn = found.turns[max(0, found.index)] if found.turns else None
            rows = (
                render.turn_rows(turn, found.first + max(0, found.index) + 1, found.total, unfolded=False)
                if turn
                else []
            )
        if self.entry is entry:
            self.said.show(rows, marks=self._words() if self.query_text else ())

    def action_reload(self) -> None:
        """Read the lists again; cursor, scroll and what is read stay where they are."""
        if self.editing:
            return
        key, level, place = self.entries.key, self.level, self.reader.scroll_offset.y
        if self.query_text:
            self._start_search(words_first=False)  # the hits that are shown stay until the new ones are there
            return
        before, row = self.entry, self.entries.cursor - self.entries.scroll_offset.y
        at_top = self.entries.scroll_offset.y == 0 and self.entries.cursor == 1
        if level == "turn":
            return
        self._show_timeline(key)
        if not at_top:  # the row under the cursor stays where the eye is
            self.entries.hold(row)
        if before and self.entry and before.id == self.entry.id:
            self.reader.scroll_to(y=place, animate=False, force=True)

    def _drop_gone(self) -> None:
        """Take what was deleted out of the list."""
        if isinstance(self.shown, Hits):
            self.shown = self.shown.without(self.gone)
            self.entries.show_keys(self.shown)
            self._preview()
        else:
            self._show_timeline()

    # -- search ---------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "back":  # from the list there is nowhere to go back to
            return bool(self.editing or self.query_text or self.level != "entries" or self.focused is not self.entries)
        # a slash that is typed is text: Textual knows which keys a box consumes, but not what character this one makes
        return not (action == "search" and isinstance(self.focused, Input | TextArea))

    def action_search(self) -> None:
        box = self.query_one("#query", Input)
        self.go("entries")
        self.set_focus(box)  # at once: what is typed next must not be taken for commands

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        self.query_text = event.value
        self._moved = False
        if event.value.strip():
            self._start_search()
        else:
            self.query_text = ""
            self._show_timeline(self._before_search)

    def on_key(self, event: events.Key) -> None:
        if isinstance(self.focused, Input) and event.key in ("down", "up"):
            self.entries.action_move(1 if event.key == "down" else -1)
            event.stop()

    def _start_search(self, *, words_first: bool = True) -> None:
        self._generation += 1
        # no coroutine yet: a search that a newer one replaces may never run
        search = partial(self._search, self.query_text, self._generation, words_first)
        self.run_worker(search, exclusive=True, group="search")  # type: ignore[arg-type]

    async def _search(self, text: str, generation: int, words_first: bool) -> None:
        """Words at once; meaning when typing rests. A newer query makes this one's answers void."""
        memory = self.library.memory
        loop, typed = asyncio.get_running_loop(), time.monotonic()
        steps = [(_WORDS, 0.0, memory.lexical), (_MEANING, _REST_S, memory.search)]
        for pool, rest, ask in steps if words_first else steps[1:]:
            await asyncio.sleep(max(0.0, typed + rest - time.monotonic()))
            try:
                answer = await loop.run_in_executor(pool, ask, text, _HITS)
            except MemsearchError as error:
                self.say(str(error))
                return
            if generation != self._generation or not self.query_text:
                return
            self._show_hits(answer)

    def _show_hits(self, answer) -> None:
        hits = Hits(self.library.items(answer)).without(self.gone)
        row = self.entries.cursor - self.entries.scroll_offset.y
        cursor = self.entries.key if self._moved else (hits[0] if hits else None)
        self.shown = hits
        self.entries.empty = _nothing(self.query_text, answer.absent)
        self.entries.show_keys(hits, cursor=cursor)
        self._preview()
        self._show_calendar(hits.days)
        if self._moved:  # the row under the cursor stays where the eye is
            self.entries.hold(row)
        found = sum(hits.days.values())
        remarks = [f"{word} → {', '.join(near)}" for word, near in answer.corrected.items()]
        remarks += [f"no note has {', '.join(answer.absent)}"] if answer.absent else []
        remarks += ["perhaps no note fits"] if answer.is_unsure else []
        count = f"first {found}" if found == _HITS else many(found, "hit")
        self.entries.border_title = "  ".join([f"{count} · {answer.mode}", *remarks])
        self.entries.border_subtitle = f"{answer.took_ms:.0f} ms" if answer.took_ms else ""
        if answer.reason or answer.mode == "hybrid":
            self.say(answer.reason)  # what was said of the service is no longer true beside its hits

    def _end_search(self) -> None:
        self._generation += 1
        self.query_text = ""
        box = self.query_one("#query", Input)
        with box.prevent(Input.Changed):
            box.value = ""
        self._show_timeline(self._before_search)
        self.set_focus(self.entries)
        self.go("entries")

    def action_why(self) -> None:
        if self.item and self.item.reasons:
            self.notify(" · ".join(self.item.reasons), title="Why this hit", timeout=10, markup=False)

    # -- the conversation (L3) ------------------------------------------------------------------------------

    def action_transcript(self) -> None:
        if self.entry is None:
            return
        try:
            self.found = self.library.conversation(self.entry)
        except (MemsearchError, OSError) as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self.turn = max(0, self.found.index)
        self.unfolded = False
        self._show_turn()
        self.go("turn")

    def _show_turn(self, *, keep_place: bool = False) -> None:
        if not self.found or not self.found.turns:
            self.reader.show([[("this conversation has no turns", "dim")]])
            return
        turn = self.found.turns[self.turn]
        rows = render.turn_rows(turn, self.found.first + self.turn + 1, self.found.total, unfolded=self.unfolded)
        self.reader.show(rows, marks=self._words() if self.query_text else (), keep_place=keep_place)
        kept = "kept copy · " if self.found.state == "archived" else ""
        self.reader.border_subtitle = f"{kept}[ ] other turns · o unfolds · m its memory · R resumes"

    def _other_turn(self, step: int) -> None:
        if self.found is None or self.entry is None:
            return
        wanted = self.found.first + self.turn + step
        if not 0 <= wanted < self.found.total:
            return
        if not 0 <= self.turn + step < len(self.found.turns):  # beyond the stretch that was read
            edge = self.found.turns[self.turn].turn
            try:
                self.found = self.library.conversation(self.entry, edge)
            except (MemsearchError, OSError) as error:
                self.notify(str(error), severity="warning", markup=False)
                return
        self.turn = wanted - self.found.first
        self._show_turn()

    def action_unfold(self) -> None:
        if self.level == "turn":
            self.unfolded = not self.unfolded
            self._show_turn(keep_place=True)

    def action_find(self, step: int) -> None:
        if not self.reader.find_next(step):
            self.notify("no match in this text", timeout=2)

    def action_resume(self) -> None:
        """Go on with the session in its agent: here, where its program is; else the command is copied."""
        if self.entry is None or not self.entry.session:
            self.notify("no session stands behind this note", timeout=3)
            return
        argv, folder = self.library.resume(self.entry)
        if not argv:
            self.notify(f"sessions of {self.entry.agent or 'unknown agents'} can't be resumed", severity="warning")
            return
        program = shutil.which(argv[0])
        if program is None or not os.path.isdir(folder):
            self.app.copy_to_clipboard(shlex.join(argv))
            missing = f"{argv[0]} is not installed here" if program is None else f"{folder} is gone"
            self.notify(f"{missing}; the command was copied: {shlex.join(argv)}", severity="warning", markup=False)
            return
        with self.app.suspend():
            subprocess.call([program, *argv[1:]], cwd=folder)
        self.action_reload()

    def action_memory(self) -> None:
        """From a turn of the conversation to the memory that came from it."""
        if self.level != "turn" or self.found is None:
            return
        found = self.library.memory_of_turn(self.found.turns[self.turn])
        if found is None:
            self.notify("no memory came from this turn", timeout=3)
            return
        self.show_entry(found)

    def action_related(self) -> None:
        """From a note to others on its matter, and to the turns that wrote to its files."""
        from memsearch_tui.screens.related import RelatedScreen

        if self.item is not None and self.entry is not None:
            self.app.push_screen(
                RelatedScreen(self.library, self.item, self.entry),
                lambda chosen: self.show_entry(chosen) if chosen else None,
            )

    def show_entry(self, item: Item) -> None:
        """Stand on an entry, wherever it is."""
        if self.query_text:
            self._end_search()
        if item.key in self.timeline:
            self.entries.show_keys(self.timeline, cursor=item.key)
        else:
            self.shown = Hits([item])
            self.entries.show_keys(self.shown, cursor=item.key)
        self._preview()
        self._title_day()
        self.go("section")

    # -- filters by key -------------------------------------------------------------------------------------

    def action_filter_agent(self) -> None:
        if self.item and self.item.agent:
            self._toggle_word(f"agent:{self.item.agent}")

    def action_filter_projects(self) -> None:
        self._toggle_word("project:*")

    def _toggle_word(self, word: str) -> None:
        """Put a filter into the query, or take it out; the query says what is filtered."""
        if not self.query_text:
            self._before_search = self.entries.key
        words = self.query_text.split()
        words = [w for w in words if w != word] if word in words else [*words, word]
        self.query_one("#query", Input).value = shown_line(" ".join(words))
        self.go("entries")


def _first_steps(agents: list[str]) -> list[str]:
    """What to do where there is no note yet."""
    connect = [f"  memsearch plugins install {agent}" for agent in agents]
    return [
        "Nothing here yet.",
        "",
        *(
            ["Let your agents write here:", *connect, "Take in their old sessions:", "  memsearch import --all", ""]
            if agents
            else []
        ),
        'memsearch add "…"       writes a note',
        "F                       looks in all projects",
        "memsearch demo          shows a sample year",
    ]


def _nothing(text: str, absent: list[str]) -> list[str]:
    """Why a search found nothing, and what to change."""
    from difflib import get_close_matches

    from memsearch_engine.search.query import FILTER_KEYS

    keyed = {word: word.partition(":")[0].lstrip("-") for word in text.split() if ":" in word}
    filters = [word for word, key in keyed.items() if key in FILTER_KEYS]
    lines = ["No note fits."]
    lines += [f"No note has {', '.join(absent)}."] if absent else []
    lines += [f"It is narrowed by {', '.join(filters)}: take one out to see more."] if filters else []
    for word, key in keyed.items():
        near = get_close_matches(key, FILTER_KEYS, 1) if key not in FILTER_KEYS else []
        lines += [f"{word} is searched for as text: did you mean {near[0]}: ?"] if near else []
    return [*lines, "", "escape               goes back to all notes", "F                    looks in all projects"]


def _named(day: str, today: str) -> str:
    """A day as a heading: ``Today · Sun 22 Nov``, ``Fri 20 Nov 2025``."""
    try:
        date, now = datetime.fromisoformat(day), datetime.fromisoformat(today)
    except ValueError:
        return day
    near = {0: "Today · ", 1: "Yesterday · "}.get((now - date).days, "")
    return f"{near}{date:%a} {date.day} {date:%b}" + (f" {date:%Y}" if date.year != now.year else "")
