"""What the home screen does to notes: edit in place, drafts, conflicts, delete, undo, pin, copy, export.

A part of ``BrowseScreen`` (it uses its panes and its cursor); here is everything that writes.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from memsearch_engine.errors import Conflict, MemsearchError
from memsearch_engine.journal.model import Entry
from textual.timer import Timer
from textual.widgets import Input

from memsearch_tui import drafts
from memsearch_tui.counted import many
from memsearch_tui.library import Item

if TYPE_CHECKING:
    from memsearch_engine.journal.write import Target
    from textual.screen import Screen

    from memsearch_tui.library import Library
    from memsearch_tui.timeline import Hits, Timeline
    from memsearch_tui.widgets.lines import LineList, TextView

    _Base = Screen[None]
else:
    _Base = object


class Editing(_Base):
    """Changes to the entry under the cursor, or to those that are selected."""

    if TYPE_CHECKING:
        library: Library
        entries: LineList
        reader: TextView
        shown: Timeline | Hits
        entry: Entry | None
        item: Item | None
        level: str

        def go(self, level: str) -> None: ...
        def say(self, text: str) -> None: ...
        def _preview(self) -> None: ...
        def _drop_gone(self) -> None: ...
        def action_reload(self) -> None: ...

    editing = False
    _draft_timer: Timer | None = None

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[tuple[str, str]] = set()  # deleted here; the index may not know yet

    async def action_edit(self) -> None:
        if self.entry is None or self.item is None or self.editing:
            return
        draft = drafts.load(self.library.memory.home, self.item.path, self.entry.id)
        await self._open_editor(draft.text if draft else self.entry.body)
        if draft:
            self.notify("this is your unsaved draft · ctrl+s saves · ctrl+g drops it", timeout=6)

    async def _open_editor(self, text: str) -> None:
        """Awaited within the key's own action: keys that come after it are text, however fast they come."""
        from memsearch_tui.widgets.editor import make_editor

        self.editing = True
        self.add_class("editing")
        editor = make_editor(text)
        editor.border_title = "edit"
        editor.border_subtitle = "ctrl+s saves · escape leaves"
        await self.query_one("#right").mount(editor, before=0)
        self.set_focus(editor)

    def _close_editor(self, *, keep_draft: bool = False) -> None:
        if not keep_draft and self.item and self.entry:
            drafts.drop(self.library.memory.home, self.item.path, self.entry.id)
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self.set_focus(None)  # keys typed before the pane is back are commands, never text of the search box
        self.query("#editor").remove()
        self.editing = False
        self.remove_class("editing")
        self._preview()
        self.call_after_refresh(self.go, "section" if self.level == "section" else "entries")

    def _leave_editor(self) -> None:
        """Close the editor; what was typed and not saved is kept as a draft."""
        changed = self._keep_draft()
        self._close_editor(keep_draft=changed)
        if changed:
            self.notify("not saved: kept as a draft · e goes on with it", timeout=6)

    def action_drop_draft(self) -> None:
        """Leave the editor and forget what was typed."""
        if self.editing:
            self._close_editor()
            self.notify("draft dropped", timeout=3)

    def on_text_area_changed(self, event) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(0.5, self._keep_draft)

    def _keep_draft(self) -> bool:
        """Write the draft. False where nothing was changed."""
        from textual.widgets import TextArea

        for editor in self.query("#editor").results(TextArea):
            if self.item and self.entry and editor.text.strip("\n") != self.entry.body:
                draft = drafts.Draft(self.item.path, self.entry.id, self.entry.title, editor.text)
                drafts.keep(self.library.memory.home, draft)
                return True
        return False

    def action_save(self) -> None:
        """Save what stands in the editor once it has taken every key that was typed before this one."""
        from textual.widgets import TextArea

        for editor in self.query("#editor").results(TextArea):
            editor.call_later(self._save_editor)

    def _save_editor(self) -> None:
        from textual.widgets import TextArea

        if not self.editing or self.entry is None or self.item is None:
            return
        text = self.query_one("#editor", TextArea).text
        if text.strip("\n") == self.entry.body.strip("\n"):
            self._close_editor()
            return
        self._save(text, self.entry.hash)

    def _save(self, text: str, seen: str) -> None:
        assert self.entry is not None and self.item is not None
        try:
            note = self.library.memory.edit(self.entry.id, text, if_match=seen, path=self.item.path)
        except Conflict as conflict:
            self._conflict(text, conflict)
            return
        except (MemsearchError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self._close_editor()
        self.action_reload()
        self.notify(
            "saved · u takes it back" + (f" · {many(len(note.replaced), 'secret')} replaced" if note.replaced else ""),
            timeout=4,
        )

    def _conflict(self, mine: str, conflict: Conflict) -> None:
        from memsearch_tui.screens.conflict import ConflictScreen

        assert self.item is not None
        try:
            now = self.library.entry(self.item)
        except (MemsearchError, OSError) as error:
            self.notify(f"{error}; your text is kept as a draft", severity="error", markup=False)
            self._keep_draft()
            return

        def decided(choice: str | None) -> None:
            if choice == "mine":
                self.entry = now
                self._save(mine, now.hash)
            elif choice == "theirs":
                self._close_editor()
                self.action_reload()
            elif choice == "edit":
                self.entry = now

        self.app.push_screen(ConflictScreen(mine, now.body), decided)

    def action_edit_outside(self) -> None:
        if self.entry is None or self.item is None:
            return
        import click

        with self.app.suspend():
            text = click.edit(self.entry.body + "\n", extension=".md", require_save=True)
        if text is not None and text.strip("\n") != self.entry.body:
            self._save(text, self.entry.hash)

    def chosen(self) -> list[Item]:
        """The selected entries in the order of the list, else the one under the cursor."""
        places = sorted(self.shown.index(key) for key in self.entries.selected if key in self.shown)
        marked = [item for place in places if (item := self.shown.item(self.shown[place]))]
        return marked or ([self.item] if self.item else [])

    def action_delete(self) -> None:
        if self.editing or isinstance(self.focused, Input):
            return
        chosen = self.chosen()
        if not chosen:
            return
        memory = self.library.memory
        try:
            memory.journal.delete(memory.memory_of(chosen[0].path), [self._as_shown(item) for item in chosen])
        except (MemsearchError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
            self.action_reload()
            return
        self.entries.clear_selection()
        if self.level in ("section", "turn"):
            self.go("entries")
        self.gone |= {item.key for item in chosen}
        self._drop_gone()
        what = f"“{chosen[0].title[:40]}”" if len(chosen) == 1 else f"{many(len(chosen), 'entry')}"
        self.notify(f"deleted {what} · u brings it back", timeout=8, markup=False)

    def _as_shown(self, item: Item) -> Target:
        """An entry with the hash of what the user sees: the text that is open, else the line in the list (whose hash comes
        from an index that may be a moment behind). Raises Conflict where that line is not in the file any more."""
        from memsearch_engine.journal.write import Target

        entry = self.entry if self.item and item.key == self.item.key else None
        if entry is None:
            entry = self.library.entry(item)
            if not self.library.is_as_listed(item, entry):
                raise Conflict(f"“{item.title[:40]}” changed meanwhile", "look at it again")
        return Target(item.path, item.entry_id, entry.hash)

    def action_undo(self) -> None:
        self._step("undo")

    def action_redo(self) -> None:
        self._step("redo")

    def _step(self, name: str) -> None:
        memory = self.library.memory
        scope = "" if memory.everything else memory.place.memory
        try:
            changes = getattr(memory.journal, name)(scope)
        except (MemsearchError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if not changes:
            self.notify(f"nothing to {name}", timeout=3)
            return
        first = changes[0]
        self.gone -= {(change.path, change.entry_id) for change in changes}
        self.action_reload()
        key = (first.path, first.entry_id)
        if key in self.shown:
            self.entries.show_keys(self.shown, cursor=key)
            self._preview()
        self.notify(f"{name}: {first.op} of “{first.title[:40]}”", timeout=4, markup=False)

    def action_pin(self) -> None:
        """Pin what is chosen; where all of it is pinned, unpin it."""
        chosen = self.chosen()
        memory = self.library.memory
        value = None if chosen and all("pin" in item.marks for item in chosen) else ""
        for item in chosen:
            try:
                memory.journal.mark(memory.memory_of(item.path), self._as_shown(item), "pin", value)
            except (MemsearchError, OSError) as error:
                self.notify(str(error), severity="error", markup=False)
        if chosen:
            self.say(f"{'unpinned' if value is None else 'pinned'}: {many(len(chosen), 'note')} · u takes it back")
        self.entries.clear_selection()
        self.action_reload()

    def action_copy(self) -> None:
        if self.level == "turn":
            text = self.reader.text()
        else:
            text = "\n\n".join(entry.body for entry in self._entries(self.chosen()))
        if text:
            self.app.copy_to_clipboard(text)
            self.notify("copied", timeout=2)

    def action_export(self) -> None:
        """Write what is chosen to a file: markdown, or JSON where its name ends so."""
        from memsearch_tui.screens.ask import AskScreen

        chosen = self.chosen()
        if not chosen:
            return

        def decided(path: str | None) -> None:
            if not path:
                return
            try:
                target = self.library.export(self._entries(chosen), chosen, path)
            except OSError as error:
                self.notify(f"{path}: {error.strerror}", severity="error", markup=False)
                return
            self.entries.clear_selection()
            self.notify(f"{many(len(chosen), 'entry')} in {target}", markup=False)

        name = f"memories-{chosen[0].day}.md"
        self.app.push_screen(AskScreen(f"Export {many(len(chosen), 'entry')} to (.md or .json)", name), decided)

    def _entries(self, items: list[Item]) -> list[Entry]:
        found = []
        for item in items:
            with contextlib.suppress(MemsearchError, OSError):
                found.append(self.library.entry(item))
        return found
