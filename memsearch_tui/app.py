"""The terminal app: start, themes, keys and palette. The screens are in ``screens``."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from memsearch_engine import Memory, MemsearchError, Settings, is_replaced, shown
from textual import constants
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.screen import ModalScreen, Screen
from textual.theme import Theme

from memsearch_tui import drafts
from memsearch_tui.aside import ACTION, OURS, SHOWN_AFTER_S, WRITES, read
from memsearch_tui.commands import OffersCommands, PaletteCommand
from memsearch_tui.library import Item, Library
from memsearch_tui.painted import ChangedCells, Painted
from memsearch_tui.saved import SavedState
from memsearch_tui.screens.browse.screen import BrowseScreen
from memsearch_tui.widgets.bars import MESSAGES

if TYPE_CHECKING:
    from textual.actions import ActionParseResult
    from textual.command import Provider
    from textual.dom import DOMNode
    from textual.driver import Driver

    from memsearch_tui.screens.review import ReviewScreen

T = TypeVar("T")
_READ_S = 1.0  # longest time that a key waits for its note
#: Thresholds of the garbage collector. A frame makes thousands of short-lived objects; with
#: Python's defaults (700, 10, 10) a full collection ran every 20 keys and took 50 ms.
_COLLECT_AT = (20_000, 5, 5)
_NEVER = 10_000  # columns
THEMES = (
    Theme(
        name="memsearch-dark",
        primary="#5b8dd6",
        secondary="#8fb7c9",
        accent="#e0a458",
        foreground="#d8dee6",
        background="#12161c",
        surface="#1a2028",
        panel="#2a323d",
        success="#7fb77e",
        warning="#e0c060",
        error="#e06c75",
        dark=True,
    ),
    Theme(
        name="memsearch-light",
        primary="#2f5f9e",
        secondary="#3b6f80",
        accent="#8a4f12",
        foreground="#22272e",
        background="#faf8f4",
        surface="#f0ece4",
        panel="#d8d2c6",
        success="#2f7a3d",
        warning="#8a6d00",
        error="#b3263a",
        dark=False,
    ),
)


def _actions() -> type[Provider]:
    from memsearch_tui.palette import ActionProvider  # not needed at the start

    return ActionProvider


class MemsearchApp(App[int]):
    """Browse, search, read and correct notes.

    The app reaches the engine only through ``library``.
    """

    CSS_PATH = "styles/app.tcss"
    TITLE = "memsearch"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall"), (36, "-high")]
    COMMANDS = {_actions}
    BINDINGS: ClassVar[list[BindingType]] = [
        # the home screen has its own
        Binding("q", "screen.leave", "Close", id="quit", show=False),
        Binding("ctrl+q", "quit", "Quit", show=False),
        Binding("question_mark,f1", "help", "Help", id="help"),
        Binding(
            "ctrl+k",
            "command_palette",
            "Commands",
            tooltip="All commands, found by their words",
            id="palette",
            show=False,
            priority=True,
        ),
        Binding("f2", "projects", "Projects", id="projects", show=False),
        Binding("f3", "health", "Health", id="health", show=False),
        Binding("f4", "activity", "Activity", id="activity", show=False),
        Binding("f5", "review", "Review", id="review", show=False),
        Binding("f6", "native", "Agent files", id="native", show=False),
        Binding("f7", "theme", "Theme", tooltip="Theme, with a preview", id="theme", show=False),
        Binding("ctrl+z", "suspend_process", "Put to the background", id="suspend", show=False),
        Binding("ctrl+l", "redraw", "Draw anew", id="redraw", show=False),
    ]

    def __init__(
        self,
        library: Library,
        settings: Settings | None = None,
        *,
        theme: str = "",
        live: bool = True,
    ) -> None:
        """Args:
        theme: overrides the saved theme.
            live: follow the service's changes; tests that compare pictures turn this off.
        """
        super().__init__(watch_css=False)
        self.library = library
        self.settings = settings or Settings()
        self.live = live
        self.animation_level = "none"
        self._painted = Painted()
        self._refused: list[str | None] = []  # texts that kept the app open
        self._has_quit = False
        self.pages: dict[type[Screen[Any]], Screen[Any]] = {}  # as they were left (``Page.before``)
        self.saved = SavedState(library.memory.home)
        for item in THEMES:
            self.register_theme(item)
        wanted = theme or self.settings.tui.theme or self.saved.theme
        self.theme = wanted if wanted in self.available_themes else THEMES[0].name
        self._use_panes(one=self.saved.one_pane)

    def get_driver_class(self) -> type[Driver]:
        """Return the driver for this terminal."""
        if constants.DRIVER or sys.platform == "win32":
            return super().get_driver_class()
        from memsearch_tui.driver import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> Screen[Any]:
        """Return the home screen."""
        return BrowseScreen(self.library, self.saved, live=self.live)

    def on_mount(self) -> None:
        """Apply the user's keys, and redraw after a suspension."""
        if self.settings.tui.keys:
            self.set_keymap(self.settings.tui.keys)
        self.app_resume_signal.subscribe(self, lambda _: self.call_later(self.action_redraw))

    def on_ready(self) -> None:
        """Reduce garbage collection after the first frame."""
        if not self.is_headless:
            # objects of the first frame stay alive; collecting them took 50 ms every 20 keys
            gc.freeze()
            gc.set_threshold(*_COLLECT_AT)
            gc.enable()  # it was disabled during the start

    def refresh_css(self, animate: bool = True) -> None:
        """Apply the theme. Before the first screen it is only set: Textual parses the style sheet
        soon after, and would parse it twice.
        """
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        """Write only what changed, and leave the terminal's cursor where the keys act.

        An update that changes nothing is not written: a screen reader could repeat the line.
        """
        # a box itself sets it before it has its place
        self.cursor_position = getattr(screen.focused, "cursor_screen_offset", self.cursor_position)
        is_written = self._running and not (self._closed or self._batch_count or self.is_headless)
        if is_written and isinstance(renderable, ChopsUpdate | LayoutUpdate):
            text = self._painted.paint(renderable, self.console)
            is_same = not text and self.cursor_position == self._previous_cursor_position
            renderable = None if is_same else ChangedCells(text)
        super()._display(screen, renderable)

    def _fatal_error(self) -> None:
        """Leave the app after an error. If the package was updated since the start, say so: a page
        that was imported now does not fit the older modules.
        """
        if is_replaced():
            self.panic("memsearch was updated while it was open: start it again")
        else:
            super()._fatal_error()

    def on_resize(self) -> None:
        """Draw the whole screen the next time."""
        self._painted.forget()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action.

        For a key of the home screen, first wait until the note under the cursor is read. Keys that
        follow the one that quits do nothing: their screens are being closed.
        """
        ACTION.set(action)
        if isinstance(default_namespace, BrowseScreen):
            await default_namespace.settled(_READ_S)
        if self._has_quit:
            return True
        return await super().run_action(action, default_namespace, namespaces)

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        """Leave the terminal to another program, with its ctrl+c. Textual would not take it back
        after an error.
        """
        problem: Exception | None = None
        with drafts.uninterrupted(), super().suspend():
            try:
                yield
            except Exception as error:
                problem = error
        if problem is not None:
            raise problem

    def notify(self, message: str, *, title: str = "", markup: bool = False, **how: Any) -> None:
        """Show a message in the screen's status line, if it has one; a toast would hide content.

        The message is plain text, never markup: it contains names of notes and files, and errors.
        """
        if say := getattr(self.screen, "say", None):
            say(f"{title}: {message}" if title else message)
        else:
            super().notify(shown(message), title=shown(title), markup=False, **how)

    def on_text_selected(self) -> None:
        """Name the key for the text that the mouse selected."""
        if self.screen.get_selected_text():
            self.notify("ctrl+c copies the selected text")

    def action_help_quit(self) -> None:
        """Say how to quit: ctrl+c without selected text is often meant as that."""
        self.notify("ctrl+q quits")

    def copy_to_clipboard(self, text: str) -> None:
        """Copy *text*, and say so."""
        super().copy_to_clipboard(text)
        self.notify("copied")

    # -- commands

    def commands(self, screen: Screen[Any]) -> list[PaletteCommand]:
        """Return the palette's commands that have no key on *screen*."""
        found = [
            PaletteCommand(
                "Change keys", "which key does what", self._change_keys, "keymap binding shortcut"
            ),
            PaletteCommand(
                "Panes beside each other" if self.saved.one_pane else "One pane at a time",
                "screen",
                self._change_panes,
                "panes columns split narrow wide preview reader",
            ),
            PaletteCommand(
                "Messages", "what was said", self._show_messages, "log status notification again"
            ),
        ]
        return found + (screen.commands(screen) if isinstance(screen, OffersCommands) else [])

    def action_command_palette(self) -> None:
        """Show the palette."""
        from memsearch_tui.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_theme(self) -> None:
        """Let the user choose a theme; each is shown as the cursor moves to it."""
        from memsearch_tui.screens.dialogs import ChoiceRow, ChooseScreen

        before = self.theme

        def chosen(name: str | None) -> None:
            self.theme = name or before
            if name:
                self.saved.save("theme", name)

        ours = [theme.name for theme in THEMES]
        names = [*ours, *sorted(self.available_themes.keys() - ours)]
        choices = [ChoiceRow(name, name) for name in names]
        look = partial(setattr, self, "theme")
        self.push_screen(
            ChooseScreen("theme · enter takes it", choices, at=before, moved=look), chosen
        )

    def _change_keys(self) -> None:
        from memsearch_tui.screens.help import KeysScreen

        self.push_screen(KeysScreen(type(self), BrowseScreen, self.settings, self.library.memory))

    def _use_panes(self, *, one: bool) -> None:
        """Show one pane at a time, also in a wide window, or as many as have room."""
        wide = [(_NEVER, name) for _, name in type(self).HORIZONTAL_BREAKPOINTS[1:]]
        points = [(0, "-narrow"), *wide] if one else type(self).HORIZONTAL_BREAKPOINTS
        self.HORIZONTAL_BREAKPOINTS = points
        self.set_class(one, "one-pane")

    def _change_panes(self) -> None:
        self.saved.save("one_pane", not self.saved.one_pane)
        self._use_panes(one=self.saved.one_pane)
        for screen in self.screen_stack:
            screen.post_message(Resize(self.size, self.size))

    def _show_messages(self) -> None:
        from memsearch_tui.screens.help import TextScreen

        rows = [[(f"{at}  ", "dim"), (text, "text")] for at, text in MESSAGES]
        self.push_screen(TextScreen("messages, the newest first", rows))

    def action_redraw(self) -> None:
        """Repaint the whole screen, also where another program has written."""
        self._painted.forget()
        self.screen.refresh(layout=True)

    async def action_quit(self, at_once: bool = False) -> None:
        """Leave the app. If no draft of the unsaved text can be written, stay the first time.

        Args:
            at_once: never stay.
        """
        editors = [one.editor for one in self.screen_stack if isinstance(one, BrowseScreen)]
        refused = [editor.text() for editor in editors if not await editor.keep()]
        if at_once or refused in ([], self._refused):
            self._has_quit = True
            self.exit(0)
        self._refused = refused

    async def action_help(self) -> None:
        """Show help for the current screen."""
        from memsearch_tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    async def action_health(self) -> None:
        """Show the health page."""
        from memsearch_tui.screens.rows import HealthScreen

        self._over(HealthScreen(self.library, live=self.live))

    async def action_activity(self) -> None:
        """Show the activity page."""
        from memsearch_tui.screens.rows import ActivityScreen

        self._over(ActivityScreen(self.library, live=self.live))

    async def action_review(self) -> None:
        """Show the review queue."""
        self._review()

    def _review(self, before: ReviewScreen | None = None) -> None:
        """Show the review queue.

        Args:
            before: the screen from which a note was opened; its list and cursor are used again.
        """
        from memsearch_tui.screens.review import ReviewScreen

        screen = ReviewScreen(self.library, before)

        def opened(item: Item | None) -> None:
            if item is not None and isinstance(self.screen, BrowseScreen):
                self.screen.show_entry(item, way_back=partial(self._review, screen))
                self.screen.run_worker(self.screen.open_conversation(), group="turn")

        self._over(screen, opened)

    async def action_native(self) -> None:
        """Show the agent files."""
        from memsearch_tui.screens.agent_files import AgentFilesScreen

        self._over(AgentFilesScreen(self.library), self._show_note)

    def _show_note(self, item: Item | None) -> None:
        if item is not None and isinstance(self.screen, BrowseScreen):
            self.screen.show_entry(item)

    def _over(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Show a screen over the home screen; it replaces another one that is open."""
        if len(self.screen_stack) > 2 or isinstance(self.screen, ModalScreen):
            return
        if getattr(self.screen, "is_busy", False):
            self.bell()
            return
        if not isinstance(self.screen, BrowseScreen):
            self.pop_screen()
        self.push_screen(screen, then)

    async def action_projects(self) -> None:
        """Show all known projects."""
        from memsearch_tui.screens.projects import ProjectsScreen

        browse, home = self.screen, self.library.memory.home
        if not isinstance(browse, BrowseScreen):
            return

        def opened(library: Library) -> None:
            self.library = library
            self.pages.clear()
            browse.open(library)

        async def chosen(root: str | None) -> None:
            if not root or not await browse.editor.leave():
                return
            await read(
                browse,
                "opening it",
                lambda: Library(
                    Memory(None if root == "*" else root, home=home, everything=root == "*")
                ),
                opened,
                browse.desk.complain,
            )

        self.push_screen(ProjectsScreen(self.library), chosen)


def run(*, project: str | None = None, everything: bool = False) -> int:
    """Open the app and return an exit code.

    Args:
        project: name or folder of a project; None: the project of the current folder.
        everything: show the notes of all projects.
    """
    cwd = None
    if project:
        known = Memory(everything=True).projects
        cwd = next((p.root for p in known if project in (p.slug, p.name, p.id)), None)
        if cwd is None:
            raise MemsearchError(
                f"no project named {project!r}", "`memsearch project --all` lists them"
            )
    memory = Memory(cwd, everything=everything)
    settings = memory.settings
    app = MemsearchApp(Library(memory), settings)
    code = app.run(mouse=settings.tui.mouse)
    for lane in (WRITES, OURS):  # finish the writes; reads may be abandoned
        if not lane.finish(SHOWN_AFTER_S):
            with contextlib.suppress(OSError):  # the terminal is closed
                print("Finishing what is being written …", file=sys.stderr)
            lane.finish()
    return code if code is not None else app.return_code or 0
