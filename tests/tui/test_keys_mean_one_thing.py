"""Every page has the same verbs on its keys, and the last line names them in the same words."""

from __future__ import annotations

from collections import defaultdict

from textual.binding import Binding

from memsearch_tui.app import MemsearchApp
from memsearch_tui.screens.agent_files import AgentFilesScreen
from memsearch_tui.screens.browse.screen import BrowseScreen
from memsearch_tui.screens.changes import ChangesScreen
from memsearch_tui.screens.connect import ConnectScreen
from memsearch_tui.screens.projects import ProjectsScreen
from memsearch_tui.screens.related import RelatedScreen
from memsearch_tui.screens.review import ReviewScreen
from memsearch_tui.screens.rows import ActivityScreen, HealthScreen, RowsScreen
from tests.tui.test_flows import drive, settled

PAGES = (
    MemsearchApp,
    BrowseScreen,
    ActivityScreen,
    ChangesScreen,
    ConnectScreen,
    HealthScreen,
    AgentFilesScreen,
    ProjectsScreen,
    RelatedScreen,
    ReviewScreen,
    RowsScreen,
)


def _bindings(page: type) -> list[Binding]:
    return list(Binding.make_bindings(page.__dict__.get("BINDINGS", ())))


def test_a_key_of_a_page_does_what_it_does_elsewhere():
    meanings = defaultdict(set)
    for page in PAGES:
        for binding in _bindings(page):
            if binding.description:
                meanings[binding.key].add(binding.description.split()[0].casefold())
    shared = {"enter", "right", "l", "escape"}  # open, and back, whatever the page calls it
    several = {
        key: sorted(words)
        for key, words in meanings.items()
        if len(words) > 1 and key not in shared
    }
    assert not several, (
        f"first words of the descriptions of a key differ: {several}. Choose another key: "
        "docs/reference/keys.md lists those in use"
    )


def test_q_closes_a_page_and_at_the_list_the_app(world):
    app = world.app()

    async def steps(pilot):
        for page in ("f3", "f5", "question_mark"):
            await pilot.press(page)
            await settled(pilot)
            assert not isinstance(app.screen, BrowseScreen)
            await pilot.press("q")
            await settled(pilot)
            assert isinstance(app.screen, BrowseScreen)
        await pilot.press("q")
        assert app.return_code == 0

    drive(app, steps)


def test_accept_and_reject_have_the_same_words_on_every_page():
    for page in (ReviewScreen, RelatedScreen):
        words = {binding.key: binding.description for binding in _bindings(page)}
        assert (words["a"], words["x"]) == ("Accept", "Reject")


def test_what_is_said_has_no_retired_words():
    retired = {"kept", "told", "talk", "matter", "stands", "stood", "amends", "overtaken"}
    for page in PAGES:
        for binding in _bindings(page):
            text = f"{binding.description} {binding.tooltip}".casefold()
            assert not retired & set(text.replace(",", " ").split()), (page, text)
