"""What can be done from the keyboard beside reading: new notes, marks, changes brought back, kept
searches, finding, keys, agents.
"""

from __future__ import annotations

import json

import msgspec
import pytest
from memsearch_engine import Memory, Supersessions
from memsearch_engine.core.settings import load
from memsearch_engine.search.supersession.listing import OverrideCache
from textual.widgets import Input, TextArea

from memsearch_tui.aside import WorkingScreen
from memsearch_tui.counted import quoted
from memsearch_tui.screens.changes import ChangesScreen
from memsearch_tui.screens.connect import ConnectScreen
from memsearch_tui.screens.dialogs import ChooseScreen, ConflictScreen
from memsearch_tui.screens.help import KeysScreen
from memsearch_tui.screens.review import ReviewScreen
from memsearch_tui.widgets.bars import Keys
from memsearch_tui.widgets.query import without_unfinished_filter
from memsearch_tui.widgets.text_view import TextView
from tests.tui.conftest import SESSION, Held, _line, until
from tests.tui.test_flows import drive, settled, shown, titles


def said(app) -> str:
    return str(app.screen.query_one("#status").content)


def text_of(app, selector: str = "") -> str:
    return "\n".join(
        view.text() for view in app.screen.query(selector or TextView).results(TextView)
    )


async def typed(pilot, text: str) -> None:
    """Replace what stands in the line that is asked for."""
    box = pilot.app.screen.query_one(Input)
    box.value = text
    await pilot.pause()


@pytest.mark.slow
def test_a_deletion_of_several_notes_comes_back_as_one(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("space", "space", "d")
        await settled(pilot)
        assert len(titles(app)) == 2
        await pilot.press("u")
        await settled(pilot)
        assert "brought back 2 notes" in said(app) and len(titles(app)) == 4
        await pilot.press("home", "space", "space", "d")
        await settled(pilot)
        await pilot.press("U")
        await settled(pilot)
        row = "".join(text for text, _ in app.screen._row(0, 100))
        assert row.endswith("  and 1 more")
        await pilot.press("u")
        await settled(pilot)
        assert "brought back 2 notes" in said(app)
        await pilot.press("escape")
        await settled(pilot)
        assert len(titles(app)) == 4

    drive(app, steps)


@pytest.mark.slow
def test_a_part_of_a_text_is_copied_alone(world):
    text = (
        "- Run `make lint` first, see [the guide](https://x.example/guide) or https://y.example\n\n"
        "```sh\nmake deploy\nmake check\n```"
    )
    Memory(str(world.project), home=world.home).add(text, day="2026-02-20")
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        await pilot.press("C")
        rows = ["".join(piece for piece, _ in app.screen._row(n, 80)) for n in range(4)]
        assert rows == [
            "make deploy … 2 lines  block",
            "https://x.example/guide  link",
            "https://y.example  link",
            "make lint  code",
        ]
        await pilot.press("enter")
        assert app.clipboard == "make deploy\nmake check" and said(app) == "copied"
        await pilot.press("down", "C")
        assert app.clipboard.startswith("make") and "no code" in said(app)

    drive(app, steps)


def test_no_border_is_cut_in_a_narrow_terminal(world):
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        panes = app.screen.panes
        assert panes.entries.region.right <= 30
        await pilot.press("enter")
        assert panes.reader.region.right <= 30

    drive(app, steps, (30, 20))


# -- new notes


@pytest.mark.slow
def test_a_new_note_is_written_today_selected_and_undone(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("plus", *"Deploys go out on Tuesdays", "ctrl+s")
        await settled(pilot)
        assert (
            app.screen.state.item.title == "Deploys go out on Tuesdays"
            and app.screen.state.item.day == app.screen.state.library.today()
        )
        assert "written by hand" in shown(app) and said(app).startswith("saved")
        await pilot.press("u")
        await settled(pilot)
        assert not any("Tuesdays" in title for title in titles(app))

    drive(app, steps)


@pytest.mark.slow
def test_a_new_note_that_is_left_is_a_draft_and_one_of_another_day_goes_there(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("plus", *"half a thought", "escape")
        await settled(pilot)
        assert "+ goes on with it" in said(app)
        await pilot.press("plus")
        assert app.screen.query_one("#editor", TextArea).text == "half a thought"
        await pilot.press("ctrl+g", "A")
        await typed(pilot, "2026-02-07")
        await pilot.press("enter")
        await settled(pilot)
        await pilot.press(*"On a day without notes", "ctrl+s")
        await settled(pilot)
        assert (app.screen.state.item.day, app.screen.state.item.title) == (
            "2026-02-07",
            "On a day without notes",
        )

    drive(app, steps)


@pytest.mark.slow
def test_of_all_projects_a_new_note_goes_beside_the_one_under_the_cursor(world):
    other = world.project.parent / "other"
    (other / ".memsearch" / "memory").mkdir(parents=True)
    Memory(str(other), home=world.home).add("Other project's note", day="2026-02-10")
    from memsearch_tui.app import MemsearchApp
    from memsearch_tui.library import Library

    app = MemsearchApp(
        Library(Memory(str(world.project), home=world.home, everything=True)), live=False
    )

    async def steps(pilot):
        assert app.screen.state.item.title == "Other project's note"
        await pilot.press("plus", *"beside it", "ctrl+s")
        await settled(pilot)
        assert (
            app.screen.state.item.title == "beside it" and str(other) in app.screen.state.item.path
        )

    drive(app, steps)


# -- marks


@pytest.mark.slow
def test_marks_are_set_from_one_menu_and_taken_back(world):
    app = world.app()

    async def choose(pilot, beginning: str) -> None:
        await pilot.press("M")
        await settled(pilot)
        menu = app.screen
        assert isinstance(menu, ChooseScreen)
        names = [name for name in menu._list.keys if name.startswith(beginning)]
        menu._list.move_to(menu._list.keys.index(names[0]))
        await pilot.press("enter")
        await settled(pilot)

    async def steps(pilot):
        await choose(pilot, "expire")
        await typed(pilot, "2027-01-31")
        await pilot.press("enter")
        await settled(pilot)
        assert app.screen.state.item.marks["expires"] == "2027-01-31"
        await choose(pilot, "confidence low")
        assert app.screen.state.item.marks["confidence"] == "low"
        await choose(pilot, "off expires")
        assert "expires" not in app.screen.state.item.marks
        await pilot.press("down")
        await choose(pilot, "supersede")
        await typed(pilot, "selectinload")
        await pilot.press("enter")
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert (
            app.screen.state.item.title.startswith("Redis")
            and "superseded-by" in app.screen.state.item.marks
        )
        await pilot.press("u")
        await settled(pilot)
        assert "superseded-by" not in app.screen.state.item.marks

    drive(app, steps)


@pytest.mark.slow
def test_a_day_that_is_none_marks_nothing(world):
    app = world.app()

    async def steps(pilot):
        app.screen.marks.expire()
        await settled(pilot)
        await typed(pilot, "soon")
        await pilot.press("enter")
        await settled(pilot)
        assert app.screen.state.item.marks == {} and "no day" in str(
            app.screen.query_one("#status").content
        )

    drive(app, steps)


@pytest.mark.slow
def test_a_fact_is_remembered_from_a_note_and_forgotten_by_its_words(world):
    app = world.app()
    memory = Memory(str(world.project), home=world.home)

    async def steps(pilot):
        app.screen.marks.remember()
        await settled(pilot)
        await typed(pilot, "Staging has no cache")
        await pilot.press("enter")
        await settled(pilot)
        assert [fact.text for fact in memory.facts()] == ["Staging has no cache"]
        app.screen.marks.forget()
        await settled(pilot)
        await typed(pilot, "staging cache")
        await pilot.press("enter")
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert memory.facts() == [] and "restore" in said(app)

    drive(app, steps)


# -- changes


@pytest.mark.slow
def test_what_was_changed_is_listed_with_its_difference_and_brought_back(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "e", "end", *" in staging", "ctrl+s")
        await settled(pilot)
        await pilot.press("d")
        await settled(pilot)
        await pilot.press("U")
        await settled(pilot)
        assert isinstance(app.screen, ChangesScreen)
        ops = [app.screen._changes[key].op for key in app.screen._list.keys]
        assert ops[:2] == ["delete", "edit"]
        await pilot.press("down")
        assert "+ - Redis TTL raised from 300 to 900 seconds in staging" in text_of(app, "#detail")
        await pilot.press("up", "u")
        await settled(pilot)
        assert isinstance(app.screen, ChangesScreen) and "brought back" in said(app)
        rows = ["".join(text for text, _ in app.screen._row(n, 80)) for n in range(3)]
        assert " add " in rows[0] and "delete undone" in rows[1] and "undone" not in rows[2]
        await pilot.press("home")
        assert "u" in dict(app.screen.query_one(Keys).named)
        await pilot.press("down")  # the deletion that was brought back
        await settled(pilot)
        assert "u" not in dict(app.screen.query_one(Keys).named)
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen.state.item.title.endswith("seconds in staging")

    drive(app, steps)


@pytest.mark.slow
def test_a_conflict_shows_what_each_side_changed(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "e", "end", *" mine")
        day = world.day()
        day.write_text(day.read_text().replace("to 900 seconds", "to 950 seconds"))
        await app.screen.editor.compare()
        assert "changed in its file meanwhile" in str(app.screen.query_one("#editor").border_title)
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert isinstance(app.screen, ConflictScreen)
        mine, theirs = (view.text() for view in app.screen.query(TextView))
        assert "2026-02-09 14:45" in mine and "- - Redis TTL raised from 300 to 900 seconds" in mine
        assert (
            "900 seconds mine" in mine and "+ - Redis TTL raised from 300 to 950 seconds" in theirs
        )
        await pilot.press("m")
        await settled(pilot)
        assert "900 seconds mine" in day.read_text()

    drive(app, steps)


def test_a_locked_file_blocks_no_screen(world):
    """The owner sees what is waited for, may leave it, and what was asked for is done when the file
    is free.
    """
    app = world.app()

    async def steps(pilot):
        held = Held(world, world.day())
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("escape")
        await pilot.pause()
        assert len(titles(app)) == 4
        held.let_go()
        await until(pilot, lambda: len(titles(app)) == 3)

    drive(app, steps)


# -- searches


@pytest.mark.slow
def test_the_values_of_a_filter_are_listed_while_it_is_typed(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"redis kind:")
        await settled(pilot)
        assert said(app).startswith("kind:  turn  note") and "tab completes" in said(app)
        await pilot.press(*"no")
        await settled(pilot)
        assert said(app).startswith("kind:  note   tab")
        await pilot.press("tab", "space")
        await settled(pilot)
        assert "kind:" not in said(app)
        await pilot.press(*"agent:", "escape")
        await settled(pilot)
        assert "agent:" not in said(app)

    drive(app, steps)


@pytest.mark.slow
@pytest.mark.parametrize("begun", ["kind:", "kind:no", "-agent:", "after:last", "path:"])
def test_a_filter_whose_value_is_still_typed_is_not_searched(world, begun):
    app = world.app()

    async def steps(pilot):
        everything = titles(app)
        await pilot.press("slash", *begun)
        await settled(pilot)
        assert titles(app) == everything

    drive(app, steps)


@pytest.mark.parametrize(
    ("typed", "searched"),
    [
        ("redis agent:co", "redis"),
        ("agent:", ""),
        ("redis agent:codex", "redis agent:codex"),
        ("redis agent:nobody", "redis agent:nobody"),
        ("agent: redis", "agent: redis"),
        ("see http://a.example", "see http://a.example"),
    ],
)
def test_which_filters_are_unfinished(typed, searched):
    assert without_unfinished_filter(typed) == searched


def test_a_title_that_is_cut_in_a_message_has_a_sign():
    assert quoted("short") == "“short”" and quoted("x" * 40) == f"“{'x' * 40}”"
    assert quoted("word " * 10) == "“word word word word word word word word…”"


@pytest.mark.slow
def test_tab_completes_and_never_leaves_the_box(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"agent:cl", "tab")
        await settled(pilot)
        box = app.screen.query_one(Input)
        assert box.value == "agent:claude-code" and app.focused is box
        await pilot.press("tab", "tab")
        assert app.focused is box

    drive(app, steps)


@pytest.mark.slow
def test_past_searches_come_back_with_up_and_saved_ones_from_their_list(world):
    app = world.app()

    async def steps(pilot):
        for words in ("redis ttl", "selectinload"):
            await pilot.press("slash", *words.replace(" ", "_").replace("_", " "))
            await settled(pilot)
            await pilot.press("enter", "escape")
            await settled(pilot)
        box = app.screen.query_one(Input)
        await pilot.press("slash", "up")
        await settled(pilot)
        assert box.value == "selectinload"
        await pilot.press("up", "ctrl+s")
        await settled(pilot)
        assert box.value == "redis ttl" and "saved: redis ttl" in said(app)
        await pilot.press("down", "down")
        await settled(pilot)
        assert box.value == ""
        await pilot.press("escape", "S", "enter")
        await settled(pilot)
        assert box.value == "redis ttl" and titles(app)[0].startswith("Redis")

    drive(app, steps)
    kept = json.loads((world.home.root / "tui.json").read_text())
    assert kept["saved"] == ["redis ttl"] and kept["searches"][0] == "selectinload"


@pytest.mark.slow
def test_a_search_with_a_secret_is_not_remembered(world):
    app = world.app()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]

    async def steps(pilot):
        await pilot.press("slash")
        await typed(pilot, token)
        await settled(pilot)
        await pilot.press("ctrl+s", "enter", "escape")
        await settled(pilot)

    drive(app, steps)
    file = world.home.root / "tui.json"
    assert not file.exists() or token not in file.read_text()


# -- in the open text


def _long_conversation(world, turns: int = 100) -> None:
    path = next((world.home.root.parent / "claude").rglob(f"{SESSION}.jsonl"))
    with path.open("a") as out:
        for number in range(3, turns + 1):
            out.write(_line("user", f"t{number}", f"question {number}", promptSource="typed"))
            answer = "the needle is here" if number in (60, 95) else f"answer {number}"
            out.write(_line("assistant", f"t{number}", [{"type": "text", "text": answer}]))


@pytest.mark.slow
def test_words_are_found_over_all_turns_and_a_turn_by_its_number(world):
    _long_conversation(world)
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "enter", "enter")
        await settled(pilot)
        assert "turn 2 of 100" in shown(app)
        await pilot.press("ctrl+f", *"Needle", "enter")
        await settled(pilot)
        assert "turn 60 of 100" in shown(app)
        await pilot.press("n")
        await settled(pilot)
        assert "turn 95 of 100" in shown(app)
        await pilot.press("N")
        await settled(pilot)
        assert "turn 60 of 100" in shown(app)
        await pilot.press("g", *"7", "enter")
        await settled(pilot)
        assert "turn 7 of 100" in shown(app) and "question 7" in shown(app)
        await pilot.press("g", *"101", "enter")
        await settled(pilot)
        assert "turn 7 of 100" in shown(app)

    drive(app, steps)


@pytest.mark.slow
def test_a_note_whose_turn_is_gone_opens_the_nearest_one_and_says_so(world):
    app = world.app()

    async def steps(pilot):
        assert app.screen.state.item.title.startswith(
            "缓存"
        )  # of a turn t3 that the session does not have
        await pilot.press("t")
        await settled(pilot)
        assert app.screen.state.level == "turn" and "turn 1 of 2" in shown(app)
        assert "nearest in time" in said(app)

    drive(app, steps)


def test_the_preview_scrolls_while_the_list_keeps_the_keys(world):
    Memory(str(world.project), home=world.home).add(
        "\n".join(f"- line {n}" for n in range(200)), day="2026-02-20"
    )
    app = world.app()

    async def steps(pilot):
        await pilot.press("J", "J", "J")
        assert (
            app.screen.panes.reader.scroll_offset.y == 3 and app.focused is app.screen.panes.entries
        )
        await pilot.press("K")
        assert app.screen.panes.reader.scroll_offset.y == 2

    drive(app, steps)


# -- keys, palette, agents, review


@pytest.mark.slow
def test_a_key_is_changed_in_a_screen_and_kept(world):
    app = world.app()

    async def steps(pilot):
        app._change_keys()
        await settled(pilot)
        assert isinstance(app.screen, KeysScreen)
        rows = app.screen._list
        rows.move_to(rows.keys.index("edit.outside"))
        await pilot.press("enter", "d")
        await settled(pilot)
        assert "taken: Delete" in said(app)
        await pilot.press("enter", "Z")
        await settled(pilot)
        assert load(world.home).tui.keys == {"edit.outside": "Z"}
        await pilot.press("d")
        await settled(pilot)
        assert load(world.home).tui.keys == {}

    drive(app, steps)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("date", "Go to a date"),
        ("connect", "Connect agents"),
        ("new", "New note"),
        ("expire", "Expires on"),
        ("theme", "Theme"),
        ("remember", "Remember"),
        ("history", "History: what was changed"),
        ("bookmarks", "Saved searches"),
    ],
)
def test_the_palette_finds_actions_by_the_words_a_person_types(world, words, wanted):
    from memsearch_tui.palette import ActionProvider

    app = world.app()

    async def steps(pilot):
        found = [str(hit.match_display) async for hit in ActionProvider(app.screen).search(words)]
        assert any(title.startswith(wanted) for title in found), found
        titles = [command.title for command in ActionProvider(app.screen)._commands()]
        assert len(titles) == len(set(titles))

    drive(app, steps)


@pytest.mark.slow
def test_a_theme_is_seen_before_it_is_chosen(world):
    app = world.app()

    async def steps(pilot):
        before = app.theme
        await pilot.press("f7")
        await settled(pilot)
        await pilot.press("down")
        assert app.theme != before
        await pilot.press("escape")
        assert app.theme == before
        await pilot.press("f7")
        await settled(pilot)
        await pilot.press("down", "enter")
        assert app.theme != before and app.saved.theme == app.theme

    drive(app, steps)


@pytest.mark.slow
def test_an_agent_is_connected_after_what_it_changes_was_shown_and_its_sessions_taken_in(world):
    claude = world.home.root.parent / "claude"
    (claude / "settings.json").write_text('{"theme": "dark"}')
    path = next(claude.rglob(f"{SESSION}.jsonl"))
    path.write_text(path.read_text().replace('"/p"', json.dumps(str(world.project))))
    app = world.app()

    async def steps(pilot):
        await pilot.press("c")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, ConnectScreen) and screen._agent.name == "claude-code"
        assert str(claude / "settings.json") in text_of(app, "#detail")
        assert (claude / "settings.json").read_text() == '{"theme": "dark"}'
        await pilot.press("enter")
        await settled(pilot)
        assert screen._agent.connected and "hooks" in json.loads(
            (claude / "settings.json").read_text()
        )
        await pilot.press("i")
        while not isinstance(app.screen, ChooseScreen) and "nothing new" not in said(app):
            await pilot.pause()
        if isinstance(app.screen, ChooseScreen):
            await pilot.press("enter")
        await settled(pilot)
        await pilot.press("minus")
        await settled(pilot)
        assert (claude / "settings.json").read_text() == '{"theme": "dark"}'

    drive(app, steps)


@pytest.mark.slow
def test_a_no_in_the_review_is_taken_back_and_enter_opens_what_it_is_about(world):
    memory = Memory(str(world.project), home=world.home)
    for _ in range(2):
        memory._scope.journal.add_note(
            memory.place.memory,
            "2026-02-05",
            "10:00",
            "- The gateway drops idle sockets after 60 s",
        )
    with world.day("2026-02-05").open("a") as out:
        out.write("\n### 11:00\n- The gateway drops idle sockets after 60 s\n")
    app = world.app()

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, ReviewScreen) and screen._cases
        keys = list(screen._cases)
        rejectable = next(key for key in keys if screen._cases[key].no)
        screen._list.move_to(screen._list.keys.index(rejectable))
        await pilot.press("x")
        await settled(pilot)
        assert rejectable not in screen._cases
        await pilot.press("u")
        await settled(pilot)
        assert list(screen._cases) == keys and screen._list.key == rejectable
        await pilot.press("enter")
        await settled(pilot)
        if isinstance(app.screen, ChooseScreen):
            await pilot.press("enter")
            await settled(pilot)
        assert "gateway drops idle" in shown(app)

    drive(app, steps)


def test_a_supersession_is_corrected_beside_a_note_and_taken_back(world, monkeypatch):
    from memsearch_engine.index.rows import Row
    from memsearch_engine.search.supersession.revisions import Revision

    memory = Memory(str(world.project), home=world.home)
    notes = sorted(memory.entries(), key=lambda note: (note.day, note.time))
    older, newer = notes[1], notes[2]
    row = Row(
        1,
        "c",
        "Cart",
        "Cart",
        1,
        2,
        0,
        older.id,
        "",
        "p",
        older.day,
        older.time,
        "claude-code",
        "",
        "",
        "turn",
        "",
        3,
        "Cart",
        [],
        {},
        older.path,
    )

    def trace(self, query="", *, note=""):
        said = memory_said().get((older.id, newer.id))
        words = [
            Revision(row, {}),
            Revision(
                msgspec.structs.replace(row, entry_id=newer.id, title="Redis"),
                {older.id: 1.0 if said else 0.8},
            ),
        ]
        return words if said is not False else words[:1]

    memory_said = OverrideCache(world.home).read
    monkeypatch.setattr(Supersessions, "trace", trace)
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "b")
        await settled(pilot)
        screen = app.screen
        assert [found.amends for found in screen.found] == [(), (older.id,)]
        await pilot.press("x")
        assert "not listed as superseding" in said(app)
        await pilot.press("down", "x")
        await settled(pilot)
        assert memory_said() == {(older.id, newer.id): False} and screen.found == []
        await pilot.press("u")
        await settled(pilot)
        assert memory_said() == {} and len(screen.found) == 2
        await pilot.press("end", "a")
        await settled(pilot)
        assert memory_said() == {(older.id, newer.id): True} and "✓" in screen.found[1].how

    drive(app, steps)
