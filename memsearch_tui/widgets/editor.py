"""The editor of one entry.

It is imported at the first edit, because TextArea and its grammar take 80 ms.
"""

from __future__ import annotations

from memsearch_engine import shown_line
from rich.text import Text
from textual import events
from textual.widgets import TextArea

from memsearch_tui.widgets.query import InOrder


class EntryEditor(InOrder, TextArea):
    """A text area that draws control characters as marks; the text itself is not changed."""

    async def _on_key(self, event: events.Key) -> None:
        """Give a key to the app that waited here while the editor was closed: it is a command."""
        if self.read_only:  # since it was closed
            event.stop()
            event.prevent_default()
            self.app.post_message(events.Key(event.key, event.character))

    def get_line(self, line_index: int) -> Text:
        """Return a line with control characters shown as marks."""
        return Text(
            "\t".join(map(shown_line, self.document.get_line(line_index).split("\t"))),
            end="",
            no_wrap=True,
        )


def make_editor(text: str) -> TextArea:
    """Return a TextArea with markdown colours if the grammar can be loaded, else without."""
    try:
        editor = EntryEditor(
            text, language="markdown", id="editor", soft_wrap=True, show_line_numbers=False
        )
    except Exception:  # a grammar that does not fit this tree-sitter must not prevent the edit
        editor = EntryEditor(text, id="editor", soft_wrap=True, show_line_numbers=False)
    editor.cursor_blink = False
    for key in ("f6", "f7"):  # keys of the app; f7 selected all, and the next letter replaced it
        editor._bindings.key_to_bindings.pop(key, None)
    return editor
