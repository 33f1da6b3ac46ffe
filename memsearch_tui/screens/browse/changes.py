"""Commands for the selected notes: delete, undo, redo, copy whole or in part, export."""

from __future__ import annotations

import contextlib
from functools import partial

import memsearch_engine as engine
import msgspec
from memsearch_engine import Conflict, Entry, MemsearchError

from memsearch_tui.counted import many, quoted, reason
from memsearch_tui.library import Item
from memsearch_tui.library.notes import as_markdown, export
from memsearch_tui.screens.browse.conversation import Conversation
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.screens.browse.search import SearchController
from memsearch_tui.timeline import Key
from memsearch_tui.widgets import render
from memsearch_tui.widgets.render import code_blocks, links, spans_of_code


class Selection:
    """The notes that a command applies to."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._state, self._entries = desk, desk.state, desk.panes.entries

    def items(self) -> list[Item]:
        """Return the selected notes in the order of the list; without a selection, the note under
        the cursor.

        Returns none, and says so, if another program removed the note that the user saw. The next
        call returns the note that the cursor is on now.
        """
        state = self._state
        keys = [key for key in self._entries.selected if key in state.shown]
        places = sorted(state.shown.index(key) for key in keys)
        found = [item for place in places if (item := state.shown.item(state.shown[place]))]
        if found or state.item is None:
            return found
        return [] if self._desk.has_lost_note() else [state.item]

    def clear(self) -> None:
        """Clear the selection."""
        self._entries.clear_selection()

    def open_text(self) -> Entry | None:
        """Return the entry that the user reads now."""
        item, entry = self._state.item, self._state.entry
        return entry if item and entry and entry.id == item.entry_id else None

    def target(self, item: Item, seen: Entry | None) -> engine.Target:
        """Return a note as a target, with the hash of the text that the user sees.

        Args:
            seen: the open entry. A note that is not open is compared with its row of the list; its
                hash comes from an index that may be slightly out of date.

        Raises:
            Conflict: the row's text is not in the file any more.
        """
        entry = seen if seen and seen.id == item.entry_id else None
        if entry is None:
            entry = self._state.library.notes.entry(item)
            if not item.shows(entry):
                raise Conflict(f"{quoted(item.title)} changed meanwhile", "look at it again")
        return engine.Target(item.path, item.entry_id, entry.hash)

    def entries(self, items: list[Item]) -> list[Entry]:
        """Return the entries of *items* that can be read. Thread-safe."""
        found = []
        for item in items:
            with contextlib.suppress(MemsearchError, OSError):
                found.append(self._state.library.notes.entry(item))
        return found


class Changes:
    """Deletes, restores, copies and exports notes."""

    def __init__(
        self, desk: Desk, selection: Selection, conversation: Conversation, search: SearchController
    ) -> None:
        self._desk, self._state = desk, desk.state
        self._selection, self._conversation, self._search = selection, conversation, search

    async def delete(self) -> None:
        """Delete the selected notes. One undo restores all of them."""
        if self._state.editing or self._desk.is_typing or self._conversation.is_elsewhere():
            return
        chosen = self._selection.items()
        if not chosen:
            return
        memory, seen = self._state.library.memory, self._selection.open_text()

        def deleted(_: object) -> None:
            self._selection.clear()
            if self._state.level in ("section", "turn") and not self._state.editing:
                self._desk.go("entries")
            self._state.deleted.update(item.key for item in chosen)
            self._search.drop_deleted()
            one = quoted(chosen[0].title)
            what = one if len(chosen) == 1 else many(len(chosen), "note")
            it = "it" if len(chosen) == 1 else "them"
            self._desk.say(f"deleted {what} · u brings {it} back")

        def delete() -> None:
            memory.delete_each([self._selection.target(item, seen) for item in chosen])

        await self._desk.write("deleting", delete, deleted, self.failed)

    def failed(self, error: Exception) -> None:
        """Show the error of a write, and read the lists again."""
        self._desk.complain(error)
        self._search.reload()

    async def undo(self) -> None:
        """Undo the last edit, deletion or mark."""
        memory = self._state.library.memory
        work = partial(memory.undo, everywhere=memory.everything, own=True)
        await self._desk.write("undoing", work, partial(self._stepped, "undo"), self._blocked)

    async def redo(self) -> None:
        """Redo the last undone change."""
        memory = self._state.library.memory
        work = partial(memory.redo, everywhere=memory.everything, own=True)
        await self._desk.write("redoing", work, partial(self._stepped, "redo"), self._blocked)

    def _blocked(self, error: Exception) -> None:
        self._desk.say(f"{reason(error)} · U lists all changes")

    def _stepped(self, name: str, changes: list[engine.Change]) -> None:
        if not changes:
            self._desk.say(f"nothing to {name} · U lists all changes", for_s=3)
            return
        self._show(changes)
        one = quoted(changes[0].title)
        what = one if len(changes) == 1 else many(len(changes), "note")
        is_back = name == "undo" and changes[0].op == "delete"
        done = f"brought back {what}" if is_back else f"{changes[0].op} of {what}"
        self._desk.say(f"{name}: {done}", for_s=4)

    def _show(self, changes: list[engine.Change]) -> None:
        """Move the cursor to a restored or changed note, if it is listed."""
        self._state.deleted -= {(change.path, change.entry_id) for change in changes}
        key: Key = changes[0].path, changes[0].entry_id
        self._search.reload(key)

    def _restored(self, changes: list[engine.Change]) -> None:
        self._show(changes)
        self._desk.say(f"undone: {many(len(changes), 'change')}", for_s=4)

    def show_history(self) -> None:
        """Show all changes; each can be restored."""
        from memsearch_tui.screens.changes import ChangesScreen

        if not self._state.editing:
            self._desk.open(ChangesScreen(self._state.library), self._restored)

    async def copy(self, whole: bool = False) -> None:
        """Copy the text of the selected notes.

        Args:
            whole: copy them as markdown, with heading, day and anchor.
        """
        if self._state.level == "turn":
            turn = self._conversation.turn
            view = self._desk.panes.reader
            self._copied(render.turn_markdown(turn) if whole and turn else view.text())
            return
        chosen = self._selection.items()

        def read(entries: list[Entry]) -> None:
            bodies = "\n\n".join(entry.body for entry in entries)
            self._copied(as_markdown(entries, chosen) if whole else bodies)

        await self._desk.read("reading", partial(self._selection.entries, chosen), read)

    def copy_part(self) -> None:
        """Let the user choose a code block, a link or code of the open text, and copy it."""
        parts = extracts(self._conversation.markdown)
        found = {str(number): one for number, one in enumerate(parts)}
        if not found:
            self._desk.say("This text has no code and no link.", for_s=3)
        elif len(found) == 1:
            self._copied(found["0"].text)
        else:
            self._desk.choose(
                "copy a part of the text",
                [(name, one.title, one.kind) for name, one in found.items()],
                lambda name: self._copied(found[name].text),
            )

    def _copied(self, text: str) -> None:
        if text:
            self._desk.screen.app.copy_to_clipboard(text)

    def export(self) -> None:
        """Write the selected notes to a file: JSON if its name ends in ``.json``, else markdown."""
        chosen = self._selection.items()
        if not chosen:
            return
        count = many(len(chosen), "note")

        def exported(target: str) -> None:
            self._selection.clear()
            self._desk.say(f"{count} in {target}")

        def failed(error: Exception) -> None:
            self._desk.screen.notify(f"not exported: {error}", severity="error")

        def write(path: str) -> str:
            return export(self._selection.entries(chosen), chosen, path)

        def decided(path: str) -> None:
            self._desk.start_write("exporting", partial(write, path), exported, failed)

        question = f"Export {count} to (.md or .json)"
        self._desk.ask(question, f"notes-{chosen[0].day}.md", decided)


class Extract(msgspec.Struct, frozen=True):
    """A part of a text. ``kind`` names it for people."""

    kind: str
    text: str

    @property
    def title(self) -> str:
        """The text in one line."""
        lines = self.text.strip().split("\n")
        return lines[0] + (f" … {len(lines)} lines" if len(lines) > 1 else "")


def extracts(text: str) -> list[Extract]:
    """Return the parts of a markdown text, each once: blocks, then links, then code in lines."""
    found = [Extract("block", block) for block in code_blocks(text)]
    found += [Extract("link", address) for address in links(text)]
    found += [Extract("code", code) for code in spans_of_code(text)]
    return list({one.text: one for one in reversed(found) if one.text.strip()}.values())[::-1]
