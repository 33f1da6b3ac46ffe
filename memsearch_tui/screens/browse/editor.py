"""The editor: edits in place, new notes, drafts, conflicts, ``$EDITOR``.

Writes run one after the other, off the event loop, because another program may hold the file.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import msgspec
from memsearch_engine import Conflict, Entry, MemsearchError, UsageError, shown_line
from textual.content import Content
from textual.timer import Timer

from memsearch_tui import drafts
from memsearch_tui.aside import OURS, away
from memsearch_tui.counted import many, quoted, reason
from memsearch_tui.library import Item
from memsearch_tui.timeline import Key

if TYPE_CHECKING:
    from memsearch_engine import Note
    from textual.widgets import TextArea

    from memsearch_tui.screens.browse.conversation import Conversation
    from memsearch_tui.screens.browse.desk import Desk
    from memsearch_tui.screens.browse.reader import Reader

_COMPARE_S = 2.0  # between two comparisons of the edited note with its file
_DRAFT_S = 0.5  # from a key to the draft that contains it
_PATH_S = 60.0  # a message with a path that the user needs
_KEPT_S = 2.0  # longest time that leaving waits for the draft
_SAVES = "ctrl+s saves · escape leaves"
_GONE = Content("edit · no longer in its file"), "escape keeps what you wrote as a draft"
_CHANGED = Content("edit · changed in its file meanwhile"), "ctrl+s shows both"
#: Editors that take a line as PATH:LINE, some after an option; all others take +LINE PATH.
_WITH_COLON = {
    "hx": [],
    "helix": [],
    "subl": [],
    "zed": [],
    "code": ["--goto"],
    "codium": ["--goto"],
    "cursor": ["--goto"],
}


class Editor:
    """The editor of one note, and its draft."""

    def __init__(
        self,
        desk: Desk,
        reader: Reader,
        conversation: Conversation,
        reload: Callable[[Key | None], None],
    ) -> None:
        """Args:
        reload: reads the lists again and moves the cursor to the key.
        """
        self._desk, self._reader, self._conversation = desk, reader, conversation
        self._state, self._reload = desk.state, reload
        self._draft = drafts.EditDraft("", "", "", "")  # the note when the edit began
        # upper and lower border of the editor: now, and while the note is as it was
        self._titles = self._own_titles = Content(), ""
        self._saving: drafts.EditDraft | None = None
        self._draft_timer: Timer | None = None
        self._compare_timer: Timer | None = None

    # -- opening

    async def edit(self) -> None:
        """Edit the note under the cursor."""
        item, entry = self._state.item, self._state.entry
        if item is None or entry is None or self._may_not_edit():
            return
        await self._open(_begun(item, entry), "edit")
        self._compare_timer = self._desk.screen.set_interval(_COMPARE_S, self.compare)

    def _may_not_edit(self) -> bool:
        return (
            self._state.editing or self._conversation.is_elsewhere() or self._desk.has_lost_note()
        )

    async def new(self) -> None:
        """Continue the unsaved new note; without one, begin a note of today."""
        state = self._state
        if state.editing:
            return
        memory = state.library.memory
        folders = {project.memory for project in memory.projects}
        every = await OURS.run(partial(drafts.every, memory.home))
        unsaved = next((draft for draft in every if draft.new_day and draft.path in folders), None)
        if unsaved:
            await self.open_new(unsaved.new_day, unsaved.path)
        else:
            folder = state.library.writer.project_of_new(state.item).memory
            await self.open_new(state.library.today(), folder)

    def new_on(self) -> None:
        """Begin a note of another day."""
        from memsearch_tui.screens.dialogs import DayScreen

        state = self._state
        folder = state.library.writer.project_of_new(state.item).memory

        def chosen(day: str) -> None:
            self._desk.start(partial(self.open_new, day, folder), "edit")

        if not state.editing:
            today = state.library.today()
            here = state.item.day if state.item else today
            screen = DayScreen(state.timeline.counts, today, here, "a note of which day")
            self._desk.open(screen, chosen)

    async def open_new(self, day: str, folder: str) -> None:
        """Open the editor for a new note of *day* (ISO) in a memory folder."""
        name = os.path.basename(self._state.library.memory.files.root_of(folder))
        await self._open(drafts.of_new(folder, day), f"new note · {name} · {day}")

    async def _open(self, draft: drafts.EditDraft, title: str) -> None:
        """Open the editor. It is awaited within the key's action, so that later keys are text."""
        from memsearch_tui.widgets.editor import make_editor

        screen, home = self._desk.screen, self._state.library.memory.home
        saved = await OURS.run(partial(drafts.load, home, draft.path, draft.entry_id))
        if self._state.editing:
            return
        is_behind = bool(saved and saved.hash and saved.hash != draft.hash)
        if saved and saved.hash:  # saving compares with the text that the draft began with
            draft = msgspec.structs.replace(draft, hash=saved.hash, base=saved.base)
        self._draft = draft
        self._state.editing = True
        screen.add_class("editing")
        editor = make_editor(saved.text if saved else draft.text)
        self._titles = self._own_titles = Content(shown_line(title)), _SAVES
        editor.border_title, editor.border_subtitle = self._titles
        await screen.query_one("#right").mount(editor, before=0)
        screen.set_focus(editor)
        self._desk.say("")
        if saved:
            changed = " · the note was changed meanwhile" if is_behind else ""
            self._desk.say(
                f"this is your unsaved draft · ctrl+s saves · ctrl+g drops it{changed}", for_s=6
            )

    async def compare(self) -> None:
        """Show in the editor's border that somebody else changed the note in its file."""
        draft = self._draft
        try:
            entry = await away(
                partial(self._state.library.notes.entry_at, draft.path, draft.entry_id)
            )
            now = entry.hash
        except (MemsearchError, OSError):
            now = ""
        is_same = self._state.editing and self._draft is draft and self._saving is None
        if not is_same:
            return
        titles = self._own_titles if now == draft.hash else _CHANGED if now else _GONE
        editor = self._widget()
        if titles != self._titles and editor is not None:
            editor.border_title, editor.border_subtitle = self._titles = titles

    # -- closing

    def _close(self, *, keep_draft: bool = False) -> None:
        screen, state = self._desk.screen, self._state
        if not state.editing:
            return
        if not keep_draft:
            self._forget(self._draft)
        for timer in (self._draft_timer, self._compare_timer):
            if timer is not None:
                timer.stop()
        self._draft_timer = self._compare_timer = None
        # keys before the pane returns are commands, never text of the search box
        screen.set_focus(None)
        if (editor := self._widget()) is not None:
            editor.read_only = True  # keys that still wait in it are commands, too
            editor.remove()
        state.editing = False
        screen.remove_class("editing")
        level = state.level = "section" if state.level == "section" else "entries"
        self._reader.preview()
        screen.call_after_refresh(self._desk.go, level)

    async def leave(self) -> bool:
        """Close the editor. Unsaved text stays as a draft.

        Returns:
            False if no draft can be written: the editor stays open.
        """
        if not self._state.editing:
            return True
        if not await self.keep():
            return False
        changed = self._is_changed()
        self._close(keep_draft=changed)
        if changed:
            key = "+" if self._draft.new_day else "e"
            text = f"not saved: there is a draft · {key} goes on with it"
            self._desk.say(text, for_s=6, of_note=key == "e")
        return True

    def drop_draft(self) -> None:
        """Close the editor and discard the unsaved text."""
        if self._state.editing:
            self._close()
            self._desk.say("draft dropped", for_s=3)

    # -- drafts

    async def mention_draft(self) -> None:
        """Show a message about an unsaved edit of an earlier run, after the first frame."""
        await self._desk.painted.wait()
        memory = self._state.library.memory
        folders = tuple(project.memory for project in memory.projects)
        every = await OURS.run(partial(drafts.every, memory.home))
        if draft := next((draft for draft in every if draft.path.startswith(folders)), None):
            key = "+" if draft.new_day else "e on it"
            self._desk.say(f"{quoted(draft.title)} was not saved. Press {key} to go on.")

    def changed(self) -> None:
        """Write a draft soon. Further keys do not delay it, so continuous typing is saved too."""
        if self._draft_timer is None:
            # beside the screen, which draws nothing while it waits
            keep = partial(self._desk.start, self.keep, "draft")
            self._draft_timer = self._desk.screen.set_timer(_DRAFT_S, keep)

    async def keep(self) -> bool:
        """Write the current text as a draft.

        Returns:
            False, with a message, if it cannot be written, or not yet.
        """
        self._draft_timer = None
        if not self._is_changed():
            return True
        writing = self._put_draft(self._draft, self.text() or "")
        await asyncio.wait([writing], timeout=_KEPT_S)
        error = writing.exception() if writing.done() else TimeoutError("the disk does not answer")
        if error is not None:
            self._desk.say(
                f"no draft can be written: {reason(error)} · ctrl+g or ctrl+q twice drops the text"
            )
        return error is None

    def _is_changed(self) -> bool:
        text = self.text()
        return text is not None and text.strip("\n") != self._draft.text.strip("\n")

    def _put_draft(self, draft: drafts.EditDraft, text: str) -> asyncio.Future[None]:
        home, typed = self._state.library.memory.home, msgspec.structs.replace(draft, text=text)
        writing = OURS.run(partial(drafts.save, home, typed))
        writing.add_done_callback(lambda done: done.cancelled() or done.exception())
        return writing  # asyncio would print an exception that nobody looked at

    def _forget(self, draft: drafts.EditDraft) -> None:
        home = self._state.library.memory.home
        OURS.run(partial(drafts.drop, home, draft.path, draft.entry_id))

    def text(self) -> str | None:
        """Return the text in the editor; None if no editor is open."""
        editor = self._widget()
        return None if editor is None else editor.text

    def _widget(self) -> TextArea | None:
        """Return the open editor."""
        found = self._desk.screen.query("#editor")
        return cast("TextArea", found.first()) if found else None

    # -- saving

    def save(self) -> None:
        """Save, after the editor has processed all earlier keys."""
        for editor in self._desk.screen.query("#editor"):
            editor.call_later(self._save_open)

    async def _save_open(self) -> None:
        text, draft = self.text(), self._draft
        if text is None or not self._state.editing or self._saving is draft:
            return
        if text.strip("\n") == draft.text.strip("\n") or not text.strip():
            self._close()
        else:
            await self._save(draft, text)

    def _is_open(self, draft: drafts.EditDraft) -> bool:
        return self._state.editing and self._draft is draft

    async def _save(self, draft: drafts.EditDraft, text: str) -> None:
        """Write *text* as the note of *draft*.

        Another note may be open when the write ends: only this draft is deleted, and only its
        editor is closed.
        """
        library = self._state.library
        memory = library.memory
        if draft.new_day:
            work = partial(
                library.writer.add, text, draft.new_day, memory.files.root_of(draft.path)
            )
        else:
            work = partial(memory.edit, draft.entry_id, text, if_match=draft.hash, path=draft.path)

        def failed(error: Exception) -> None:
            self._saving = None
            self._desk.start(partial(self._unsaved, draft, text, error), "edit")

        self._saving = draft
        await self._desk.write("saving", work, partial(self._saved, draft, text), failed)

    def _saved(self, draft: drafts.EditDraft, text: str, note: Note) -> None:
        self._saving = None
        if self._is_open(draft) and self.text() == text:
            self._close()
        elif self._is_open(draft):  # the user typed on during the write
            self._draft = msgspec.structs.replace(
                draft,
                entry_id=note.id,
                path=note.path,
                hash=note.hash,
                base=note.text,
                text=note.text,
            )
        self._forget(draft)
        self._reload((note.path, note.id) if draft.new_day else None)
        secrets = f" · {many(len(note.replaced), 'secret')} replaced" if note.replaced else ""
        self._desk.say(f"saved · u takes it back{secrets}", for_s=4)

    async def _unsaved(self, draft: drafts.EditDraft, text: str, error: Exception) -> None:
        """Keep a text that was not saved as a draft, else copy it. In a conflict, show both."""
        kept = "your text is a draft now"
        try:
            await self._put_draft(draft, text)
        except OSError:
            self._desk.screen.app.copy_to_clipboard(text)
            kept = "no draft can be written either, so your text was copied"
        if isinstance(error, Conflict):
            entry_at = self._state.library.notes.entry_at
            try:
                now = await away(partial(entry_at, draft.path, draft.entry_id))
            except (MemsearchError, OSError) as gone:
                error = gone
            else:
                self._conflict(draft, text, now)
                return
        self._desk.screen.notify(f"{reason(error)}; {kept}", severity="error")

    def _conflict(self, draft: drafts.EditDraft, mine: str, now: Entry) -> None:
        from memsearch_tui.screens.dialogs import ConflictScreen

        seen = msgspec.structs.replace(draft, hash=now.hash, base=now.body)

        def decided(choice: str | None) -> None:
            is_open = self._is_open(draft)
            if choice == "theirs":
                self._forget(draft)
                if is_open:
                    self._close()
                self._reload(None)
                return
            if is_open:
                self._draft = seen
            if choice == "mine":
                self._desk.start(partial(self._save, seen, mine), "edit")
                return
            self._put_draft(seen, mine)
            if not is_open:
                self._desk.say("your text is a draft now · e on the note goes on with it")

        day = os.path.basename(draft.path).removesuffix(".md")
        screen = ConflictScreen(f"{day} {now.time} {now.title}", draft.base, mine, now.body)
        self._desk.screen.app.push_screen(screen, decided)

    # -- other editors

    async def edit_outside(self) -> None:
        """Edit the text in ``$EDITOR``, then save it as an edit in place."""
        item, entry = self._state.item, self._state.entry
        if item is None or entry is None or self._may_not_edit():
            return
        import click

        draft = _begun(item, entry)
        try:
            with self._desk.screen.app.suspend():
                text = drafts.in_editor(self._state.library.memory.home, draft.base)
        except UsageError as error:
            self._desk.say(f"{error}; {error.hint}", for_s=_PATH_S)
            return
        except (click.ClickException, OSError, ValueError) as error:
            self._desk.say(f"{error}; set EDITOR")
            return
        if text is not None:
            self._put_draft(draft, text)
            await self._save(draft, text)

    def open_file(self) -> None:
        """Open the day file in ``$EDITOR`` at this note."""
        import shlex

        item, entry = self._state.item, self._state.entry
        if item is None or entry is None or self._state.editing:
            return
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        line = entry.start_line
        try:
            argv = shlex.split(command)
            name = os.path.basename(argv[0])
            where = [f"{item.path}:{line}"] if name in _WITH_COLON else [f"+{line}", item.path]
            with self._desk.screen.app.suspend():
                subprocess.call([*argv, *_WITH_COLON.get(name, []), *where])
        except (OSError, ValueError, IndexError) as error:
            self._desk.say(f"{command} can't be run: {error}; set EDITOR")
        self._reload(None)


def _begun(item: Item, entry: Entry) -> drafts.EditDraft:
    return drafts.EditDraft(item.path, entry.id, entry.title, entry.body, entry.hash, entry.body)
