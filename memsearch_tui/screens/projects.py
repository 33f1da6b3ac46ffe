"""All known projects, with their number of notes and newest day.

Enter opens one project, ``F`` all of them.
"""

from __future__ import annotations

import os
from typing import ClassVar

from textual.binding import Binding, BindingType

from memsearch_tui.counted import cut_middle, many
from memsearch_tui.library import Library, ProjectRow
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row

_NARROW = 64  # width of the app; below, a row has only the name and the number of notes


class ProjectsScreen(Page[str]):
    """Dismisses with a project's root, ``*`` for all, or '' if the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("projects"),
        Binding("F", "all", "All projects", id="projects.all"),
        Binding("r", "reload", "Read again", id="projects.reload"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._rows: dict[str, ProjectRow] = {}

    async def on_mount(self) -> None:
        """Count what each project has; keys wait for it."""
        if (before := self.before()) and before._rows:
            self._show(list(before._rows.values()), before._list.key)
        await self.action_reload()

    async def action_reload(self) -> None:
        """Count again."""
        await self.read("counting what each has", self._library.projects.rows, self._show)

    def _show(self, rows: list[ProjectRow], cursor: str | None = None) -> None:
        self._rows = {row.root: row for row in rows}
        self._list.empty = ['no project yet: memsearch add "…" in one begins it']
        self._list.border_subtitle = many(len(rows), "project")
        self._list.show_keys(list(self._rows), cursor=cursor)

    def on_resize(self) -> None:
        """Name the columns that fit."""
        is_narrow = self.app.size.width < _NARROW
        heads = f"{'project':23s} {'notes':>7s}"
        more = "" if is_narrow else f" {'days':>6s}  {'newest':10s}  folder"
        self._list.border_title = heads + more

    def _row(self, index: int, width: int) -> Row:
        row = self._rows[self._list.keys[index]]
        if self.app.size.width < _NARROW:
            name = f"{cut_middle(row.name, 24):24s} "
            return [(name, "strong"), (f"{row.entries:7,}", "text" if row.here else "warn")]
        gone = "  folder is gone" if not row.here else ""
        facts = f"{row.entries:7,} {row.days:6,}  {row.newest or '-':10s}"
        room = max(12, width - 25 - len(facts) - len(gone) - 2)
        root = row.root.replace(os.path.expanduser("~"), "~", 1)
        return [
            (f"{cut_middle(row.name, 24):24s} ", "strong"),
            (facts, "text"),
            (gone, "warn"),
            (f"  {cut_middle(root, room)}", "dim"),
        ]

    async def action_open(self) -> None:
        """Open the project under the cursor."""
        if self._list.key:
            self.dismiss(self._list.key)

    def action_all(self) -> None:
        """Open all projects."""
        self.dismiss("*")

    def leave(self) -> None:
        """Leave without a choice."""
        self.dismiss("")
