"""Opening a link of a note: it is shown first, and only web addresses are opened."""

from __future__ import annotations

import webbrowser

import pytest

from memsearch_tui.screens.browse.conversation import web_host
from memsearch_tui.screens.dialogs import ChooseScreen
from tests.tui.test_flows import drive, settled

TEXT = (
    "# 2026-02-09\n\n### 10:00\n- see [the plan](https://example.com/plan?a=1),"
    " [a file](file:///etc/passwd), [code](javascript:alert(1)) and http://two.example.org/x\n"
)


class Browser:
    """Records the addresses that it is asked to open."""

    def __init__(self, opens: bool) -> None:
        self.opens, self.opened = opens, []

    def open(self, address: str) -> bool:
        self.opened.append(address)
        return self.opens


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://example.com/a?b=c#d", "example.com"),
        ("HTTP://Example.com", "example.com"),
        ("https://good.example.com@evil.example.org/", "evil.example.org"),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("ssh://host/-oProxyCommand=x", ""),
        ("-https://example.com", ""),
        ("https://exa mple.com", ""),
        ("https://example.com/\x1b[31m", ""),
        ("https://[broken", ""),
        ("https://", ""),
        ("/etc/passwd", ""),
    ],
)
def test_only_web_addresses_have_a_host(address, host):
    assert web_host(address) == host


@pytest.mark.parametrize("opens", [True, False])
def test_a_link_is_shown_before_it_is_opened(world, monkeypatch, opens):
    world.day("2026-02-09").write_text(TEXT)
    browser = Browser(opens)
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        await pilot.press("home", "o")
        await pilot.pause()
        assert isinstance(app.screen, ChooseScreen)
        assert app.screen._list.keys == ["https://example.com/plan?a=1", "http://two.example.org/x"]
        assert not browser.opened
        await pilot.press("escape")
        await settled(pilot)
        assert not browser.opened
        await pilot.press("o", "down", "enter")
        await settled(pilot)
        assert browser.opened == ["http://two.example.org/x"]
        injected = str(app.screen.query_one("#status").content)
        assert "http://two.example.org/x" in injected and ("copied" in injected) is not opens

    drive(app, steps)


def test_without_a_browser_the_link_is_copied(world, monkeypatch):
    world.day("2026-02-09").write_text(TEXT)

    def get() -> Browser:
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "get", get)
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        await pilot.press("home", "o", "enter")
        await settled(pilot)
        assert app.clipboard == "https://example.com/plan?a=1"

    drive(app, steps)


def test_a_note_without_a_link_says_so(world):
    app = world.app()

    async def steps(pilot):
        await settled(pilot)
        await pilot.press("o")
        await pilot.pause()
        assert str(app.screen.query_one("#status").content) == "This text has no web link."

    drive(app, steps)
