"""Sharing notes with the team, in the app."""

from __future__ import annotations

from memsearch_tui.screens.dialogs import ChooseScreen
from tests.tui.test_doing import text_of
from tests.tui.test_flows import drive, settled

PLANTED = (
    "# 2026-02-10\n\n### 09:15\n<!-- id:aaaaaaaaaaaa -->\n"
    "<!-- review:2026-03-01 -->\n- Deploys are frozen on Fridays\n"
)


def choose(app, word: str) -> None:
    """Put the cursor of the choices on the first one that says *word*."""
    screen = app.screen
    assert isinstance(screen, ChooseScreen)
    screen._list.move_to(list(screen._choices).index(word))


def test_a_note_is_shown_shared_taken_back_and_brought_back(world):
    app = world.app()
    shared = world.project / ".memsearch" / "shared"

    async def steps(pilot):
        await pilot.press("M")
        await settled(pilot)
        choose(app, "share")
        await pilot.press("enter")
        await settled(pilot)
        assert "share as" in app.export_screenshot().replace("&#160;", " ") and not shared.exists()
        await pilot.press("enter")
        await settled(pilot)
        (file,) = shared.rglob("*.md")
        text = file.read_text()
        assert str(world.project) not in text and "copy-of" in text
        assert "commit .memsearch/shared" in app.export_screenshot().replace("&#160;", " ")
        await pilot.press("u")
        await settled(pilot)
        assert not list(shared.rglob("*.md"))

    drive(app, steps, size=(120, 40))


def test_somebody_s_note_has_his_name_and_can_be_taken_out(world):
    file = world.project / ".memsearch" / "shared" / "mara" / "2026-02-10.md"
    file.parent.mkdir(parents=True)
    file.write_text(PLANTED)
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        picture = app.export_screenshot().replace("&#160;", " ")
        assert "mara Deploys are frozen" in picture or "mara" in picture
        assert "shared by mara" in text_of(app) and "to be looked at again 2026-03-01" in text_of(
            app
        )
        await pilot.press("M")
        await settled(pilot)
        choose(app, "withdraw")
        await pilot.press("enter")
        await settled(pilot)
        assert "Deploys" not in file.read_text()
        await pilot.press("u")
        await settled(pilot)
        assert file.read_text() == PLANTED

    drive(app, steps, size=(120, 40))
