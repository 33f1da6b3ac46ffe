"""The keys of the browse screen, and the keys in its last line at each level."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def _key(
    keys: str,
    action: str,
    words: str,
    name: str,
    *,
    long: str = "",
    show: bool = False,
    priority: bool = False,
) -> Binding:
    """Return a binding of the screen.

    Args:
        action: a name in ``BrowseScreen.actions``, with its arguments.
        words: shown in the footer; ``long``: shown in help and palette instead.
        name: the id, which settings use (``tui.keys``).
        show: the footer may show it.
        priority: it works in the search box and in the editor, too.
    """
    verb, _, arguments = action.partition(" ")
    called = f"do('{verb}'{', ' + arguments if arguments else ''})"
    return Binding(keys, called, words, id=name, tooltip=long, show=show, priority=priority)


BINDINGS: list[BindingType] = [
    # priority: the box gets the focus before the app passes on the next keys
    _key("slash", "search", "Search", "search", show=True, priority=True),
    _key("enter,right,l", "deeper", "Open", "open", show=True),
    _key("escape,left,h", "back", "Back", "back", show=True),
    _key("q", "close", "Close", "quit", long="Close what is open; at the list, the app"),
    _key("plus", "new", "New", "new", long="New note", show=True),
    _key("A", "new_on", "New note of another day", "new.day"),
    _key("e", "edit", "Edit", "edit", show=True),
    _key("E", "edit_outside", "Edit in $EDITOR", "edit.outside"),
    _key("O", "open_file", "Open the day's file in $EDITOR at this note", "file.open"),
    _key("d,delete", "delete", "Delete", "delete", show=True),
    _key("u", "undo", "Undo", "undo", show=True),
    _key("ctrl+r", "redo", "Redo", "redo"),
    _key("U", "history", "History: what was changed; bring any of it back", "changes"),
    _key("p", "pin", "Pin or unpin", "pin"),
    _key("M", "marks", "Mark: expires, superseded, confidence, remember, forget", "marks"),
    _key("y", "copy", "Copy the text", "copy"),
    _key("Y", "copy True", "Copy as markdown, with heading and anchor", "copy.markdown"),
    _key("C", "copy_part", "Copy a code block, a link or code of the text", "copy.part"),
    _key("X", "export", "Export to a file", "export"),
    _key("t", "transcript", "Conversation", "transcript"),
    _key("m", "note_of_turn", "Its note", "memory", long="The note of this turn"),
    _key("f", "filter_agent", "Only this agent", "filter.agent"),
    _key("F", "filter_projects", "All projects", "filter.projects"),
    _key("T", "as_of", "As of a day: notes as they were then", "search.asof"),
    _key("s", "by_session", "Hits by conversation, or one by one", "search.sessions"),
    _key("S", "saved", "Saved searches", "searches"),
    _key("b", "related", "Related: its topic and its files", "related"),
    _key("w", "why", "Why is it a hit, or none", "why"),
    _key("ctrl+f", "find_text", "Find in the open text", "find"),
    _key("n", "find 1", "Next match", "find.next"),
    _key("N", "find -1", "Previous match", "find.previous"),
    _key("J", "preview 1", "Scroll the preview down", "preview.down"),
    _key("K", "preview -1", "Scroll the preview up", "preview.up"),
    _key("right_square_bracket", "next 1", "Next turn; next older day", "turn.next"),
    _key("left_square_bracket", "next -1", "Previous turn; next newer day", "turn.previous"),
    _key(
        "g",
        "date",
        "Go to",
        "date",
        long="Go to a date; in a conversation, to a turn",
        show=True,
    ),
    _key("D", "day_file", "The day's file as it is written", "day.file"),
    _key("o", "unfold", "Open a link; in a conversation, unfold tool output", "unfold"),
    _key("r", "reload", "Read again", "reload"),
    _key("R", "resume", "Resume the session in its agent", "resume"),
    _key("c", "connect", "Connect agents, import old sessions", "connect"),
    _key(
        "v",
        "demo",
        "A sample year",
        "demo",
        long="A sample year, in a home of its own (memsearch demo)",
    ),
    _key("ctrl+s", "save", "Save; save the search", "save", priority=True),
    _key("ctrl+g", "drop_draft", "Drop the draft", "draft.drop", priority=True),
    Binding("tab", "app.focus_next", "Next pane", show=False),
]

#: Actions that an empty list does not offer.
OF_A_NOTE = frozenset(
    "edit edit_outside open_file delete pin marks copy copy_part export transcript related why "
    "resume filter_agent as_of date day_file".split()
)
#: Levels with a last line that differs from the bindings: (id of a binding, words).
_LIST = (
    ("search", "Search"),
    ("open", "Open"),
    ("back", "Back"),
    ("new", "New"),
    ("edit", "Edit"),
    ("delete", "Delete"),
    ("undo", "Undo"),
    ("palette", "Commands"),
    ("quit", "Quit"),
    ("date", "Go to"),
    ("help", "Help"),
)
FOOTERS = {
    "entries": _LIST,
    "empty": (
        ("connect", "Connect agents"),
        ("new", "New"),
        ("filter.projects", "All projects"),
        ("demo", "A sample year"),
        ("undo", "Undo"),
        ("palette", "Commands"),
        ("quit", "Quit"),
        ("help", "Help"),
    ),
    "section": tuple(key for key in _LIST if key[0] != "quit"),
    "turn": (
        ("back", "Back"),
        ("turn.previous", "Turn before"),
        ("turn.next", "Next"),
        ("unfold", "Unfold"),
        ("memory", "Its note"),
        ("find", "Find"),
        ("date", "Go to"),
        ("resume", "Resume"),
        ("help", "Help"),
    ),
    "searching": (
        ("query.choose", "Choose"),
        ("query.open", "To the hits"),
        ("query.complete", "Complete"),
        ("save", "Save search"),
        ("back", "All notes"),
        ("help", "Help"),
    ),
    "editing": (
        ("save", "Save"),
        ("back", "Leave, draft stays"),
        ("draft.drop", "Drop the draft"),
    ),
}
