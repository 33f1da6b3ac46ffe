"""The rows of Health and Activity: what is wrong, and the key or command that mends it."""

from __future__ import annotations

import copy
import sys
import threading

import memsearch_engine
import msgspec
import pytest
from memsearch_engine import Memory
from memsearch_engine.capture.ledger import MissedTurn
from memsearch_engine.core.llm.spend import Spent
from memsearch_engine.service.configuration import Models

from memsearch_tui import activity, health
from memsearch_tui.aside import WorkingScreen
from memsearch_tui.library import Library
from memsearch_tui.library.notes import NoteReader
from memsearch_tui.library.rows import KnownProjects, NoteDays
from memsearch_tui.library.status import MemoryStatus
from memsearch_tui.plain import Plain
from memsearch_tui.review import ReviewItem
from memsearch_tui.screens.help import HelpScreen
from memsearch_tui.widgets.bars import Keys
from tests.tui.conftest import Held, until
from tests.tui.test_flows import drive, settled
from tests.tui.test_pictures import ACTIVITY, CHANGES, HEALTH

HOME = [
    (Library, "list_days"),
    (NoteDays, "notes"),
    (NoteReader, "seen"),
    (MemoryStatus, "header"),
]


def rows(lines) -> list[str]:
    return ["".join(text for text, _ in line.row) for line in lines]


def details(lines, key: str) -> str:
    (line,) = [line for line in lines if line.key == key]
    return "\n".join("".join(text for text, _ in row) for row in line.detail)


def test_every_part_of_health_has_its_size_and_a_way_to_mend_it():
    lines = health.lines(HEALTH)
    text = "\n".join(rows(lines))
    assert "index     ready  23.4 MB" in text and "words     ready  5.0 MB" in text
    assert "up 10 min" in text and "301 MB" in text
    parts = [line for line in lines if line.key and not line.key.startswith("problem")]
    for line in parts:
        if line.key not in ("second",):
            way = details(lines, line.key) + "".join(text for text, _ in line.row)
            assert "`memsearch " in way or "f4" in way or "-> " in way, line.key
    assert "memsearch index" in details(lines, "problem 2026-02-07.md: permission denied")


def test_a_broken_index_says_why_and_what_repairs_it():
    state = copy.deepcopy(HEALTH) | {"index": "broken"}
    state["service"]["reason"] = "the index file is cut"
    lines = health.lines(state)
    assert any(row.startswith("index     broken") and "doctor --fix" in row for row in rows(lines))
    assert "the index file is cut" in details(lines, "index")


def test_notes_without_vectors_and_alarms_of_capture_are_named():
    state = copy.deepcopy(HEALTH)
    state["projects"][0]["vectors"] = 1
    state["service"]["alarms"] = ["codex: capture has stopped"]
    lines = health.lines(state)
    text = "\n".join(rows(lines))
    assert "3 without meaning yet  -> memsearch index" in text
    assert "capture   1 alarm  -> f4" in text
    assert "codex: capture has stopped" in details(lines, "capture")


def test_a_machine_without_sync_says_how_to_begin():
    assert any("memsearch sync add" in row for row in rows(health.lines(HEALTH)))


def test_activity_names_the_agents_own_model_in_words():
    spent = [
        Spent("2026-02-09", "summarize", name, "haiku", 12, 100, 20, 0.0, 1)
        for name in ("native", "local")
    ]
    lines = activity.lines({**ACTIVITY, "spend": spent}, "2026-02-09")
    shown = "\n".join([*rows(lines), details(lines, "cost")])
    assert "agent's CLI haiku" in shown and "local haiku" in shown and "native" not in shown


def test_activity_says_how_many_turns_were_captured_and_why_the_others_were_not():
    skipped = [
        MissedTurn("codex", "0199a213-81c0-7a61", str(n), "2026-02-09", "trivial", reason)
        for n, reason in enumerate(("no answer", "only a courtesy", ""))
    ]
    lines = activity.lines({**ACTIVITY, "skipped": skipped}, "2026-02-09")
    assert rows(lines)[1] == "Captured      97 %  36 of 41 turns · 3 trivial"
    assert "Not captured  none" in rows(lines)
    shown = details(lines, "missed").split("\n")
    assert shown[:3] == [
        "Every finished turn is in memory, or was trivial.",
        "",
        "Skipped as trivial:",
    ]
    assert [line.split("  ")[-1] for line in shown[3:]] == [
        "no answer", "only a courtesy", "trivial",
    ]  # fmt: skip


def test_activity_says_that_it_lists_only_the_newest_of_many():
    turns = [MissedTurn("codex", "0199a213", "1", "2026-02-09", "failed", "no space left")]
    lines = activity.lines({**ACTIVITY, "missed": turns, "skipped": turns}, "2026-02-09")
    assert "Not captured  2 turns" in rows(lines)
    shown = details(lines, "missed").split("\n")
    assert shown[0] == "The newest 1 of 2:"
    assert shown[3] == "Skipped as trivial, the newest 1 of 3:"


def test_the_rows_of_activity_fit_beside_their_details():
    lines = activity.lines(ACTIVITY, "2026-02-09")
    assert all(len(row) <= 56 for row in rows(lines) if not row.startswith("! "))
    assert "today 20,500 of at most 200,000 tokens" in details(lines, "cost")
    assert "answered 429" in details(lines, "failed") and "12 done" in details(lines, "failed")


def test_activity_in_lines_has_no_bars(world):
    library, said = Library(Memory(str(world.project), home=world.home)), []
    library.status.activity = lambda: ACTIVITY
    library.today = lambda: "2026-02-09"
    Plain(library, iter(["activity", ""]).__next__, said.append).run()
    text = "\n".join(said)
    assert "claude-code 24 of 24 last today" in text and "█" not in text and "··" not in text


def evidence(app, pane: str = "#detail") -> str:
    return app.screen.query_one(pane).text()


def test_the_report_of_health_has_all_parts_and_shows_that_of_the_row(world):
    app = world.app()
    app.library.status.health = lambda: HEALTH

    async def steps(pilot):
        await pilot.press("f3")
        await until(pilot, lambda: "sync add" in evidence(app))
        await settled(pilot)
        rows, detail = app.screen.query_one("#rows"), app.screen.query_one("#detail")
        assert "doctor --fix" in evidence(app) and not detail.max_scroll_y
        # the frames end below their rows
        assert rows.region.height == len(rows.keys) + 2 < detail.region.height < 40
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        for number, line in enumerate(app.screen.lines[:-1]):
            if line.key and detail.scroll_offset.y < detail.max_scroll_y:
                rows.move_to(number)
                await until(pilot, lambda line=line: line.row[0][0].strip() in drawn(detail))
        detail.focus()
        await pilot.press("home", "down", "down")
        await app.screen.reload()
        await settled(pilot)
        assert detail.scroll_offset.y == 2  # who reads keeps the place
        rows.focus()
        rows.move_to(len(rows.keys) - 1)
        await pilot.resize_terminal(120, 40)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: detail.scroll_offset.y == detail.max_scroll_y > 9)

    drive(app, steps, size=(120, 40))


def drawn(view) -> str:
    """The first visible line of a text."""
    return "".join(segment.text for segment in view.line(0))


def test_health_says_each_fact_once_and_beside_the_list_what_mends_the_row(world):
    app = world.app()
    app.library.status.health = lambda: HEALTH

    async def steps(pilot):
        await pilot.press("f3")
        await settled(pilot)
        for size in ((80, 24), (120, 40), (200, 60)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            for key, mends in (("home", "mended by memsearch index"), ("down", "doctor --fix")):
                await pilot.press(key)
                await until(pilot, lambda mends=mends: mends in evidence(app))
            await pilot.press("end", "enter")
            assert app.focused.id == "detail" and "sync add" in evidence(app)
            await pilot.press("escape")
        assert not app.screen.query("#third")

    drive(app, steps, size=(200, 60))
    for line in health.lines(HEALTH):
        facts = ["".join(text for text, _ in row) for row in line.detail]
        shown = "".join(text for text, _ in line.row)
        assert shown not in facts or line.key.startswith("sync")
        assert not any(size in fact for size in ("23.4 MB", "4711", "10 min") for fact in facts)


def test_activity_shows_the_details_of_the_row_alone(world):
    app = world.app()
    app.library.status.activity = lambda: ACTIVITY

    async def steps(pilot):
        await pilot.press("f4")
        await until(pilot, lambda: "memsearch doctor" in evidence(app))
        await pilot.press("down")
        await until(pilot, lambda: "39 of 41" in evidence(app))  # all agents of the day
        await pilot.press("down")
        await until(pilot, lambda: "24 of 24" in evidence(app))
        assert "memsearch doctor" not in evidence(app) and "97 %" not in evidence(app)
        await pilot.press("enter")
        assert app.focused.id == "detail" and not app.screen.query("#third")

    drive(app, steps, size=(120, 40))


def test_the_notes_of_a_case_are_beside_its_evidence(world, monkeypatch):
    app = world.app()
    case = ReviewItem("stale", "1", "a case", [[("why", "warn")]], "accept", "reject")

    def groups(memory, secrets):
        (name,) = [note.id for note in memory.entries("2026-02-09") if "Redis" in note.title]
        yield "stale", [msgspec.structs.replace(case, notes=(name,))]

    monkeypatch.setattr("memsearch_tui.screens.review.groups", groups)

    async def steps(pilot):
        await pilot.press("f5")
        await until(pilot, lambda: "Redis TTL raised" in evidence(app, "#third"))
        third, below, cases = (app.screen.query_one(f"#{x}") for x in ("third", "detail", "rows"))
        for size in ((200, 60), (120, 40)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert third.display and third.region.x >= below.region.right == cases.region.right
            assert below.region.y == cases.region.bottom < 10  # the list is as high as its rows
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert not third.display

    drive(app, steps, size=(200, 60))


@pytest.mark.parametrize(
    ("key", "owner", "name"),
    [
        ("f2", KnownProjects, "rows"),
        ("f3", MemoryStatus, "health"),
        ("f4", MemoryStatus, "activity"),
        ("U", Memory, "history"),
    ],
)
def test_a_page_shows_what_it_showed_until_it_has_read_again(world, monkeypatch, key, owner, name):
    app, may_read = world.app(), threading.Event()
    found = {"health": HEALTH, "activity": ACTIVITY, "history": CHANGES}
    original, read = getattr(owner, name), list[str]()

    def slow(self, *args, **kwargs):
        assert may_read.wait(60)
        read.append(name)
        return found[name] if name in found else original(self, *args, **kwargs)

    def listed(app) -> str:
        rows = app.screen_stack[1]._list.drawn()
        return "\n".join("".join(text for text, _ in row) for row in rows)

    monkeypatch.setattr(owner, name, slow)

    async def steps(pilot):
        may_read.set()
        await pilot.press(key)
        await settled(pilot)
        first = listed(app)
        assert first and read == [name]
        for of, what in HOME:  # leaving a page reads nothing
            monkeypatch.setattr(of, what, lambda *args, **kwargs: read.append("home"))
        await pilot.press("escape")
        await settled(pilot)
        assert len(app.screen_stack) == 1 and read == [name]
        may_read.clear()
        monkeypatch.setattr(Held, "now", 1)  # the page reads until the test lets it
        app.simulate_key(key)
        await until(pilot, lambda: len(app.screen_stack) > 1 and listed(app) == first)
        assert read == [name]
        monkeypatch.setattr(Held, "now", 0)
        may_read.set()
        await settled(pilot)
        await until(pilot, lambda: read == [name, name])
        assert listed(app) == first

    drive(app, steps, size=(80, 24))


@pytest.mark.parametrize(("size", "lines"), [((80, 24), 2), ((60, 15), 1), ((120, 40), 2)])
def test_a_hit_has_two_lines_where_the_list_is_high_enough(world, size, lines):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"redis")
        await settled(pilot)
        entries = app.screen.panes.entries
        assert entries.tall == lines
        rows = range(1, len(entries.keys) * 2, 2) if lines == 2 else ()
        assert all(entries.line(y).text.strip() for y in rows)  # no second line is blank
        words = dict(app.screen.query_one(Keys).named)
        assert words.get("⏎", "To the hits") == "To the hits"
        await pilot.press("escape")
        assert app.screen.panes.entries.tall == 1

    drive(app, steps, size=size)


def test_the_last_line_is_drawn_without_a_widget_for_each_key(world):
    app = world.app()

    async def steps(pilot):
        keys = app.screen.query_one(Keys)
        assert not keys.children and ("+", "New") in keys.named
        place = next(x for x, (row, _) in keys.places() if row[1][0] == " Help")
        await pilot.click(Keys, offset=(place + 1, 0))
        assert isinstance(app.screen, HelpScreen)

    drive(app, steps)


def test_changes_open_on_the_newest_one_also_when_they_were_left_before(world, monkeypatch):
    app, found = world.app(), [CHANGES[1]]
    monkeypatch.setattr(Memory, "history", lambda self, **of: list(found))

    async def steps(pilot):
        await pilot.press("U")
        await settled(pilot)
        assert app.screen._list.key == CHANGES[1].seq
        await pilot.press("escape")
        found.insert(0, CHANGES[0])
        await pilot.press("U")
        await settled(pilot)
        assert app.screen._list.key == CHANGES[0].seq  # `u` undoes it, not the one before

    drive(app, steps)


@pytest.mark.parametrize(("key", "owner", "name"), [("f2", KnownProjects, "rows"),
                                                    ("U", Memory, "history")])  # fmt: skip
def test_a_page_that_was_left_unread_says_that_it_is_read(world, monkeypatch, key, owner, name):
    app, may_read = world.app(), threading.Event()
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *of, **how: may_read.wait(60) and original(*of, **how))

    async def steps(pilot):
        monkeypatch.setattr(Held, "now", 1)  # the page reads until the test lets it
        for _ in range(2):
            app.simulate_key(key)
            await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
            assert app.screen_stack[1]._list.empty == ["reading …"]
            await pilot.press("escape", "escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        may_read.set()

    drive(app, steps)


def test_a_page_whose_reading_was_left_says_which_key_reads_it(world, monkeypatch):
    app, may_read = world.app(), threading.Event()
    original = KnownProjects.rows
    monkeypatch.setattr(KnownProjects, "rows", lambda self: may_read.wait(60) and original(self))

    async def steps(pilot):
        monkeypatch.setattr(Held, "now", 1)  # the page reads until the test lets it
        app.simulate_key("f2")
        await until(pilot, lambda: isinstance(app.screen, WorkingScreen))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert app.screen._list.empty == ["not read · r reads it"]
        monkeypatch.setattr(Held, "now", 0)
        may_read.set()
        await pilot.press("r")
        await until(pilot, lambda: bool(app.screen_stack[1]._list.keys))

    drive(app, steps)


def test_health_knows_the_second_model_while_it_reads_again(world, monkeypatch):
    app, may_read = world.app(), threading.Event()
    advice = {
        "advice": "it would help",
        "asked": False,
        "name": "m",
        "fix": "memsearch models pull m",
    }
    found, pulled = {**HEALTH, "second": advice}, list[str]()

    def offered() -> dict[str, str]:
        return dict(app.screen.query_one(Keys).named)

    monkeypatch.setattr(MemoryStatus, "health", lambda self: may_read.wait(60) and found)
    monkeypatch.setattr(Models, "pull", lambda self, name: pulled.append(name))

    async def steps(pilot):
        may_read.set()
        await pilot.press("f3")
        await settled(pilot)
        may_read.clear()
        await pilot.press("escape", "f3", "2")
        await until(pilot, lambda: pulled == ["m"])
        may_read.set()
        await until(pilot, lambda: "2" in offered())
        advice.update(advice="", fix="")
        await pilot.press("r")
        await until(pilot, lambda: "2" not in offered())

    drive(app, steps)


@pytest.mark.parametrize("is_there", [True, False], ids=["updated", "gone"])
def test_a_page_that_an_update_made_unusable_says_so(
    world, is_there, tmp_path, monkeypatch, capsys
):
    app, front = world.app(), tmp_path / "memsearch_engine.py"
    if is_there:
        front.touch()
    monkeypatch.setattr(memsearch_engine, "__file__", str(front))
    monkeypatch.setitem(sys.modules, "memsearch_tui.screens.help", None)

    async def steps(pilot):
        await pilot.press("question_mark")

    with pytest.raises(ImportError):
        drive(app, steps)
    said = capsys.readouterr().err
    assert "updated while it was open: start it again" in said and "Traceback" not in said


def test_another_error_of_a_page_keeps_its_traceback(world, monkeypatch, capsys):
    app = world.app()
    monkeypatch.setitem(sys.modules, "memsearch_tui.screens.help", None)

    async def steps(pilot):
        await pilot.press("question_mark")

    with pytest.raises(ImportError):
        drive(app, steps)
    said = capsys.readouterr().err
    assert "Traceback" in said
