"""What is typed faster than the app follows comes out as it was typed."""

from __future__ import annotations

import pytest
from textual import events
from textual.widgets import Input, TextArea

from tests.tui.test_flows import drive, settled


def burst(app, *keys: str) -> None:
    """All keys before the app has done anything for the first."""
    for key in keys:
        app.post_message(events.Key(key, {"slash": "/"}.get(key, key if len(key) == 1 else None)))


@pytest.mark.slow
def test_the_box_is_emptied_before_what_is_typed_next(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("slash", *"redis", "enter")
        await settled(pilot)
        burst(app, "slash", "ctrl+u", *"cart")
        await settled(pilot)
        assert app.screen.query_one("#query", Input).value == "cart" == app.screen.state.query

    drive(app, steps)


def test_the_editor_takes_back_where_it_was_asked_to(world):
    app = world.app()

    async def steps(pilot):
        await pilot.press("e")
        await settled(pilot)
        editor = app.screen.query_one("#editor", TextArea)
        before = editor.text
        burst(app, *"abx", "backspace", *"cd", "home", "z")
        await settled(pilot)
        assert editor.text == f"zabcd{before}"
        await pilot.press("ctrl+g")

    drive(app, steps)


def test_a_question_is_answered_as_typed(world):
    app = world.app()

    async def steps(pilot):
        app.screen.conversation.ask_for_text()
        await settled(pilot)
        burst(app, *"abx", "backspace", "c")
        await settled(pilot)
        assert app.screen.query_one(Input).value == "abc"

    drive(app, steps)
