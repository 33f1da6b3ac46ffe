"""Home: all notes under their days, or hits | what is read. One screen whose panes change weight
with depth.

``level`` says how deep we are: entries, section (L2) or turn (L3). Enter goes down, escape comes
back to the same row, scroll and query. On a wide screen a rail shows the year and what waits, and
what was said stands under the note.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from memsearch_engine import Entry, MemsearchError, agent_named, agent_names, shown_line
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from memsearch_tui import drafts
from memsearch_tui.aside import NOTES, OURS, READS, attend, away
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library, Seen, Standing
from memsearch_tui.screens.conversing import Conversing
from memsearch_tui.screens.editing import Editing
from memsearch_tui.screens.marking import Marking
from memsearch_tui.screens.searching import Searching
from memsearch_tui.timeline import Hits, Key, Timeline, is_heading
from memsearch_tui.widgets import render
from memsearch_tui.widgets.calendar import Calendar
from memsearch_tui.widgets.footer import Keys
from memsearch_tui.widgets.header import Header, parts, when
from memsearch_tui.widgets.lines import LineList, Row, TextView, mark_words
from memsearch_tui.widgets.query import FilterSuggester, QueryBox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memsearch_engine import State, Supersession

    from memsearch_tui.palette import Command

LEVELS = ("entries", "section", "turn")
_SAID_S = 8.0  # how long a message stands
_HELD_S = 0.02  # that a frame waits for the note
_AHEAD_REST_S = 0.05  # that the cursor rests before anything is read ahead
_SAID_REST_S = 0.2  # that the cursor rests before the conversation behind a note is read
_LOOK_AGAIN_S = 2.0  # between two looks at what holds, while an index is made say
_NEWEST: Key = ("", "newest")
DEMO = 1000  # what the app returns where the sample year was asked for
_LOOK_S = 10  # how often the follower looks whether another project was opened
_WIDE_ROW = 64
_KEPT = 60  # notes that were read lately
#: What the last line has at a depth: (id of a binding, words); at the list it has what the bindings
#: say.
_KEYS = {
    "turn": (
        ("back", "Back"),
        ("turn.previous", "Turn before"),
        ("turn.next", "Next"),
        ("unfold", "Unfold"),
        ("memory", "Its memory"),
        ("find", "Find"),
        ("date", "Go to"),
        ("resume", "Resume"),
        ("quit", "Quit"),
        ("help", "Help"),
    ),
    "editing": (
        ("save", "Save"),
        ("back", "Leave, keep a draft"),
        ("draft.drop", "Drop the draft"),
    ),
}
_PROJECT = 10  # letters of a project's name in a narrow row
_INDENT = 9  # of a row's second line: below the words, after the time and the agent


class BrowseScreen(Searching, Conversing, Editing, Marking, Screen[None]):
    """The home screen."""

    AUTO_FOCUS = "#entries"
    BINDINGS: ClassVar[list[BindingType]] = [
        # priority: the app itself goes to the box, before it hands on what was typed right after
        Binding("slash", "search", "Search", id="search", priority=True),
        Binding("enter,right,l", "deeper", "Open", id="open"),
        Binding("escape,left,h", "back", "Back", id="back"),
        Binding("a", "new", "New", tooltip="New note", id="new"),
        Binding("A", "new_on", "New note of another day", id="new.day", show=False),
        Binding("e", "edit", "Edit", id="edit"),
        Binding("E", "edit_outside", "Edit in $EDITOR", id="edit.outside", show=False),
        Binding(
            "O",
            "open_file",
            "Open the day's file in $EDITOR at this note",
            id="file.open",
            show=False,
        ),
        Binding("d,delete", "delete", "Delete", id="delete"),
        Binding("u", "undo", "Undo", id="undo"),
        Binding("ctrl+r", "redo", "Redo", id="redo", show=False),
        Binding("U", "changes", "What was changed; bring any of it back", id="changes", show=False),
        Binding("p", "pin", "Pin or unpin", id="pin", show=False),
        Binding(
            "M",
            "marks",
            "Mark: expires, superseded, confidence, remember, forget",
            id="marks",
            show=False,
        ),
        Binding("y", "copy", "Copy the text", id="copy", show=False),
        Binding(
            "Y",
            "copy(True)",
            "Copy as markdown, with heading and anchor",
            id="copy.markdown",
            show=False,
        ),
        Binding("X", "export", "Export to a file", id="export", show=False),
        Binding("t", "transcript", "Conversation", id="transcript", show=False),
        Binding("m", "memory", "The memory of this turn", id="memory", show=False),
        Binding("f", "filter_agent", "Only this agent", id="filter.agent", show=False),
        Binding("F", "filter_projects", "All projects", id="filter.projects", show=False),
        Binding(
            "T", "as_of", "As of a day: notes as they stood then", id="search.asof", show=False
        ),
        Binding(
            "s",
            "by_session",
            "Hits by conversation, or one by one",
            id="search.sessions",
            show=False,
        ),
        Binding("S", "saved", "Searches that are kept", id="searches", show=False),
        Binding(
            "b", "related", "What stands beside it: its matter, its files", id="related", show=False
        ),
        Binding("w", "why", "Why is this hit here", id="why", show=False),
        Binding("ctrl+f", "find_text", "Find in the open text", id="find", show=False),
        Binding("n", "find(1)", "Next match", id="find.next", show=False),
        Binding("N", "find(-1)", "Previous match", id="find.previous", show=False),
        Binding("J", "preview(1)", "Scroll the preview down", id="preview.down", show=False),
        Binding("K", "preview(-1)", "Scroll the preview up", id="preview.up", show=False),
        Binding(
            "right_square_bracket",
            "next(1)",
            "Next older day; next turn",
            id="turn.next",
            show=False,
        ),
        Binding(
            "left_square_bracket",
            "next(-1)",
            "Next newer day; previous turn",
            id="turn.previous",
            show=False,
        ),
        Binding(
            "g", "date", "Go to", tooltip="Go to a date; in a conversation, to a turn", id="date"
        ),
        Binding("D", "day_file", "The day's file as it is written", id="day.file", show=False),
        Binding("o", "unfold", "Unfold tool output", id="unfold", show=False),
        Binding("r", "reload", "Read again", id="reload", show=False),
        Binding("R", "resume", "Resume the session in its agent", id="resume", show=False),
        Binding("c", "connect", "Connect agents, import old sessions", id="connect", show=False),
        Binding(
            "v",
            "demo",
            "A sample year",
            tooltip="A sample year, in a home of its own (memsearch demo)",
            id="demo",
            show=False,
        ),
        Binding("ctrl+s", "save", "Save; keep the search", id="save", show=False, priority=True),
        Binding(
            "ctrl+g", "drop_draft", "Drop the draft", id="draft.drop", show=False, priority=True
        ),
        Binding("tab", "app.focus_next", "Next pane", show=False),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.entries = LineList(
            self._item_row,
            moved=self._entry_moved,
            is_heading=is_heading,
            indent=_INDENT,
            id="entries",
        )
        self.reader = TextView(id="reader")
        self.said = TextView(id="said")
        self.header = Header(id="header")
        self.strip, self.year = Calendar(id="strip"), Calendar(id="year")
        self.places = LineList(self._place_row, is_heading=lambda key: not key[0], id="places")
        self.level = "entries"
        self.timeline: Timeline  # both from the first frame on
        self.shown: Timeline | Hits
        self.standing = Standing()
        self._looking = self._look_again = self._typing = False
        self._sayings = 0
        self._status = self._remark = self._trouble = ""
        self._said_of: Key | None = None  # the note that the message is about
        self.note: Seen | None = None  # what is read of ``item``; None while it is being read
        self.item: Item | None = None
        self._here: list[
            str
        ] = []  # agents that have sessions on this machine, where there is no note yet
        self._evidence: dict[
            Key, str
        ] = {}  # of the rows that were looked at (``Library.evidence``)
        self._seen: dict[tuple[Key, str], Seen] = {}  # read lately, or read ahead
        self._reading: asyncio.Task[None] | None = None
        self._listing: asyncio.Task[None] | None = None
        self._going: asyncio.Task[None] | None = None  # to a day
        self._frame = contextlib.ExitStack()
        self._painted = asyncio.Event()  # the first frame: nothing is read beside it
        self._left = threading.Event()
        self._way_back: Callable[[], None] | None = None  # to the screen that led to this note
        self._wanted: Key | None = None  # where the next listing shall stand
        self.add_class("at-entries")

    @property
    def shown_keys(self) -> tuple[tuple[str, str], ...]:
        """What the last line has: (id of a binding, words); nothing for what the bindings say."""
        return _KEYS.get("editing" if self.editing else self.level, ())

    @property
    def entry(self) -> Entry | None:
        """The note under the cursor."""
        return self.note.entry if self.note is not None else None

    def compose(self) -> ComposeResult:
        width = (
            self.app.size.width
        )  # before the first layout: what is laid out for another width is laid out twice
        self.add_class(
            next(
                name
                for least, name in reversed(self.app.HORIZONTAL_BREAKPOINTS or [])
                if width >= least
            )
        )
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
        yield Keys()

    # -- start and live

    def on_mount(self) -> None:
        self.reader.border_title, self.said.border_title, self.places.border_title = (
            "section",
            "what was said",
            "places",
        )
        folds = self.app.kept.get("two_lines")  # type: ignore[attr-defined]
        self.entries.folds = folds if isinstance(folds, bool) else None
        left_at = self._left_at()
        near = Path(left_at[0]).stem if left_at else self.library.today()
        self.timeline, self._here = self._listed(self.library, near)
        self._show_timeline(left_at)
        self.call_after_refresh(self._painted.set)
        self.call_after_refresh(self._look)
        self.run_worker(self._tell_of_draft(), group="drafts")
        if self.app.live:  # type: ignore[attr-defined]
            follower = threading.Thread(target=self._follow, name="follow", daemon=True)
            self.call_after_refresh(follower.start)  # the first frame first

    async def _tell_of_draft(self) -> None:
        await self._painted.wait()
        memory = self.library.memory
        every = await OURS.run(partial(drafts.every, memory.home))
        here = (
            draft
            for draft in every
            if any(draft.path.startswith(p.memory) for p in memory.projects)
        )
        if draft := next(here, None):
            key = "a" if draft.new_day else "e on it"
            self.say(f"“{draft.title[:40]}” was not saved. Press {key} to go on.", for_s=8)

    def open(self, library: Library) -> None:
        """Show another project, or all of them."""
        if self.editing:
            self._leave_editor()
        self.library = library
        if self.query_text:
            self._end_search()
        self.gone.clear()
        self._seen.clear()
        self._evidence.clear()
        self.standing = Standing()
        self._show_places()
        self.entries.show_keys([])
        self._list_anew()
        self.go("entries")
        self._trouble = ""
        self.say("")
        self._look()

    def on_unmount(self) -> None:
        self._left.set()
        for task in (self._reading, self._listing, self._going):
            if task is not None:
                task.cancel()
        kept = self.entries.key if not self.query_text else self._before_search
        self.app.keep(at=[self.library.today(), *(kept or ())])  # type: ignore[attr-defined]

    def _left_at(self) -> Key | None:
        """Where the reader left off, if that was today: who comes back tomorrow wants the newest."""
        kept = self.app.kept.get("at")  # type: ignore[attr-defined]
        is_ours = (
            isinstance(kept, list)
            and len(kept) == 3
            and all(isinstance(part, str) for part in kept)
        )
        return (kept[1], kept[2]) if is_ours and kept[0] == self.library.today() else None

    def _follow(self) -> None:
        """Wait for changes that the service sees, in a thread of its own; without a service, look
        now and then.
        """
        version = -1
        while not self._left.is_set():
            library = self.library
            try:
                from memsearch_engine import (
                    Inbox,
                    IndexResult,
                    State,
                )  # the first frame needs none of them

                connection = library.memory.connect()
                try:
                    connection.call("inbox", Inbox, timeout_s=60)
                    connection.call(
                        "index",
                        list[IndexResult],
                        timeout_s=3600,
                        place=library.memory.place_param,
                        all_projects=library.memory.everything,
                    )
                    while not self._left.is_set() and self.library is library:
                        state = connection.call(
                            "wait", State, timeout_s=90, deadline_s=_LOOK_S, version=version
                        )
                        if state.version != version and not self._left.is_set():
                            version = state.version
                            self.app.call_from_thread(self._changed, state)
                finally:
                    connection.close()
            except MemsearchError as error:
                if self._left.is_set():
                    return
                self.app.call_from_thread(self.say_of_service, f"words only: {error}")
                self._left.wait(5)
            except RuntimeError:  # the app is closing
                return

    def _changed(self, state: State) -> None:
        progress = state.progress
        if progress.get("total"):
            self.say_of_service(
                f"{progress['phase']} {progress['project']} {progress['done']}/{progress['total']}"
            )
        elif state.index == "ready":
            self.say_of_service("")
        self.action_reload()
        self._look()

    def say(self, text: str, *, for_s: float = _SAID_S, of_note: bool = False) -> None:
        """Say it in the last line for a moment; then what is to be known of the query or wrong with
        the service stands there again.

        Args:
            of_note: it holds for the note under the cursor alone, and goes with it.
        """
        self._sayings += 1
        self._status, self._said_of = text, self.item.key if of_note and self.item else None
        self._write_status(text or self._remark or self._trouble)
        if text:
            self.set_timer(for_s, partial(self._unsay, self._sayings))

    def _write_status(self, text: str) -> None:
        for status in self.query("#status").results(Static):  # none any more while the app closes
            status.update(shown_line(text))

    def say_of_service(self, text: str) -> None:
        """Say what is wrong with it, or what it does, as long as that holds and nothing else is
        being said.
        """
        self._trouble = text
        if not self._status:
            self._unsay(self._sayings)

    def say_of_query(self, text: str) -> None:
        """Say how the query was read and answered, as long as it stands."""
        self._remark = text
        if not self._status:
            self._unsay(self._sayings)

    def _unsay(self, number: int) -> None:
        if number == self._sayings:
            self._status, self._said_of = "", None
            self._write_status(self._remark or self._trouble)

    # -- levels

    def go(self, level: str) -> None:
        """Change depth; the pane of that depth is focused and, on a narrow screen, the only one."""
        self.level = level
        if level == "entries":
            self.sought = ""
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
        if self.query_text and self._typing and not isinstance(event.widget, Input):
            self._remember_search()
        self._typing = isinstance(event.widget, Input)
        if self.query_text and not isinstance(event.widget, Input):
            # who has left the query for a hit has chosen it: later answers don't put another in its
            # place
            self._moved = True
        if isinstance(event.widget, Input) and not self.query_text:
            self._before_search = self.entries.key
        if event.widget is self.entries and self.level != "entries":
            self.go("entries")
        elif event.widget is self.reader and self.level == "entries":
            self.go("section")

    async def action_deeper(self) -> None:
        if isinstance(self.focused, Input):
            self._remember_search()  # at once: the next key may end it
            self.set_focus(self.entries)
        elif self.focused is self.places:
            self._go_to_place()
        elif self.level == "entries" and self.item:
            self.go("section")
        elif self.level == "section":
            await self.action_transcript()

    def action_back(self) -> None:
        if self.editing:
            self._leave_editor()
        elif isinstance(self.focused, Input) or (self.level == "entries" and self.query_text):
            self._end_search()
        elif self.level == "turn":
            self.found = None
            self.go("section")
            self._show_section()
            if self.shown is self.timeline:
                self.action_reload()  # what came meanwhile
        elif self.level == "section" and self._way_back is not None:
            way, self._way_back = self._way_back, None
            self.go("entries")
            way()
        elif self.level == "section" or self.focused is not self.entries:
            self.go("entries")
            self.set_focus(self.entries)

    # -- the timeline

    def _show_timeline(self, cursor: Key | None = None) -> None:
        """Show all notes, as they were listed last."""
        self.shown = self.timeline
        self.entries.empty = [] if len(self.timeline) else _first_steps(self._here)
        self.entries.show_keys(self.timeline, cursor=cursor)
        self.entries.border_subtitle = ""
        self._title_day()
        self._show_calendar(self.timeline.counts)
        self._show_header()
        self._preview()

    def _listed(self, library: Library, near: str) -> tuple[Timeline, list[str]]:
        """All notes, as they are now; where there are none, the agents that could write some.
        Called by threads.
        """
        timeline = Timeline(library, self._recount, near=near)
        return timeline, [] if len(timeline) else library.agents_here()

    def _list_anew(self, stand_on: Key | None = None) -> None:
        """List all notes, as they are now; in a thread."""
        if self._listing is not None:
            self._listing.cancel()
        self._wanted = (
            stand_on or self._wanted
        )  # that of a listing which this one takes the place of, too
        self._listing = asyncio.create_task(self._list())

    async def _list(self) -> None:
        library, was_empty = self.library, not len(self.timeline)
        near = self.timeline.day_at(self.entries.cursor) or library.today()
        try:
            timeline, here = await NOTES.run(partial(self._listed, library, near))
        except Exception as error:  # the list stays as it was
            self._complain(error)
            return
        if library is not self.library or self.level == "turn":
            return  # back from there they are listed once more
        is_shown, self.timeline, self._here = self.shown is self.timeline, timeline, here
        if not is_shown:
            return
        key, line, stand_on = self.entries.key, self.entries.line, self._wanted
        self._wanted = None
        if stand_on == _NEWEST:
            stand_on = timeline[1] if len(timeline) else None
        at_top = self.entries.scroll_offset.y == 0 and self.entries.cursor == 1
        self._show_timeline(stand_on or key)
        if (
            not at_top and stand_on is None and not was_empty
        ):  # the row under the cursor stays where the eye is
            self.entries.hold(line)

    def _recount(self) -> None:
        """A day has another number of notes than was known: once what is drawn now is drawn, places
        are worked out anew.
        """
        self.call_later(self._settle)

    def _settle(self) -> None:
        key, line = self.entries.key, self.entries.line
        for timeline in (self.timeline, self.shown):
            if isinstance(timeline, Timeline):
                timeline.settle()
        if isinstance(self.shown, Timeline):
            self.entries.show_keys(self.shown, cursor=key)
            self.entries.hold(line)
            self._show_header()

    def _title_day(self) -> None:
        shown = self.shown if isinstance(self.shown, Timeline) else self.timeline
        day = self.item.day if self.item else shown.day_at(self.entries.cursor)
        named = [_named(day, self.library.today())] if day else []
        if shown is not self.timeline:
            named = [many(shown.total, "note"), *named]
        self.entries.border_title = " · ".join(named) or "notes"
        for calendar in (self.strip, self.year):
            calendar.stand(day)

    def _show_calendar(self, counts: dict[str, int]) -> None:
        for calendar in (self.strip, self.year):
            calendar.show(counts, self.library.today())

    def _show_header(self) -> None:
        memory = self.library.memory
        name = "all projects" if memory.everything else memory.project.name
        self.header.show(
            parts(
                name,
                self.timeline.total,
                len(self.timeline.counts),
                self.standing,
                self.library.today(),
            )
        )

    def _look(self) -> None:
        """Ask what holds now; where it has no service, one is not started for it. In a thread that
        quitting does not wait for; who asks meanwhile has it asked once more.
        """
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
        elif isinstance(self.shown, Hits):
            agent, day, found = self.shown.talks[key]
            who = agent_named(agent).title if agent in agent_names() else "by hand"
            text, count = f"{who} · {day or 'no day'}", f" {found}"
        else:
            text, count = (
                _named(key[1], self.library.today()),
                f" {self.shown.counts.get(key[1], '')}",
            )
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
        is_hit = isinstance(self.shown, Hits)
        stamp = (
            (f"{item.day} {item.time}" if wide else item.day[2:])
            if is_hit
            else item.time or "     "
        )
        project = (
            f"{item.project[: None if wide else _PROJECT]} "
            if self._shows_more_than(item.project)
            else ""
        )
        by_hand = item.author and not item.agent  # somebody's, not mine
        row: Row = [
            (f"{stamp} ", "dim"),
            *(
                []
                if by_hand
                else [(f"{render.agent_tag(item.agent)} ", render.agent_tag(item.agent))]
            ),
            (project, "accent"),
            (f"{item.author} " if item.author else "", "strong"),
        ]
        row += [("~ ", "dim")] if item.by_meaning else []
        row += render.signs(item.marks | _found_of(item, self._evidence.get(key, "")))
        if item.doubtful:
            return [*row, (item.title, "dim")]
        if not is_hit:
            return [*row, *render.inline(item.title)]
        room = (
            (width - _INDENT) * (self.entries.tall - 1)
            + width
            - sum(cell_len(text) for text, _ in row)
        )
        return [
            *row,
            *mark_words(
                render.snippet(item.title, item.text, self._words(), room), "text", self._words()
            ),
        ]

    def _shows_more_than(self, project: str) -> bool:
        """Whether notes of other projects than this one are listed, too."""
        memory = self.library.memory
        return (
            memory.everything
            or bool(self.query_text and memory.project.name != project)
            or "project:" in self.query_text
        )

    def _place_row(self, index: int, width: int) -> Row:
        kind, name = self.places.keys[index]
        if kind == "wait":
            return [("f5 ", "dim"), (f"{self.standing.waiting} to decide", "warn")]
        if kind == "alarm":
            return [("f4 ", "dim"), (name, "bad")]
        if kind == "search":
            return [("/ ", "dim"), (name, "text")]
        if kind == "agent":
            _, count, newest = next(row for row in self.standing.agents if row[0] == name)
            tag = render.agent_tag(name)
            return [
                (f"{tag} ", tag),
                (f"{name or 'by hand':12s}", "text"),
                (f"{count:>7,}  ", "dim"),
                (when(newest, self.library.today()), "dim"),
            ]
        if kind == "pin":
            item = next((item for item in self.standing.pinned if item.entry_id == name), None)
            return [("◆ ", "accent"), *render.inline(item.title)] if item else []
        return [(f" {name}", "strong")]

    def _show_places(self) -> None:
        now = self.standing
        keys = [("wait", "")] * bool(now.waiting) + [("alarm", alarm) for alarm in now.alarms]
        keys = [("", "waits"), *keys] if keys else []
        keys += (
            [("", "agents"), *(("agent", agent) for agent, _, _ in now.agents)]
            if now.agents
            else []
        )
        saved = self._searches("saved")
        keys += [("", "searches"), *(("search", text) for text in saved)] if saved else []
        keys += (
            [("", "pinned"), *(("pin", item.entry_id) for item in now.pinned)] if now.pinned else []
        )
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
        elif kind == "search":
            self.search_for(name)
            self.set_focus(self.entries)
        elif kind == "pin":
            self.show_entry(next(item for item in self.standing.pinned if item.entry_id == name))

    # -- days

    def go_to_day(self, day: str) -> None:
        """Stand on the newest note of *day*, or of the next older day that has one."""
        if self.query_text:
            self._end_search()
        if self._going is not None:
            self._going.cancel()
        self._going = asyncio.create_task(self._go_to_day(day))

    async def _go_to_day(self, day: str) -> None:
        await self._read_around(self.timeline, self.timeline.start(day))
        if self.shown is not self.timeline:
            return  # it is searched meanwhile
        start = self.timeline.start(day)
        self.entries.move_to(start + 1)
        self.entries.show_first(start)
        self.go("entries")

    async def _read_around(self, timeline: Timeline, index: int) -> None:
        """Read the days around a row that one goes to, beside the event loop."""
        if unread := timeline.unread(index):
            timeline.take(await NOTES.run(partial(timeline.read, unread)))

    @on(Calendar.Picked)
    def _day_picked(self, event: Calendar.Picked) -> None:
        self.go_to_day(event.day)

    def action_date(self) -> None:
        from memsearch_tui.screens.day import DayScreen

        if self.level == "turn":
            self.ask_for_turn()
        elif len(self.timeline) and not self.editing:
            here = self.item.day if self.item else self.library.today()
            screen = DayScreen(self.timeline.counts, self.library.today(), here)
            self.app.push_screen(screen, lambda day: self.go_to_day(day) if day else None)

    async def action_day_file(self) -> None:
        """The day's files as they are written."""
        from memsearch_tui.screens.text import TextScreen

        if self.item is None or self.editing:
            return
        day = self.item.day

        def show(written: list[tuple[str, str]]) -> None:
            rows: list[Row] = []
            for path, text in written:
                rows += [[(path, "accent")], [], *([(line, "text")] for line in text.split("\n"))]
            self.app.push_screen(TextScreen(day, rows))

        await attend(
            self, "reading the file", away(partial(self.library.written, day)), show, self._complain
        )

    def action_preview(self, step: int) -> None:
        """Scroll what is read, wherever the focus is."""
        self.reader.scroll_to(y=self.reader.scroll_offset.y + step, animate=False, force=True)

    async def action_next(self, step: int) -> None:
        """Another turn of the conversation, or another day."""
        if self.level == "turn":
            await self._other_turn(step)
        elif isinstance(timeline := self.shown, Timeline) and len(timeline):
            start = timeline.start(timeline.day_at(self.entries.cursor))
            if step > 0:
                place = next(
                    (
                        n
                        for n in range(self.entries.cursor, len(timeline))
                        if is_heading(timeline[n])
                    ),
                    -1,
                )
            else:
                place = timeline.start(timeline.day_at(start - 1)) if start else 0
            if place >= 0:
                await self._read_around(timeline, place)
                if self.shown is timeline:
                    self.entries.move_to(place + 1)

    # -- the row

    def _entry_moved(self, by_hand: bool) -> None:
        self._moved = self._moved or by_hand
        if by_hand:
            self._way_back = None
        self._preview()
        if by_hand and self.note is None:
            self._hold_frame()
        if isinstance(self.shown, Timeline):
            self._title_day()

    @on(LineList.Opened)
    async def _row_opened(self) -> None:
        await self.settled()
        await self.action_deeper()

    def _preview(self) -> None:
        """Show the entry under the cursor: at once where it was read before, and as soon as it is
        read now.
        """
        if self.editing:
            return  # what is edited stays what it is, wherever the list moves
        if self._reading is not None:
            self._reading.cancel()
        self.item, before = self.shown.item(self.entries.key), self.item
        if self._said_of is not None and (self.item is None or self.item.key != self._said_of):
            self._unsay(self._sayings)
        self.found = self._reading = None
        if self.item is None:
            self.note = None
            self.reader.show([])
            self.said.show([])
            return
        known = self._seen.get((self.item.key, self.item.as_of))
        is_same = before is not None and (before.key, before.as_of) == (
            self.item.key,
            self.item.as_of,
        )
        if known is not None:
            self._present(known, keep_place=is_same)
        elif not is_same:
            self.note = None
        self._reading = asyncio.create_task(self._read(self.item, is_same))

    def _hold_frame(self) -> None:
        """Paint nothing for a moment: where the note comes meanwhile, it stands in the same frame
        as the cursor.
        """
        self._frame.enter_context(self.app.batch_update())
        self.set_timer(_HELD_S, self._frame.close)

    async def settled(self, within_s: float | None = None) -> None:
        """Wait until the list, and the note under the cursor, are what the files say; for so long
        at most, of a disk that takes longer.
        """
        while busy := [
            task
            for task in (self._listing, self._going, self._reading)
            if task is not None and not task.done()
        ]:
            done, _ = await asyncio.wait(busy, timeout=within_s)
            if not done:
                self.say("still reading …")
                return

    async def _read(self, item: Item, keep_place: bool) -> None:
        """Read a note, and show it."""
        await self._painted.wait()
        try:
            seen = await NOTES.run(partial(self.library.seen, item))
        except Exception as error:  # whatever stands in a file: it is said where the note would be
            self._seen.pop((item.key, item.as_of), None)
            if self.item is item and not self.editing:
                self.note = None
                self.reader.show([[(str(error), "warn")], [("r reads the lists again", "dim")]])
            return
        is_shown = self._seen.get((item.key, item.as_of)) == seen and self.entry is not None
        if self.item is item and self.found is None and not self.editing and not is_shown:
            self._keep(item, seen)
            self._present(seen, keep_place=keep_place)
        self._frame.close()

    def _keep(self, item: Item, seen: Seen) -> None:
        self._seen[item.key, item.as_of] = seen
        self._evidence[item.key] = seen.evidence
        if len(self._seen) > _KEPT:
            del self._seen[next(iter(self._seen))]

    async def _read_ahead(self) -> None:
        """Once the cursor rests: read the notes to which the next key may lead, and the days that
        may be scrolled to.
        """
        await asyncio.sleep(_AHEAD_REST_S)
        here, timeline = self.entries.cursor, self.shown
        for key in (self.entries.beside(1), self.entries.beside(-1)):
            item = self.shown.item(key)
            if item is not None and (item.key, item.as_of) not in self._seen:
                with contextlib.suppress(
                    MemsearchError, OSError
                ):  # what can't be read is told when it is looked at
                    self._keep(item, await READS.run(partial(self.library.seen, item)))
        if isinstance(timeline, Timeline) and self.shown is timeline:
            for day in timeline.unread(here):
                timeline.take(await READS.run(partial(timeline.read, [day])))
            timeline.forget_far(self.entries.cursor)

    def _present(self, seen: Seen, *, keep_place: bool) -> None:
        self.note = seen
        self._show_section(keep_place=keep_place)

    def _show_section(self, *, keep_place: bool = False) -> None:
        if self.entry is None or self.item is None:
            return
        self._draw_section(keep_place=keep_place)
        # no coroutines yet: one that the next row replaces may never run
        beside = partial(self._show_amendments, self.entry)
        self.run_worker(beside, exclusive=True, group="amendments")  # type: ignore[arg-type]
        for ahead in (self._read_ahead, self._look_for_lost):
            self.run_worker(ahead, exclusive=True, group=ahead.__name__)  # type: ignore[arg-type]
        if self.has_class("-wide"):
            said = partial(self._show_said, self.entry)
            self.run_worker(said, exclusive=True, group="said")  # type: ignore[arg-type]

    def _draw_section(
        self, amendments: Sequence[Supersession] = (), *, keep_place: bool = False
    ) -> None:
        assert self.note is not None and self.item is not None
        evidence = self.note.evidence
        self.reader.border_title = "section"
        self.reader.border_subtitle = (
            f"conversation {evidence} · enter opens it" if evidence in ("live", "archived") else ""
        )
        self.reader.show(
            render.entry_rows(
                self.note.entry,
                self.item.day,
                self.library.short(self.item.path),
                evidence,
                amendments,
                self.note.standing,
            ),
            marks=self._marks(),
            keep_place=keep_place,
        )

    async def _look_for_lost(self) -> None:
        """Find out of which notes that are seen the conversation is gone, once the cursor rests."""
        await asyncio.sleep(_SAID_REST_S)
        library, unknown = (
            self.library,
            [key for key in self.entries.seen() if key not in self._evidence],
        )
        items = [
            item
            for key in unknown
            if not is_heading(key) and (item := self.shown.item(key)) is not None
        ]
        if items:
            found = await READS.run(partial(library.evidence_of, items))
            if library is self.library:
                self._evidence |= found
                self.entries.refresh()

    async def _show_amendments(self, entry: Entry) -> None:
        """What amends the note, or what it amends, once the cursor rests on it."""
        await asyncio.sleep(_SAID_REST_S)
        try:
            found = await READS.run(partial(self.library.amendments, entry))
        except (MemsearchError, OSError):  # the note tells without it
            return
        if found and self.entry is entry and self.level != "turn" and not self.editing:
            self._draw_section(found, keep_place=True)

    async def _show_said(self, entry: Entry) -> None:
        """The turn behind the note, once the cursor rests on it."""
        await asyncio.sleep(_SAID_REST_S)
        try:
            found = await away(partial(self.library.conversation, entry))
        except Exception as error:  # whatever a reader of foreign files meets: it was not asked for
            rows: list[Row] = [[(str(error), "dim")]]
        else:
            turn = found.turns[max(0, found.index)] if found.turns else None
            rows = (
                render.turn_rows(
                    turn, found.first + max(0, found.index) + 1, found.total, unfolded=False
                )
                if turn
                else []
            )
        if self.entry is entry:
            self.said.show(rows, marks=self._marks())

    def action_reload(self, stand_on: Key | None = None) -> None:
        """Read the lists again; cursor, scroll and what is read stay where they are, or the cursor
        goes to *stand_on*.
        """
        if self.editing:
            return
        if self.query_text:
            self._wanted = stand_on or self._wanted
            self._start_search(
                words_first=False
            )  # the hits that are shown stay until the new ones are there
            self._stand_on(stand_on)
        elif self.level != "turn":
            self._list_anew(stand_on)

    def _drop_gone(self) -> None:
        """Take what was deleted out of the list."""
        if isinstance(self.shown, Hits):
            self.shown = self.shown.without(self.gone)
            self.entries.show_keys(self.shown)
            self._preview()
        elif self.query_text:
            self.action_reload()
        else:
            self._list_anew()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.editing and action not in ("back", "save", "drop_draft"):
            return False  # keys are text, and the palette offers nothing else
        if action == "demo":
            return not len(self.timeline)
        if action == "back":  # from the list there is nowhere to go back to
            return bool(
                self.editing
                or self.query_text
                or self.level != "entries"
                or self.focused is not self.entries
            )
        # a slash that is typed is text: Textual knows which keys a box consumes, but not what
        # character this one makes
        return not (action == "search" and isinstance(self.focused, Input | TextArea))

    def commands(self) -> list[Command]:
        """What the palette has beside the keys."""
        from memsearch_tui.palette import Command

        found = [
            Command("Expires on a day", "mark", self.action_expire, "expire end date"),
            Command(
                "Superseded by another note",
                "mark",
                self.action_supersede,
                "supersede replaced overtaken obsolete",
            ),
            *(
                Command(
                    f"Confidence: {level}",
                    "mark",
                    partial(self.action_confidence, level),
                    "confidence sure doubt",
                )
                for level in ("low", "medium", "high")
            ),
            Command(
                "Remember as a fact",
                "long-term memory",
                self.action_remember,
                "remember fact always tell",
            ),
            Command("Forget facts", "long-term memory", self.action_forget, "forget remove fact"),
            Command(
                "One line a note" if self.entries.tall > 1 else "Two lines a note",
                "list",
                self._fold,
                "rows lines dense wrap fold height",
            ),
        ]
        return found + [
            Command(f"Search: {text}", "kept", partial(self.search_for, text), "saved search")
            for text in self._searches("saved")
        ]

    def _fold(self) -> None:
        """The other number of lines for each note, and so from now on."""
        two = self.entries.tall == 1
        self.app.keep(two_lines=two)  # type: ignore[attr-defined]
        self.entries.fold(two)

    def action_connect(self) -> None:
        """Which agents write here, and their old sessions."""
        from memsearch_tui.screens.connect import ConnectScreen

        if not self.editing:
            newest = (
                None if len(self.timeline) else _NEWEST
            )  # old sessions come in from the oldest on
            self.app.push_screen(ConnectScreen(self.library), lambda _: self.action_reload(newest))

    def action_demo(self) -> None:
        """Leave this memory for the sample year."""
        self.app.exit(DEMO)

    def action_related(self) -> None:
        """From a note to others on its matter, and to the turns that wrote to its files."""
        from memsearch_tui.screens.related import RelatedScreen

        if self.item is not None and self.entry is not None:
            self.app.push_screen(
                RelatedScreen(self.library, self.item, self.entry),
                lambda chosen: self.show_entry(chosen) if chosen else None,
            )

    def show_entry(self, item: Item, way_back: Callable[[], None] | None = None) -> None:
        """Stand on an entry, wherever it is.

        Args:
            way_back: to the screen that led to it, which escape from the note goes to.
        """
        self._way_back = way_back
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


def _found_of(item: Item, evidence: str) -> dict[str, str]:
    """What was found out about a note beside its marks, by the sign that it has in a row."""
    found = {
        "superseded-by": item.superseded,
        "gone": item.stale in ("gone", "partly"),
        "moved": item.stale == "moved",
        "unmerged": item.unmerged,
        "lost": evidence == "lost",
    }
    return {name: "" for name, is_so in found.items() if is_so}


def _first_steps(agents: list[str]) -> list[str]:
    """What to do where there is no note yet, with the keys that do it."""
    here = ", ".join(agent_named(agent).title for agent in agents)
    return [
        "Nothing here yet.",
        "",
        f"c  lets {here} write here, and takes in old sessions"
        if here
        else "c  lets your agents write here",
        "a  writes the first note",
        "F  looks in all projects",
        "v  shows a sample year, in a home of its own (memsearch demo)",
    ]


def _named(day: str, today: str) -> str:
    """A day as a heading: ``Today · Sun 22 Nov``, ``Fri 20 Nov 2025``."""
    try:
        date, now = datetime.fromisoformat(day), datetime.fromisoformat(today)
    except ValueError:
        return day
    near = {0: "Today · ", 1: "Yesterday · "}.get((now - date).days, "")
    return f"{near}{date:%a} {date.day} {date:%b}" + (
        f" {date:%Y}" if date.year != now.year else ""
    )
