"""The editor of one entry. Imported on the first edit: TextArea and its grammar cost 80 ms."""

from __future__ import annotations

from memsearch_engine import shown_line
from rich.text import Text
from textual.widgets import TextArea

from memsearch_tui.widgets.typing import InOrder


class EntryEditor(InOrder, TextArea):
    """Control signs in the text are drawn as marks; the text itself stays what it is."""

    def get_line(self, line_index: int) -> Text:
        return Text(
            "\t".join(map(shown_line, self.document.get_line(line_index).split("\t"))),
            end="",
            no_wrap=True,
        )


def make_editor(text: str) -> TextArea:
    """A TextArea with markdown colours where the grammar can be loaded, plain otherwise."""
    try:
        editor = EntryEditor(
            text, language="markdown", id="editor", soft_wrap=True, show_line_numbers=False
        )
    except Exception:  # a grammar that does not fit this tree-sitter must not cost the edit
        editor = EntryEditor(text, id="editor", soft_wrap=True, show_line_numbers=False)
    editor.cursor_blink = False
    return editor
