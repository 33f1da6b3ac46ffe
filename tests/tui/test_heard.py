"""What a screen reader says. It repeats each line whose text changes, and reads the line of the
terminal's cursor if no text changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import pytest
from textual.drivers.headless_driver import HeadlessDriver
from textual.scrollbar import ScrollBar
from textual.widgets import Input

from memsearch_tui.library.notes import NoteReader
from memsearch_tui.screens.dialogs import AskScreen, ChoiceRow, ChooseScreen, DayScreen
from memsearch_tui.screens.help import TextScreen
from memsearch_tui.widgets.line_list import LineList
from tests.tui.conftest import until
from tests.tui.test_flows import drive, settled, shown
from tests.tui.test_screens import reviewed
from tests.tui.test_ways import said


def texts(view) -> list[str]:
    return [view.line(y).text for y in range(view.size.height)]


def test_a_cursor_move_changes_the_text_of_no_row(world):
    app = world.app()

    async def steps(pilot):
        entries, evidence = app.screen.panes.entries, app.screen.state.evidence
        await until(pilot, lambda: len(evidence) == len(entries.keys))
        before, place = texts(entries), app.cursor_position
        await pilot.press("down")
        assert texts(entries) == before and app.cursor_position.y == place.y + 1
        await pilot.press("tab")  # the list without the focus
        assert not entries.has_focus and texts(entries) == before

    drive(app, steps, size=(80, 24))


def test_the_row_of_the_cursor_has_another_shape_without_colours(world):
    app = world.app()

    async def steps(pilot):
        entries = app.screen.panes.entries
        first, second = (next(iter(entries.line(y)))[1] for y in (0, 1))
        assert first.reverse and not second.reverse

    drive(app, steps)


def test_notes_of_the_next_page_are_looked_up_before_they_are_scrolled_to(world):
    app = world.app()

    async def steps(pilot):
        rows = LineList(lambda index, width: [(f"row {index}", "text")])
        await app.screen.mount(rows)
        rows.styles.height = 4
        rows.show_keys(range(100))
        await until(pilot, lambda: rows.size.height == 4)
        rows.move_to(20)
        first = rows.scroll_offset.y
        around = list(rows.around())
        assert around[0] < first and around[-1] >= first + 2 * rows.size.height - 1

    drive(app, steps)


def test_a_scroll_bar_has_no_characters():
    for position in range(20):
        bar = ScrollBar.renderer.render_bar(
            size=7, virtual_size=40, window_size=7, position=position
        )
        assert {segment.text.strip() for segment in bar.segments} == {""}


def test_up_and_down_in_the_search_box_put_the_cursor_on_the_hit(world):
    app = world.app()

    async def steps(pilot):
        box, entries = app.screen.panes.query, app.screen.panes.entries
        await pilot.press("slash", *"kind:turn")
        await settled(pilot)
        at_text = Input.cursor_screen_offset.fget
        assert app.cursor_position == at_text(box)
        await pilot.press("down")
        assert app.cursor_position == entries.cursor_screen_offset != at_text(box)
        await pilot.press("left")
        assert app.cursor_position == at_text(box)

    drive(app, steps, size=(80, 24))


def test_the_text_of_a_row_is_drawn_after_the_row(world):
    app = reviewed(world)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        page = app.screen
        before = page._detail.text()
        page._list.action_move(1)
        assert page._detail.text() == before
        await until(pilot, lambda: page._detail.text() != before)

    drive(app, steps, size=(80, 24))


def test_an_update_that_changes_nothing_is_not_written(world, monkeypatch):
    app = world.app()
    written: list[str] = []

    async def steps(pilot):
        await settled(pilot)
        monkeypatch.setattr(type(app), "is_headless", False)
        monkeypatch.setattr(HeadlessDriver, "write", lambda _, text: written.append(text))
        app.screen.refresh()
        await until(pilot, lambda: any("Redis" in text for text in written))
        written.clear()
        app.screen.refresh()
        await pilot.pause()
        assert written == []
        await pilot.press("down")
        assert written
        monkeypatch.undo()

    drive(app, steps, size=(80, 24))


@pytest.mark.parametrize(("size", "width"), [((80, 24), 80), ((120, 40), 90)])
def test_a_dialog_leaves_nothing_beside_it_on_a_narrow_screen(world, size, width):
    app = world.app()
    dialogs = (
        (lambda: AskScreen("Which?", ""), width),
        (lambda: ChooseScreen("which", [ChoiceRow("a", "a")]), width),
        (lambda: DayScreen({}, "2026-02-10", "2026-02-10"), 42 if width > 80 else 80),
    )

    async def steps(pilot):
        for dialog, expected in dialogs:
            app.push_screen(dialog())
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await pilot.pause()
            assert app.screen.children[0].region.width == expected
            await pilot.press("escape")

    drive(app, steps, size=size)


def test_cursor_keys_go_through_a_text_that_cannot_scroll(world):
    app = world.app()

    async def steps(pilot):
        view = TextScreen("text", [[(f"line {n}", "text")] for n in range(5)])
        app.push_screen(view)
        await until(pilot, lambda: app.screen is view and view._view.has_focus)
        await pilot.press("down", "down")
        assert view._view.cursor_line == 2
        assert app.cursor_position == view._view.cursor_screen_offset
        await pilot.press("end")
        assert view._view.cursor_line == 4
        await pilot.press("down", "up")
        assert view._view.cursor_line == 3
        await pilot.press("home")
        assert view._view.cursor_line == 0

    drive(app, steps, size=(80, 24))


def test_the_cursor_stays_on_the_screen_in_a_text_that_scrolls(world):
    app = world.app()

    async def steps(pilot):
        view = TextScreen("text", [[(f"line {n}", "text")] for n in range(99)])
        app.push_screen(view)
        await until(pilot, lambda: app.screen is view and view._view.has_focus)
        text = view._view
        await pilot.press("down")
        assert text.scroll_offset.y == 1 and text.cursor_line == 0
        await pilot.press("end")
        assert text.scroll_offset.y == 99 - text.size.height
        assert text.cursor_line == text.size.height - 1
        await pilot.press("pageup", "pageup")
        assert 0 <= text.cursor_line < text.size.height

    drive(app, steps, size=(80, 24))


def test_messages_can_be_read_again(world):
    app = world.app()

    async def steps(pilot):
        app.screen.say("this was said")
        app.screen.say("")
        command = next(one for one in app.commands(app.screen) if one.title == "Messages")
        command.run()
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.pause()
        assert app.screen._view.text().split("\n")[0].endswith("  this was said")

    drive(app, steps)


def test_why_a_note_is_no_hit_of_the_last_search(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"zebra", "space", *"crossing", "enter", "escape")
        await settled(pilot)
        await pilot.press("w")
        await settled(pilot)
        assert "no near hit of “zebra crossing”" in said(app)

    drive(app, steps)


def test_one_pane_at_a_time_in_a_wide_window(world):
    app = world.app()

    async def steps(pilot):
        screen = app.screen
        right = screen.query_one("#right")
        assert right.display and not screen.desk.is_narrow
        for title, is_one in (("One pane at a time", True), ("Panes beside each other", False)):
            command = next(one for one in app.commands(screen) if one.title == title)
            command.run()
            await until(pilot, lambda one=is_one: screen.desk.is_narrow == one)
            await pilot.pause()
            assert right.display != is_one and app.saved.one_pane == is_one
            assert (screen.panes.entries.region.width == app.size.width) == is_one
        next(one for one in app.commands(screen) if one.title == "One pane at a time").run()
        await until(pilot, lambda: screen.desk.is_narrow)
        app.push_screen(AskScreen("Which?", ""))
        await until(pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.pause()
        assert app.screen.children[0].region.width == app.size.width

    drive(app, steps, size=(160, 40))
    again = world.app()

    async def still(pilot):
        assert again.screen.desk.is_narrow and not again.screen.query_one("#right").display

    drive(again, still, size=(160, 40))


def test_a_second_answer_that_is_the_same_draws_nothing(world, monkeypatch):
    app = world.app()
    queries, written, read = app.library.memory.queries, list[str](), list[object]()
    free, order = threading.Event(), 1

    def answered(query: str, limit: int):
        assert free.wait(60)
        answer = queries.lexical(query, limit)
        for hit in answer.hits:
            hit.ranks = {**hit.ranks, "dense": 7}
        return msgspec.structs.replace(answer, mode="hybrid", hits=answer.hits[::order])

    def seen(item):
        read.append(item)
        return type(app.library.notes).seen(app.library.notes, item)

    monkeypatch.setattr(app.library.memory, "search", answered)
    monkeypatch.setattr(app.library.notes, "seen", seen)

    async def others_are_done(pilot):
        await until(pilot, lambda: {work.group for work in app.workers} <= {"search"})
        await pilot.pause()

    async def steps(pilot):
        nonlocal order
        entries = app.screen.panes.entries
        await pilot.press("slash")
        app.screen.search.search_for("redis cart")
        await until(pilot, lambda: entries.border_title == "2 hits")
        await others_are_done(pilot)
        monkeypatch.setattr(type(app), "is_headless", False)
        app.screen.refresh()
        await pilot.pause()
        monkeypatch.setattr(HeadlessDriver, "write", lambda _, text: written.append(text))
        read.clear()
        free.set()
        await settled(pilot)
        assert written == [] == read
        await pilot.press("enter", "w")
        await until(pilot, lambda: "by meaning #7" in said(app))  # the reasons are the new ones
        order = -1
        app.screen.search.reload()
        await settled(pilot)
        assert "Redis" in "".join(written)
        monkeypatch.undo()

    drive(app, steps, size=(80, 24))


def test_the_cursor_of_a_box_does_not_blink(world):
    app = world.app()
    boxes: list[Callable[[], object]] = [
        lambda: app.screen.action_do("search"),
        lambda: app.push_screen(AskScreen("Which?", "")),
        lambda: app.push_screen(DayScreen({}, "2026-02-10", "2026-02-10")),
    ]

    async def steps(pilot):
        for number, box in enumerate(boxes):
            await box()
            await until(pilot, lambda n=number: n < 1 or len(app.screen_stack) == n + 1)
            await pilot.pause()
            found = app.screen.query_one(Input)
            assert not found.cursor_blink
        await pilot.press("escape", "escape", "escape", "e")
        await settled(pilot)
        assert not app.screen.query_one("#editor").cursor_blink

    drive(app, steps)


def test_reading_the_hits_again_reads_their_note_again(world, monkeypatch):
    app, read = world.app(), NoteReader.seen

    def denied(self, item):
        raise PermissionError("not now")

    async def steps(pilot):
        monkeypatch.setattr(NoteReader, "seen", denied)
        app.screen.search.search_for("redis")
        await settled(pilot)
        await pilot.press("r")
        await settled(pilot)
        assert "not now" in shown(app) and "r reads the lists again" in shown(app)
        monkeypatch.setattr(NoteReader, "seen", read)
        await pilot.press("r")  # the hits look the same
        await settled(pilot)
        assert "from 300 to 900 seconds" in shown(app)

    drive(app, steps)
