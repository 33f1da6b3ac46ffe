"""What was typed is saved where it belongs, or kept: whatever is open, held, changed or closed
meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import click
import pytest
from memsearch_engine import Conflict, Memory
from rich.cells import cell_len
from textual import events
from textual.app import App
from textual.widgets import TextArea

from memsearch_tui import drafts
from memsearch_tui.app import MemsearchApp
from memsearch_tui.aside import WorkingScreen
from memsearch_tui.library import Library
from memsearch_tui.screens.browse import editor
from memsearch_tui.screens.browse.screen import BrowseScreen
from memsearch_tui.screens.changes import ChangesScreen
from memsearch_tui.screens.connect import ConnectScreen
from memsearch_tui.screens.dialogs import ChooseScreen, ConflictScreen
from memsearch_tui.widgets.bars import MESSAGES
from memsearch_tui.widgets.line_list import LineList
from tests.tui.conftest import Held, until
from tests.tui.test_flows import drive, settled, titles


def typed(app) -> str | None:
    return next((editor.text for editor in app.screen.query("#editor").results(TextArea)), None)


def changes_listed(app) -> bool:
    return app.screen.query_one("#rows", LineList).key is not None


def message(app) -> str:
    return str(app.screen.query_one("#status").content)


def written(world) -> str:
    return "\n".join(path.read_text() for path in sorted(world.memory.glob("*.md")))


@pytest.fixture
def outside(monkeypatch):
    """An $EDITOR that adds a line; returns a list of what it does first."""
    first: list = []

    def edit(filename):
        for do in first:
            do()
        with Path(filename).open("a") as file:
            file.write("from outside\n")

    monkeypatch.setattr(MemsearchApp, "suspend", lambda self: contextlib.nullcontext())
    monkeypatch.setattr(click, "edit", edit)
    return first


@pytest.mark.slow
def test_a_save_that_ends_late_leaves_another_editor_alone(world):
    app = world.app()

    async def steps(pilot):
        held = Held(world, world.day())
        await pilot.press("e", *"AAA", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("escape", "escape", "down", "e", *"BBB")
        held.let_go()
        await until(pilot, lambda: "AAA" in written(world))
        await settled(pilot)
        assert typed(app) == "BBB- Redis TTL raised from 300 to 900 seconds"
        await pilot.press("escape")
        assert [draft.text[:3] for draft in drafts.every(world.home)] == ["BBB"]

    drive(app, steps)


@pytest.mark.slow
def test_a_conflict_that_comes_late_is_about_the_note_that_was_edited(world):
    app = world.app()

    async def steps(pilot):
        held = Held(world, world.day())
        await pilot.press("e", *"MINE", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("escape", "escape", "down")
        day = world.day()
        day.write_text(day.read_text().replace("缓存中间件测试通过", "changed by another"))
        held.let_go()
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await pilot.press("m")
        await settled(pilot)
        assert "MINE- 缓存中间件测试通过" in written(world) and "- Redis TTL raised" in written(
            world
        )
        assert drafts.every(world.home) == []

    drive(app, steps)


@pytest.mark.slow
def test_editing_outside_keeps_other_drafts_and_its_own_text(world, outside):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e", *"precious ", "escape", "down", "E")
        await settled(pilot)
        assert "from outside" in written(world)
        assert [draft.text[:8] for draft in drafts.every(world.home)] == ["precious"]
        day = world.day()
        outside.append(lambda: day.write_text(day.read_text().replace("Cart was", "The cart was")))
        await pilot.press("down", "E")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await pilot.press("e")
        await settled(pilot)
        assert any(
            "Cart was slow" in d.text and "from outside" in d.text for d in drafts.every(world.home)
        )

    drive(app, steps)


def test_leaving_the_app_keeps_what_was_typed(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("plus", *"not yet", "ctrl+q")

    drive(app, steps)
    assert [(draft.text, bool(draft.new_day)) for draft in drafts.every(world.home)] == [
        ("not yet", True)
    ]


def test_undo_leaves_what_other_programs_wrote_meanwhile(world):
    app = world.app()

    def another_writes(text: str) -> None:
        code = (
            "import sys; from memsearch_engine import Memory; Memory(sys.argv[1]).add(sys.argv[2])"
        )
        subprocess.run([sys.executable, "-c", code, str(world.project), text], check=True)

    async def steps(pilot):
        before = written(world)
        await pilot.press("e", *"MINE", "ctrl+s")
        another_writes("first of another")
        await pilot.press("down", "u")
        await until(pilot, lambda: "MINE" not in written(world))
        assert app.screen.state.item.title == "缓存中间件测试通过"
        another_writes("second of another")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "MINE" in written(world))
        await pilot.press("u", "u")
        assert "nothing to undo" in message(app)
        day = world.memory / f"{Library(Memory(str(world.project))).today()}.md"
        assert day.read_text().count("of another") == 2
        assert world.day().read_text() in before and "MINE" not in written(world)

    drive(app, steps)


def test_without_room_for_a_draft_the_editor_stays_open(world):
    app = world.app()
    (world.home.root / "drafts").write_text("in the place of the folder")
    before = written(world)

    async def steps(pilot):
        await pilot.press("e", *"MINE", "escape")
        assert typed(app).startswith("MINE") and "no draft can be written" in message(app)
        await pilot.press("ctrl+q")
        assert typed(app).startswith("MINE") and not app._exit
        await pilot.press("ctrl+g")
        assert typed(app) is None and written(world) == before
        await pilot.press("e", *"OTHER", "ctrl+q")
        assert typed(app).startswith("OTHER") and not app._exit  # only the first text was given up
        await pilot.press("ctrl+q")
        assert app._exit

    drive(app, steps)


def test_the_editor_says_whether_its_note_is_still_in_the_file(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e", *"MINE")
        area, aside = app.screen.query_one("#editor"), world.project / "aside.md"
        world.day().rename(aside)
        await app.screen.editor.compare()
        assert str(area.border_title) == "edit · no longer in its file"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "your text is a draft now" in message(app))
        assert message(app).startswith(f"{world.day().name}: No such file")
        aside.rename(world.day())
        await app.screen.editor.compare()
        assert str(area.border_title) == "edit"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "MINE" in written(world))

    drive(app, steps)


def test_the_editor_stays_open_until_its_draft_is_written(world, monkeypatch):
    app = world.app()
    monkeypatch.setattr(editor, "_KEPT_S", 0.01)

    async def steps(pilot):
        with monkeypatch.context() as slow:
            writing = asyncio.get_running_loop().create_future()
            slow.setattr(app.screen.editor, "_put_draft", lambda *_: writing)
            await pilot.press("e", *"MINE", "escape")
            assert typed(app).startswith("MINE") and "does not answer" in message(app)
        monkeypatch.setattr(editor, "_KEPT_S", 60)
        await pilot.press("escape")
        assert typed(app) is None
        assert [one.text[:4] for one in drafts.every(world.home)] == ["MINE"]

    drive(app, steps)


def test_a_text_in_another_encoding_stays_in_a_file_that_a_message_names(world, monkeypatch):
    typed_text, resumed = "ein Geh\xe4use".encode("latin-1"), []

    @contextlib.contextmanager
    def suspend(self):  # as Textual's: an error would leave the terminal to the editor
        yield
        resumed.append(self)

    monkeypatch.setattr(App, "suspend", suspend)
    monkeypatch.setattr(click, "edit", lambda filename: Path(filename).write_bytes(typed_text))
    app, before = world.app(), written(world)

    async def steps(pilot):
        await settled(pilot)
        await pilot.press("E")
        await until(pilot, lambda: "UTF-8" in message(app))
        (kept,) = (world.home.root / "drafts").iterdir()
        assert "is not UTF-8 (byte 8)" in message(app) and str(kept) in message(app)
        assert kept.read_bytes() == typed_text and written(world) == before and resumed

    drive(app, steps)


@pytest.mark.parametrize("text", ["one\r\ntwo", "one\rstill one"])
def test_a_text_that_the_editor_leaves_as_it_is_is_no_change(world, monkeypatch, text):
    monkeypatch.setenv("EDITOR", "true")
    assert drafts.in_editor(world.home, text) is None


def test_ctrl_c_belongs_to_the_editor(world, monkeypatch):
    monkeypatch.setattr(App, "suspend", lambda self: contextlib.nullcontext())

    def edit(filename):
        os.kill(os.getpid(), signal.SIGINT)
        Path(filename).write_text("typed after ctrl+c")

    monkeypatch.setattr(click, "edit", edit)
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        before = signal.getsignal(signal.SIGINT)
        await pilot.press("E")
        await settled(pilot)
        assert "typed after ctrl+c" in written(world)
        assert signal.getsignal(signal.SIGINT) is before

    drive(app, steps)


def test_a_text_that_the_command_cannot_save_is_a_draft(world, monkeypatch):
    from memsearch_tui.cli import notes

    with Memory() as memory:
        (note, *_) = memory.entries("2026-02-09")

    def edit(filename):
        world.day().write_text(world.day().read_text().replace(note.title, "another title"))
        Path(filename).write_text("typed in the editor")

    monkeypatch.setattr(click, "edit", edit)
    monkeypatch.setattr(notes.sys.stdin, "isatty", lambda: True, raising=False)
    with pytest.raises(Conflict):
        notes.edit.callback.__wrapped__(note.id, None, "")
    (draft,) = drafts.every(world.home)
    assert draft.text == "typed in the editor" and draft.base == note.text


EMOJI = "a👩\u200d👩\u200d👧b 🇩🇪c ❤\ufe0f 1\ufe0f\u20e3 👍🏽d"


def test_the_cursor_of_the_editor_is_where_a_joined_emoji_ends(world):
    world.day("2026-02-10").write_text(f"### 10:00\n- {EMOJI}\n")
    app = world.app()

    async def steps(pilot):
        await pilot.press("e", "end")
        editor = app.screen.query_one("#editor", TextArea)
        drawn = "".join(s.text for s in editor.render_line(0)).rstrip()
        assert (
            cell_len(drawn)
            == sum(map(cell_len, drawn))
            == editor.cursor_screen_offset.x - (editor.content_region.x)
        )
        assert editor.text == f"- {EMOJI}"
        for sign in "👩\u200d👧":  # a terminal sends the parts of an emoji as keys
            editor.post_message(events.Key("a_sign", sign))
        await pilot.pause()
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert f"- {EMOJI}👩\u200d👧\n" in written(world)

    drive(app, steps)


def test_the_app_s_keys_are_its_own_in_the_editor(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e", *"MINE", "f7")
        assert isinstance(app.screen, ChooseScreen)
        await pilot.press("escape", "x")
        assert typed(app).startswith("MINEx")

    drive(app, steps)


def test_what_can_neither_be_saved_nor_be_a_draft_is_copied(world):
    app = world.app()
    MESSAGES.clear()
    (world.home.root / "drafts").write_text("in the place of the folder")

    async def steps(pilot):
        await pilot.press("e", *"MINE")
        world.day().unlink()
        world.day().mkdir()
        await pilot.press("ctrl+s")
        # the warning of a draft that is being written may follow at once
        await until(pilot, lambda: "your text was copied" in str(MESSAGES))
        assert app.clipboard.startswith("MINE") and typed(app).startswith("MINE")

    drive(app, steps)


@pytest.mark.parametrize("command", ["/nonexistent/editor", "false", "'", ""])
@pytest.mark.parametrize("key", ["E", "O"])
def test_an_editor_that_cannot_be_run_ends_nothing(world, monkeypatch, command, key):
    monkeypatch.setattr(MemsearchApp, "suspend", lambda self: contextlib.nullcontext())
    monkeypatch.setenv("VISUAL", command)
    monkeypatch.setenv("EDITOR", "/nonexistent/editor")
    app, before = world.app(), written(world)

    async def steps(pilot):
        await pilot.press(key)
        if (command, key) != ("false", "O"):  # it ran
            assert "set EDITOR" in message(app)
        assert app.is_running and written(world) == before

    drive(app, steps)


@pytest.mark.slow
def test_a_draft_is_not_saved_over_what_others_wrote_since(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e", *"MY ", "escape")
        day = world.day()
        day.write_text(day.read_text().replace("缓存中间件测试通过", "changed by another"))
        await pilot.press("r", "e")
        await settled(pilot)
        assert typed(app).startswith("MY ") and "changed meanwhile" in str(
            app.screen.query_one("#status").content
        )
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        assert "changed by another" in written(world)

    drive(app, steps)


def test_saving_twice_while_the_file_is_locked_writes_once(world):
    app = world.app()
    today = Library(Memory(str(world.project), home=world.home)).today()

    async def steps(pilot):
        held = Held(world, world.memory / f"{today}.md")
        await pilot.press("plus", *"only once", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("escape", "ctrl+s", "ctrl+s")
        held.let_go()
        await until(pilot, lambda: "only once" in written(world) and typed(app) is None)
        await settled(pilot)
        assert written(world).count("only once") == 1

    drive(app, steps)


@pytest.mark.slow
def test_a_new_note_of_another_day_that_was_left_is_gone_on_with(world):
    app = world.app()

    async def steps(pilot):
        await app.screen.editor.open_new("2026-02-10", str(world.memory))
        await pilot.press(*"of that day", "escape", "plus")
        await settled(pilot)
        assert typed(app) == "of that day"
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert app.screen.state.item.day == "2026-02-10" and drafts.every(world.home) == []

    drive(app, steps)


def test_marks_on_several_notes_are_one_step(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("home", "space", "space", "p")
        await settled(pilot)
        assert written(world).count("<!-- pin -->") == 2
        await pilot.press("u")
        await settled(pilot)
        assert "<!-- pin -->" not in written(world)

    drive(app, steps)


def test_no_action_touches_a_note_while_it_is_edited(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e")
        before = written(world)
        app.screen.marks.set_confidence("low")
        await settled(pilot)
        refused = (
            "undo",
            "redo",
            "delete",
            "pin",
            "transcript",
            "related",
            "reload",
            "marks",
            "connect",
        )
        assert written(world) == before and not any(
            app.screen.check_action(name, ()) for name in refused
        )

    drive(app, steps)


def test_two_writes_that_wait_are_both_waited_for(world):
    app = world.app()

    async def steps(pilot):
        held = Held(world, world.day())
        app.screen.marks.set_confidence("low")
        app.screen.marks.set_confidence("high")
        await until(pilot, lambda: len(app.screen_stack) == 3)
        held.let_go()
        await until(pilot, lambda: not isinstance(app.screen, WorkingScreen))
        await settled(pilot)
        assert "confidence:low" in written(world)  # the second one meant the note as it was before

    drive(app, steps)


def test_keys_typed_while_a_write_waits_are_passed_on(world):
    app = world.app()

    async def steps(pilot):
        before = written(world)
        held = Held(world, world.day())
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("d", "u", "d")  # not the key whose write waits
        held.let_go()
        await until(pilot, lambda: not isinstance(app.screen, WorkingScreen))
        await until(pilot, lambda: written(world) == before)
        await settled(pilot)
        assert len(titles(app)) == 4

    drive(app, steps)


@pytest.mark.slow
def test_what_is_brought_back_late_closes_no_other_screen(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, BrowseScreen) and len(titles(app)) == 3)
        await pilot.press("U")
        await until(pilot, lambda: isinstance(app.screen, ChangesScreen) and changes_listed(app))
        held = Held(world, world.day())
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("escape", "f1")
        await pilot.pause()
        held.let_go()
        await until(pilot, lambda: "缓存中间件测试通过" in written(world))
        await pilot.pause()
        assert not isinstance(app.screen, ChangesScreen) and len(app.screen_stack) == 3
        await pilot.press("escape")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert len(titles(app)) == 4

    drive(app, steps)


def test_a_palette_that_is_left_while_it_searches_ends_nothing(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("ctrl+k", *"the")
        palette = app.screen
        await pilot.press("escape")
        assert isinstance(app.screen, BrowseScreen)
        palette._list_visible = not palette._list_visible  # as the end of its search does
        palette._show_busy = not palette._show_busy
        await pilot.pause()
        assert app.is_running and titles(app)

    drive(app, steps)


@pytest.mark.parametrize("text", ["[/x] y", "[b", "[@click=app.quit]q[/]"])
def test_a_saved_search_is_no_markup_in_the_palette(world, text):
    (world.home.root / "tui.json").write_text(json.dumps({"saved": [text]}))
    app = world.app()

    async def steps(pilot):
        await pilot.press("ctrl+k")
        await settled(pilot)
        await pilot.press(*"search")
        await settled(pilot)
        from memsearch_tui.palette import ActionProvider

        found = [hit async for hit in ActionProvider(app.screen_stack[0]).search("Search")]
        assert any(str(hit.match_display) == f"Search: {text}" for hit in found)

    drive(app, steps)


def test_an_import_is_asked_for_once_and_other_screens_wait_for_it(world, monkeypatch):
    from memsearch_engine.capture.backfill import Count, ImportPlan

    from memsearch_tui.screens import connect

    begun, free = threading.Event(), threading.Event()

    def plan(memory, name, progress):
        begun.set()
        free.wait(10)
        return ImportPlan({name: Count()}, [], [], {})

    monkeypatch.setattr(connect, "plan", plan)
    app = world.app()

    async def steps(pilot):
        await pilot.press("c")
        await settled(pilot)
        await pilot.press("i", "i", "f3")
        assert begun.wait(10) and isinstance(app.screen, ConnectScreen)
        free.set()
        await settled(pilot)
        assert not isinstance(app.screen, ChooseScreen) and not app.screen.is_busy
        assert "nothing new" in str(app.screen.query_one("#status").content)

    drive(app, steps)
