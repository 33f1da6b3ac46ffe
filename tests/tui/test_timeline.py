"""The list of all notes: places, days, and that it shows what the files have, indexed or not."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, timedelta
from itertools import pairwise

import msgspec
import pytest
from memsearch_engine import Memory
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.service.engine import Engine
from textual.geometry import Size

from memsearch_tui.counted import when
from memsearch_tui.library import HeaderState, Item, Library
from memsearch_tui.screens.browse.rows import EntryRows, column_day
from memsearch_tui.screens.browse.state import BrowseState
from memsearch_tui.timeline import Hits, Timeline
from memsearch_tui.widgets.bars import parts
from memsearch_tui.widgets.calendar import WEEKS, Calendar
from memsearch_tui.widgets.render import other_lines, snippet


@pytest.fixture
def library(world):
    return Library(Memory(str(world.project), home=world.home))


def test_notes_are_listed_newest_first_and_the_first_of_a_day_names_it(library):
    rows = Timeline(library)
    assert [rows.item(key).time for key in rows] == ["15:00", "14:45", "14:30", "09:00"]
    assert [rows.index(key) for key in rows] == list(range(4)) and rows.total == 4
    assert [rows.day_at(place) for place in range(4)] == ["2026-02-09"] * 3 + ["2026-02-08"]
    assert [rows.begins_day(key) for key in rows] == [True, False, False, True]
    assert [
        rows.start(day) for day in ("2026-02-10", "2026-02-09", "2026-02-08", "2020-01-01")
    ] == [0, 0, 3, 3]
    assert [rows.other_day(row, step) for row, step in ((1, 1), (3, -1), (1, -1), (3, 1))] == [
        3,
        0,
        0,
        3,
    ]
    assert ("x", "y") not in rows and rows.item(("", "2026-02-09")) is None


@pytest.mark.parametrize(
    ("width", "begin"),
    [
        (90, ["Mon 9 Feb  15:00 ", "           14:45 ", "           14:30 ", "Sun 8 Feb  09:00 "]),
        (50, ["Mon 9 Feb  ", "     14:45 ", "     14:30 ", "Sun 8 Feb  "]),
    ],
)
def test_a_day_takes_no_row_of_its_own(library, width, begin):
    state = BrowseState(library)
    state.timeline = state.shown = Timeline(library)
    rows = EntryRows(state)
    drawn = ["".join(text for text, _ in rows.row(key, width)) for key in state.shown]
    assert [row[: len(start)] for row, start in zip(drawn, begin)] == begin


def test_a_day_is_named_in_ten_cells():
    days = ("2026-02-09", "2026-02-08", "2026-02-07", "2025-12-24", "someday")
    assert [column_day(day, "2026-02-09") for day in days] == [
        "Today",
        "Yesterday",
        "Sat 7 Feb",
        "24 Dec 25",
        "someday",
    ]


def test_only_days_that_are_looked_at_are_read(library, monkeypatch):
    read = []
    notes = library.days.notes
    monkeypatch.setattr(library.days, "notes", lambda name: (read.append(name), notes(name))[1])
    rows = Timeline(library)
    assert rows[3] and read == ["2026-02-08"]


def test_a_day_with_another_number_of_notes_than_was_known_moves_what_comes_after_it(
    library, world
):
    """Headings in a fence are counted, as a file that is not indexed is not parsed for a number."""
    world.day("2026-02-10").write_text("# 2026-02-10\n\n### 10:00\n- a\n\n```\n### no entry\n```\n")
    injected = []
    rows = Timeline(library, lambda: injected.append(1))
    assert len(rows) == 6 and rows.item(rows[2]).day == "2026-02-09"
    assert rows[1] == ("", "") and injected == [1]
    rows.settle()
    assert len(rows) == 5 and rows.item(rows[1]).day == "2026-02-09"


def test_an_indexed_file_is_listed_as_one_that_is_not(library, world):
    world.day("2026-02-07").write_text(
        "# 2026-02-07\n\n### 10:00\n- " + "long " * 100 + "\n\nfree words\n\n## A heading\n\ntext\n"
    )
    before = {day: library.days.notes(day) for day, _ in library.list_days()}
    engine = Engine(world.home)
    try:
        place = library.memory._scope.place_param
        (result,) = engine.handlers["index"](_Call(), place=place)
        assert not result.failed
    finally:
        engine.close()
    indexed = Library(Memory(str(world.project), home=world.home))
    assert isinstance(indexed.memory._scope.catalog, Catalog)
    assert dict(indexed.list_days()) == {day: len(items) for day, items in before.items()}
    read = indexed.memory.files.read
    indexed.memory.files.read = lambda file: pytest.fail("read from the file")  # type: ignore[method-assign]
    assert {day: indexed.days.notes(day) for day in before} == before
    indexed.memory.files.read = read  # type: ignore[method-assign]
    assert all(
        item.shows(indexed.notes.entry(item)) for day in before for item in indexed.days.notes(day)
    )
    world.day("2026-02-07").write_text("# 2026-02-07\n\n### 11:00\n- other\n")
    indexed.list_days()
    assert [item.title for item in indexed.days.notes("2026-02-07")] == ["other"]


class _Call:
    def cancelled(self) -> bool:
        return False

    def progress(self, *_: object, **__: object) -> None: ...


def _hit(name: str, **more) -> Item:
    return Item(name, "p", "2026-02-09", "", "", name, {}, **more)


def test_a_heading_stands_where_hits_are_only_faintly_alike():
    assert list(Hits([_hit("a"), _hit("b", doubtful=True)])) == [("p", "a"), Hits.FAINT, ("p", "b")]
    folded = Hits([_hit("a"), _hit("b", doubtful=True)], unfolded=False)
    assert sum(folded.days.values()) == 1, "the calendar counts what is listed"
    assert list(folded) == [("p", "a"), Hits.FOLD] and folded.folded == 1
    assert list(Hits([_hit("a", doubtful=True), _hit("b")])) == [("p", "a"), ("p", "b")]
    assert list(Hits([_hit("a", doubtful=True)])) == [("p", "a")] and not Hits([])
    assert list(Hits([_hit("a"), _hit("b")]).without({("p", "a")})) == [("p", "b")]


@pytest.mark.parametrize("today", ["2026-02-10", "2026-02-08", "2026-02-09"])
def test_a_calendar_has_53_weeks_and_the_day_that_it_stands_on(today):
    calendar = Calendar()
    calendar.show({"2026-02-08": 3, "2020-05-05": 1, "no date": 4}, today)
    end = date.fromisoformat(today)
    for back in range(0, 3000, 5):
        day = end - timedelta(days=back)
        calendar.mark(day.isoformat())
        first = calendar._first
        assert first.weekday() == 0 and first <= day < first + timedelta(weeks=WEEKS)
        assert (
            end - first
        ).days // 7 % WEEKS == WEEKS - 1  # whole years of weeks, so that it does not slide about


class Sized(Calendar):
    size = Size(108, 2)  # that of a strip; a calendar has none before it is laid out


def test_a_strip_names_every_month_and_its_tone_changes_with_the_month():
    strip = Sized()
    today = date(2026, 2, 9)
    days = [(today - timedelta(days=n)).isoformat() for n in range(360)]
    strip.show(dict.fromkeys(days, 1), today.isoformat())
    ((names, _),) = strip._months()
    assert names.split() == "Mar Apr May Jun Jul Aug Sep Oct Nov Dec Jan ’26 Feb".split()
    tones = [tone for _, tone in strip._bars()]
    changes = sum(one != other for one, other in pairwise(tones))
    assert set(tones) >= {"heat1", "heat3"} and changes <= 13


def test_a_month_begins_on_a_line_of_its_own_in_a_calendar_of_weeks(monkeypatch):
    monkeypatch.setattr(Sized, "size", Size(36, 12))
    calendar = Sized()
    calendar.show({"2026-01-02": 1}, "2026-02-09")
    lines = ["".join(text for text, _ in calendar._week(y)) for y in range(12)]
    assert [line[:6].strip() for line in lines[1:10]] == [
        *("Dec", "", "Jan", "2026", "", "", "", "Feb", ""),
    ]
    assert lines[2].split() == ["29", "30", "31"] and lines[3].split() == [
        "Jan",
        "1",
        "2▂",
        "3",
        "4",
    ]
    assert lines[-1].startswith(" Mon 9 Feb 2026 · 0 notes")
    assert calendar.day_at(5 + 4 * 4, 3) == date(2026, 1, 2)
    assert calendar.day_at(5 + 4 * 4, 2) is None is calendar.day_at(5 + 4 * 4, 0)
    monkeypatch.setattr(Sized, "size", Size(36, 4))
    lines = ["".join(text for text, _ in calendar._week(y)).split() for y in range(4)]
    assert lines[1:] == [["Feb", "9"], [], ["Mon", "9", "Feb", "2026", "·", "0", "notes"]]


def test_a_calendar_that_begins_on_a_monday_names_its_year_once(monkeypatch):
    monkeypatch.setattr(Sized, "size", Size(36, 12))
    calendar = Sized()
    calendar.show({}, "2024-02-25")
    assert calendar._first == date(2024, 1, 1)
    names = ["".join(text for text, _ in calendar._week(y))[:6].strip() for y in range(1, 6)]
    assert names == ["Jan", "2024", "", "", ""]


def test_one_busy_week_leaves_the_others_their_heights():
    strip = Sized()
    today = date(2026, 2, 9)
    counts = [200, 2, 4, 8, 16]
    strip.show(
        {(today - timedelta(weeks=n)).isoformat(): count for n, count in enumerate(counts)},
        today.isoformat(),
    )
    bars = [sign[0] for sign, _ in strip._bars()[::-1] if sign[0] != "·"]
    assert bars == ["█", "▁", "▂", "▂", "▃"]


def test_conversations_with_only_faint_hits_are_folded():
    sure = Item("1", "a.md", "2026-02-10", "10:00", "codex", "a note", {}, session="one")
    beside = msgspec.structs.replace(sure, entry_id="2", doubtful=True)
    faint = msgspec.structs.replace(sure, entry_id="3", doubtful=True, session="two")
    hits = Hits([sure, beside, faint], by_session=True, unfolded=False)
    assert [key[1] for key in hits] == ["conversation 0", "1", "2", "faint"]
    assert hits.folded == 1 and hits[-1] == Hits.FOLD
    assert len(Hits([sure, beside, faint], by_session=True)) == 5
    assert Hits.FOLD not in Hits([faint], by_session=True, unfolded=False)


def test_the_header_says_what_is_wrong_before_what_is_fine():
    def said(now: HeaderState) -> str:
        return "|".join(
            "".join(text for text, _ in row)
            for row, _ in parts("shop", 1204, 1210, now, "2026-02-09")
        )

    agents = [("codex", 3, "2026-02-09 14:31"), ("", 9, "2026-02-09 15:00")]
    head = "shop   1,204 notes · 1,210 days"
    assert said(HeaderState()) == head
    here = HeaderState({"codex": 1.0}, [], 1, agents, served=True, connected=["codex"])
    assert said(here) == f"{head}|f5 1 to decide|● 1 agent, last 14:31"
    alarm = (
        "codex: 2 turns are not in memory: capture has stopped (`memsearch plugins status codex`)"
    )
    assert "|f4 codex: 2 turns are not in memory" in said(
        HeaderState({"codex": 1.0}, [alarm], 0, agents)
    )
    # captured once, but nothing is installed any more: not green
    gone = HeaderState({"codex": 1.0}, [], 0, agents, served=True)
    assert said(gone) == f"{head}|c no agent connected"
    assert [
        when(f"{day} 10:00", "2026-02-09") for day in ("2026-02-09", "2026-02-07", "2026-01-09")
    ] == [
        "10:00",
        "Sat 10:00",
        "2026-01-09",
    ]


def test_a_snippet_is_the_line_that_was_found_with_its_words_in_sight():
    text = (
        "## 10:00\n- The importer is fast\n- "
        + "and so on " * 20
        + "it retries five times in the end"
    )
    assert snippet("The importer is fast", text, ["importer"], 40) == "The importer is fast"
    cut = snippet("The importer is fast", text, ["retries"], 40)
    assert cut.startswith("…") and "retries five times" in cut[:40] and cut.endswith("in the end")
    assert snippet("Title", text, [], 40) == "Title"
    values = "- Raised the pool\n- Moved `cache_token` to 62"
    assert "cache_token" in snippet("Raised the pool", values, ["raised", "cache_token"], 40)


def test_who_walks_through_years_does_not_carry_them_along(world, monkeypatch):
    for number in range(200):
        day = date(2020, 1, 1) + timedelta(days=number)
        (world.memory / f"{day}.md").write_text("### 09:00\n- a\n\n" * 30)
    timeline = Timeline(Library(Memory(str(world.project), home=world.home)))
    for row in range(0, len(timeline), 30):
        assert timeline[row][0]
        timeline.forget_far(row)
        assert timeline.item(timeline[row]) is not None
    assert len(timeline._days) < 80
    first = timeline[0]
    assert timeline.index(first) == 0 and timeline.item(first).title  # it is read again


def test_the_second_line_of_a_short_hit_has_the_other_lines_of_its_part():
    text = "### 10:00\n<!-- session:1 -->\n- Raised the TTL\n- Ran the tests\n\n- Pushed it"
    assert other_lines(text, "Raised the TTL") == "Ran the tests · Pushed it"
    assert other_lines("- Raised the TTL", "Raised the TTL") == ""


@pytest.mark.parametrize(
    ("counts", "heights"),
    [
        ([1, 1, 1, 1], 1),
        ([1, 2], 2),
        ([1, 2, 3, 4], 4),
        ([1] * 150 + [2] * 30 + [3] * 15 + [60], 4),
        (list(range(40, 140)), 4),
        ([0, 0], 0),
    ],
)
def test_days_have_as_many_heights_as_their_counts_allow(counts, heights):
    calendar = Calendar()
    today = date(2026, 2, 9)
    calendar.show(
        {(today - timedelta(days=n)).isoformat(): count for n, count in enumerate(counts)},
        today.isoformat(),
    )
    shades = {calendar._shade(today - timedelta(days=n)) for n in range(-1, 371)}
    assert len(shades - {0}) == heights and shades <= set(range(5))


def test_the_rows_of_the_first_frame_load_nothing_that_only_review_needs(world):
    """Compiling its patterns took a tenth of the app's start."""
    code = (
        "import sys; from memsearch_engine import Memory;"
        "from memsearch_tui.library import Library;"
        "from memsearch_tui.timeline import Timeline;"
        "timeline = Timeline(Library(Memory(sys.argv[1])), near='2026-02-09'); assert timeline[0];"
        "print({f'memsearch_engine.journal.{name}' for name in ('instructions', 'junk')}"
        " & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(world.project)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"
