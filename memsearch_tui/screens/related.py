"""The related notes of a note: those on its topic, and those of turns that wrote to its files.

Enter opens one.

Supersessions are derived from the texts; ``a`` and ``x`` override them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from memsearch_engine import Entry
from textual.binding import Binding, BindingType

from memsearch_tui.aside import away, write
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library, Related
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets import render
from memsearch_tui.widgets.pieces import Row

_HOW = 34  # columns
_NARROW = 100


class RelatedScreen(Page[Item]):
    """Dismisses with the chosen note, or None if the user left."""

    OF_A_ROW = "open", "amends"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("related"),
        Binding(
            "a",
            "amends(True)",
            "Accept",
            tooltip="Accept: it supersedes the other note",
            id="related.yes",
        ),
        Binding(
            "x",
            "amends(False)",
            "Reject",
            tooltip="Reject: it is about something else",
            id="related.no",
        ),
        Binding("u", "undo", "Undo", tooltip="Take the last answer back", id="related.undo"),
    ]

    def __init__(self, library: Library, item: Item, entry: Entry) -> None:
        super().__init__(["looking …"])
        self._library, self._item, self._entry = library, item, entry
        self.found: list[Related] = []
        # (newer, older, override before), the last one last
        self._answers: list[list[tuple[str, str, bool | None]]] = []

    async def on_mount(self) -> None:
        """Look for the notes."""
        self._list.border_title = f"related to {self._item.day} {self._item.title}"
        self.run_worker(self._look(), group="related")

    async def _look(self) -> None:
        try:
            self.found, problem = await away(
                partial(self._library.related.of, self._item, self._entry)
            )
        except Exception as error:  # an error with related notes must not end the app
            self.found, problem = [], str(error)
        none = [
            "No related note.",
            "",
            "No other note is on its topic, and no other turn wrote to the files that it names.",
        ]
        self._list.empty = [problem] if problem else none
        counts = [many(len(self.found), "note")] if self.found else []
        self._list.border_subtitle = " · ".join([*counts, problem] if problem else counts)
        self._list.show_keys(list(range(len(self.found))))

    def _row(self, index: int, width: int) -> Row:
        found = self.found[self._list.keys[index]]
        item, room = found.item, _HOW if width >= _NARROW else _HOW // 2
        # the end of a path identifies the file
        how = found.how if len(found.how) <= room else f"…{found.how[1 - room :]}"
        return [
            (f"{how:{room}s} ", "accent"),
            (f"{item.day} {item.time or '     '} ", "dim"),
            (f"{item.agent or 'note':11s} ", render.agent_tag(item.agent)),
            *render.inline(item.title),
            *render.badges(item.marks),
        ]

    async def action_amends(self, yes: bool) -> None:
        """Override whether the note under the cursor supersedes the notes that it is listed to
        supersede.
        """
        key = self._list.key
        if key is None or not self.found[key].amends:
            self.say("This note is not listed as superseding another one.")
            return
        found = self.found[key]
        answer: list[tuple[str, str, bool | None]] = [
            (found.item.entry_id, older, yes) for older in found.amends
        ]
        await self._answer(
            answer, lambda before: self._answers.append(before), "noted · u takes it back"
        )

    async def action_undo(self) -> None:
        """Undo the last override."""
        if self._answers:
            await self._answer(self._answers.pop(), lambda before: None, "taken back")

    async def _answer(
        self, answer: list[tuple[str, str, bool | None]], then: Callable[[Any], None], message: str
    ) -> None:
        amends = self._library.memory.supersession.override

        def note() -> list[tuple[str, str, bool | None]]:
            return [(newer, older, amends(newer, older, yes)) for newer, older, yes in answer]

        def done(before: list[tuple[str, str, bool | None]]) -> None:
            then(before)
            self.say(message)
            self.run_worker(self._look(), group="related")

        await write(self, "noting it down", note, done, self._complain)

    async def action_open(self) -> None:
        """Open the note under the cursor."""
        if self._list.key is not None:
            self.dismiss(self.found[self._list.key].item)
