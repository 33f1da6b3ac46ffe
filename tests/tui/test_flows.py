"""The flows of the app, driven by keys, checked on the screen's state and on the files."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest
from memsearch_engine import Memory
from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.write import Journal
from textual import events
from textual.widgets import Input, TextArea
from textual.worker import WorkerCancelled

from memsearch_tui import aside
from memsearch_tui.app import MemsearchApp
from memsearch_tui.aside import OURS
from memsearch_tui.library import Library
from memsearch_tui.library.rows import hit_rows
from memsearch_tui.screens.dialogs import ConflictScreen, DayScreen
from memsearch_tui.screens.help import TextScreen
from memsearch_tui.screens.related import RelatedScreen
from memsearch_tui.widgets.text_view import TextView, _text
from tests.tui.conftest import SESSION, until


def drive(app, steps, size=(120, 40)):
    """Run *steps* (a coroutine function of the pilot) against a headless app."""

    async def go():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(pilot)

    asyncio.run(go())
    OURS.finish()  # as `run` does


async def settled(pilot):
    """Wait until no worker runs and all messages are handled. A search that a newer one replaced
    does not count.
    """
    await pilot.pause()
    while list(pilot.app.workers):
        with contextlib.suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


def shown(app) -> str:
    return app.screen.panes.reader.text()


def titles(app) -> list[str]:
    screen = app.screen
    return [
        item.title for key in screen.panes.entries.keys if (item := screen.state.shown.item(key))
    ]


@pytest.mark.slow
def test_it_opens_on_the_newest_note_and_walks_down_and_back(world):
    app = world.app()

    async def steps(pilot):
        assert [t[:4] for t in titles(app)] == ["缓存中间", "Redi", "Cart", "Chos"]
        assert app.screen.state.item.title == "缓存中间件测试通过"
        await pilot.press("down")
        assert "Redis TTL raised" in shown(app) and "live" in shown(app)
        await pilot.press("enter")  # the note is seen: enter goes to what is not
        assert (
            app.screen.state.level == "turn"
            and "raise the redis ttl" in shown(app)
            and "turn 2 of 2" in shown(app)
        )
        await pilot.press("left_square_bracket")
        assert "why is the cart slow" in shown(app)
        await pilot.press("escape")
        assert app.screen.state.level == "entries" and "Redis TTL" in shown(app)
        assert app.screen.state.item.title.startswith("Redis")
        await pilot.press("down", "down")
        assert app.screen.state.item.title == "Chose Postgres 16 for staging"
        await pilot.press("up")
        assert app.screen.state.item.title.startswith("Cart")

    drive(app, steps)


@pytest.mark.slow
def test_words_answer_while_typing_and_escape_restores_the_place(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "slash", *"ttl")
        await settled(pilot)
        assert titles(app)[0].startswith("Redis TTL") and app.screen.query_one(Input).value == "ttl"
        assert ("TTL", "match") in app.screen.rows.row(
            app.screen.panes.entries.keys[0], 80, app.screen.panes.entries.tall
        )
        await pilot.press("enter", "enter", "escape", "escape")
        assert (
            app.screen.state.query == ""
            and len(titles(app)) == 4
            and app.screen.state.item.title.startswith("Redis TTL")
        )

    drive(app, steps)


@pytest.mark.slow
def test_the_best_hit_is_under_the_cursor_until_a_hand_moves_it(world):
    """Every key brings other hits; a cursor that nobody moved stays on the first of them."""
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash")
        for key in "postgres":
            await pilot.press(key)
            await settled(pilot)
        assert titles(app)[0].startswith("Chose Postgres") and app.screen.panes.entries.cursor == 0
        await pilot.press("down")
        chosen = app.screen.panes.entries.key
        app.screen.search.reload()  # as a change that the service saw does
        await settled(pilot)
        assert app.screen.panes.entries.key == chosen

    drive(app, steps)


@pytest.mark.parametrize("keys", [["enter"], ["enter", "enter"]])
def test_who_has_gone_to_a_hit_keeps_it_when_later_answers_put_another_first(world, keys):
    """Meaning comes after words, and an index that is still being made brings other hits: a command
    is for the note that is read.
    """
    app, query = world.app(), "after:2020-01-01"

    async def steps(pilot):
        await pilot.press("slash")
        app.screen.query_one(Input).value = query
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)
        seen = app.screen.state.item.key
        answer = app.screen.state.library.memory.queries.lexical(query, 50)
        answer.hits.reverse()
        assert (
            len(answer.hits) > 1 and hit_rows(app.screen.state.library.items, answer)[0].key != seen
        )
        app.screen.search.show_hits(answer)
        await settled(pilot)
        assert app.screen.state.item.key == app.screen.panes.entries.key == seen

    drive(app, steps)


def test_letters_typed_right_after_the_slash_are_text_not_commands(world):
    app = world.app()

    async def steps(pilot):
        before = world.day().read_bytes()
        await pilot.press("slash", "d", "d", "u", "e", "q")
        assert app.screen.query_one(Input).value == "ddueq" and world.day().read_bytes() == before

    drive(app, steps)


def burst(app, keys: str) -> None:
    """Keys that come in one read of the terminal: all are in the app's queue before it has handled
    the first.
    """
    for key in keys:
        app.post_message(events.Key("slash" if key == "/" else key, key))


@pytest.mark.slow
def test_keys_that_come_at_once_are_text_too(world):
    app = world.app()

    async def steps(pilot):
        before = world.day().read_bytes()
        burst(app, "/redued/d")
        await settled(pilot)
        assert (
            app.screen.query_one(Input).value == "redued/d" and world.day().read_bytes() == before
        )

    drive(app, steps)


def test_the_conversation_is_under_the_note_where_both_have_room(world):
    app = world.app()

    async def steps(pilot):
        panes = app.screen.panes
        await pilot.press("down")
        await until(pilot, lambda: "raise the redis ttl" in panes.said.text())
        await pilot.resize_terminal(120, 35)
        await until(pilot, lambda: not panes.said.display)
        await pilot.resize_terminal(99, 40)
        await until(pilot, lambda: not panes.said.display)
        await pilot.press("down")
        await pilot.resize_terminal(100, 36)
        await until(pilot, lambda: panes.said.display)
        await until(pilot, lambda: "cart" in panes.said.text())  # of the note under the cursor

    drive(app, steps, size=(120, 36))


def test_the_mouse_selects_text_and_a_key_copies_it_as_it_was_written(world):
    world.day("2026-02-10").write_text(
        "# 2026-02-10\n\n### 10:00\n- "
        + "many words " * 8
        + "\n\n```sh\nmake deploy STAGE="
        + "x" * 60
        + "\n"
        + "y" * 70
        + "\n```\n"
    )
    app = world.app()

    async def drag(pilot, begin, end):
        await pilot.mouse_down("#reader", offset=begin)
        await pilot.hover("#reader", offset=end)
        await pilot.mouse_up("#reader", offset=end)
        await pilot.pause()

    async def steps(pilot):
        rows = [_text(row) for row in app.screen.panes.reader._wrapped]
        code = next(n for n, row in enumerate(rows) if "make deploy" in row)
        assert len([row for row in rows if row.startswith("▏ ")]) > 2, "the code is wrapped"
        await drag(pilot, (4, 3), (30, code))
        assert str(app.screen.desk.status.content) == "ctrl+c copies the selected text"
        await pilot.press("ctrl+c")
        assert app.clipboard.startswith("many words many words")
        assert app.clipboard.split("\n")[0].count("words") == 8, "as one line"
        await drag(pilot, (1, code + 1), (52, code + 3))
        await pilot.press("ctrl+c")
        assert f"make deploy STAGE={'x' * 60}".endswith(app.clipboard) and len(app.clipboard) > 30
        await drag(pilot, (4, code), (30, code + 5))
        await pilot.press("ctrl+c")
        last = app.clipboard.split("\n")[-1]
        assert set(last) == {"y"} and len(last) > 50, "a long word is not cut where it was wrapped"
        await pilot.click("#reader", offset=(5, 30))
        assert not app.screen.get_selected_text()
        await drag(pilot, (4, 3), (30, code))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "many words" not in app.screen.panes.reader.text())
        assert not app.screen.get_selected_text(), "another note is not selected"

    drive(app, steps)


@pytest.mark.slow
def test_a_click_takes_the_row_under_the_pointer_and_a_second_one_opens_it(world):
    app = world.app()

    async def steps(pilot):
        rows = app.screen.panes.entries
        for row in (2, 0, 1):
            await pilot.click(rows, offset=(5, row + 1))  # the border is above the first
            assert rows.cursor == row
        await pilot.click(rows, offset=(5, 2))
        # the section is beside the list already, so this opens the turn
        assert app.screen.state.level == "turn" and "TTL is 900 s now" in shown(app)
        await pilot.click(rows, offset=(5, 0))  # on the border
        assert rows.cursor == 1

    drive(app, steps)


@pytest.mark.slow
def test_days_are_gone_through_with_brackets_and_found_by_date(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "]")
        assert app.screen.state.item.day == "2026-02-08"
        await pilot.press("]", "[")
        assert app.screen.state.item.title == "缓存中间件测试通过"
        await pilot.press("g", *"2026-02-08")
        await pilot.pause()
        assert isinstance(app.screen, DayScreen)
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.state.item.day == "2026-02-08" and app.screen.state.level == "entries"
        await pilot.press(
            "g", "tab", "down", "up", "right", "right", "enter"
        )  # in the calendar: a week on is after the last
        await pilot.pause()
        assert app.screen.state.item.day == "2026-02-09"
        for keys, day in (
            (("pageup",), "2025-02-10"),
            (("pageup",) * 9, "2025-02-02"),
            (("pageup", "pagedown"), "2026-02-09"),
            (("home",), "2026-02-08"),
            (("end",), app.library.today()),
        ):
            await pilot.press("g", "tab", *keys)
            await pilot.pause()
            assert app.screen._day == day, keys
            await pilot.press("escape")
            await pilot.pause()
        await pilot.press("g", "x", "enter", "escape")
        await pilot.pause()
        assert app.screen.state.item.day == "2026-02-09"

    drive(app, steps)


@pytest.mark.slow
def test_a_click_into_the_calendar_goes_to_that_day(world, monkeypatch):
    monkeypatch.setattr(Library, "today", lambda self: "2026-02-10")
    app = world.app()

    async def steps(pilot):
        year = app.screen.panes.year
        places = {
            year.day_at(x, y).isoformat(): (x, y)
            for x in range(year.size.width)
            for y in range(year.size.height)
            if year.day_at(x, y)
        }
        assert len(places) == (year._weeks - 1) * 7 + 2 and max(places) == "2026-02-10"
        await pilot.click(year, offset=places["2026-02-08"])
        assert app.screen.state.item.day == "2026-02-08"
        await pilot.click(
            year, offset=places["2026-02-10"]
        )  # nothing was noted there: the one before
        assert app.screen.state.item.day == "2026-02-09"

    drive(app, steps, (200, 60))


def test_the_day_s_file_is_shown_as_it_is_written(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("D")
        await pilot.pause()
        text = app.screen.query_one(TextView).text()
        assert (
            text.startswith("shop/.memsearch/memory/2026-02-09.md")
            and world.day().read_text().strip() in text
        )

    drive(app, steps)


@pytest.mark.slow
def test_it_comes_back_to_where_it_was_left_on_the_same_day_only(world, monkeypatch):
    async def leave(pilot):
        await pilot.press("down")

    drive(world.app(), leave)
    again, tomorrow = world.app(), world.app()

    async def see(pilot):
        assert pilot.app.screen.state.item.title.startswith("Redis")

    drive(again, see)
    monkeypatch.setattr(Library, "today", lambda self: "2030-01-01")

    async def newest(pilot):
        assert pilot.app.screen.state.item.title == "缓存中间件测试通过"

    drive(tomorrow, newest)


@pytest.mark.slow
def test_what_was_said_stands_under_the_note_where_there_is_room(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down")
        await settled(pilot)
        assert (
            "raise the redis ttl" in app.screen.panes.said.text() and app.screen.panes.said.display
        )
        await pilot.press("down")
        await settled(pilot)
        assert "why is the cart slow" in app.screen.panes.said.text()

    drive(app, steps, (200, 60))


def test_a_new_note_above_does_not_move_what_is_read(world):
    def write(day: str, notes: int) -> None:
        world.day(day).write_text(
            f"# {day}\n" + "".join(f"\n### 10:{n:02}\n- note {n}\n" for n in range(notes))
        )

    write("2026-02-07", 50)
    app = world.app()

    async def steps(pilot):
        rows = app.screen.panes.entries
        await pilot.press("down", "down")
        place = rows.cursor - rows.scroll_offset.y
        write("2026-02-10", 20)
        await pilot.press("r")
        assert (
            app.screen.state.item.title.startswith("Cart")
            and rows.cursor - rows.scroll_offset.y == place
        )
        await pilot.press("home")
        assert app.screen.state.item.title == "note 19" and rows.scroll_offset.y == 0

    drive(app, steps)


@pytest.mark.slow
def test_what_a_search_or_a_conversation_has_changed_is_in_the_list_afterwards(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"selectinload")
        await settled(pilot)
        await pilot.press("enter", "d", "escape")
        assert [t[:4] for t in titles(app)] == ["缓存中间", "Redi", "Chos"]
        await pilot.press("u")
        assert len(titles(app)) == 4
        await pilot.press("home", "down", "enter", "enter")
        assert app.screen.state.level == "turn"
        with world.day().open("a") as other:
            other.write("\n### 16:00\n- from a hook\n")
        await pilot.press("r", "escape", "escape")
        assert titles(app)[0] == "from a hook" and app.screen.state.item.title.startswith("Redis")

    drive(app, steps)


@pytest.mark.slow
def test_a_search_shows_the_line_that_has_its_words_and_colours_the_days_of_its_hits(world):
    with world.day().open("a") as other:
        other.write(
            "\n### 16:00\n- The importer is faster now\n"
            "- It retries with a frobnicator in between\n"
        )
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"frobnicator")
        await settled(pilot)
        row = app.screen.rows.row(
            app.screen.panes.entries.keys[0], 60, app.screen.panes.entries.tall
        )
        assert ("frobnicator", "match") in row and "It retries with a " in "".join(
            text for text, _ in row
        )
        strip = app.screen.panes.strip  # a letter's hits may still be on it
        await until(pilot, lambda: {str(day) for day in strip._counts} == {"2026-02-09"})
        await pilot.press("escape", "escape")
        assert len(app.screen.panes.strip._counts) == 2

    drive(app, steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("is:pinned", "narrowed by is:pinned"),
        ("agent:codex redis", "narrowed by agent:codex"),
        ("agnt:codex", "did you mean agent: ?"),
        ("frobnicate", "No note fits."),
    ],
)
def test_a_search_without_hits_says_why_and_teaches_no_beginner(world, query, said, monkeypatch):
    monkeypatch.setattr("memsearch_tui.screens.browse.search.REST_S", 3600)  # words only
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *query)
        for worker in [worker for worker in app.workers if worker.group != "search"]:
            await app.workers.wait_for_complete([worker])
        while not app.screen.panes.entries.border_title.startswith(("0 hits", "0 notes")):
            await pilot.pause()
        empty = "\n".join(app.screen.panes.entries.empty)
        assert said in empty and "memsearch demo" not in empty, empty
        await pilot.press("escape")
        assert len(titles(app)) == 4

    drive(app, steps)


@pytest.mark.slow
def test_chinese_and_filters(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash")
        app.screen.query_one(Input).value = "缓存 agent:claude"
        await settled(pilot)
        assert titles(app)[0] == "缓存中间件测试通过"
        app.screen.query_one(Input).value = "before:2026-02-08"
        await settled(pilot)
        assert titles(app) == ["Chose Postgres 16 for staging"]

    drive(app, steps)


@pytest.mark.parametrize(
    "way",
    [
        ["e"],
        ["slash", *"ttl", "enter", "enter", "enter", "m", "e"],
        *(
            pytest.param(way, marks=pytest.mark.slow)
            for way in (
                ["enter", "e"],
                ["slash", *"ttl", "enter", "enter", "e"],
                ["enter", "enter", "m", "e"],
            )
        ),
    ],
)
@pytest.mark.parametrize(
    "size",
    [
        pytest.param((80, 24), marks=pytest.mark.slow),
        (120, 40),
        pytest.param((200, 60), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_what_is_typed_right_after_e_goes_into_the_note(world, size, way, monkeypatch):
    monkeypatch.setattr(
        aside, "SHOWN_AFTER_S", 10.0
    )  # on a machine under load a file may take longer, and then keys are free
    original = world.day().read_text()
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", *way, "end", *" and d is text", "ctrl+s")
        await pilot.pause()
        assert not app.screen.state.editing and "and d is text" in shown(app)

    drive(app, steps, size)
    assert world.day().read_text() == original.replace("900 seconds", "900 seconds and d is text")


@pytest.mark.slow
def test_edit_saves_to_the_file_and_undo_survives_a_restart(world):
    original = world.day().read_bytes()
    app = world.app()

    async def edit(pilot):
        await pilot.press("down", "e")
        await pilot.pause()
        editor = app.screen.query_one("#editor", TextArea)
        assert editor.text == "- Redis TTL raised from 300 to 900 seconds"
        editor.text = "- Redis TTL is 1800 seconds"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "1800" in shown(app) and not app.screen.state.editing

    drive(app, edit)
    assert world.day().read_bytes() == original.replace(
        b"Redis TTL raised from 300 to 900", b"Redis TTL is 1800"
    )
    again = world.app()

    async def undo(pilot):
        await pilot.press("u")
        assert "raised from 300" in shown(again)
        await pilot.press("ctrl+r")
        assert "1800" in shown(again)
        await pilot.press("u")

    drive(again, undo)
    assert world.day().read_bytes() == original


def test_delete_one_and_many_and_bring_them_back(world, monkeypatch):
    monkeypatch.setattr(aside, "SHOWN_AFTER_S", 10.0)  # under load, keys would be free earlier
    original = world.day().read_bytes()
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "down", "d")
        assert [t[:4] for t in titles(app)] == [
            "缓存中间",
            "Redi",
            "Chos",
        ] and b"selectinload" not in world.day().read_bytes()
        assert app.screen.state.item.title.startswith("Chose")  # the next older one
        await pilot.press("home", "space", "space", "d")
        assert [t[:4] for t in titles(app)] == ["Chos"] and b"Redis" not in world.day().read_bytes()
        assert app.screen.state.item.title.startswith("Chose")
        await pilot.press("u")
        assert len(titles(app)) == 3
        await pilot.press("u")
        assert len(titles(app)) == 4 and app.screen.state.item.title.startswith("Cart")

    drive(app, steps)
    assert world.day().read_bytes() == original


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "kept"), [("m", "mine"), ("t", "theirs"), ("e", "theirs")])
def test_a_conflict_shows_both_sides(world, choice, kept):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "down", "e")
        await pilot.pause()
        app.screen.query_one("#editor", TextArea).text = "- mine"
        text = world.day().read_text()
        world.day().write_text(
            text.replace("- Cart was slow: N+1 queries, fixed with `selectinload`", "- theirs")
        )
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert isinstance(app.screen, ConflictScreen)
        await pilot.press(choice)
        await pilot.pause()
        assert app.screen.state.editing == (choice == "e")
        if choice == "e":
            assert app.screen.query_one("#editor", TextArea).text == "- mine"

    drive(app, steps)
    assert f"- {kept}\n" in world.day().read_text()


@pytest.mark.slow
def test_an_append_next_door_while_editing_is_kept(world, monkeypatch):
    monkeypatch.setattr(aside, "SHOWN_AFTER_S", 10.0)  # under load, keys would be free earlier
    app = world.app()

    async def steps(pilot):
        await pilot.press("e")
        await pilot.pause()
        app.screen.query_one("#editor", TextArea).text = "- edited"
        with world.day().open("a") as other:
            other.write("\n### 16:00\n- from a hook\n")
        await pilot.press("ctrl+s", "r")
        await pilot.pause()
        assert (
            titles(app)[:2] == ["from a hook", "edited"] and app.screen.state.item.title == "edited"
        )

    drive(app, steps)


@pytest.mark.slow
def test_a_draft_is_offered_after_a_crash(world):
    app = world.app()

    async def crash(pilot):
        await pilot.press("down", "down", "e")
        await pilot.pause()
        app.screen.query_one("#editor", TextArea).text = "- half written"
        await pilot.pause()
        await app.screen.editor.keep()

    drive(app, crash)
    again = world.app()

    async def resume(pilot):
        await pilot.press("e")
        await pilot.pause()
        assert again.screen.query_one("#editor", TextArea).text == "- half written"
        await pilot.press("escape", "e")
        await pilot.pause()
        assert (
            again.screen.query_one("#editor", TextArea).text == "- half written"
        )  # escape loses nothing
        await pilot.press("ctrl+g")
        await pilot.pause()
        await pilot.press("e")
        await pilot.pause()
        assert "selectinload" in again.screen.query_one("#editor", TextArea).text

    other = world.project.parent / "other"
    (other / ".memsearch" / "memory").mkdir(parents=True)
    elsewhere = MemsearchApp(
        Library(Memory(str(other), home=world.home)), theme="memsearch-dark", live=False
    )

    async def injected(pilot):
        return [str(pilot.app.screen.query_one("#status").content)]

    async def nothing(pilot):
        assert await injected(pilot) == [""]  # the note is not here

    async def offered(pilot):
        assert any("not saved" in words for words in await injected(pilot))

    drive(world.app(), offered)
    drive(elsewhere, nothing)
    drive(again, resume)


def test_resuming_where_the_agent_is_not_installed_says_so(world, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    app = world.app()

    async def steps(pilot):
        await pilot.press("R")
        await pilot.pause()
        status = str(app.screen.query_one("#status").content)
        assert status.startswith(
            "claude is not installed here; the command was copied: claude --resume "
        )
        assert not app._notifications  # a toast would lie over what is read

    drive(app, steps)


def test_pin_and_why_and_help_and_health_without_a_service(world, monkeypatch):
    app = world.app()

    async def steps(pilot):
        await pilot.press("p")
        assert b"<!-- pin -->" in world.day().read_bytes() and "[pinned]" in shown(app)
        assert str(app.screen.query_one("#status").content).startswith("pinned: 1 note")
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, TextScreen)
        help_text = app.screen.query_one(TextView).text()
        assert "◆ pinned" in help_text and "× superseded" not in help_text
        await pilot.press("escape")

    drive(app, steps)


@pytest.mark.slow
def test_beside_a_note_are_its_topic_and_the_turns_that_wrote_to_its_files(world):
    journal = Journal(world.home)
    actions = ActionIndex(world.home)
    said = {
        "f1": "- `shop/cart.py` loads lines with one query",
        "f2": "- `shop/cart.py` must keep the order of lines",
    }
    for number, (name, text) in enumerate(said.items()):
        anchor = Anchor(SESSION, name, "claude-code", "transcript", "/gone.jsonl")
        added = journal.append_turn(str(world.memory), "2026-02-09", f"16:0{number}", text, anchor)
        turn = Turn(
            "claude-code", SESSION, name, tools=[ToolCall("Edit", '{"file_path": "shop/cart.py"}')]
        )
        actions.put(turn, str(world.memory), added.entry_id, 1770649200.0 + number)
    actions.close()
    journal.history.close()
    app = world.app()

    async def steps(pilot):
        await pilot.press("b")
        assert isinstance(app.screen, RelatedScreen)
        await settled(pilot)
        assert [(found.how, found.item.title) for found in app.screen.found] == [
            ("shop/cart.py", said["f1"][2:])
        ]
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.state.entry.body == said["f1"] and app.screen.state.level == "section"
        await pilot.press("b", "escape")
        await pilot.pause()
        assert app.screen.state.entry.body == said["f1"]

    drive(app, steps)


def test_a_file_that_vanishes_while_it_is_open_is_said(world):
    app = world.app()

    async def steps(pilot):
        world.day().unlink()
        await pilot.press("down")
        assert "no longer" in shown(app) or "No such file" in shown(app)
        await pilot.press("r")
        assert titles(app) == ["Chose Postgres 16 for staging"]
        await pilot.press("p")
        world.day("2026-02-08").unlink()
        await pilot.press("u")
        await until(pilot, lambda: "U lists all changes" in str(app.screen.desk.status.content))
        world.project.rename(world.project.with_name("moved"))
        await pilot.press("r")
        assert app.screen.panes.entries.empty[0] == f"{world.project} is gone."

    drive(app, steps)


@pytest.mark.parametrize("selects", [False, True])
@pytest.mark.parametrize("query", ["", "after:2026-02-01"])
def test_a_note_that_another_program_deletes_gives_its_key_to_no_other(world, query, selects):
    app, text = world.app(), world.day().read_text()
    begin, end = text.index("\n### 14:45"), text.index("\n### 15:00")

    async def steps(pilot):
        if query:
            await pilot.press("slash", *query, "enter")
        await pilot.press("down", *["space"] * selects)
        assert selects or app.screen.state.item.title.startswith("Redis")
        world.day().write_text(text[:begin] + text[end:])
        app.screen.search.reload()  # as after a change by another program
        await settled(pilot)
        assert len(titles(app)) == 3 and not app.screen.panes.entries.selected
        entries = app.screen.panes.entries
        lost = entries.lost
        await pilot.press("e")
        assert not app.screen.state.editing
        entries.lost = lost
        await pilot.press("d")
        assert len(titles(app)) == 3 and world.day().read_text() == text[:begin] + text[end:]
        assert "not listed any more" in str(app.screen.desk.status.content)
        await pilot.press("d")
        assert len(titles(app)) == 2

    drive(app, steps)


def test_an_empty_project_teaches(world):
    for file in world.memory.iterdir():
        file.unlink()
    app = world.app()

    async def steps(pilot):
        taught = "\n".join(app.screen.panes.entries.empty)
        assert titles(app) == [] and "memsearch demo" in taught
        assert (
            "c  lets Claude Code write here" in taught and "Codex" not in taught
        )  # whose sessions are here
        await pilot.press("enter", "e", "d", "u", "t")

    drive(app, steps)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "panes"), [((80, 24), 1), ((120, 40), 2), ((200, 60), 3)])
def test_panes_follow_the_width(world, size, panes):
    app = world.app()

    async def steps(pilot):
        def seen():
            return [w for w in app.screen.query("#panes > *") if w.display]

        assert len(seen()) == panes
        await pilot.press("enter")
        assert app.screen.panes.reader.display and len(seen()) == panes
        await pilot.press("e")
        await pilot.pause()
        assert app.screen.query_one("#editor").display

    drive(app, steps, size)


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["escape", "ctrl+s"])
def test_after_an_edit_keys_are_commands_again(world, leave, monkeypatch):
    """On a narrow screen too, where the list was hidden while the editor was open."""
    monkeypatch.setattr(aside, "SHOWN_AFTER_S", 10.0)  # under load, keys would be free earlier
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "down", "e")
        await pilot.pause()
        app.screen.query_one("#editor", TextArea).text = "- typed"
        await pilot.press(leave, "d")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "" and len(titles(app)) == 3

    drive(app, steps, (80, 24))
    assert b"selectinload" not in world.day().read_bytes()


def test_a_key_that_is_typed_during_a_save_is_a_command_after_it(world, monkeypatch):
    monkeypatch.setattr(aside, "SHOWN_AFTER_S", 10.0)
    edit = Memory.edit

    def slowly(self, *args, **kwargs):
        time.sleep(0.3)
        return edit(self, *args, **kwargs)

    monkeypatch.setattr(Memory, "edit", slowly)
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "down", "e")
        await pilot.pause()
        app.screen.query_one("#editor", TextArea).text = "- typed"
        await pilot.press("ctrl+s", "d")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "" and len(titles(app)) == 3

    drive(app, steps)
    assert "- typed" not in world.day().read_text()


def test_hostile_text_is_shown_harmlessly(world):
    with world.day().open("a") as other:
        other.write(
            "\n### 17:00\n"
            "- [bold red]markup[/] \x1b[31mescape\x07 \u202eesrever [@click=app.quit]x[/]\n"
        )
    app = world.app()

    async def steps(pilot):
        text = shown(app)
        assert "[bold red]markup[/]" in text and "\x1b" not in text and "\u202e" not in text

    drive(app, steps)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["ansi-dark", "textual-light", "dracula", "memsearch-light"])
def test_it_is_drawn_in_themes_of_others_and_in_a_terminal_s_own_colours(world, theme):
    app = world.app()
    app.theme = theme

    async def steps(pilot):
        await pilot.press("down", "space", "enter")
        await pilot.pause()
        assert shown(app)

    drive(app, steps)


def test_what_was_hidden_is_not_drawn_for_another_width(world):
    app = world.app()
    widths = []

    async def steps(pilot):
        await pilot.press("down", "e", "end", "x")
        reader = app.screen.panes.reader
        draw = reader.render_line
        reader.render_line = lambda y: (widths.append(reader._width), draw(y))[1]
        await pilot.press("ctrl+s")
        await pilot.pause()

    drive(app, steps, (120, 40))
    assert widths and min(width for width in widths if width) > 40


@pytest.mark.slow
def test_hits_are_shown_by_the_conversation_that_they_come_from(world, monkeypatch):
    monkeypatch.setattr(
        "memsearch_tui.screens.browse.search.REST_S", 3600
    )  # words only: by meaning there are more
    app = world.app()

    async def steps(pilot):
        screen = app.screen
        await pilot.press("slash", *"redis selectinload")
        while not screen.panes.entries.border_title.startswith("2 hits"):
            await pilot.pause()
        await pilot.press("enter", "down")
        before, one_by_one = screen.panes.entries.key, titles(app)
        await pilot.press("s")
        assert screen.state.shown.conversations == {
            ("", "conversation 0"): ("claude-code", "2026-02-09", 2)
        }
        assert "Claude Code · 2026-02-09" in "".join(
            text
            for text, _ in screen.rows.row(
                screen.panes.entries.keys[0], 80, screen.panes.entries.tall
            )
        )
        assert screen.panes.entries.key == before and titles(app) == one_by_one
        await pilot.press("s")
        assert not screen.state.shown.conversations and screen.panes.entries.key == before

    drive(app, steps)
