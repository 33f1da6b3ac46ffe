"""Home: days | entries or hits | what is read. One screen whose panes change weight with depth.

``level`` says how deep we are: days, entries, section (L2) or turn (L3). Enter goes down, escape comes back to the same
row, scroll and query.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from memsearch_engine.errors import MemsearchError
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.text import shown_line
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Input, Static, TextArea

from memsearch_tui import drafts
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library
from memsearch_tui.screens.editing import Editing
from memsearch_tui.widgets import render
from memsearch_tui.widgets.lines import LineList, Row, TextView
from memsearch_tui.widgets.query import FilterSuggester, QueryBox

if TYPE_CHECKING:
    from memsearch_engine.transcripts.locate import Excerpt

LEVELS = ("days", "entries", "section", "turn")
_REST_S = 0.14
#: One thread each: what was typed over is dropped from the queue, and no thread keeps a database connection for nothing.
_WORDS, _MEANING = ThreadPoolExecutor(1, "words"), ThreadPoolExecutor(1, "meaning")
_LOOK_S = 10  # how often the follower looks whether another project was opened
_HITS = 60
_WIDE_ROW = 64
_TEACH_DAYS = ["no days yet"]
_TEACH_ENTRIES = [
    "Nothing here yet.",
    "",
    'memsearch add "…"      writes a note',
    "/                       searches",
    "memsearch demo          shows a sample year",
]


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
        Binding("right_square_bracket", "turn(1)", "Next turn", id="turn.next", show=False),
        Binding("left_square_bracket", "turn(-1)", "Previous turn", id="turn.previous", show=False),
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
        self.days = LineList(self._day_row, moved=self._day_moved, empty=_TEACH_DAYS, id="days")
        self.entries = LineList(self._item_row, moved=self._entry_moved, empty=_TEACH_ENTRIES, id="entries")
        self.reader = TextView(id="reader")
        self.level = "entries"
        self.query_text = ""
        self.day_counts: dict[str, int] = {}
        self.items: dict[tuple[str, str], Item] = {}
        self.entry: Entry | None = None
        self.item: Item | None = None
        self.found: Excerpt | None = None
        self.turn = 0
        self.unfolded = False
        self._generation = 0
        self._moved = False
        self._day: str | None = None
        self._left_at: dict[str | None, tuple[str, str]] = {}  # day -> the entry that was read there
        self._before_search: tuple[str | None, tuple[str, str] | None] = (None, None)
        self._left = threading.Event()
        self.add_class("at-entries")

    def compose(self) -> ComposeResult:
        width = self.app.size.width  # before the first layout: what is laid out for another width is laid out twice
        self.add_class(next(name for least, name in reversed(self.app.HORIZONTAL_BREAKPOINTS or []) if width >= least))
        yield QueryBox(
            placeholder='words, agent: project: after:7d day: is:pinned -word "phrase"',
            id="query",
            compact=True,
            suggester=FilterSuggester(self.library),
        )
        with Horizontal(id="panes"):
            yield self.days
            yield self.entries
            yield self.reader
        yield Static("", id="status", markup=False)
        yield Footer(show_command_palette=False)

    # -- start and live -------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        memory = self.library.memory
        self.days.border_title, self.reader.border_title = "days", "section"
        self._load_days(self.app.kept.get("day"))  # type: ignore[attr-defined]
        self.say("all projects" if memory.everything else memory.project.name)
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
        self.days.show_keys([])
        self._load_days()
        self.go("entries")
        memory = library.memory
        self.say("all projects" if memory.everything else memory.project.name)

    def on_unmount(self) -> None:
        self._left.set()
        self.app.keep(day=self.days.key)  # type: ignore[attr-defined]

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
            self.say("up to date")
        self.action_reload()

    def say(self, text: str) -> None:
        self.query_one("#status", Static).update(shown_line(text))

    # -- levels ---------------------------------------------------------------------------------------------

    def go(self, level: str) -> None:
        """Change depth; the pane of that depth is focused and, on a narrow screen, the only one."""
        self.level = level
        for name in LEVELS:
            self.set_class(name == level, f"at-{name}")
        target = {"days": self.days, "entries": self.entries}.get(level, self.reader)
        if self.is_mounted and not isinstance(self.focused, Input):
            self.set_focus(target)
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
            self._before_search = (self.days.key, self.entries.key)
        if isinstance(event.widget, LineList) and event.widget.id and self.level != event.widget.id:
            self.go(event.widget.id)
        elif event.widget is self.reader and self.level in ("days", "entries"):
            self.go("section")

    def action_deeper(self) -> None:
        if isinstance(self.focused, Input):
            self.set_focus(self.entries)
        elif self.level == "days":
            self.go("entries")
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
            self._show_section()
        elif self.level == "section":
            self.go("entries")
        elif self.level == "entries":
            self.go("days")

    # -- days and entries -----------------------------------------------------------------------------------

    def _load_days(self, cursor: str | None = None) -> None:
        days = self.library.days()
        self.day_counts = dict(days)
        self.days.border_subtitle = f"{len(days)}"
        self.days.show_keys([day for day, _ in days], cursor=cursor if cursor in self.day_counts else None)
        self._load_entries()

    def _load_entries(self, cursor: tuple[str, str] | None = None) -> None:
        if self.query_text:
            return
        day = self.days.key
        items = self.library.day(str(day)) if day else []
        if day != self._day and cursor is None and items:  # another day begins where it was left, else at its top
            cursor = self._left_at.get(day, items[0].key)
        self._day = day
        self.entries.empty = _TEACH_ENTRIES
        self._show_items(items, cursor)
        self.entries.border_title = str(day) if day else "entries"
        self.entries.border_subtitle = f"{len(items)}"

    def _show_items(self, items: list[Item], cursor: tuple[str, str] | None = None) -> None:
        self.items = {item.key: item for item in items}
        self.entries.show_keys(list(self.items), cursor=cursor)
        self._preview()

    def _day_row(self, index: int, width: int) -> Row:
        day = str(self.days.keys[index])
        count = self.day_counts.get(day, -1)
        size = 0 if count <= 0 else 1 if count < 4 else 2 if count < 10 else 3
        bar = " ▂▅█"[size]
        return [(day, "text"), (f" {bar} ", f"heat{max(1, size)}"), (f"{count if count >= 0 else '·':>4}", "dim")]

    def _item_row(self, index: int, width: int) -> Row:
        item = self.items.get(self.entries.keys[index])
        if item is None:
            return []
        wide = width >= _WIDE_ROW  # in a narrow list the words of the memory come first
        day = item.day if wide else item.day[5:]
        when = (f"{day} {item.time}" if wide else day) if self.query_text else item.time or "note "
        project = f"{item.project} " if self.library.memory.everything and wide else ""
        return [
            (f"{when} ", "dim"),
            (f"{_short(item.agent):8s} " if wide else f"{_short(item.agent)[:3]} ", "agent"),
            (project, "accent"),
            ("~ " if item.by_meaning else "", "dim"),
            *([(item.title, "dim")] if item.doubtful else self._highlight(item.title)),
            *render.badges(item.marks),
        ]

    def _highlight(self, text: str) -> Row:
        from memsearch_tui.widgets.lines import mark_words

        return mark_words(text, "text", self._words()) if self.query_text else render.inline(text)

    def _words(self) -> list[str]:
        """The query's plain words, for highlighting."""
        from memsearch_engine.index.analyze import STOP_WORDS
        from memsearch_engine.search.query import parse

        words = (word.casefold() for word in parse(self.query_text).text.split())
        return [word for word in words if len(word) > 1 and word not in STOP_WORDS]

    def _day_moved(self, by_hand: bool) -> None:
        self._load_entries()

    def _entry_moved(self, by_hand: bool) -> None:
        self._moved = self._moved or by_hand
        if by_hand and not self.query_text:
            self._left_at[self._day] = self.entries.key
        self._preview()

    @on(LineList.Opened)
    def _row_opened(self) -> None:
        self.action_deeper()

    def _preview(self) -> None:
        """Show the entry under the cursor."""
        if self.editing:
            return  # what is edited stays what it is, wherever the list moves
        self.item = self.items.get(self.entries.key) if self.entries.key else None
        self.found = None
        if self.item is None:
            self.entry = None
            self.reader.show([])
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

    def action_reload(self) -> None:
        """Read the lists again; cursor, scroll and what is read stay where they are."""
        if self.editing:
            return
        key, level, place = self.entries.key, self.level, self.reader.scroll_offset.y
        if self.query_text:
            self._start_search(words_first=False)  # the hits that are shown stay until the new ones are there
            return
        before = self.entry
        days = self.library.days()
        if dict(days) != self.day_counts:
            self.day_counts = dict(days)
            self.days.border_subtitle = f"{len(days)}"
            self.days.show_keys([day for day, _ in days])
        if level == "turn":
            return
        self._load_entries(key)
        if before and self.entry and before.id == self.entry.id:
            self.reader.scroll_to(y=place, animate=False, force=True)

    # -- search ---------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
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
            self._load_entries()

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
        items = [item for item in self.library.items(answer) if item.key not in self.gone]
        row = self.entries.cursor - self.entries.scroll_offset.y
        cursor = self.entries.key if self._moved else (items[0].key if items else None)
        self.entries.empty = _nothing(self.query_text, answer.absent)
        self._show_items(items, cursor)
        if self._moved:  # the row under the cursor stays where the eye is
            self.entries.scroll_to(y=max(0, self.entries.cursor - row), animate=False, force=True, immediate=True)
        remarks = [f"{word} → {', '.join(near)}" for word, near in answer.corrected.items()]
        remarks += [f"no note has {', '.join(answer.absent)}"] if answer.absent else []
        remarks += ["perhaps no note fits"] if answer.is_unsure else []
        count = f"first {len(items)}" if len(items) == _HITS else many(len(items), "hit")
        self.entries.border_title = "  ".join([f"{count} · {answer.mode}", *remarks])
        self.entries.border_subtitle = f"{answer.took_ms:.0f} ms" if answer.took_ms else ""
        if answer.reason:
            self.say(answer.reason)

    def _end_search(self) -> None:
        self._generation += 1
        self.query_text = ""
        box = self.query_one("#query", Input)
        with box.prevent(Input.Changed):
            box.value = ""
        day, key = self._before_search
        self.days.show_keys(list(self.days.keys), cursor=day)
        self._load_entries(key)
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

    def action_turn(self, step: int) -> None:
        if self.level != "turn" or self.found is None or self.entry is None:
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
        if item.day in self.day_counts:
            self.days.show_keys(list(self.days.keys), cursor=item.day)
            self._load_entries(item.key)
        else:
            self._show_items([item], item.key)
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
            self._before_search = (self.days.key, self.entries.key)
        words = self.query_text.split()
        words = [w for w in words if w != word] if word in words else [*words, word]
        self.query_one("#query", Input).value = shown_line(" ".join(words))
        self.go("entries")


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
    return [*lines, "", "escape               goes back to the days", "F                    looks in all projects"]


def _short(agent: str) -> str:
    return {"claude-code": "claude", "": "note"}.get(agent, agent)[:8]
