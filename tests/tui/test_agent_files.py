"""The screen of agents' own memories: taking a section, and what is shown of it."""

from __future__ import annotations

import asyncio

import pytest
from memsearch_engine import Memory

from memsearch_tui.app import MemsearchApp
from memsearch_tui.library import Library
from tests.conftest import Box
from tests.tui.conftest import until


@pytest.mark.slow
def test_what_was_taken_is_marked_at_once_and_is_not_taken_again(box: Box, monkeypatch):
    monkeypatch.setenv("HOME", str(box.user))
    monkeypatch.chdir(box.project)
    (box.project / "CLAUDE.md").write_text("- first of all\n- and the second\n")
    box.fill()
    memory = Memory(box.project, home=box.home)
    app = MemsearchApp(Library(memory), live=False)

    async def steps() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("f6")
            await until(pilot, lambda: app.screen._sections)
            await pilot.press("space", "y")
            section = next(
                found for _, found in app.screen._sections.values() if "first" in found.text
            )
            await until(pilot, lambda: section.note)
            row = "".join(
                text for text, _ in app.screen._row(app.screen._list.keys.index(section.id), 80)
            )
            assert row.startswith("  = ") and not app.screen._list.selected
            await pilot.press("up", "y")
            await pilot.pause()
            written = [note.text for note in memory.entries() if "first of all" in note.text]
            assert len(written) == 1
            await pilot.press("m")  # to the note
            await until(pilot, lambda: app.screen.__class__.__name__ != "AgentFilesScreen")

    asyncio.run(steps())
