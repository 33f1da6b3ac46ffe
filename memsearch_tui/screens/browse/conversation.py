"""The conversation behind a note: its turns, search in its text, resuming it in its agent; and the
web links of the open text.

Nothing here writes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

import memsearch_engine as engine
from memsearch_engine import shown_line

from memsearch_tui.aside import away
from memsearch_tui.commands import PaletteCommand
from memsearch_tui.counted import many
from memsearch_tui.library import Item
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.widgets import render


class Conversation:
    """Shows the turns around the one that a note was made from."""

    def __init__(
        self, desk: Desk, show_entry: Callable[[Item], None], reload: Callable[[], None]
    ) -> None:
        """Args:
        show_entry: moves the cursor to a note.
            reload: reads the lists again after another program used the terminal.
        """
        self._desk, self._state, self._view = desk, desk.state, desk.panes.reader
        self._show_entry, self._reload = show_entry, reload
        self.found: engine.Excerpt | None = None
        self.place = 0  # index of the shown turn in ``found``
        self.came_from = "section"  # the level to which escape returns
        self._unfolded = False
        self._own = 0  # the note's turn, counted from 0 over the conversation

    @property
    def turn(self) -> engine.Turn | None:
        """The shown turn."""
        is_open = self._state.level == "turn" and self.found is not None and self.found.turns
        return self.found.turns[self.place] if is_open and self.found else None

    @property
    def markdown(self) -> str:
        """The open text: the shown turn, else the note; '' if neither is open."""
        turn, entry = self.turn, self._state.entry
        return render.turn_markdown(turn) if turn else entry.body if entry else ""

    def is_elsewhere(self) -> bool:
        """Return whether a turn other than the note's is shown; if so, show a message.

        Commands change only a note that is visible.
        """
        found = self.found
        if self._state.level != "turn" or found is None or found.first + self.place == self._own:
            return False
        self._desk.say("this turn is not the note's: m goes to its own note", for_s=4)
        return True

    async def open(self) -> None:
        """Open the conversation at the turn of the note under the cursor."""
        state = self._state
        entry, item = state.entry, state.item
        if entry is None or item is None:
            return

        def opened(found: engine.Excerpt) -> None:
            if state.entry is not entry:
                return  # the cursor moved to another note meanwhile
            self.found, self.place, self._unfolded = found, max(0, found.index), False
            self._own = found.first + self.place
            self._show()
            if state.level != "turn":
                self.came_from = state.level
            self._desk.go("turn")
            if found.is_near:
                self._desk.say(
                    "This note's turn is not in the conversation. The nearest in time is shown."
                )

        await self._desk.read(
            "reading the conversation",
            partial(state.library.notes.conversation, entry, item.day),
            opened,
            self._desk.warn,
        )

    def _show(self, *, keep_place: bool = False) -> None:
        found = self.found
        if not found or not found.turns:
            self._view.show([[("this conversation has no turns", "dim")]])
            return
        number = found.first + self.place + 1
        rows = render.turn_rows(
            found.turns[self.place], number, found.total, unfolded=self._unfolded
        )
        self._view.show(rows, marks=self._state.marks(), keep_place=keep_place)
        archived = "archived copy · " if found.state == "archived" else ""
        self._view.entitle(subtitle=f"{archived}[ ] other turns · escape goes back to the note")

    async def other_turn(self, step: int) -> None:
        """Show the next turn (1) or the previous one (-1)."""
        if self.found is not None:
            await self._go_to_turn(self.found.first + self.place + step)

    async def _go_to_turn(self, wanted: int, then: Callable[[], object] = lambda: None) -> None:
        """Show turn *wanted* if it exists, counted from 0 over the whole conversation."""
        found, entry = self.found, self._state.entry
        if found is None or entry is None or not 0 <= wanted < found.total:
            return

        def show(stretch: engine.Excerpt) -> None:
            self.found = stretch
            self.place = min(max(0, wanted - stretch.first), len(stretch.turns) - 1)
            self._show()
            then()

        if found.first <= wanted < found.first + len(found.turns):
            show(found)
        else:
            await self._desk.read(
                "reading the conversation",
                partial(self._state.library.notes.turns_around, entry, wanted),
                show,
                self._desk.warn,
            )

    def ask_for_turn(self) -> None:
        """Ask for the number of a turn, and show it."""
        if self.found is None:
            return
        total = self.found.total

        def decided(answer: str) -> None:
            if answer.isdecimal() and 1 <= int(answer) <= total:
                self._desk.start(partial(self._go_to_turn, int(answer) - 1), "turn")
            else:
                self._desk.say(f"{answer!r} is none of the turns 1 to {total}")

        self._desk.ask(f"Go to turn (1 to {total})", "", decided)

    def unfold(self) -> None:
        """Toggle between all output of tools and three lines of each."""
        if self._state.level == "turn":
            self._unfolded = not self._unfolded
            self._show(keep_place=True)

    # -- search in the open text

    def ask_for_text(self) -> None:
        """Ask for words, and search them in the open note or in all turns of the conversation."""

        def decided(answer: str) -> None:
            self._state.sought = answer
            self._view.mark(self._state.marks())
            self._desk.start(partial(self.find, 1, at_once=True), "turn")

        where = "the conversation" if self._state.level == "turn" else "this text"
        self._desk.ask(f"Find in {where}", self._state.sought, decided)

    async def find(self, step: int, at_once: bool = False) -> None:
        """Go to the next match; in a conversation, also in other turns.

        Args:
            step: 1 for the next match, -1 for the previous one.
            at_once: a match that is already visible counts too.
        """
        in_turn = self._state.level == "turn"
        if not self._state.marks():
            self.ask_for_text()
        elif self._view.find_next(step, wrap=not in_turn, from_here=at_once):
            place, total = self._view.found
            self._desk.say(f"{place} of {many(total, 'line')} with a match", for_s=3)
        elif in_turn:
            await self._find_in_turns(step)
        else:
            self._desk.say("no match in this text", for_s=2)

    async def _find_in_turns(self, step: int) -> None:
        found, entry = self.found, self._state.entry
        if found is None or entry is None:
            return
        words, here = self._state.marks(), found.first + self.place

        def show(number: int) -> None:
            if number >= 0:
                at_match = partial(self._view.find_next, 1, from_here=True)
                self._desk.start(partial(self._go_to_turn, number, at_match), "turn")
            elif not self._view.find_next(step):
                # only this turn has matches: start again at its beginning
                self._desk.say("no match in this conversation", for_s=3)

        what = f"looking for {shown_line(' '.join(words))}"
        await self._desk.read(
            what,
            partial(self._state.library.memory.transcripts.turn_with, entry, words, here, step),
            show,
            self._desk.warn,
        )

    # -- resume, go to the note

    async def resume(self) -> None:
        """Resume the session in its agent. If the agent is not installed, copy the command."""
        entry = self._state.entry
        if entry is None or not entry.session:
            self._desk.say("this note has no session", for_s=3)
            return

        def found(way: tuple[list[str], str]) -> None:
            argv, folder = way
            if argv:
                self._run(argv, folder)
            else:
                agent = entry.agent or "unknown agents"
                self._desk.say(f"sessions of {agent} can't be resumed")

        await self._desk.read(
            "looking for its folder",
            partial(self._state.library.notes.resume, entry),
            found,
            self._desk.warn,
        )

    def _run(self, argv: list[str], folder: str) -> None:
        app, program = self._desk.screen.app, shutil.which(argv[0])
        if program is None or not os.path.isdir(folder):
            import shlex

            app.copy_to_clipboard(shlex.join(argv))
            missing = f"{argv[0]} is not installed here" if program is None else f"{folder} is gone"
            self._desk.say(f"{missing}; the command was copied: {shlex.join(argv)}")
            return
        try:
            with app.suspend():
                subprocess.call([program, *argv[1:]], cwd=folder)
        except OSError as error:
            self._desk.say(f"{program} can't be run: {error}")
        self._reload()

    async def go_to_note(self) -> None:
        """Go to the note that was made from the shown turn."""
        turn = self.turn
        if turn is None:
            return

        def known(item: Item | None) -> None:
            if item is None:
                self._desk.say("no note came from this turn", for_s=3)
            else:
                self._show_entry(item)

        await self._desk.read(
            "looking for its note",
            partial(self._state.library.related.of_turn, turn),
            known,
            self._desk.warn,
        )

    # -- links

    def commands(self) -> list[PaletteCommand]:
        """Return the commands of the palette."""
        return [
            PaletteCommand("Open a link", "text", self.choose_link, "open link url browser web")
        ]

    def open_or_unfold(self) -> None:
        """Show the links of a note. In a conversation, unfold the output of tools."""
        if self._state.level == "turn":
            self.unfold()
        else:
            self.choose_link()

    def choose_link(self) -> None:
        """Show each link with its host; the chosen one is opened."""
        if self._state.editing:
            return
        links = render.links(self.markdown)
        found = {link: host for link in links if (host := web_host(link))}
        if not found:
            self._desk.say("This text has no web link.", for_s=3)
            return
        # the host is what a person must judge, and a long address hides it
        self._desk.choose(
            "open in the browser",
            [(link, host, link) for link, host in found.items()],
            lambda link: self._desk.start(partial(self._open_link, link), "link"),
        )

    async def _open_link(self, link: str) -> None:
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
