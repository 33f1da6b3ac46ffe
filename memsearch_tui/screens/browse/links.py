"""Opens a web link of the open note or conversation in the browser, after it was shown."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

from memsearch_tui.aside import away
from memsearch_tui.commands import PaletteCommand
from memsearch_tui.screens.browse.conversation import Conversation
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.widgets import render


def web_host(address: str) -> str:
    """Return the host of an ``http`` or ``https`` address; '' for any other text.

    The text of a note is untrusted, so no other kind of address is opened.
    """
    if not address.isprintable() or any(sign.isspace() for sign in address):
        return ""
    try:
        parts = urlsplit(address)
        return (parts.hostname or "") if parts.scheme.lower() in ("http", "https") else ""
    except ValueError:
        return ""


class Links:
    """Shows the links of the open text, and opens the chosen one."""

    def __init__(self, desk: Desk, conversation: Conversation) -> None:
        self._desk, self._state, self._conversation = desk, desk.state, conversation

    def commands(self) -> list[PaletteCommand]:
        """Return the commands of the palette."""
        return [PaletteCommand("Open a link", "text", self.choose, "open link url browser web")]

    def open_or_unfold(self) -> None:
        """Show the links of a note. In a conversation, unfold the output of tools."""
        if self._state.level == "turn":
            self._conversation.unfold()
        else:
            self.choose()

    def choose(self) -> None:
        """Show each link with its host; the chosen one is opened."""
        from memsearch_tui.screens.choose import ChoiceRow, ChooseScreen

        if self._state.editing:
            return
        turn = self._conversation.turn if self._state.level == "turn" else None
        entry = self._state.entry
        text = render.turn_markdown(turn) if turn else entry.body if entry else ""
        found = {link: host for link in render.links(text) if (host := web_host(link))}
        if not found:
            self._desk.say("This text has no web link.", for_s=3)
            return
        # the host is what a person must judge, and a long address hides it
        rows = [ChoiceRow(link, host, link) for link, host in found.items()]
        self._desk.screen.app.push_screen(
            ChooseScreen("open in the browser", rows),
            lambda link: self._desk.start(partial(self._open, link), "link") if link else None,
        )

    async def _open(self, link: str) -> None:
        """Open a link, or copy it where no browser can be used."""
        import webbrowser

        app = self._desk.screen.app
        try:
            browser = webbrowser.get()
        except webbrowser.Error:
            browser = None
        # a browser of the terminal would draw over the app
        if browser is None or type(browser) is webbrowser.GenericBrowser:
            opened = False
        else:
            opened = await away(lambda: browser.open(link))
        if opened:
            self._desk.say(f"opened {link}")
        else:
            app.copy_to_clipboard(link)
            self._desk.say(f"no browser opens here; the link was copied: {link}")
