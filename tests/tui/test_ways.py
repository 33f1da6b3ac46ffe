"""Ways through the app that lead somewhere and back."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from memsearch_engine import Home, Memory

from memsearch_tui.app import MemsearchApp
from memsearch_tui.library import Library
from memsearch_tui.screens.browse.screen import DEMO
from memsearch_tui.screens.changes import ChangesScreen
from memsearch_tui.screens.review import ReviewScreen
from memsearch_tui.widgets.bars import Keys
from memsearch_tui.widgets.calendar import WEEKS, Calendar
from tests.tui.conftest import SESSION, until
from tests.tui.test_flows import drive, settled, shown, titles


def said(app) -> str:
    return str(app.screen.query_one("#status").content)


@pytest.mark.slow
def test_review_opens_the_turn_and_escape_comes_back_to_the_row(world):
    day = world.day()
    text = day.read_text()
    day.write_text(text.replace("-->\n- ", "-->\n<!-- trust:outside -->\n- "))
    app = world.app()
    app.library.memory.index()

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        review = app.screen
        opening = [key for key, case in review._cases.items() if case.notes]
        review._list.move_to(review._list.keys.index(opening[-1]))
        here = review._list.key
        await pilot.press("enter")
        await settled(pilot)
        assert app.screen.state.level == "turn" and app.screen.conversation.found is not None
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen.state.level == "section"
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(app.screen, ReviewScreen) and app.screen._list.key == here
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen.state.level == "entries"

    drive(app, steps)


@pytest.mark.slow
def test_at_another_turn_of_the_conversation_nothing_is_done_to_the_note(world):
    app = world.app()

    async def steps(pilot):
        before = titles(app)
        await pilot.press(*"jj", "t")
        await settled(pilot)
        assert app.screen.state.level == "turn" and app.screen.conversation.found.total > 1
        await pilot.press(
            "right_square_bracket"
            if app.screen.conversation.found.first + app.screen.conversation.place == 0
            else "left_square_bracket"
        )
        await settled(pilot)
        for key in ("d", "e", "p"):
            await pilot.press(key)
            await settled(pilot)
            assert "not the note's" in said(app) and not app.screen.state.editing, key
        await pilot.press("escape", "escape")
        await settled(pilot)
        assert titles(app) == before

    drive(app, steps)


def test_the_last_line_has_the_keys_of_the_depth(world):
    app = world.app()

    def named() -> list[str]:
        return [words for _, words in app.screen.query_one(Keys).named]

    async def steps(pilot):
        await settled(pilot)
        assert "Delete" in named()
        await pilot.press("t")
        await settled(pilot)
        assert {"Its note", "Unfold", "Find"} <= set(named()) and "Delete" not in named()
        await pilot.press("escape", "e")
        await settled(pilot)
        assert named() == ["Save", "Leave, draft stays", "Drop the draft"]
        await pilot.press("ctrl+g")

    drive(app, steps, size=(160, 40))


def test_an_empty_list_offers_no_key_for_a_row(world):
    for day in world.memory.glob("*.md"):
        day.unlink()
    app = world.app()

    def named() -> list[str]:
        return [words for _, words in app.screen.query_one(Keys).named]

    async def steps(pilot):
        await settled(pilot)
        assert named()[:2] == ["Connect agents", "New"] and "Delete" not in named()
        await pilot.press("U")
        await until(pilot, lambda: isinstance(app.screen, ChangesScreen))
        await until(pilot, lambda: named() == ["Read again", "Back", "Help"])
        await pilot.press("escape")
        await pilot.press("+", *"first", "ctrl+s")
        await settled(pilot)
        await until(pilot, lambda: "Delete" in named())

    drive(app, steps, size=(160, 40))


@pytest.mark.slow
def test_a_word_on_a_draft_goes_with_its_note(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e", *"abc", "escape")
        await settled(pilot)
        assert "there is a draft" in said(app)
        await pilot.press("j")
        await settled(pilot)
        assert "draft" not in said(app)
        await pilot.press("k", "e")
        await settled(pilot)
        await pilot.press("ctrl+g")

    drive(app, steps)


def test_a_note_of_another_day_is_gone_to_whatever_is_listed_meanwhile(world):
    app = world.app()

    async def steps(pilot):
        await app.screen.editor.open_new("2025-06-01", str(world.memory))
        await pilot.press(*"An old word", "ctrl+s")
        await until(pilot, (world.memory / "2025-06-01.md").exists)
        app.screen.search.reload()  # as the service's word does
        await settled(pilot)
        await app.screen.settled()
        await settled(pilot)
        assert (
            app.screen.state.item.title == "An old word"
            and app.screen.state.item.day == "2025-06-01"
        )

    drive(app, steps)


def test_an_empty_project_leads_to_the_sample_year(tmp_path):
    home = Home(tmp_path / "home")
    (tmp_path / "new" / ".git").mkdir(parents=True)
    app = MemsearchApp(Library(Memory(str(tmp_path / "new"), home=home)), live=False)

    async def steps(pilot):
        await settled(pilot)
        assert any(line.startswith("v ") for line in app.screen.panes.entries.empty)
        await pilot.press("v")

    drive(app, steps)
    assert app.return_value == DEMO


def test_where_a_year_has_no_room_its_end_is_shown(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("g")
        await settled(pilot)
        calendar = app.screen.query_one(Calendar)
        assert calendar.has_lines and calendar._weeks < WEEKS
        shown_until = calendar._first + timedelta(weeks=calendar._weeks)
        assert calendar._first <= calendar.day < shown_until
        width, height = calendar.size
        days = [calendar.day_at(x, y) for y in range(height) for x in range(width)]
        shown = sorted(set(filter(None, days)))
        assert len(shown) == calendar._weeks * 7  # no day is cut off
        assert (shown[0], shown[-1]) == (calendar._first, shown_until - timedelta(days=1))

    drive(app, steps, size=(40, 16))


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
@pytest.mark.parametrize(
    "size",
    [(80, 24), *(pytest.param(size, marks=pytest.mark.slow) for size in ((120, 40), (200, 60)))],
)
def test_notes_of_the_first_and_the_last_day_of_all_end_nothing(world, day, size):
    (world.memory / f"{day}.md").write_text(f"# {day}\n\n## Session 10:00\n\n### 10:00\n- Far\n")
    app = world.app()

    async def steps(pilot):
        assert "Far" in titles(app)
        await pilot.press("g", *day)
        assert "no date" not in str(app.screen.query_one("#how").content)
        await pilot.press("tab", "home", "up", "pageup", "end", "down", "pagedown")
        await pilot.press("escape", "G" if day < "1" else "home")
        await settled(pilot)
        assert app.screen.state.item.day == day

    drive(app, steps, size=size)


def test_a_year_with_notes_is_not_left_by_that_key(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("v")
        await settled(pilot)
        assert shown(app)

    drive(app, steps)
    assert app.return_value is None


def test_after_the_first_sessions_came_in_one_stands_at_the_newest(tmp_path):
    home = Home(tmp_path / "home")
    (tmp_path / "new" / ".git").mkdir(parents=True)
    memory = Memory(str(tmp_path / "new"), home=home)
    app = MemsearchApp(Library(memory), live=False)

    async def steps(pilot):
        await settled(pilot)
        await pilot.press("c")
        await settled(pilot)
        for day in ("2025-01-01", "2025-02-01", "2025-03-01"):  # an import begins with the oldest
            memory.add(f"of {day}", day=day)
            app.screen_stack[-2].search.reload()
            await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        await app.screen.settled()
        await settled(pilot)
        assert app.screen.state.item.day == "2025-03-01"

    drive(app, steps)


def test_the_notes_of_the_demo_lie_before_now():
    from datetime import datetime

    from memsearch_tui.demo.command import last_day

    late, morning = datetime(2026, 11, 20, 23), datetime(2026, 11, 20, 8)
    assert str(last_day(late)) == "2026-11-20"
    assert str(last_day(late, morning)) == "2026-11-19"


def test_the_demo_has_a_long_conversation_and_weeks_of_activity(tmp_path, monkeypatch):
    from datetime import date

    from memsearch_engine.agents.transcripts.evidence import Archive
    from memsearch_engine.capture.ledger import CaptureLedger
    from memsearch_engine.core.llm import spend

    from memsearch_tui.demo.history import build
    from memsearch_tui.demo.home import fill
    from memsearch_tui.screens.connect import plan

    end = date(2026, 11, 20)
    made = build(tmp_path, end, routine=100)
    fill(tmp_path, made, end)
    home = Home(tmp_path / "home")
    ledger = CaptureLedger(home)
    counts = ledger.counts()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "agents" / "claude"))
    with Memory(str(made.projects["orders-api"]), home=home) as memory:
        claude = plan(memory, "claude-code", lambda *_: None).counts["claude-code"]
    assert (claude.new, claude.trivial) == (0, len(made.chatter))
    found = {outcome for *_, outcome, _ in ledger.counts()}
    assert found == {"captured", "trivial"} and not ledger.missed(["new"])
    reasons = {turn.reason for turn in ledger.missed(["trivial"])}
    assert reasons == {"only a courtesy"}
    ledger.close()
    assert (
        sum(number for *_, outcome, number in counts if outcome == "trivial")
        == len(made.chatter)
        > 20
    )
    assert {agent for agent, *_ in counts} == {"claude-code", "codex", "opencode", "openclaw"}
    days = {row.day for row in spend.by_day(home)}
    assert len(days) > 7 and max(days) <= "2026-11-20"
    lines = [
        sum(1 for line in path.open() if json.loads(line)["message"]["role"] == "user")
        for path in tmp_path.rglob("*.jsonl")
    ]
    assert max(lines) > 20
    stored = {turn.session_id for turn in made.captured if turn.agent == "claude-code"}
    archive = Archive(home)
    assert stored <= {session for _, session in archive.turns()}, "known prompts at the first index"
    archive.close()
    with Memory(str(made.projects["orders-api"]), home=home) as memory:
        injected = memory.injection.log()
        assert {note.outcome for receipt in injected for note in receipt.notes} == {"", "cited"}
    assert SESSION
