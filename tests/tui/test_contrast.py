"""Every text can be read on its background, in every theme of ours."""

from __future__ import annotations

import asyncio

import pytest
from textual.color import Color
from textual.widgets import Input

from memsearch_tui.app import THEMES
from memsearch_tui.widgets import lines
from memsearch_tui.widgets.lines import LEAST, ratio

_SLACK = 0.05  # colours are whole numbers


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
def test_text_has_contrast_on_every_background(world, theme):
    app = world.app()
    app.theme = theme
    poor = {}

    async def look() -> None:
        async with app.run_test(size=(120, 40)):
            entries = app.screen.panes.entries
            for tone in lines._LOOKS.keys() - lines._SHAPES:
                for behind in ((), ("cursor",), ("cursor-idle",), ("selected",)):
                    style = entries.style_of(tone, *behind)
                    found = ratio(Color(*style.color.triplet), Color(*style.bgcolor.triplet))
                    if found < LEAST - _SLACK:
                        poor[tone, behind] = round(found, 2)
            box = app.screen.query_one(Input)
            for part in ("input--placeholder", "input--suggestion"):
                look = box.get_component_styles(part)
                ground = box.styles.background
                text = ground + look.color
                found = ratio(Color(text.r, text.g, text.b), ground)
                if found < LEAST - _SLACK:
                    poor[part] = round(found, 2)
            variables = app.theme_variables
            for name in ("accent", "foreground"):
                found = ratio(Color.parse(variables[name]), Color.parse(variables["surface"]))
                if found < LEAST - _SLACK:
                    poor[f"key letters in {name}"] = round(found, 2)

    asyncio.run(look())
    assert not poor
