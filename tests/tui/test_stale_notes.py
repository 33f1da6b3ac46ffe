"""The home screen on notes whose repository has moved on, and as of a day."""

from __future__ import annotations

import asyncio

import pytest
from memsearch_engine import Memory

from memsearch_tui.app import MemsearchApp
from memsearch_tui.library import Library
from memsearch_tui.review import cases
from tests.conftest import Box
from tests.staleness.repos import Project
from tests.tui.conftest import until

BODY = "".join(
    f"line {number} of a file that is long enough to be known again\n" for number in range(30)
)


def stale(box: Box) -> Memory:
    made = Project(box.project)
    made.write("app/cache.py", BODY)
    made.write("app/keep.py", BODY + "x = 1\n")
    made.commit("2026-01-01 12:00")
    made.move("app/keep.py", "lib/kept.py")
    made.remove("app/cache.py")
    made.commit("2026-03-01 12:00")
    memory = Memory(box.project, home=box.home)
    memory.add("The cache lives in `app/cache.py`", day="2026-01-15", time="10:00")
    memory.add("The limits are in `app/keep.py`", day="2026-01-16", time="10:00")
    memory.index()
    memory.staleness.verify()
    return memory


def row_of(app: MemsearchApp, text: str) -> str:
    rows = [
        "".join(
            piece
            for piece, _ in app.screen.rows.row(
                app.screen.panes.entries.keys[n], 100, app.screen.panes.entries.tall
            )
        )
        for n in range(len(app.screen.panes.entries.keys))
    ]
    return next(row for row in rows if text in row)


@pytest.mark.slow
def test_signs_the_note_and_what_can_be_said_of_it(box: Box):
    memory = stale(box)
    app = MemsearchApp(Library(memory), live=False)

    async def steps() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            assert "✗ The cache" in row_of(app, "cache") and "→ The limits" in row_of(app, "limits")
            assert "→ app/keep.py is lib/kept.py since 2026-03-01" in app.screen.panes.reader.text()
            await pilot.press("M")
            await until(pilot, lambda: app.screen.__class__.__name__ == "ChooseScreen")
            names = [str(key) for key in app.screen._list.keys]
            assert "holds" in names and "paths" in names
            for _ in range(names.index("paths")):
                await pilot.press("down")
            await pilot.press("enter")
            await until(pilot, lambda: "lib/kept.py" in row_of(app, "limits"))
            await pilot.press("u")
            await until(pilot, lambda: "app/keep.py" in row_of(app, "limits"))

    asyncio.run(steps())


@pytest.mark.slow
def test_review_offers_outdated_still_true_and_the_new_path(box: Box):
    memory = stale(box)
    found = {case.yes: case for case in cases(memory) if case.kind == "stale"}
    assert set(found) == {"not true any more", "put the new path in"} and {
        case.no for case in found.values()
    } == {"still true"}
    app = MemsearchApp(Library(memory), live=False)

    async def steps() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("f5")
            await until(pilot, lambda: len(getattr(app.screen, "_cases", {})) == 2)
            await pilot.press("a")  # the newest: it moved
            await until(pilot, lambda: len(app.screen._cases) == 1)
            assert "lib/kept.py" in memory.note(found["put the new path in"].notes[0]).text
            await pilot.press("x")
            await until(pilot, lambda: not app.screen._cases)
            assert "verified" in memory.note(found["not true any more"].notes[0]).marks
            await pilot.press("u")
            await until(pilot, lambda: len(app.screen._cases) == 1)
            assert "verified" not in memory.note(found["not true any more"].notes[0]).marks

    asyncio.run(steps())


@pytest.mark.slow
def test_the_slider_answers_as_of_each_day_and_is_taken_back(box: Box):
    memory = Memory(box.project, home=box.home)
    gone = memory.add("The gateway speaks HTTP/2", day="2026-02-01", time="10:00")
    edited = memory.add("Redis TTL is 300 seconds", day="2026-02-02", time="10:00")
    memory.edit(edited.id, "- Redis TTL is 900 seconds")
    memory.delete(gone.id)
    memory.index()
    app = MemsearchApp(Library(memory), live=False)

    async def steps() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("T", "home", "right")
            await until(pilot, lambda: app.screen_stack[-2].state.query == "as-of:2026-02-02")
            await pilot.press("enter")
            await until(
                pilot,
                lambda: (
                    app.screen.__class__.__name__ == "BrowseScreen"
                    and len(app.screen.state.shown) == 2
                ),
            )
            assert "300 seconds" in row_of(app, "Redis") and "HTTP/2" in row_of(app, "gateway")
            await until(
                pilot,
                lambda: (
                    "300 seconds" in app.screen.panes.reader.text()
                    or "HTTP/2" in app.screen.panes.reader.text()
                ),
            )
            await pilot.press("T", "left", "escape")
            await until(pilot, lambda: app.screen.state.query == "as-of:2026-02-02")
            await pilot.press("T", "end", "enter")  # today: as it is
            await until(
                pilot,
                lambda: (
                    app.screen.__class__.__name__ == "BrowseScreen" and not app.screen.state.query
                ),
            )
            assert "900 seconds" in row_of(app, "Redis")

    asyncio.run(steps())
