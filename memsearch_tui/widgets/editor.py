"""The editor of one entry.

It is imported at the first edit, because TextArea and its grammar take 80 ms.
"""

from __future__ import annotations

from memsearch_engine import shown_line
from rich.text import Text
from textual import events
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from memsearch_tui.widgets.pieces import drawn_apart, taken_apart, together
from memsearch_tui.widgets.query import InOrder

_WRAPPED = 20_000  # characters: a longer line is not wrapped, as each key would take seconds


class EntryEditor(InOrder, TextArea):
    """A text area that draws control characters as marks; the text itself is not changed.

    Its document has joined emoji in parts of one width each: otherwise Textual, the terminal and
    the cursor would disagree on the cells.
    """

    @property
    def text(self) -> str:
        """The text, with emoji joined."""
        return together(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self.load_text(taken_apart(value))

    def edit(self, edit: Edit) -> EditResult:
        """Insert a typed or pasted text."""
        row, column = min(edit.from_location, edit.to_location)
        before = self.document.get_line(row)[:column][-1:]  # an emoji is typed in parts
        edit.text = taken_apart(before + edit.text)[len(before) :]
        if column + _longest(edit.text) > _WRAPPED:
            self.soft_wrap = False
        return super().edit(edit)

    def get_text_range(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """Return the text to copy."""
        return together(super().get_text_range(start, end))

    async def _on_key(self, event: events.Key) -> None:
        """Give a key to the app that waited here while the editor was closed: it is a command."""
        if self.read_only:  # since it was closed
            event.stop()
            event.prevent_default()
            self.app.post_message(events.Key(event.key, event.character))
        elif event.character == "\u200d":  # Textual takes what joins emoji for no text
            event.stop()
            event.prevent_default()
            self.replace(event.character, *self.selection, maintain_selection_offset=False)

    def get_line(self, line_index: int) -> Text:
        """Return a line with control characters shown as marks."""
        line = drawn_apart(self.document.get_line(line_index))
        return Text(
            "\t".join(map(shown_line, line.split("\t"))),
            end="",
            no_wrap=True,
        )


def _longest(text: str) -> int:
    """Return the length of the longest line."""
    return max(map(len, text.split("\n")))


def make_editor(text: str) -> TextArea:
    """Return a TextArea with markdown colours if the grammar can be loaded, else without."""
    text = taken_apart(text)
    wraps = _longest(text) <= _WRAPPED
    try:
        editor = EntryEditor(
            text, language="markdown", id="editor", soft_wrap=wraps, show_line_numbers=False
        )
    except Exception:  # a grammar that does not fit this tree-sitter must not prevent the edit
        editor = EntryEditor(text, id="editor", soft_wrap=wraps, show_line_numbers=False)
    for key in ("f6", "f7"):  # keys of the app; f7 selected all, and the next letter replaced it
        editor._bindings.key_to_bindings.pop(key, None)
    return editor
