"""The conversation behind a note (L3) on the home screen: its turns, finding in it, going on with
it in its agent.

A part of ``BrowseScreen`` (it uses its reader); nothing here writes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from memsearch_engine import Entry, shown_line

from memsearch_tui.aside import attend, away
from memsearch_tui.library import Item
from memsearch_tui.widgets import render

if TYPE_CHECKING:
    from memsearch_engine import Excerpt
    from textual.screen import Screen

    from memsearch_tui.library import Library, Seen
    from memsearch_tui.widgets.lines import TextView

    _Base = Screen[None]
else:
    _Base = object


class Conversing(_Base):
    """Reads turns around the one that a note came from."""

    if TYPE_CHECKING:
        library: Library
        reader: TextView
        item: Item | None
        level: str
        query_text: str
        sought: str

        note: Seen | None

        @property
        def entry(self) -> Entry | None: ...
        async def settled(self, within_s: float | None = None) -> None: ...
        def go(self, level: str) -> None: ...
        def say(self, text: str, *, for_s: float = 8) -> None: ...
        def action_reload(self) -> None: ...
        def show_entry(self, item: Item) -> None: ...
        def _marks(self) -> list[str]: ...

    def __init__(self) -> None:
        super().__init__()
        self.found: Excerpt | None = None
        self.turn = 0
        self.unfolded = False
        self._own_turn = 0  # of the note, counted from 0 over the whole conversation

    def _warn(self, error: Exception) -> None:
        self.notify(str(error), severity="warning")

    def is_elsewhere(self) -> bool:
        """Whether another turn than the note's is being read; then it says so: what is done to a
        note is done to one that is seen.
        """
        if (
            self.level != "turn"
            or self.found is None
            or self.found.first + self.turn == self._own_turn
        ):
            return False
        self.say("this turn is not the note's: m goes to its own memory", for_s=4)
        return True

    async def open_conversation(self) -> None:
        """Open the conversation behind the note that was gone to, where there is one."""
        await self.settled()
        if (
            self.level == "section"
            and self.note is not None
            and self.note.evidence in ("live", "archived")
        ):
            await self.action_transcript()

    async def action_transcript(self) -> None:
        entry, item = self.entry, self.item
        if entry is None or item is None:
            return

        def opened(found: Excerpt) -> None:
            if self.entry is not entry:
                return  # another note came under the cursor meanwhile
            self.found, self.turn, self.unfolded = found, max(0, found.index), False
            self._own_turn = found.first + self.turn
            self._show_turn()
            self.go("turn")
            if found.is_near:
                self.say(
                    "The turn of this note is not in the conversation. Shown is the one nearest in time."
                )

        reading = away(partial(self.library.conversation, entry, item.day))
        await attend(self, "reading the conversation", reading, opened, self._warn)

    def _show_turn(self, *, keep_place: bool = False) -> None:
        if not self.found or not self.found.turns:
            self.reader.show([[("this conversation has no turns", "dim")]])
            return
        turn = self.found.turns[self.turn]
        rows = render.turn_rows(
            turn, self.found.first + self.turn + 1, self.found.total, unfolded=self.unfolded
        )
        self.reader.show(rows, marks=self._marks(), keep_place=keep_place)
        kept = "kept copy · " if self.found.state == "archived" else ""
        self.reader.border_subtitle = f"{kept}[ ] other turns · escape goes back to the note"

    async def _other_turn(self, step: int) -> None:
        if self.found is not None:
            await self._go_to_turn(self.found.first + self.turn + step)

    async def _go_to_turn(self, wanted: int, then: Callable[[], object] = lambda: None) -> None:
        """Show the turn number *wanted*, counted from 0 over the whole conversation; nothing where
        there is none.
        """
        found, entry = self.found, self.entry
        if found is None or entry is None or not 0 <= wanted < found.total:
            return

        def show(stretch: Excerpt) -> None:
            self.found, self.turn = (
                stretch,
                min(max(0, wanted - stretch.first), len(stretch.turns) - 1),
            )
            self._show_turn()
            then()

        if found.first <= wanted < found.first + len(found.turns):
            show(found)
        else:
            read = away(partial(self.library.stretch, entry, wanted))
            await attend(self, "reading the conversation", read, show, self._warn)

    def ask_for_turn(self) -> None:
        """Go to a turn by its number."""
        from memsearch_tui.screens.ask import AskScreen

        if self.found is None:
            return
        total = self.found.total

        def decided(said: str | None) -> None:
            if said and said.isdecimal() and 1 <= int(said) <= total:
                self.run_worker(self._go_to_turn(int(said) - 1), group="turn")
            elif said:
                self.notify(f"{said!r} is none of the turns 1 to {total}", severity="warning")

        self.app.push_screen(AskScreen(f"Go to turn (1 to {total})", ""), decided)

    def action_unfold(self) -> None:
        if self.level == "turn":
            self.unfolded = not self.unfolded
            self._show_turn(keep_place=True)

    # -- finding in what is open

    def action_find_text(self) -> None:
        """Look for words in the text that is open: a section, or all turns of a conversation."""
        from memsearch_tui.screens.ask import AskScreen

        def decided(said: str | None) -> None:
            if said is None or not said:
                return
            self.sought = said
            self.reader.mark(self._marks())
            self.run_worker(self.action_find(1, at_once=True), group="turn")

        where = "the conversation" if self.level == "turn" else "this text"
        self.app.push_screen(AskScreen(f"Find in {where}", self.sought), decided)

    async def action_find(self, step: int, at_once: bool = False) -> None:
        """Go to the next match, in a conversation beyond the turn that is shown. *at_once*: what is
        seen counts too.
        """
        if not self._marks():
            self.action_find_text()
            return
        if self.reader.find_next(step, wrap=self.level != "turn", from_here=at_once):
            return
        if self.level == "turn":
            await self._find_in_turns(step)
        else:
            self.say("no match in this text", for_s=2)

    async def _find_in_turns(self, step: int) -> None:
        found, entry = self.found, self.entry
        if found is None or entry is None:
            return
        words, here = self._marks(), found.first + self.turn

        def show(number: int) -> None:
            if number < 0:
                if not self.reader.find_next(step):  # the only ones are in this turn: begin again
                    self.say("no match in this conversation", for_s=3)
                return
            self.run_worker(
                self._go_to_turn(number, lambda: self.reader.find_next(1, from_here=True)),
                group="turn",
            )

        looking = away(partial(self.library.memory.turn_with, entry, words, here, step))
        await attend(self, f"looking for {shown_line(' '.join(words))}", looking, show, self._warn)

    # -- on from here

    async def action_resume(self) -> None:
        """Go on with the session in its agent: here, where its program is; else the command is
        copied.
        """
        if self.entry is None or not self.entry.session:
            self.say("no session stands behind this note", for_s=3)
            return
        entry = self.entry

        def found(way: tuple[list[str], str]) -> None:
            argv, folder = way
            if not argv:
                self.notify(
                    f"sessions of {entry.agent or 'unknown agents'} can't be resumed",
                    severity="warning",
                )
                return
            program = shutil.which(argv[0])
            if program is None or not os.path.isdir(folder):
                self.app.copy_to_clipboard(shlex.join(argv))
                missing = (
                    f"{argv[0]} is not installed here" if program is None else f"{folder} is gone"
                )
                self.notify(
                    f"{missing}; the command was copied: {shlex.join(argv)}", severity="warning"
                )
                return
            try:
                with self.app.suspend():
                    subprocess.call([program, *argv[1:]], cwd=folder)
            except OSError as error:
                self.notify(f"{program} can't be run: {error}", severity="error")
            self.action_reload()

        await attend(
            self,
            "looking for its folder",
            away(partial(self.library.resume, entry)),
            found,
            self._warn,
        )

    async def action_memory(self) -> None:
        """From a turn of the conversation to the memory that came from it."""
        if self.level != "turn" or self.found is None or not self.found.turns:
            return
        turn = self.found.turns[self.turn]

        def known(item: Item | None) -> None:
            if item is None:
                self.say("no memory came from this turn", for_s=3)
            else:
                self.show_entry(item)

        await attend(
            self,
            "looking for its memory",
            away(partial(self.library.memory_of_turn, turn)),
            known,
            self._warn,
        )
