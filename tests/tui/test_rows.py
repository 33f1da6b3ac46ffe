"""Rows of the home list: two lines where there is room, what is cut off, lost conversations; and
that all of it is read beside the event loop.
"""

from __future__ import annotations

import threading

import msgspec
import pytest
from memsearch_engine import Memory
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.write import Journal
from rich.cells import cell_len
from rich.style import Style

from memsearch_tui.library import Item, Library
from memsearch_tui.library.notes import NoteReader
from memsearch_tui.library.rows import KnownProjects, NoteDays, counted_hits
from memsearch_tui.library.status import MemoryStatus
from memsearch_tui.screens.browse.rows import EntryRows, named_day
from memsearch_tui.screens.browse.screen import BrowseScreen
from memsearch_tui.screens.browse.search import _whole
from memsearch_tui.screens.browse.state import BrowseState
from memsearch_tui.timeline import Hits, Timeline
from memsearch_tui.widgets.bars import Keys
from memsearch_tui.widgets.lines import Lines
from memsearch_tui.widgets.pieces import LINE_BREAK, drawable, wrap
from tests.tui.conftest import SESSION, until
from tests.tui.test_flows import drive, settled

LONG = (
    "The gateway retries five times with a pause that doubles from 200 ms, "
    "but never a POST, since payments went out twice on 3 March"
)


@pytest.fixture
def long_note(world):
    world.day("2026-02-10").write_text(f"# 2026-02-10\n\n### 10:00\n- {LONG}\n")
    return world


def lines(app) -> list[str]:
    entries = app.screen.panes.entries
    return [
        "".join(segment.text for segment in entries.render_line(y)).rstrip()
        for y in range(entries.size.height)
    ]


def test_a_high_list_gives_each_note_two_lines(long_note):
    app = long_note.app()

    async def steps(pilot):
        seen = lines(app)
        assert seen[0].startswith(" Tue 10 Feb 10:00 by hand    ")
        first, second = seen[0].split("10:00 by hand    ")[1], seen[1].strip()
        assert (
            LONG.startswith(first)
            and LONG.startswith(f"{first} {second}".rstrip("…"))
            and len(second) > 20
        )
        place = app.screen.panes.entries.keys.index(app.screen.state.shown[2])
        await pilot.click(
            "#entries", offset=(5, 1 + place * 2 + 1)
        )  # its second line, below the border
        assert app.screen.panes.entries.cursor == place
        line = app.screen.panes.entries.cursor_line
        app.screen.change_height()
        assert (
            app.screen.panes.entries.tall == 1
            and app.screen.panes.entries.cursor == place
            and line == place * 2
        )
        assert app.saved.two_lines is False

    drive(app, steps, size=(200, 60))
    again = long_note.app()  # and from then on

    async def still(pilot):
        assert again.screen.panes.entries.tall == 1

    drive(again, still, size=(200, 60))


def test_hits_follow_the_size_of_the_terminal(long_note):
    app = long_note.app()

    async def steps(pilot):
        await pilot.press("/", *"gateway")
        await settled(pilot)
        entries, key = app.screen.panes.entries, app.screen.panes.entries.key
        for width, height, tall in ((120, 24, 2), (80, 24, 2), (80, 15, 1), (120, 24, 2)):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda tall=tall: entries.tall == tall)
            assert entries.key == key
        await pilot.press("escape")
        await settled(pilot)
        await pilot.resize_terminal(119, 24)
        await settled(pilot)
        assert entries.tall == 1  # the list of all notes has its own rule

    drive(app, steps, size=(80, 24))


def test_a_short_list_gives_one_and_says_where_it_goes_on(long_note):
    app = long_note.app()

    async def steps(pilot):
        (row,) = [line for line in lines(app) if "gateway" in line]
        assert row.endswith("…") and LONG.startswith(row.split("10:00 me   ")[1].rstrip("…"))

    drive(app, steps)


def test_a_row_says_that_its_conversation_is_gone(world):
    (transcript,) = (world.home.root.parent / "claude").rglob("*.jsonl")

    def signs(app) -> list[str]:
        return ["▸" not in line for line in lines(app) if "14:45" in line or "14:30" in line]

    async def there(pilot):
        await settled(pilot)
        assert signs(pilot.app) == [False, False]

    async def gone(pilot):
        await settled(pilot)
        assert signs(pilot.app) == [True, True]

    drive(world.app(), there)
    transcript.unlink()
    drive(world.app(), gone)


def test_a_conversation_that_is_gone_is_not_looked_for_at_each_note(world, monkeypatch):
    (transcript,) = (world.home.root.parent / "claude").rglob("*.jsonl")
    transcript.unlink()
    app, looked = world.app(), list[object]()
    monkeypatch.setattr(NoteReader, "conversation", lambda *of: looked.append(of))

    async def steps(pilot):
        said = app.screen.panes.said
        await settled(pilot)
        before = said.text()
        assert "The conversation is gone" in before
        show, drawn = said.show, list[str]()
        monkeypatch.setattr(
            said, "show", lambda rows, **how: drawn.append(show(rows) or said.text())
        )
        await pilot.press("down", "down")
        await settled(pilot)
        assert set(drawn) == {before} and not looked

    drive(app, steps, size=(120, 40))


@pytest.mark.slow
def test_nothing_of_it_is_read_on_the_event_loop(world, monkeypatch):
    asked: list[tuple[str, bool]] = []
    reads = [
        (NoteReader, "entry"),
        (NoteReader, "evidence"),
        (NoteReader, "staleness"),
        (NoteDays, "read"),
        (KnownProjects, "names"),
        (MemoryStatus, "header"),
    ]
    for owner, name in reads:
        original = getattr(owner, name)

        def noted(self, *args, _name=name, _original=original, **kwargs):
            asked.append((_name, threading.current_thread() is threading.main_thread()))
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, noted)
    app = world.app()

    async def steps(pilot):
        del asked[:]  # before the first frame there is nothing to keep moving
        await pilot.press("j", "j", "]", "r", "p", "u", "e", "escape", "/", *"project:s")
        await settled(pilot)
        await pilot.press("escape", "d", "u")
        assert {"entry", "evidence", "staleness", "read", "names"} <= {name for name, _ in asked}
        assert not [name for name, on_loop in asked if on_loop]
        assert isinstance(app.screen, BrowseScreen)

    drive(app, steps)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_help_is_always_in_the_last_line(world, width):
    app = world.app()

    def named() -> list[str]:
        return [" ".join(key) for key in app.screen.query_one(Keys).named]

    async def steps(pilot):
        for key in ("", "enter", "t"):
            await pilot.press(*([key] if key else []))
            await settled(pilot)
            line = app.screen.query_one(Keys).line(0).text
            assert named()[-1] == "? Help" and len(line) == width, (key, named())
            assert "…" not in line
        await pilot.resize_terminal(200, 24)
        await settled(pilot)
        assert "q Quit" not in named()  # it closes the conversation and the note first
        while app.screen.state.level != "entries":
            await pilot.press("q")
            await settled(pilot)
        assert "q Quit" in named()

    drive(app, steps, size=(width, 24))


def test_the_notes_beside_are_read_once_the_cursor_rests(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("j")
        await settled(pilot)
        screen = app.screen
        places = [screen.panes.entries.beside(step) for step in (1, -1)]
        assert None not in places and all((key, "") in screen.reader.cached for key in places)

    drive(app, steps)


@pytest.mark.parametrize(
    "text",
    [
        "⚠️ warning ⚠️⚠️",
        "👨‍👩‍👧‍👦 a family",
        "🏳️‍🌈 🏴‍☠️",
        "🇩🇪🇯🇵 flags",
        "1️⃣ #️⃣ keycaps",
        "✍🏽 👍🏿 a hand",
        "⌚︎ ❤️‍🔥",
        "数据库 시간 שלום",
    ],
)
def test_what_is_drawn_has_one_width_whether_signs_are_counted_alone_or_together(text):
    drawn = drawable(text)
    assert sum(cell_len(sign) for sign in drawn) == cell_len(drawn)
    strip = Lines.draw(_Plain(), [(text * 20, "text")], 37)
    assert (
        strip.cell_length == 37 == sum(cell_len(sign) for segment in strip for sign in segment.text)
    )
    assert all(
        sum(cell_len(sign) for piece, _ in row for sign in piece) <= 9
        for row in wrap([(drawn, "text")], 9)
    )


class _Plain:
    def style_of(self, *tones):
        return Style.null()


def test_letters_keep_what_joins_them():
    assert drawable("क्‍ष נسּ naïve") == "क्‍ष נسּ naïve", "a joiner between letters shapes them"


def test_a_hit_shows_its_conversation_and_its_day_in_the_calendar(world):
    app = world.app()

    async def steps(pilot):
        app.screen.search.search_for("selectinload")
        await settled(pilot)
        await until(pilot, lambda: len(app.screen.state.shown) and app.screen.state.item)
        await until(
            pilot, lambda: app.screen.state.evidence.get(app.screen.state.item.key) == "live"
        )
        await until(pilot, lambda: any(" ▸ " in line for line in lines(app)))
        days = {str(calendar.day) for calendar in app.screen.panes.calendars}
        assert days == {app.screen.state.item.day}
        assert "hit" in app.screen.panes.entries.border_title

    drive(app, steps)


def test_the_title_names_no_day_that_is_not_on_the_screen(world):
    for month in range(1, 13):
        for day in range(1, 28):
            world.day(f"2025-{month:02d}-{day:02d}").write_text("### 10:00\n- a note\n")
    app = world.app()

    async def steps(pilot):
        app.screen.listing.go_to_day("2025-03-05")
        await app.screen.listing.going
        await settled(pilot)
        assert app.screen.state.item.day == "2025-03-05"
        assert app.screen.panes.entries.border_title == "notes"

    drive(app, steps)


def test_the_title_follows_the_first_row(world):
    for day in range(1, 9):
        notes = "".join(f"### 10:{minute:02d}\n- a note\n" for minute in range(20))
        world.day(f"2026-02-{day:02d}").write_text(notes)
    app = world.app()

    async def steps(pilot):
        entries, timeline = app.screen.panes.entries, app.screen.state.timeline

        def named() -> str:
            first = entries.scroll_offset.y // entries.tall
            is_named = timeline.begins_day(timeline[first])
            return "notes" if is_named else named_day(timeline.day_at(first), "2026-02-10")

        for scroll in (
            lambda: entries.scroll_to(y=25, animate=False),  # as the wheel does
            lambda: pilot.resize_terminal(80, 24),
            lambda: pilot.resize_terminal(120, 60),
            lambda: pilot.press("end"),
            lambda: pilot.resize_terminal(100, 30),
        ):
            if (done := scroll()) is not None:
                await done
            await pilot.pause()
            await until(pilot, lambda: entries.border_title == named())
        (world.day("2026-02-10")).write_text("### 10:00\n- new\n" * 5)
        entries.scroll_to(y=5, animate=False)
        app.screen.search.reload()
        await settled(pilot)
        assert entries.border_title == named()

    drive(app, steps, (120, 40))


def test_a_note_of_a_turn_begins_with_what_was_asked(world):
    world.day("2026-02-10").write_text(
        "### 10:00\n- User asked: is the port free?\n- Port 8080 is taken by nginx.\n"
    )
    app = world.app()

    async def steps(pilot):
        assert any(line.endswith("is the port free?") for line in lines(app))
        app.screen.search.search_for("port")
        await settled(pilot)
        await until(pilot, lambda: any("is the port free?" in line for line in lines(app)))
        assert "User asked:" not in "\n".join(lines(app))

    drive(app, steps)


def test_reasons_name_the_words_of_the_query():
    assert _whole("words: cach, ttl", ["cache", "ttl"]) == "words: cache, ttl"
    assert _whole("meaning 0.58", ["cache"]) == "meaning 0.58"


def test_the_title_counts_the_hits_above_the_folded_ones():
    sure = Item("1", "a.md", "2026-02-10", "10:00", "codex", "a note", {})
    doubtful = msgspec.structs.replace(sure, doubtful=True)
    assert counted_hits([sure, doubtful, sure, doubtful], 60) == "3 hits"
    assert counted_hits([sure, doubtful, sure, doubtful], 60, grouped=True) == "2 hits"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_row_names_its_agent_where_the_text_has_room(long_note, size):
    app = long_note.app()

    async def steps(pilot):
        await settled(pilot)
        rows = "\n".join(lines(app))
        assert ("claude   ▸ " in rows) == ("by hand    The gateway" in rows) == (size[0] == 200)
        assert ("cl ▸ " in rows) == (size[0] < 200)
        text = lines(app)[0].partition("by hand    ")[2]
        assert not text or cell_len(text) >= 50

    drive(app, steps, size=size)


def test_agents_have_two_letters_where_projects_take_the_room(world):
    state = BrowseState(Library(Memory(str(world.project), home=world.home, everything=True)))
    item = Item("1", "p/2026-02-09.md", "2026-02-09", "10:00", "claude-code", "A", {}, "shop")
    state.shown = Hits([item])
    rows = EntryRows(state)

    def head(width: int) -> str:
        return "".join(text for text, _ in rows.row(item.key, width))

    assert " cl shop " in head(82) and " claude   shop " in head(83)
    state.library = Library(Memory(str(world.project), home=world.home))
    assert " cl " in head(77) and " claude   " in head(78)


def test_a_list_is_drawn_again_when_its_notes_get_two_lines(world):
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        entries = app.screen.panes.entries
        assert entries.tall == 1
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: entries.tall == 2)
        await until(pilot, lambda: entries._painted.get(2) == entries.line(2))

    drive(app, steps, size=(160, 40))


@pytest.mark.parametrize("query", ["", "rust"])
def test_a_row_has_an_end_also_without_room(world, query):
    state = BrowseState(Library(Memory(str(world.project), home=world.home)))
    item = Item(
        "1", "p/2026-02-09.md", "2026-02-09", "10:00", "codex", "Chose Rust 缓存", {}, "shop"
    )
    listed = Hits([item])
    state.query, state.shown = query, listed if query else Timeline(state.library)
    state.shown.item, state.shown.begins_day = lambda key: item, lambda key: True
    for width in range(-5, 40):
        for lines in (1, 2):
            assert EntryRows(state).row(item.key, width, lines)


def test_a_title_in_one_line_is_followed_by_the_other_lines(world):
    world.day("2026-02-10").write_text(
        "# 2026-02-10\n\n### 10:00\n- Chose Rust\n- Go was slower\n\n### 11:00\n- Chose Zig\n"
    )
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        await until(pilot, lambda: "Go was slower" in lines(app)[3])
        assert lines(app)[2].endswith("Chose Rust") and lines(app)[3].strip() == "Go was slower"
        assert lines(app)[0].endswith("Chose Zig")
        assert lines(app)[1].strip() == "by hand · 2026-02-10.md"
        await pilot.press("slash", *"kind:note")
        await settled(pilot)
        assert "Go was slower" in lines(app)[3]  # filters alone list notes in the same way

    drive(app, steps, size=(200, 60))


def test_a_faint_hit_in_two_lines_shows_more_than_its_title(world):
    state = BrowseState(Library(Memory(str(world.project), home=world.home)))
    item = Item(
        "1", "p/2026-02-09.md", "2026-02-09", "10:00", "", "Chose Rust", {}, "shop",
        doubtful=True, text="- Chose Rust\n- Go was slower",
    )  # fmt: skip
    state.query, state.shown = "language", Hits([item])
    row = EntryRows(state).row(item.key, 95, 2)
    assert ("Chose Rust", "dim") in row
    assert row[row.index(LINE_BREAK) + 1] == ("Go was slower", "dim")


def test_the_second_line_follows_a_change_of_the_note(world):
    journal, text = Journal(world.home), "- Chose Rust\n- Go was slower"
    for hour, body in enumerate((text, "- Chose Zig", "- Chose Ada", "- Chose C"), 10):
        anchor = Anchor(SESSION, f"u{hour}", "claude-code", "transcript", "")
        journal.append_turn(str(world.memory), "2026-02-10", f"{hour}:00", body, anchor)
    journal.history.close()
    app, day = world.app(), world.day("2026-02-10")

    async def steps(pilot):
        await settled(pilot)
        await until(pilot, lambda: lines(app)[7].strip() == "Go was slower")
        day.write_text(day.read_text().replace("was slower", "was much slower"))
        await pilot.press("r")
        await settled(pilot)
        await until(pilot, lambda: lines(app)[7].strip() == "Go was much slower")

    drive(app, steps, size=(200, 60))
