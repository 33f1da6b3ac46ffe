"""The editor of one entry. Imported on the first edit: TextArea and its grammar cost 80 ms."""

from __future__ import annotations

from textual.widgets import TextArea


def make_editor(text: str) -> TextArea:
    """A TextArea with markdown colours where the grammar can be loaded, plain otherwise."""
    try:
        editor = TextArea(text, language="markdown", id="editor", soft_wrap=True, show_line_numbers=False)
    except Exception:  # a grammar that does not fit this tree-sitter must not cost the edit
        editor = TextArea(text, id="editor", soft_wrap=True, show_line_numbers=False)
    editor.cursor_blink = False
    return editor
