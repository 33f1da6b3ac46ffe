"""What a reader sees first: the answer in a hit's row, keys and counts in every width, and no row
that is cut without a sign.
"""

from __future__ import annotations

import copy

import pytest
from memsearch_engine import Memory
from rich.cells import cell_len
from textual.command import CommandList
from textual.geometry import Offset
from textual.widgets import Input

from memsearch_tui import activity, health
from memsearch_tui.library import Item, Library, ProjectRow
from memsearch_tui.review import TITLES, titled
from memsearch_tui.screens.browse.rows import EntryRows
from memsearch_tui.screens.browse.state import BrowseState
from memsearch_tui.screens.dialogs import AskScreen
from memsearch_tui.screens.projects import ProjectsScreen
from memsearch_tui.timeline import Hits
from memsearch_tui.widgets.bars import Header, Keys
from memsearch_tui.widgets.pieces import LINE_BREAK, cut, diff_rows
from tests.tui.conftest import until
from tests.tui.test_flows import drive, settled
from tests.tui.test_pages import details, rows
from tests.tui.test_pictures import ACTIVITY, HEALTH
from tests.tui.test_ways import said

TITLE = "Raised `CATALOG_CACHE_TTL` from 900 to 1800 seconds; stock is no longer part of it"


def text_of(row) -> str:
    return "".join(text for text, _ in row)


def a_hit(world, **more) -> tuple[EntryRows, tuple[str, str]]:
    """Return the rows of a search for "cache ttl" with one hit, and the hit's key."""
    state = BrowseState(Library(Memory(str(world.project), home=world.home)))
    item = Item("1", "a.md", "2026-08-24", "15:00", "opencode", TITLE, {}, text=TITLE, **more)
    state.query, state.shown = "cache ttl", Hits([item])
    return EntryRows(state), item.key


@pytest.mark.parametrize("width", [52, 64, 80])
def test_the_row_of_a_new_value_shows_the_value(world, width):
    hits, key = a_hit(world, replaced=(("2026-04-08", "Raised it from 300 to 900 seconds"),))
    row = hits.row(key, width, lines=2)
    place = row.index(LINE_BREAK)
    first, second = text_of(row[:place]), text_of(row[place + 1 :])
    assert "1800" in first + second and "◀ current" in first + second
    assert cell_len(first) <= width and cell_len(second) <= width - 11


def test_a_hit_that_fills_its_lines_shows_the_value_before_on_a_wide_screen(world):
    hits, key = a_hit(world, replaced=(("2026-04-08", "Raised it from 300 to 900 seconds"),))
    row = hits.row(key, 100, lines=2)
    place = row.index(LINE_BREAK)
    first, second = text_of(row[:place]), text_of(row[place + 1 :])
    assert "1800" in first and first.endswith("◀ current") and cell_len(first) <= 100
    assert second.startswith("before: 8 Apr ") and "300 to 900" in second


def test_words_at_the_end_of_the_first_line_keep_their_blank(world):
    hits, key = a_hit(world)
    row = [(" ", "text") if piece == LINE_BREAK else piece for piece in hits.row(key, 52, lines=2)]
    shown = text_of(row).removesuffix("…")
    assert all(word in TITLE.split() or word in shown.split()[:4] for word in shown.split()[:-1])


def test_in_one_line_a_sign_marks_the_new_value_before_its_text(world):
    hits, key = a_hit(world, replaced=(("2026-04-08", "Raised it from 300 to 900 seconds"),))
    assert "◀ Raised `CATALOG_CACHE_TTL` from 900 to 1800" in text_of(hits.row(key, 77))


def test_a_row_is_cut_with_a_sign():
    row = [("redis ", "text"), ("ttl", "match"), (" of the 目录 cache", "text")]
    assert cut(row, 40) == row
    for width in range(1, 27):
        shown = text_of(cut(row, width))
        assert cell_len(shown) <= width and shown.endswith("…")


@pytest.mark.parametrize("size", [(38, 20), (80, 24), (120, 40)])
def test_the_empty_box_says_how_to_search_in_every_width(world, size):
    app = world.app()

    async def steps(pilot):
        text = app.screen.query_one("#query", Input).placeholder
        assert text.startswith("/ search") and cell_len(text) < size[0]

    drive(app, steps, size=size)


@pytest.mark.parametrize("width", [38, 60, 80, 120])
def test_pages_say_the_way_back_in_every_width(world, width):
    app = world.app()

    async def steps(pilot):
        await pilot.press("f4")
        await settled(pilot)
        shown = [key for key, _ in app.screen.query_one(Keys).named]
        assert "esc" in shown and "?" in shown

    drive(app, steps, size=(width, 24))


def test_the_home_screen_names_the_palette(world):
    app = world.app()

    async def steps(pilot):
        shown = {words: key for key, words in app.screen.query_one(Keys).named}
        assert shown["Commands"] == "^k" and "Quit" in shown and "Help" in shown

    drive(app, steps, size=(80, 24))


def test_selected_notes_are_counted_and_escape_clears_them(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("space", "space")
        entries = app.screen.panes.entries
        assert str(entries.border_subtitle).startswith("2 selected")
        app.screen.search.reload()  # as after a change by another program
        await pilot.pause()
        assert str(entries.border_subtitle).startswith("2 selected")
        await pilot.press("escape")
        assert not entries.selected and not entries.border_subtitle

    drive(app, steps)


def test_a_message_of_before_does_not_hide_what_is_said_of_a_search(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("S")
        assert "No search is saved" in said(app)
        await pilot.press("slash", "x")
        await settled(pilot)
        assert "No search is saved" not in said(app)

    drive(app, steps)


def test_why_without_a_search_names_the_next_step(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("w")
        assert "/ searches" in said(app)

    drive(app, steps)


def test_a_question_is_readable_in_a_narrow_terminal(world):
    app = world.app()
    question = "Accept all 24 of “proposed for long-term memory”? Type yes"

    async def steps(pilot):
        app.push_screen(AskScreen(question, "x"))
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.pause()
        text = app.screen.query_one("Static")
        assert text.size.width * text.size.height >= cell_len(question)
        box = app.screen.query_one(Input)
        assert box.has_focus and box.region.height and box.value == "x"

    drive(app, steps, size=(38, 20))


def test_a_narrow_header_says_what_needs_a_decision(world):
    app = world.app()

    async def steps(pilot):
        header = app.screen.query_one(Header)
        counts = [("shop", "strong"), ("   391 notes · 203 days", "dim")]
        header.show([(counts, "projects"), ([("f5 ", "key"), ("5 to decide", "warn")], "review")])
        assert "5 to decide" in header.line(0).text and "391" not in header.line(0).text
        await pilot.resize_terminal(80, 24)
        assert "391" in header.line(0).text and "5 to decide" in header.line(0).text

    drive(app, steps, size=(38, 20))


@pytest.mark.parametrize("width", [38, 63, 64, 80])
def test_projects_have_only_whole_columns(world, width):
    app = world.app()

    async def steps(pilot):
        row = ProjectRow("shop", "/s", 391, 203, "2026-02-09", True)
        app.library.projects.rows = lambda: [row]
        app.push_screen(ProjectsScreen(app.library))
        await until(pilot, lambda: isinstance(app.screen, ProjectsScreen))
        await pilot.pause()
        shown = app.screen._list.line(0).text
        assert "391" in shown and "…" not in shown
        heads = str(app.screen._list.border_title)
        assert len(heads) <= width - 6, "the names of the columns do not fit: raise _NARROW"
        assert ("folder" in heads) == ("/s" in shown), "names and values choose by different widths"

    drive(app, steps, size=(width, 24))


def test_the_advice_on_a_second_model_is_read_whole():
    second = {"name": "e5", "asked": False, "vectors": 0, "advice": "90% is not English" + "." * 99}
    state = copy.deepcopy(HEALTH) | {"second": {**second, "fix": "memsearch models pull e5"}}
    lines = health.lines(state)
    (row,) = [row for row in rows(lines) if row.startswith("2nd model")]
    assert len(row) < 56 and "2 downloads it" in row and second["advice"] not in row
    assert second["advice"] in details(lines, "second")
    pip = health.lines({**state, "second": {**second, "fix": "pip install x, then y"}})
    assert any("enter shows how" in row for row in rows(pip))
    assert "pip install x, then y" in details(pip, "second")


def test_health_does_not_call_capture_fine_without_an_agent():
    found = rows(health.lines({**HEALTH, "connected": []}))
    (row,) = [row for row in found if "no agent is connected" in row]
    assert row.endswith("-> c in the list") and len(row) < 56  # half of 120 columns
    text = "\n".join(rows(health.lines({**HEALTH, "connected": ["codex"]})))
    assert "no alarms  codex" in text


def test_bars_of_activity_fit_and_a_day_is_named_once():
    shares = [
        type(ACTIVITY["days"][0])(**{**_fields(ACTIVITY["days"][0]), **more})
        for more in (
            {"agent": "codex", "covered": 40, "seen": 40},
            {"agent": "pi", "covered": 1, "seen": 1},
        )
    ]
    shown = details(activity.lines({**ACTIVITY, "days": shares}, "2026-02-09"), "captured")
    assert max(map(len, shown.splitlines())) <= 56 and shown.count(shares[0].day) == 1


def _fields(share) -> dict:
    return {name: getattr(share, name) for name in share.__struct_fields__}


def test_a_group_of_one_is_named_in_the_singular():
    assert titled("contradicts", 1) == "1 contradicting value"
    assert titled("contradicts", 2) == "2 contradicting values"
    assert titled("stale", 1) == f"1 {TITLES['stale']}"


def test_the_palette_names_each_action_and_its_key_in_one_line(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("ctrl+k")
        await settled(pilot)
        found = app.screen.query_one(CommandList)
        await until(pilot, lambda: found.option_count > 20)
        texts = [str(option.prompt) for option in found.options]
        assert texts[0].split() == ["Search", "/"] and not any("\n" in text for text in texts)
        assert any(text.split() == ["Copy", "selected", "text", "^c"] for text in texts[9:])
        for key in "undo":
            await pilot.press(key)
        await settled(pilot)
        await until(pilot, lambda: str(found.options[0].prompt).split() == ["Undo", "u"])

    drive(app, steps, size=(80, 24))


def test_a_deleted_note_is_shown_without_an_empty_added_line():
    assert [text_of(row) for row in diff_rows("one\ntwo", "")] == ["- one", "- two"]
    assert [text_of(row) for row in diff_rows("", "one")] == ["+ one"]


def test_the_terminal_s_cursor_is_where_the_keys_act(world):
    """Screen readers and magnifiers follow it."""
    app = world.app()

    async def steps(pilot):
        entries, reader = app.screen.panes.entries, app.screen.panes.reader
        await pilot.press("down", "down")
        assert app.cursor_position == entries.content_region.offset + Offset(0, 2)
        await pilot.press("slash", *"re")
        assert app.cursor_position == app.screen.panes.query.cursor_screen_offset
        await pilot.press("escape", "g")
        box = app.screen.query_one(Input)
        await until(pilot, lambda: app.cursor_position == box.cursor_screen_offset != (0, 0))
        await pilot.press("escape", "enter")
        await until(pilot, lambda: app.cursor_position == reader.content_region.offset)
        await pilot.press("e")
        assert app.cursor_position == app.screen.query_one("#editor").cursor_screen_offset

    drive(app, steps)
