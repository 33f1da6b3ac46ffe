"""What the home screen does to notes: write new ones, edit in place, drafts, conflicts, delete,
undo, copy, export.

A part of ``BrowseScreen`` (it uses its panes and its cursor); here and in ``marking`` is everything
that writes. Writes are done one
after the other, off the event loop: a file may be held by another program.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec
from memsearch_engine import Conflict, Entry, MemsearchError, shown_line
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input

from memsearch_tui import drafts
from memsearch_tui.aside import OURS, attend, away, write
from memsearch_tui.counted import many
from memsearch_tui.library import Item
from memsearch_tui.widgets import render

if TYPE_CHECKING:
    from memsearch_engine import Change, Excerpt, Note, Target
    from textual.screen import Screen

    from memsearch_tui.library import Library
    from memsearch_tui.timeline import Hits, Timeline
    from memsearch_tui.widgets.lines import LineList, TextView

    _Base = Screen[None]
else:
    _Base = object

T = TypeVar("T")
_MEANWHILE_S = 2.0  # how often what is edited is compared with its file
#: Editors that are told a line as PATH:LINE, some behind an option; the others take +LINE PATH.
_WITH_COLON = {
    "hx": [],
    "helix": [],
    "subl": [],
    "zed": [],
    "code": ["--goto"],
    "codium": ["--goto"],
    "cursor": ["--goto"],
}


class Editing(_Base):
    """Changes to the entry under the cursor, or to those that are selected."""

    if TYPE_CHECKING:
        library: Library
        entries: LineList
        reader: TextView
        shown: Timeline | Hits
        timeline: Timeline
        item: Item | None
        level: str
        found: Excerpt | None
        turn: int

        @property
        def entry(self) -> Entry | None: ...
        def go(self, level: str) -> None: ...
        def say(self, text: str, *, for_s: float = 8, of_note: bool = False) -> None: ...
        def is_elsewhere(self) -> bool: ...
        def _preview(self) -> None: ...
        def _drop_gone(self) -> None: ...
        def action_reload(self, stand_on: tuple[str, str] | None = None) -> None: ...
        def save_search(self) -> None: ...

    editing = False
    _draft_timer: Timer | None = None
    _compare_timer: Timer | None = None

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[tuple[str, str]] = set()  # deleted here; the index may not know yet
        self._draft = drafts.Draft("", "", "", "")  # what is edited, as it was
        self._saving: drafts.Draft | None = None

    async def _write(
        self, what: str, work: Callable[[], T], then: Callable[[T], object], failed=None
    ) -> None:
        """Do *work* when the writes before it are done, then *then* with what came of it."""
        await write(self, what, work, then, failed or self._complain)

    def _complain(self, error: Exception) -> None:
        self.notify(str(error), severity="error")

    async def action_edit(self) -> None:
        if self.entry is None or self.item is None or self.editing or self.is_elsewhere():
            return
        await self._open_editor(self._begun(self.item, self.entry), "edit")
        self._compare_timer = self.set_interval(_MEANWHILE_S, self._compare)

    def _begun(self, item: Item, entry: Entry) -> drafts.Draft:
        return drafts.Draft(item.path, entry.id, entry.title, entry.body, entry.hash, entry.body)

    async def action_new(self) -> None:
        """Go on with the new note that was not saved, else write one of today."""
        if self.editing:
            return
        memory = self.library.memory
        folders = {project.memory for project in memory.projects}
        every = await OURS.run(partial(drafts.every, memory.home))
        kept = next((draft for draft in every if draft.new_day and draft.path in folders), None)
        await self._open_new(
            kept.new_day if kept else self.library.today(),
            kept.path if kept else self.library.place_of_new(self.item).memory,
        )

    def action_new_on(self) -> None:
        """Write a note of another day."""
        from memsearch_tui.screens.day import DayScreen

        memory = self.library.place_of_new(self.item).memory

        def chosen(day: str | None) -> None:
            if day:
                self.run_worker(self._open_new(day, memory), group="edit")

        if not self.editing:
            here = self.item.day if self.item else self.library.today()
            self.app.push_screen(
                DayScreen(self.timeline.counts, self.library.today(), here, "a note of which day"),
                chosen,
            )

    async def _open_new(self, day: str, memory: str) -> None:
        name = os.path.basename(self.library.memory.root_of(memory))
        await self._open_editor(drafts.of_new(memory, day), f"new note · {name} · {day}")

    async def _open_editor(self, draft: drafts.Draft, title: str) -> None:
        """Awaited within the key's own action: keys that come after it are text, however fast they
        come.
        """
        from memsearch_tui.widgets.editor import make_editor

        kept = await OURS.run(
            partial(drafts.load, self.library.memory.home, draft.path, draft.entry_id)
        )
        if self.editing:
            return
        is_behind = bool(kept and kept.hash and kept.hash != draft.hash)
        if (
            kept and kept.hash
        ):  # it is saved over what it began with, not over what stands there by now
            draft = msgspec.structs.replace(draft, hash=kept.hash, base=kept.base)
        self._draft = draft
        self.editing = True
        self.add_class("editing")
        editor = make_editor(kept.text if kept else draft.text)
        editor.border_title = Content(shown_line(title))
        editor.border_subtitle = "ctrl+s saves · escape leaves"
        await self.query_one("#right").mount(editor, before=0)
        self.set_focus(editor)
        self.say("")
        if kept:
            changed = " · the note was changed meanwhile" if is_behind else ""
            self.say(
                f"this is your unsaved draft · ctrl+s saves · ctrl+g drops it{changed}", for_s=6
            )

    async def _compare(self) -> None:
        """Say so as soon as what is edited is changed in its file by somebody else."""
        draft = self._draft
        try:
            now = (await away(partial(self.library.entry_at, draft.path, draft.entry_id))).hash
        except (MemsearchError, OSError):
            now = ""
        if self.editing and self._draft is draft and now != draft.hash and self._saving is None:
            for editor in self.query("#editor"):
                editor.border_title = (
                    "edit · changed in its file meanwhile"
                    if now
                    else "edit · no longer in its file"
                )
                editor.border_subtitle = (
                    "ctrl+s shows both" if now else "escape keeps what you wrote as a draft"
                )

    def _close_editor(self, *, keep_draft: bool = False) -> None:
        if not self.editing:
            return
        if not keep_draft:
            self._forget(self._draft)
        for timer in (self._draft_timer, self._compare_timer):
            if timer is not None:
                timer.stop()
        self._draft_timer = self._compare_timer = None
        self.set_focus(
            None
        )  # keys typed before the pane is back are commands, never text of the search box
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
            key = "a" if self._draft.new_day else "e"
            self.say(
                f"not saved: kept as a draft · {key} goes on with it", for_s=6, of_note=key == "e"
            )

    def action_drop_draft(self) -> None:
        """Leave the editor and forget what was typed."""
        if self.editing:
            self._close_editor()
            self.say("draft dropped", for_s=3)

    def on_text_area_changed(self, event) -> None:
        if (
            self._draft_timer is None
        ):  # not put off by further keys: who never rests has a draft, too
            self._draft_timer = self.set_timer(0.5, self.keep_typed)

    def keep_typed(self) -> None:
        """Write what was typed so far as a draft."""
        self._draft_timer = None
        self._keep_draft()

    def _keep_draft(self) -> bool:
        """Write the draft. False where nothing was changed."""
        text = self._edited()
        if text is None or text.strip("\n") == self._draft.text.strip("\n"):
            return False
        self._keep_as_draft(self._draft, text)
        return True

    def _keep_as_draft(self, draft: drafts.Draft, text: str) -> None:
        OURS.run(
            partial(
                drafts.keep, self.library.memory.home, msgspec.structs.replace(draft, text=text)
            )
        )

    def _forget(self, draft: drafts.Draft) -> None:
        OURS.run(partial(drafts.drop, self.library.memory.home, draft.path, draft.entry_id))

    def _edited(self) -> str | None:
        """What stands in the editor; None where none is open."""
        from textual.widgets import TextArea

        return next((editor.text for editor in self.query("#editor").results(TextArea)), None)

    def action_save(self) -> None:
        """Save what stands in the editor once it has taken every key that was typed before this
        one; in the search box: keep the search.
        """
        if isinstance(self.focused, Input):
            self.save_search()
        for editor in self.query("#editor"):
            editor.call_later(self._save_editor)

    async def _save_editor(self) -> None:
        text, draft = self._edited(), self._draft
        if text is None or not self.editing or self._saving is draft:
            return
        if text.strip("\n") == draft.text.strip("\n") or not text.strip():
            self._close_editor()
        else:
            await self._save(draft, text)

    async def _save(self, draft: drafts.Draft, text: str) -> None:
        """Write *text* as what *draft* is about. Whatever is open when it is done: only that draft
        goes, and only its editor is closed.
        """
        memory = self.library.memory
        if draft.new_day:
            work = partial(self.library.add, text, draft.new_day, memory.root_of(draft.path))
        else:
            work = partial(memory.edit, draft.entry_id, text, if_match=draft.hash, path=draft.path)

        def is_open() -> bool:
            return self.editing and self._draft is draft

        def saved(note: Note) -> None:
            self._saving = None
            if is_open() and self._edited() == text:
                self._close_editor()
            elif is_open():  # typed on while it was written
                self._draft = msgspec.structs.replace(
                    draft,
                    entry_id=note.id,
                    path=note.path,
                    hash=note.hash,
                    base=note.text,
                    text=note.text,
                )
            self._forget(draft)
            self.action_reload((note.path, note.id) if draft.new_day else None)
            secrets = f" · {many(len(note.replaced), 'secret')} replaced" if note.replaced else ""
            self.say(f"saved · u takes it back{secrets}", for_s=4)

        def failed(error: Exception) -> None:
            self._saving = None
            self._keep_as_draft(draft, text)  # whatever comes of it
            if isinstance(error, Conflict):
                self.run_worker(self._conflict(draft, text), group="edit")
            else:
                self.notify(f"{error}; your text is kept as a draft", severity="error")

        self._saving = draft
        await self._write("saving", work, saved, failed)

    async def _conflict(self, draft: drafts.Draft, mine: str) -> None:
        from memsearch_tui.screens.conflict import ConflictScreen

        try:
            now = await away(partial(self.library.entry_at, draft.path, draft.entry_id))
        except (MemsearchError, OSError) as error:
            self.notify(f"{error}; your text is kept as a draft", severity="error")
            return
        seen = msgspec.structs.replace(draft, hash=now.hash, base=now.body)

        def decided(choice: str | None) -> None:
            is_open = self.editing and self._draft is draft
            if choice == "theirs":
                self._forget(draft)
                if is_open:
                    self._close_editor()
                self.action_reload()
                return
            if is_open:
                self._draft = seen
            if choice == "mine":
                self.run_worker(self._save(seen, mine), group="edit")
            else:
                self._keep_as_draft(seen, mine)
                if not is_open:
                    self.say("your text is kept as a draft · e on the note goes on with it")

        what = f"{os.path.basename(draft.path).removesuffix('.md')} {now.time} {now.title}"
        self.app.push_screen(ConflictScreen(what, draft.base, mine, now.body), decided)

    async def action_edit_outside(self) -> None:
        """Edit the text in $EDITOR; it is saved as an edit here is."""
        if self.entry is None or self.item is None or self.editing or self.is_elsewhere():
            return
        import click

        draft = self._begun(self.item, self.entry)
        with self.app.suspend():
            text = click.edit(draft.base + "\n", extension=".md", require_save=True)
        if text is not None and text.strip("\n") != draft.base:
            self._keep_as_draft(draft, text)
            await self._save(draft, text)

    def action_open_file(self) -> None:
        """Open the day's file in $EDITOR at this note."""
        if self.entry is None or self.item is None or self.editing:
            return
        asked = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        argv = shlex.split(asked)
        name, line = os.path.basename(argv[0]) if argv else "", self.entry.start_line
        told = [f"{self.item.path}:{line}"] if name in _WITH_COLON else [f"+{line}", self.item.path]
        try:
            with self.app.suspend():
                subprocess.call([*argv, *_WITH_COLON.get(name, []), *told])
        except (OSError, IndexError) as error:
            self.notify(f"{asked} can't be run: {error}; set EDITOR", severity="error")
        self.action_reload()

    def chosen(self) -> list[Item]:
        """The selected entries in the order of the list, else the one under the cursor."""
        places = sorted(self.shown.index(key) for key in self.entries.selected if key in self.shown)
        marked = [item for place in places if (item := self.shown.item(self.shown[place]))]
        return marked or ([self.item] if self.item else [])

    async def action_delete(self) -> None:
        if self.editing or isinstance(self.focused, Input) or self.is_elsewhere():
            return
        chosen = self.chosen()
        if not chosen:
            return
        memory = self.library.memory

        def gone(_: object) -> None:
            self.entries.clear_selection()
            if self.level in ("section", "turn") and not self.editing:
                self.go("entries")
            self.gone.update(item.key for item in chosen)
            self._drop_gone()
            what = (
                f"“{chosen[0].title[:40]}”" if len(chosen) == 1 else f"{many(len(chosen), 'entry')}"
            )
            self.say(f"deleted {what} · u brings it back", for_s=8)

        def failed(error: Exception) -> None:
            self._complain(error)
            self.action_reload()

        def delete() -> None:
            memory.remove([self._as_shown(item, seen) for item in chosen])

        seen = self._open_text()
        await self._write("deleting", delete, gone, failed)

    def _open_text(self) -> Entry | None:
        """The text that the user looks at."""
        return (
            self.entry if self.item and self.entry and self.entry.id == self.item.entry_id else None
        )

    def _as_shown(self, item: Item, seen: Entry | None) -> Target:
        """An entry with the hash of what the user sees: the text that is open (*seen*), else the
        line in the list (whose hash comes from an index that may be a moment behind). Raises
        Conflict where that line is not in the file any more.
        """
        from memsearch_engine import Target

        entry = seen if seen and seen.id == item.entry_id else None
        if entry is None:
            entry = self.library.entry(item)
            if not self.library.is_as_listed(item, entry):
                raise Conflict(f"“{item.title[:40]}” changed meanwhile", "look at it again")
        return Target(item.path, item.entry_id, entry.hash)

    async def action_undo(self) -> None:
        await self._step("undo")

    async def action_redo(self) -> None:
        await self._step("redo")

    async def _step(self, name: str) -> None:
        memory = self.library.memory
        step = memory.undo if name == "undo" else memory.redo

        def done(changes: list[Change]) -> None:
            if not changes:
                self.say(f"nothing to {name}", for_s=3)
                return
            self._show_change(changes)
            self.say(f"{name}: {changes[0].op} of “{changes[0].title[:40]}”", for_s=4)

        await self._write(f"{name}ing", partial(step, everywhere=memory.everything), done)

    def _show_change(self, changes: list[Change]) -> None:
        """Show what was taken back, done again or restored, and stand on it where it is in the
        list.
        """
        self.gone -= {(change.path, change.entry_id) for change in changes}
        self.action_reload((changes[0].path, changes[0].entry_id))

    def _stand_on(self, key: tuple[str, str] | None) -> None:
        if key in self.shown:
            self.entries.show_keys(self.shown, cursor=key)
            self._preview()

    def action_changes(self) -> None:
        """What was changed, with what stood before; any of it can be brought back."""
        from memsearch_tui.screens.changes import ChangesScreen

        if not self.editing:
            self.app.push_screen(
                ChangesScreen(self.library),
                lambda changes: self._show_change(changes) if changes else None,
            )

    async def action_copy(self, whole: bool = False) -> None:
        """Copy the text; *whole*: as markdown, with its heading, day and anchor."""
        if self.level == "turn":
            found = self.found.turns[self.turn] if self.found and self.found.turns else None
            self._copied(render.turn_markdown(found) if whole and found else self.reader.text())
            return
        chosen = self.chosen()

        def got(entries: list[Entry]) -> None:
            text = (
                self.library.as_markdown(entries, chosen)
                if whole
                else "\n\n".join(e.body for e in entries)
            )
            self._copied(text)

        await attend(self, "reading", away(partial(self._entries, chosen)), got, self._complain)

    def _copied(self, text: str) -> None:
        if text:
            self.app.copy_to_clipboard(text)
            self.say("copied", for_s=2)

    def action_export(self) -> None:
        """Write what is chosen to a file: markdown, or JSON where its name ends so."""
        from memsearch_tui.screens.ask import AskScreen

        chosen = self.chosen()
        if not chosen:
            return

        def exported(target: str) -> None:
            self.entries.clear_selection()
            self.say(f"{many(len(chosen), 'entry')} in {target}")

        def failed(error: Exception) -> None:
            self.notify(f"not exported: {error}", severity="error")

        def decided(path: str | None) -> None:
            if path:
                work = lambda: self.library.export(self._entries(chosen), chosen, path)  # noqa: E731
                self.run_worker(self._write("exporting", work, exported, failed), group="edit")

        name = f"memories-{chosen[0].day}.md"
        self.app.push_screen(
            AskScreen(f"Export {many(len(chosen), 'entry')} to (.md or .json)", name), decided
        )

    def _entries(self, items: list[Item]) -> list[Entry]:
        found = []
        for item in items:
            with contextlib.suppress(MemsearchError, OSError):
                found.append(self.library.entry(item))
        return found
