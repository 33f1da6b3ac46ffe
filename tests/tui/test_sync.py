"""Several machines in the app: notes that were changed in two places, and the last round."""

from __future__ import annotations

import time

import pytest
from memsearch_engine.journal.merge import merge
from memsearch_engine.journal.parse import parse
from memsearch_engine.sync.state import Round, opened

from memsearch_tui.library import Library
from memsearch_tui.screens.review import ReviewScreen
from tests.tui.test_doing import text_of
from tests.tui.test_flows import drive, settled


def contest(world) -> None:
    """Have the first note of a day changed in two places."""
    day = world.day()
    base = day.read_bytes()
    body = parse(base, day.stem).entries[0].body.encode()
    ours, theirs = (
        base.replace(body, body + b", says one"),
        base.replace(body, body + b", says the other"),
    )
    day.write_bytes(merge(base, ours, theirs, day.stem).data)


@pytest.mark.slow
def test_a_note_that_was_changed_in_two_places_is_decided_in_review_and_taken_back(world):
    contest(world)
    app = world.app()

    async def steps(pilot):
        assert "≠" in app.export_screenshot()
        await pilot.press("f5")
        await settled(pilot)
        review = app.screen
        assert isinstance(review, ReviewScreen)
        key = next(key for key, case in review._cases.items() if case.kind == "conflict")
        review._list.move_to(review._list.keys.index(key))
        await settled(pilot)
        text = text_of(app)
        assert (
            "changed in two places" in app.export_screenshot().replace("&#160;", " ")
            and "says one" in text
            and "says the other" in text
        )
        before = world.day().read_bytes()
        await pilot.press("x")
        await settled(pilot)
        left = parse(world.day().read_bytes(), world.day().stem).entries
        assert not any("conflict" in entry.marks or "conflict-of" in entry.marks for entry in left)
        await pilot.press("u")
        await settled(pilot)
        assert world.day().read_bytes() == before
        await pilot.press("a")
        await settled(pilot)
        assert b"conflict" not in world.day().read_bytes()

    drive(app, steps, size=(120, 40))


def test_the_header_and_health_say_when_the_machines_met_and_what_keeps_them(world):
    (world.home.root / "config.toml").write_text(
        '[sync]\nremote = "/media/stick/memory.git"\nevery_minutes = 0\n'
    )
    with opened(world.home) as state:
        state.note(Round(time.time(), received=3, sent=1))
    app = world.app()

    async def steps(pilot):
        library: Library = app.library
        assert library.status.sync()[1] is True
        with opened(world.home) as state:
            state.note(Round(time.time(), error="the remote's history was rewritten"))
        assert library.status.sync()[1] is False
        await pilot.press("f3")
        await settled(pilot)
        await pilot.pause()
        text = "\n".join("".join(text for text, _ in line.row) for line in app.screen.lines)
        assert "/media/stick/memory.git" in text and "rewritten" in text

    drive(app, steps, size=(120, 40))
