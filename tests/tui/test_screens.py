"""The screens beside Browse, bulk work, filters by key, and walking between a conversation and its
memories.
"""

from __future__ import annotations

import contextlib
import json
import threading

import msgspec
import pytest
from memsearch_engine import Conflict, Memory, UsageError
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.scan import scan
from memsearch_engine.journal.targets import Target
from memsearch_engine.longterm.review import Hunk, Proposal, propose
from memsearch_engine.review.queue import _SOURCES
from textual.widgets import Input

from memsearch_tui import drafts
from memsearch_tui.activity import Line
from memsearch_tui.app import MemsearchApp
from memsearch_tui.library import HeaderState, Library
from memsearch_tui.library.status import MemoryStatus
from memsearch_tui.screens.help import HelpScreen
from memsearch_tui.screens.projects import ProjectsScreen
from memsearch_tui.screens.review import ReviewScreen
from memsearch_tui.screens.rows import ActivityScreen, RowsScreen
from memsearch_tui.widgets.bars import Keys
from memsearch_tui.widgets.line_list import LineList
from memsearch_tui.widgets.query import FilterSuggester
from memsearch_tui.widgets.text_view import TextView
from tests.tui.conftest import until
from tests.tui.test_flows import drive, settled, shown, titles
from tests.tui.test_pictures import ACTIVITY


def seen(app) -> str:
    lists = [list_ for list_ in app.screen.query(LineList) if not list_.keys]
    texts = [view.text() for view in app.screen.query(TextView)]
    return "\n".join([*texts, *(line for list_ in lists for line in list_.empty)])


def messages(app) -> list[str]:
    return [note.message for note in app._notifications]


@pytest.mark.slow
def test_a_turn_leads_to_its_memory_and_back(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down", "enter", "enter", "left_square_bracket")
        assert "why is the cart slow" in shown(app)
        await pilot.press("m")
        assert (
            app.screen.state.level == "section"
            and "Cart was slow" in shown(app)
            and app.screen.panes.entries.cursor == 2
        )
        await pilot.press("enter")
        assert "why is the cart slow" in shown(app)

    drive(app, steps)


@pytest.mark.slow
def test_many_are_pinned_exported_and_deleted_together(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("space", "space", "p")
        assert world.day().read_text().count("<!-- pin -->") == 2
        await pilot.press("home", "space", "space", "X")
        app.screen.query_one(Input).value = str(world.project / "out.json")
        await pilot.press("enter")
        rows = json.loads((world.project / "out.json").read_text())["entries"]
        assert [row["turn"] for row in rows] == ["t3", "t2"] and rows[0]["marks"] == {"pin": ""}
        await pilot.press("X")
        app.screen.query_one(Input).value = str(world.project / "out.json")
        await pilot.press("enter")  # a file that is there is never written over
        assert len(json.loads((world.project / "out.json").read_text())["entries"]) == 2
        await pilot.press("X")
        app.screen.query_one(Input).value = str(world.project / "one.md")
        await pilot.press("enter")
        assert (world.project / "one.md").read_text().count("### ") == 1
        await pilot.press("home", "space", "space", "space", "d")
        assert titles(app) == [] or world.day().read_text().count("### ") == 0
        await pilot.press("u")
        assert world.day().read_text().count("### ") == 3

    drive(app, steps)


def test_filters_by_key_are_words_of_the_query(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("f")
        await settled(pilot)
        box = app.screen.query_one(Input)
        assert box.value == "agent:claude-code" and len(titles(app)) == 4
        await pilot.press("F")
        assert box.value == "agent:claude-code project:*"
        await pilot.press("F", "f")
        assert box.value == "" and len(titles(app)) == 4

    drive(app, steps)


def test_filters_are_completed_while_typing(world):
    import asyncio

    library = Library(Memory(str(world.project), home=world.home))
    library.list_days()
    suggest = FilterSuggester(library)

    def complete(text: str) -> str | None:
        return asyncio.run(suggest.get_suggestion(text))

    assert complete("redis ag") == "redis agent:" and complete("agent:cod") == "agent:codex"
    assert complete("-agent:op") == "-agent:opencode" and complete("x after:7") == "x after:7d"
    assert complete("project:sh") == "project:shop" and complete("is:") == "is:pinned"
    assert complete("redis") is None and complete("agent:codex") is None and complete("") is None


def test_projects_can_be_walked_between(world, tmp_path):
    other = tmp_path / "api"
    memory = other / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    (memory / "2026-03-01.md").write_text("# 2026-03-01\n\n### 10:00\n- The other project\n")
    Memory(str(other), home=world.home).project  # noqa: B018 - registers it
    app = world.app()

    async def steps(pilot):
        await pilot.press("f2")
        assert isinstance(app.screen, ProjectsScreen)
        await pilot.press("enter")
        await pilot.pause()
        assert titles(app) == ["The other project"]
        await pilot.press("f2", "F")
        await pilot.pause()
        assert (
            app.library.memory.everything
            and "2026-02-09" in app.screen.state.timeline.counts
            and "2026-03-01" in app.screen.state.timeline.counts
        )
        await pilot.press("f2", "escape")
        assert app.library.memory.everything

    drive(app, steps)


@pytest.mark.slow
def test_the_rail_leads_to_what_it_names_and_goes_with_the_project(world, tmp_path, monkeypatch):
    other = tmp_path / "api" / ".memsearch" / "memory"
    other.mkdir(parents=True)
    (other / "2026-03-01.md").write_text("# 2026-03-01\n\n### 10:00\n- The other project\n")
    Memory(str(tmp_path / "api"), home=world.home).project  # noqa: B018 - registers it
    library = Library(Memory(str(world.project), home=world.home))
    library.list_days()
    (pinned,) = library.days.notes("2026-02-08")
    known = [
        HeaderState(
            {"codex": 1.0},
            [],
            2,
            [("claude-code", 3, "2026-02-09 15:00"), ("", 1, "2026-02-08 09:00")],
            [pinned],
            served=True,
        )
    ]
    monkeypatch.setattr(
        MemoryStatus,
        "header",
        lambda self: known[0] if self._memory.project.name == "shop" else HeaderState(),
    )
    app = world.app()

    async def steps(pilot):
        while not app.screen.state.standing.served:
            await pilot.pause()
        browse = app.screen
        assert [key for key in browse.panes.places.keys if key[0]] == [
            ("agent", "claude-code"),
            ("agent", ""),
            ("pin", pinned.entry_id),
        ]
        browse.panes.places.focus()
        await pilot.press("end", "enter")
        assert browse.state.item.key == pinned.key and browse.state.level == "section"
        browse.panes.places.focus()
        await pilot.press("up", "up", "enter")
        await settled(pilot)
        assert browse.state.query == "agent:claude-code" and len(titles(app)) == 4
        await pilot.press("escape", "f2", "enter")
        await pilot.pause()
        assert titles(app) == ["The other project"] and not browse.panes.places.keys

    drive(app, steps, (200, 60))


@pytest.mark.slow
def test_activity_teaches_when_nothing_is_captured_and_counts_what_is(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("f4")
        await settled(pilot)
        assert isinstance(app.screen, ActivityScreen)
        assert "c connects an agent, and imports its old sessions" in seen(app)
        await pilot.press("ctrl+r")
        await settled(pilot)
        await pilot.press("f3")
        await settled(pilot)
        rows = ["".join(text for text, _ in line.row) for line in app.screen.lines]
        assert any(row.startswith("index") for row in rows)
        await pilot.press("escape")
        assert app.screen is app.screen_stack[-1] and titles(app)

    drive(app, steps)


@pytest.mark.slow
def test_help_opens_over_health_and_activity_with_their_keys_and_not_over_itself(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("f4", "question_mark", "question_mark")
        await pilot.pause()
        keys = seen(app)
        assert isinstance(app.screen, HelpScreen) and keys.index("Here") < keys.index(
            "Read again"
        ) < keys.index("Moving")
        await pilot.press("escape")
        assert isinstance(app.screen, ActivityScreen)
        await pilot.press("f3", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape", "escape")
        await settled(pilot)
        assert titles(app)

    drive(app, steps, (120, 80))


def test_what_is_read_for_a_screen_that_was_left_meanwhile_harms_nothing(world):
    app = world.app()

    async def steps(pilot):
        for key in ("f3", "f4"):
            await pilot.press(key)
            screen = app.screen
            assert isinstance(screen, RowsScreen)
            await pilot.press("escape")
            await settled(pilot)
            assert not screen.is_running
            await screen.reload()
        assert titles(app)

    drive(app, steps, (120, 40))


def test_a_read_that_takes_long_is_the_only_one_and_is_shown_when_it_is_done(world):
    app, let, begun = world.app(), threading.Event(), []

    def read():
        begun.append(threading.current_thread())
        assert let.wait(20)
        return [Line("1", [(f"read {len(begun)}", "text")], [[(f"read {len(begun)}", "text")]])]

    async def steps(pilot):
        screen = RowsScreen(read, live=False)
        await app.push_screen(screen)
        for _ in range(5):
            screen._again()
            await pilot.pause()
        assert len(begun) == 1
        let.set()
        await app.workers.wait_for_complete()
        assert "read 1" in seen(app)
        screen._again()
        await until(pilot, lambda: "read 2" in seen(app))

    drive(app, steps)


def test_failures_are_tried_again_from_activity(world, monkeypatch):
    app = world.app()
    asked, failures = [], list(ACTIVITY["failures"])
    state = {**ACTIVITY, "failures": failures}
    app.library.status.activity = lambda: state

    def retry() -> int:
        asked.append(True)
        if len(asked) > 2:
            raise UsageError("the inbox [is] locked")
        return 2 if len(asked) == 1 else 0

    monkeypatch.setattr(type(app.library.memory.capture), "retry", lambda self: retry())

    async def steps(pilot):
        await pilot.press("f4")
        await settled(pilot)
        assert ("^r", "Redo what failed") in app.screen.query_one(Keys).named
        await pilot.press("ctrl+r")
        await settled(pilot)
        assert str(app.screen.query_one("#status").content) == "2 failures tried again"
        await pilot.press("ctrl+r")
        await settled(pilot)
        assert str(app.screen.query_one("#status").content) == "nothing has failed"
        await pilot.press("ctrl+r")
        await settled(pilot)
        assert str(app.screen.query_one("#status").content) == "the inbox [is] locked"
        failures.clear()
        await pilot.press("r")
        await settled(pilot)
        assert "^r" not in dict(app.screen.query_one(Keys).named)
        state["set_aside"] = 1
        await pilot.press("r")
        await settled(pilot)
        assert "^r" in dict(app.screen.query_one(Keys).named)

    drive(app, steps)


SECRET = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
ALIKE = (
    "- User asked how the importer retries\n"
    "- Agent set five retries with backoff and a test for them\n"
)


def reviewed(world) -> MemsearchApp:
    """Something of every kind: a proposal, a note from outside, junk, a repetition, a secret."""
    memory = Memory(str(world.project), home=world.home)
    entry = memory.files.read(memory.days()[0])[0]
    memory._scope.journal.mark(
        str(world.memory), Target(str(world.day()), entry.id), "trust", "outside"
    )
    world.day("2026-02-10").write_text(
        f"# 2026-02-10\n\n### 09:00\n- the key is {SECRET}\n\n### 09:10\n"
        f"- API Error: 529 overloaded\n\n### 09:20\n{ALIKE}\n### 09:30\n{ALIKE}"
    )
    memory._scope.journal.origin.trust(str(world.memory))
    hunk = Hunk(
        1, "MEMORY.md", "## Everywhere", [], [], ["- British English [mem:aaaaaaaa]"], ["aaaaaaaa"]
    )
    propose(world.home, Proposal(1.0, [hunk]))
    return world.app()


def kinds(app: MemsearchApp) -> list[str]:
    return [case.kind for case in app.screen._cases.values()]


def test_review_carries_out_what_the_owner_says(world):
    app = reviewed(world)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        assert isinstance(app.screen, ReviewScreen) and kinds(app) == [
            "longterm",
            "held",
            "repair",
            "repair",
        ]
        assert "British English" in seen(app)
        await pilot.press("a")
        await settled(pilot)
        assert (
            "British English" in (world.home.longterm / "MEMORY.md").read_text()
            and kinds(app)[0] == "held"
        )
        await pilot.press("ctrl+a")  # outside content is not released with its group
        await settled(pilot)
        assert isinstance(app.screen, ReviewScreen) and kinds(app)[0] == "held"
        assert "one by one" in str(app.screen.query_one("#status").content)
        await pilot.press("a")
        await settled(pilot)
        assert "<!-- trust:released -->" in world.day().read_text() and kinds(app) == [
            "repair",
            "repair",
        ]
        await pilot.press("a")
        await settled(pilot)
        assert "529" not in world.day("2026-02-10").read_text()
        await pilot.press("a")
        await settled(pilot)
        assert world.day("2026-02-10").read_text().count("importer") == 1 and kinds(app) == []
        await pilot.press("u")
        await settled(pilot)
        assert world.day("2026-02-10").read_text().count("importer") == 2 and kinds(app) == [
            "repair"
        ]
        await pilot.press("x")
        await settled(pilot)
        assert kinds(app) == [] and "Nothing waits for a decision" in seen(app)

    drive(app, steps)


def test_the_last_line_of_review_has_the_keys_of_the_case(world):
    app, entry = reviewed(world), "an entry that is gone"
    drafts.save(world.home, drafts.EditDraft(str(world.day()), entry, "a draft", "typed"))

    def named() -> set[str]:
        return {words for _, words in app.screen.query_one(Keys).named}

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        assert kinds(app)[0] == "draft"
        await until(pilot, lambda: {"Accept", "Edit"}.isdisjoint(named()) and "Reject" in named())
        await pilot.press("a", "e", "down")
        assert kinds(app)[:2] == ["draft", "longterm"]
        await until(pilot, lambda: named() >= {"Accept", "Edit", "Reject"})

    drive(app, steps)


def test_review_shows_each_kind_when_it_is_read_and_keys_work_meanwhile(world, monkeypatch):
    app, may_go_on = reviewed(world), threading.Event()
    repairs = _SOURCES["repair"]
    monkeypatch.setitem(_SOURCES, "repair", lambda memory: may_go_on.wait(60) and repairs(memory))

    async def steps(pilot):
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ReviewScreen) and len(kinds(app)) == 2)
        assert kinds(app) == ["longterm", "held"] and "British English" in seen(app)
        await until(pilot, lambda: len(app.screen._read_kinds) == 6)
        await pilot.press("down")
        assert app.screen.case.kind == "held"
        await pilot.press("escape")
        assert not isinstance(app.screen, ReviewScreen)
        await pilot.press("f5")  # what it showed is there, and is read again
        assert isinstance(app.screen, ReviewScreen) and kinds(app) == ["longterm", "held"]
        assert app.screen.case.kind == "held" and "reading" in str(app.screen._list.border_subtitle)
        may_go_on.set()
        await settled(pilot)
        assert kinds(app) == ["longterm", "held", "repair", "repair"]
        assert "reading" not in str(app.screen._list.border_subtitle)

    drive(app, steps)


def test_a_case_that_was_decided_while_it_was_read_stays_decided(world, monkeypatch):
    app, is_read, may_go_on = reviewed(world), threading.Event(), threading.Event()
    held, waits = _SOURCES["held"], list[bool]()

    def read(memory):
        found = held(memory)
        is_read.set()
        assert not waits or may_go_on.wait(60)
        return found

    monkeypatch.setitem(_SOURCES, "held", read)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        await pilot.press("down", "escape")
        is_read.clear()
        waits.append(True)
        await pilot.press("f5")
        await until(pilot, is_read.is_set)
        assert app.screen.case.kind == "held"
        await pilot.press("a")
        await until(pilot, lambda: "held" not in kinds(app))
        may_go_on.set()
        await settled(pilot)
        assert kinds(app) == ["longterm", "repair", "repair"]

    drive(app, steps)


def test_a_case_that_vanishes_under_the_cursor_gives_its_keys_to_no_other(world, monkeypatch):
    app, vanished = reviewed(world), set[str]()
    held = _SOURCES["held"]
    monkeypatch.setitem(
        _SOURCES, "held", lambda memory: [c for c in held(memory) if c.key not in vanished]
    )

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        await pilot.press("down")
        here = app.screen.case
        assert here.kind == "held"
        vanished.add(here.key)
        await pilot.press("r")
        await settled(pilot)
        assert app.screen.case == here and "decided or changed elsewhere" in seen(app)
        await pilot.press("a", "x", "ctrl+x", "enter")
        await settled(pilot)
        assert isinstance(app.screen, ReviewScreen) and app.screen.case == here
        assert kinds(app) == ["longterm", "held", "repair", "repair"]
        await pilot.press("down")
        await settled(pilot)
        assert app.screen.case.kind == "repair"
        assert kinds(app) == ["longterm", "repair", "repair"] and "elsewhere" not in seen(app)

    drive(app, steps)


def test_review_that_was_not_read_does_not_say_that_nothing_waits(world, monkeypatch):
    app, broken = world.app(), list[bool]([True])

    def read(memory):
        if broken:
            raise Conflict("the store is locked")
        return []

    monkeypatch.setitem(_SOURCES, "held", read)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        assert app.screen._list.empty == ["not read · r reads it"]
        broken.clear()
        await pilot.press("r")
        await settled(pilot)
        assert app.screen._list.empty[0] == "Nothing waits for a decision."

    drive(app, steps)


def test_a_draft_that_has_gone_on_is_not_dropped(world):
    entry = "an entry that is gone"
    draft = drafts.EditDraft(str(world.day()), entry, "a draft", "typed")
    drafts.save(world.home, draft)
    app = reviewed(world)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        assert kinds(app)[0] == "draft" and app.screen.case.kind == "draft"
        drafts.save(world.home, newer := msgspec.structs.replace(draft, text="typed on"))
        await pilot.press("x")
        await settled(pilot)
        assert drafts.load(world.home, draft.path, entry) == newer and kinds(app)[0] == "draft"
        await pilot.press("x")
        await settled(pilot)
        assert drafts.every(world.home) == [] and "draft" not in kinds(app)
        await pilot.press("u")
        await settled(pilot)
        assert drafts.every(world.home) == [newer]

    drive(app, steps)


@pytest.mark.slow
def test_review_changes_words_rejects_and_forgets(world):
    app = reviewed(world)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        await pilot.press("e", "end", *" always", "enter")
        await settled(pilot)
        assert (
            "British English [mem:aaaaaaaa] always"
            in (world.home.longterm / "MEMORY.md").read_text()
        )
        before = world.day().read_text()
        await pilot.press("x")
        await settled(pilot)
        assert len(world.day().read_text()) < len(before) and kinds(app) == ["repair", "repair"]

    drive(app, steps)


@pytest.mark.slow
def test_review_takes_a_secret_out_or_lets_it_be(world):
    app = reviewed(world)

    async def steps(pilot):
        await pilot.press("f5")
        await settled(pilot)
        await pilot.press("exclamation_mark")
        await settled(pilot)
        assert "secret" in kinds(app) and SECRET not in seen(app)
        secret = next(key for key, case in app.screen._cases.items() if case.kind == "secret")
        app.screen._list.move_to(app.screen._list.keys.index(secret))
        await pilot.press("a", *"no", "enter")
        await settled(pilot)
        assert SECRET in world.day("2026-02-10").read_text()
        await pilot.press("a", *"yes", "enter")
        await settled(pilot)
        assert "[REDACTED:github-token:" in world.day(
            "2026-02-10"
        ).read_text() and "secret" not in kinds(app)

    drive(app, steps)


def test_resuming_names_only_what_an_anchor_may_name(world):
    library = Library(Memory(str(world.project), home=world.home))
    library.list_days()
    entry = library.notes.entry(library.days.notes("2026-02-09")[0])
    argv, folder = library.notes.resume(entry)
    assert argv == ["claude", "--resume", "11111111-1111-4111-8111-111111111111"] and folder == "/p"
    world.day("2026-02-11").write_text(
        "### 10:00\n<!-- agent:codex session:--dangerous turn:t rollout:/x -->\n- x\n"
    )
    library.list_days()
    assert library.notes.resume(library.notes.entry(library.days.notes("2026-02-11")[0])) == (
        [],
        "",
    )


@pytest.mark.slow
def test_the_app_opens_without_a_service_and_says_so(world, monkeypatch):
    monkeypatch.setenv("MEMSEARCH_HOME", str(world.home.root))
    world.home.run.chmod(0o500)
    app = MemsearchApp(Library(Memory(str(world.project), home=world.home)), live=False)

    async def steps(pilot):
        assert len(titles(app)) == 4
        await pilot.press("f3")
        await settled(pilot)
        assert seen(app)

    try:
        drive(app, steps)
    finally:
        world.home.run.chmod(0o700)


def test_a_note_says_what_has_superseded_it(world):
    memory = Memory(str(world.project), home=world.home)
    with contextlib.closing(Catalog(world.home.cache_db, writable=True)) as catalog:
        scan(
            catalog,
            memory.project.id,
            [memory.project.memory],
            Settings(),
            memory=memory.project.memory,
        )
        newer, older = (
            next(iter(note.id for note in memory.entries(file.day))) for file in memory.days()[:2]
        )
        catalog.links.put(
            [*catalog.by_entry(older), *catalog.by_entry(newer)],
            "s",
            [Link(memory.project.id, older, newer, 0.9, [])],
        )
    app = world.app()

    async def steps(pilot):
        for key, words in (("end", "superseded by"), ("home", "supersedes ")):
            await pilot.press(key)
            while app.screen.state.item.entry_id not in (older, newer):
                await pilot.press("up" if key == "end" else "down")
            await settled(pilot)
            assert words in shown(app)

    drive(app, steps)


def test_undo_stands_on_what_it_brought_back(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("down")
        gone = app.screen.state.item.key
        await pilot.press("d", "u")
        await settled(pilot)
        assert app.screen.state.item.key == gone

    drive(app, steps)


def test_the_lines_of_help_keep_their_indent_in_a_narrow_terminal(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        view = app.screen.query_one(TextView)
        lines = ["".join(text for text, _ in line).rstrip() for line in view._wrapped]
        assert max(map(len, lines)) < 60
        place = next(n for n, line in enumerate(lines) if "in the editor: leaves it" in line)
        assert lines[place + 1].startswith("        ") and lines[place + 1].strip()
        place = next(n for n, line in enumerate(lines) if "search by words answers" in line)
        assert lines[place + 1].startswith("  ")

    drive(app, steps, (60, 20))
