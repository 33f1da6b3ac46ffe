"""What stands beside a note: other words on its matter, and the turns that wrote to its files; enter opens one."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from memsearch_engine.journal.model import Entry
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from memsearch_tui.library import Item, Library, Related
from memsearch_tui.widgets import render
from memsearch_tui.widgets.lines import LineList, Row

_HOW = 34  # columns
_NARROW = 100


class RelatedScreen(Screen[Item]):
    """Dismisses with the note that was chosen, or None where the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,right,l", "open", "Open", id="related.open"),
        Binding("escape,q,left,h", "leave", "Back", id="related.back"),
    ]

    def __init__(self, library: Library, item: Item, entry: Entry) -> None:
        super().__init__()
        self._library, self._item, self._entry = library, item, entry
        self.found: list[Related] = []
        self._list = LineList(self._row, empty=["looking …"])

    def compose(self) -> ComposeResult:
        yield self._list
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._list.border_title = f"beside {self._item.day} {self._item.title}"
        self._list.focus()
        self.run_worker(self._look(), group="related")

    async def _look(self) -> None:
        self.found, problem = await asyncio.to_thread(self._library.related, self._item, self._entry)
        self._list.empty = [
            problem or "no other note is on its matter, and no other captured turn wrote to the files that it names"
        ]
        self._list.border_subtitle = f"{len(self.found)}" + (f" · {problem}" if problem and self.found else "")
        self._list.show_keys(list(range(len(self.found))))

    def _row(self, index: int, width: int) -> Row:
        found = self.found[self._list.keys[index]]
        item, room = found.item, _HOW if width >= _NARROW else _HOW // 2
        how = found.how if len(found.how) <= room else f"…{found.how[1 - room :]}"  # the end of a path says which it is
        return [
            (f"{how:{room}s} ", "accent"),
            (f"{item.day} {item.time or '     '} ", "dim"),
            (f"{item.agent or 'note':11s} ", "agent"),
            *render.inline(item.title),
            *render.badges(item.marks),
        ]

    @on(LineList.Opened)
    def action_open(self) -> None:
        if self._list.key is not None:
            self.dismiss(self.found[self._list.key].item)

    def action_leave(self) -> None:
        self.dismiss(None)
