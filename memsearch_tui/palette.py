"""The palette (ctrl+k): every action that works here, found by words that a person would type.

No action is listed twice.
"""

from __future__ import annotations

from functools import partial

from textual.command import Command, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import LoadingIndicator

from memsearch_tui.commands import OffersCommands, PaletteCommand

#: id of a binding -> other search words for its action
_WORDS = {
    "new": "add write create memory",
    "new.day": "add write create past",
    "edit": "change correct rewrite",
    "edit.outside": "external vim editor",
    "file.open": "external vim editor markdown",
    "delete": "remove drop trash",
    "undo": "take back revert",
    "redo": "again",
    "changes": "history undo list restore versions diff trash deleted",
    "pin": "star favourite keep important",
    "marks": "label tag flag",
    "copy": "clipboard yank",
    "copy.markdown": "clipboard yank source",
    "copy.part": "clipboard yank command snippet url address",
    "export": "save download json markdown",
    "transcript": "session chat turn original",
    "memory": "note of the turn",
    "filter.agent": "only narrow",
    "filter.projects": "everywhere everything",
    "searches": "saved kept bookmarks queries",
    "search.asof": "time travel date slider past history then",
    "related": "blame trace chain similar",
    "why": "explain rank reason",
    "find": "search inside in text",
    "date": "day calendar jump turn number",
    "day.file": "raw source markdown",
    "unfold": "expand tools output",
    "reload": "refresh",
    "resume": "continue open agent",
    "demo": "demo example try",
    "suspend": "suspend background shell",
    "redraw": "redraw refresh screen",
    "connect": (
        "install plugins hooks import setup agents archive old "
        "sessions claude codex opencode openclaw qwen gemini pi "
        "copilot kilo cline kimi vibe cursor goose crush aider zed"
    ),
    "quit": "exit close leave stop",
    "help": "keys shortcuts legend syntax",
    "projects": "switch open repository",
    "health": "index service doctor status problems",
    "activity": "captured failed spent spend cost tokens receipts told",
    "theme": "colour look dark light",
    "native": "auto memory claude.md agents.md gemini.md instructions rules own remember",
    "native.take": "import copy add",
    "review": "inbox decide approve proposals trust waiting",
    "search": "find query",
}
_KEY = "key "  # begins the note of an action that has a key
_ROOM = 12  # cells for the key and the margins
_COLUMN = 60  # most cells before the key of an action
# score of a match in the other words: above titles that only contain the letters
_BY_WORDS = 2.0
#: actions that are not listed: cursor moves, and leaving a screen
_LEFT_OUT = (
    "move",
    "page",
    "jump",
    "app.focus",
    "scroll",
    "edge",
    "do('preview'",
    "select",
    "command_",
)


def _one_line(command: Command, width: int) -> Command:
    """Return a command with its key or note behind its words, in one line."""
    hit = command.hit
    words = hit.prompt if isinstance(hit.prompt, Content) else Content(str(hit.prompt))
    note = hit.help or ""
    style = "not bold $accent" if note.startswith(_KEY) else "not bold $foreground 75%"
    gap = " " * max(2, min(_COLUMN, width - _ROOM) - words.cell_length)
    line = Content.assemble(words, gap, (note.removeprefix(_KEY), style))
    return Command(line, hit, id=command.id)


class ActionProvider(Provider):
    """Offers the actions of the screen, then the app's actions that have no key."""

    def _commands(self) -> list[PaletteCommand]:
        app = self.app
        found: dict[str, PaletteCommand] = {}
        for active in self.screen.active_bindings.values():
            item = active.binding
            if not active.enabled or not item.description or item.action.startswith(_LEFT_OUT):
                continue
            run = partial(app.call_later, app.run_action, item.action, active.node)
            words = f"{_WORDS.get(item.id or '', '')}"
            found.setdefault(
                item.action,
                PaletteCommand(
                    item.tooltip or item.description,
                    f"{_KEY}{app.get_key_display(item)}",
                    run,
                    words,
                ),
            )
        more = app.commands(self.screen) if isinstance(app, OffersCommands) else []
        last = found.pop("screen.copy_text", None)  # Textual lists it first
        return [*found.values(), *more, *([last] if last else [])]

    async def discover(self) -> Hits:
        """Yield all actions, for an empty search."""
        for command in self._commands():
            yield DiscoveryHit(
                Content(command.title), command.run, text=command.title, help=command.note
            )

    async def search(self, query: str) -> Hits:
        """Yield the actions that match a query."""
        matcher = self.matcher(query)
        asked = query.casefold().split()
        for command in self._commands():
            score = matcher.match(command.title)
            by_words = all(
                any(word.startswith(part) for word in command.words.split()) for part in asked
            )
            if score or by_words:
                # a saved search is untrusted text: no markup
                shown = (
                    matcher.highlight(command.title)
                    if score and "[" not in command.title
                    else Content(command.title)
                )
                yield Hit(
                    max(score, _BY_WORDS * by_words),
                    shown,
                    command.run,
                    text=command.title,
                    help=command.note,
                )


class Palette(CommandPalette):
    """Textual's palette with one line for each action: its words, then its key.

    It may be left while it still searches. Its search then changes the state of widgets that are
    gone, and that error ended the app.
    """

    DEFAULT_CSS = """
    Palette SearchIcon { display: none; }
    Palette #--input { padding-left: 1; border: hkey $panel; }
    Palette #--container { max-width: 90; }
    """

    def _refresh_command_list(
        self, command_list: CommandList, commands: list[Command], clear_current: bool
    ) -> None:
        rows = [_one_line(command, self.app.size.width) for command in commands]
        super()._refresh_command_list(command_list, rows, clear_current)

    def _watch__list_visible(self) -> None:
        if self.query(CommandList):
            super()._watch__list_visible()

    # no coroutine: one that has not begun at the end would be left unawaited
    def _watch__show_busy(self) -> None:  # type: ignore[override]
        for widget, name in ((LoadingIndicator, "--visible"), (CommandList, "--populating")):
            self.query(widget).set_class(self._show_busy, name)
