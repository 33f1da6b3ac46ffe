"""Filters alone narrow the timeline: all notes that they admit, under their days, however many."""

from __future__ import annotations

import pytest
from memsearch_engine import Answer, Memory, UsageError, parse_query

from memsearch_tui.library import Library
from memsearch_tui.library.rows import has_only_filters
from memsearch_tui.screens.browse.search import _remarks
from memsearch_tui.timeline import Timeline
from tests.tui.test_flows import drive, settled, titles


@pytest.fixture
def many(world):
    """A hundred notes on fifty days, every other one pinned."""
    for number in range(100):
        day = f"2025-{number // 50 + 1:02d}-{number // 2 % 25 + 1:02d}"
        pin = "<!-- pin -->\n" if number % 2 else ""
        with (world.memory / f"{day}.md").open("a") as out:
            out.write(f"### {8 + number % 2:02d}:00\n{pin}- note {number} of the year\n\n")
    return world


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.slow
def test_a_filter_shows_all_that_it_admits(many, indexed):
    app = many.app()
    if indexed:
        app.library.memory.index()

    async def steps(pilot):
        screen = app.screen
        await pilot.press("slash", *"is:pinned after:2025-01-01 before:2025-12-31", "enter")
        await settled(pilot)
        assert isinstance(screen.state.shown, Timeline) and len(titles(app)) == 50
        assert sum(screen.panes.strip._counts.values()) == 50
        assert screen.panes.entries.border_title == "50 notes"
        assert screen.state.item.day == "2025-02-25"
        await pilot.press("right_square_bracket")
        await settled(pilot)
        assert screen.state.item.day == "2025-02-24"
        await pilot.press("d")
        await settled(pilot)
        assert len(titles(app)) == 49
        await pilot.press("u")
        await settled(pilot)
        assert len(titles(app)) == 50 and screen.state.item.day == "2025-02-24"
        await pilot.press("escape")
        await settled(pilot)
        assert len(titles(app)) == 104

    drive(app, steps)


def test_other_projects_are_listed_where_they_are_asked_for(many, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with Memory(str(other), home=many.home) as memory:
        memory.add("From elsewhere", day="2025-03-03")
    app = many.app()

    async def steps(pilot):
        await pilot.press("F")
        await settled(pilot)
        assert "From elsewhere" in titles(app) and len(titles(app)) == 105
        rows = [
            app.screen.rows.row(
                app.screen.panes.entries.keys[place], 44, app.screen.panes.entries.tall
            )
            for place in range(len(app.screen.panes.entries.keys))
        ]
        assert any(("other ", "accent") in row for row in rows)
        while app.screen.state.item.title != "From elsewhere":
            await pilot.press("j")
        await settled(pilot)
        assert "From elsewhere" in app.screen.panes.reader.text()

    drive(app, steps)


def test_what_is_no_plain_filter_is_searched(many):
    library = Library(Memory(str(many.project), home=many.home))
    assert has_only_filters("agent:codex after:7d -draft") and has_only_filters(
        "project:* is:pinned"
    )
    assert not any(
        map(has_only_filters, ("redis agent:codex", "agnt:codex", "as-of:2026-01-01", "kind:fact"))
    )
    with pytest.raises(UsageError):
        library.narrowed("project:nowhere")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["agnt:codex", "agnet:codex", "afer:7d", "porject:x", "kidn:note"])
def test_a_mistyped_filter_is_named_and_its_value_is_no_mistyped_word(many, word):
    with Memory(str(many.project), home=many.home) as memory:
        memory.add("The code of the year")
        memory.index()
        answer = memory.queries.lexical(f"{word} year")
        assert f"{word} is no filter (did you mean " in answer.reason
        assert not answer.corrected


@pytest.mark.slow
def test_what_is_to_be_said_of_a_query_is_said_in_full_once_typing_rests(many):
    app = many.app()
    app.library.memory.index()

    async def steps(pilot):
        said = app.screen.query_one("#status")
        await pilot.press("slash", *"agnt:codex xqzzyv blarg frobnicate")
        await settled(pilot)
        text = str(said.content)
        assert "did you mean agent: ?" in text and "frobnicate" in text and "blarg" in text
        await pilot.press("escape")
        await settled(pilot)
        assert not str(said.content)

    drive(app, steps)


@pytest.mark.slow
def test_what_was_wrong_with_the_service_is_no_longer_said_beside_its_hits(many, monkeypatch):
    app = many.app()

    def answered(query: str, limit: int) -> Answer:
        return Answer("hybrid", [])

    monkeypatch.setattr(app.library.memory, "search", answered)

    async def steps(pilot):
        app.screen.desk.status.set_service("words only: it does not answer")
        assert "words only" in str(app.screen.query_one("#status").content)
        await pilot.press("slash", *"year")
        await settled(pilot)
        assert not str(app.screen.query_one("#status").content)

    drive(app, steps)


def test_a_value_that_no_filter_has_is_named_once_and_first():
    remark = parse_query("agent:nobody").remark
    assert _remarks(Answer("hybrid", [], remark, absent=["nobody"]), "is:x nobody") == (
        "agent:nobody is no filter (claude-code, codex, opencode, openclaw, qwen, gemini, pi, "
        "copilot, …): searched as text"
    )


def test_a_query_of_filters_is_not_answered_by_words_only():
    answer = Answer("lexical", [])
    assert _remarks(answer, "as-of:2026-02-09 kind:memory") == ""
    assert _remarks(answer, "as-of:2026-02-09 redis") == "words only"
