"""The changes of notes, newest first, each with the text before and after. Each can be restored."""

from __future__ import annotations

import re
from functools import partial
from time import localtime, strftime
from typing import ClassVar

import memsearch_engine as engine
from textual.binding import Binding, BindingType

from memsearch_tui.aside import write
from memsearch_tui.counted import quoted
from memsearch_tui.library import Library
from memsearch_tui.library.rows import short_path
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row, diff_rows

_SHOWN = 500
_COMMENT = re.compile(r"<!--.*-->")
_TONES = {"add": "good", "delete": "bad", "edit": "accent", "mark": "dim"}


class ChangesScreen(Page["list[engine.Change]"]):
    """Dismisses with the restored change, or None if the user left."""

    TITLES = "changes", "before and after"
    OF_A_ROW = "open", "restore"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("changes", "Read", "read"),
        Binding("u", "restore", "Undo", tooltip="Undo this change", id="changes.restore"),
        Binding("r", "reload", "Read again", id="changes.reload"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._changes: dict[int, engine.Change] = {}
        self._back: set[int] = set()  # deletions whose note is there again
        self._brought: list[engine.Change] = []

    async def on_mount(self) -> None:
        """Read the changes; keys wait for them."""
        if (before := self.before()) and before._changes:
            self._show(list(before._changes.values()))
        await self.action_reload()

    async def action_reload(self) -> None:
        """Read the changes again."""
        memory = self._library.memory
        history = partial(memory.history, limit=_SHOWN, everywhere=memory.everything)
        await self.read("reading the changes", history, self._show)

    def _show(self, changes: list[engine.Change]) -> None:
        self._changes = {change.seq: change for change in changes}
        self._back = _brought_back(changes)
        self._list.empty = ["Nothing was changed yet."]
        # a page opens on the newest change; after an undo the cursor stays
        at_top = not self._brought and not self._list.cursor
        self._list.show_keys(
            list(self._changes), cursor=next(iter(self._changes), None) if at_top else None
        )
        self._moved()

    def _row(self, index: int, width: int) -> Row:
        change = self._changes[self._list.keys[index]]
        undone = [("undone ", "dim")] if self._is_undone(change) else []
        others = len(self._deleted_with(change)) - 1
        with_it = [(f"  and {others} more", "dim")] if others > 0 else []
        when = strftime("%Y-%m-%d %H:%M", localtime(change.at))
        return [
            (f"{when} ", "dim"),
            (f"{change.op:7s}", _TONES.get(change.op, "text")),
            *undone,
            (change.title, "text"),
            *with_it,
        ]

    def _moved(self, by_hand: bool = False) -> None:
        self.refresh_bindings()
        change = self._changes.get(self._list.key) if self._list.key is not None else None
        if change is None:
            self._detail.show([])
            return
        before, after = (_readable(text) for text in (change.before, change.after))
        head: Row = [(short_path(self._library.memory, change.path), "dim")]
        self._detail.show([head, [], *diff_rows(before, after)])

    def _deleted_with(self, change: engine.Change) -> list[engine.Change]:
        """Return the deletions of the same step as *change*, itself included, that still hold."""
        if not self._holds(change):
            return []
        return [
            one for one in self._changes.values() if one.batch == change.batch and self._holds(one)
        ]

    def _holds(self, change: engine.Change) -> bool:
        """Return whether *change* is a deletion whose note is not there again."""
        return change.op == "delete" and not self._is_undone(change)

    def _is_undone(self, change: engine.Change) -> bool:
        return change.state == "undone" or change.seq in self._back

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key works now: what is undone is not undone again."""
        change = self._changes.get(self._list.key) if self._list.key is not None else None
        is_undone = change is not None and self._is_undone(change)
        return super().check_action(action, parameters) and not (action == "restore" and is_undone)

    async def action_restore(self) -> None:
        """Restore the text before the change under the cursor; all notes of a deletion at once."""
        if self._list.key is None:
            return
        chosen = self._changes[self._list.key]
        numbers = [one.seq for one in self._deleted_with(chosen) or [chosen]]
        memory = self._library.memory

        def bring() -> list[engine.Change]:
            return [memory.restore(number) for number in numbers]

        await write(self, "bringing it back", bring, self._restored, self._complain)

    def _restored(self, changes: list[engine.Change]) -> None:
        self._brought = [*changes, *self._brought]
        count = len(self._brought)
        what = quoted(changes[0].title) if count == 1 else f"{count} notes"
        done = "removed" if changes[0].op == "delete" else "brought back"
        self.say(f"{done} {what} · u on another row undoes that, too")
        self.run_worker(self.action_reload(), group="read")

    def leave(self) -> None:
        """Leave. The home screen shows the restored note."""
        self.dismiss(self._brought or None)


def _brought_back(changes: list[engine.Change]) -> set[int]:
    """Return the numbers of the deletions after which the same note was added again.

    Args:
        changes: the newest first.
    """
    found = set()
    next_ops: dict[tuple[str, str], str] = {}  # of each note, the operation that came next
    for change in changes:
        if change.state != "undone":
            note = change.path, change.entry_id
            if change.op == "delete" and next_ops.get(note) == "add":
                found.add(change.seq)
            next_ops[note] = change.op
    return found


def _readable(text: bytes) -> str:
    """Return a note without the comments that only programs read."""
    lines = text.decode(errors="replace").strip("\n").split("\n")
    return "\n".join(line for line in lines if not _COMMENT.fullmatch(line.strip()))
