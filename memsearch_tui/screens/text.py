"""Screens that only show text: help for the screen that was left, and what is read from the engine
again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from memsearch_engine import MemsearchError, all_agents
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from memsearch_tui.aside import away
from memsearch_tui.counted import many
from memsearch_tui.library import Library
from memsearch_tui.widgets.footer import Keys
from memsearch_tui.widgets.lines import Row, TextView

_SEARCHING = """\
Type / and words. Words answer at every key; meaning joins in when typing rests. Filters are words as well:
  agent:codex  project:name  after:7d  before:2026-02-01  day:yesterday  kind:note  session:1f3c
  has:evidence  is:pinned  is:stale  path:name  branch:name
  as-of:2026-03-01 (as it stood then)  -word  "a phrase"
tab completes a filter. up in the empty box brings back what was searched before; ctrl+s keeps a search, S lists what is kept.
f keeps to the agent of this note, F looks in all projects.
"""
_ABOUT = """\
All notes stand in one list under their days, the newest first. enter goes down: note, the whole section, the conversation at the very
turn. A click into the calendar goes to that day.

escape  in the editor: leaves it, what you typed is kept as a draft (ctrl+g drops it)
        in the search box and in its hits: back to all notes, where you were
        in a conversation: back to its note; in a note: back to the list
        in the list: nothing; q leaves the app

In front of a row: {tags} me = {titles}, written by hand
  ◆ pinned   ! took in content from outside, or waits for your word   ◷ expires   ? low confidence
  ✗ names what is gone from the repository   → names what has moved there   ⎇ its branch was not merged
  × superseded, or a hit above it is the newer word   … its summary is still to come
  ∅ its conversation is gone, and no copy was kept   ≠ changed in two places
  ~ found by meaning alone   dim: only faintly alike

Nothing is lost: u takes back the last edit, delete or mark, also after a restart; U lists what was changed and brings any of it back.
Everything on this page is in the palette too (ctrl+k), found by other words as well; so are the theme and changing keys.
"""


def _about() -> str:
    everyone = all_agents()
    tags, titles = (
        " ".join(agent.tag for agent in everyone),
        ", ".join(agent.title for agent in everyone),
    )
    return _ABOUT.replace("{tags}", tags).replace("{titles}", titles)


_ELSEWHERE = "Elsewhere"
#: id of an action, up to its first dot -> the group that it is listed in; what is not here belongs
#: to the screen alone, and so does what is done on a screen that another action leads to
#: (``review.yes``)
_GROUPS = {
    "Moving": ("list", "text", "date", "turn", "preview"),
    "Reading": (
        "open",
        "back",
        "transcript",
        "memory",
        "related",
        "why",
        "find",
        "unfold",
        "day",
        "resume",
        "reload",
    ),
    "Searching": ("search", "filter", "searches"),
    "Changing": (
        "new",
        "edit",
        "delete",
        "undo",
        "redo",
        "changes",
        "pin",
        "marks",
        "save",
        "draft",
    ),
    "Taking along": ("copy", "export", "file"),
    _ELSEWHERE: (
        "projects",
        "health",
        "activity",
        "review",
        "native",
        "connect",
        "help",
        "quit",
        "suspend",
        "redraw",
    ),
}


class TextScreen(Screen[None]):
    """Rows to read; escape or q leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,left,h", "leave", "Back", id="text.back"),
    ]

    def __init__(self, title: str, rows: list[Row]) -> None:
        super().__init__()
        self._title, self._rows = title, rows
        self._view = TextView()

    def compose(self) -> ComposeResult:
        yield self._view
        yield Keys()

    def on_mount(self) -> None:
        self._view.border_title = self._title
        self._view.show(self._rows)
        self._view.focus()

    def action_leave(self) -> None:
        self.dismiss(None)


class HelpScreen(TextScreen):
    """The keys of the screen that was left."""

    def __init__(self, left: Screen[Any]) -> None:
        super().__init__("Keys", help_rows(left))


class LiveScreen(TextScreen):
    """Rows that are read from the engine, again with r and every few seconds while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "reload", "Read again", id="live.reload")]
    EVERY_S = 5.0

    def __init__(self, title: str, read: Callable[[], list[Row]]) -> None:
        super().__init__(title, [[("reading …", "dim")]])
        self._read = read
        self._reads = 0  # under way

    def on_mount(self) -> None:
        # Textual calls TextScreen's own on_mount after this one, and what is read may be there
        # before that
        self.action_reload()
        if self.app.live:  # type: ignore[attr-defined]
            self.set_interval(self.EVERY_S, self._again)

    def _again(self) -> None:
        if (
            not self._reads
        ):  # one that takes longer than the interval comes to its end, and is the only one
            self.action_reload()

    def action_reload(self) -> None:
        self.run_worker(self.reload(), exclusive=True, group="read")

    async def reload(self) -> None:
        self._reads += 1
        try:
            self._rows = await away(self._read)
        finally:
            self._reads -= 1
        self._view.show(
            self._rows, keep_place=True
        )  # it may have been left meanwhile: then nobody sees it


class HealthScreen(LiveScreen):
    """The service's state, with what mends each problem."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "m",
            "second_model",
            "Ask a second model, too (where it would bring something)",
            id="health.second",
        )
    ]

    def __init__(self, library: Library) -> None:
        super().__init__("Health", self._look)
        self._library = library
        self._state: dict[str, Any] = {}
        self._making = ""

    def _look(self) -> list[Row]:
        self._state = self._library.health()
        return health_rows(self._state, self._making)

    def action_second_model(self) -> None:
        """Bring the second model here; the service asks it as soon as it has read the notes."""
        second = self._state.get("second", {})
        if self._making or not second.get("advice"):
            self.notify(
                "nothing would be gained by it"
                if not second.get("asked")
                else "it is asked already"
            )
            return
        self._making = "bringing it here; quitting gives it up …"
        self.run_worker(self._bring(second["name"]), group="second")
        self.action_reload()

    async def _bring(self, name: str) -> None:
        try:
            await away(partial(self._library.bring_model, name))
            self.notify(f"{name} is here: the notes are read by it in the background")
        except MemsearchError as error:
            self.notify(f"{error}\n{error.hint}", severity="error", timeout=12)
        finally:
            self._making = ""
            self.action_reload()


def health_rows(state: dict[str, Any], making: str = "") -> list[Row]:
    """
    Args:
        making: what is done about the second model.
    """
    if "error" in state:
        return [
            [("The service can't be reached: ", "bad"), (state["error"], "text")],
            [(state["hint"], "dim")],
            [],
            [("Notes can be read, searched by words and edited all the same.", "text")],
        ]
    service = state["service"]
    tone = {"ready": "good", "opening": "warn"}.get(state["index"], "bad")
    rows: list[Row] = [
        [
            ("index    ", "dim"),
            (state["index"], tone),
            (f"  {state['fingerprint']}  {state['disk']['index'] / 1e6:.1f} MB", "text"),
        ],
        [
            ("service  ", "dim"),
            (
                f"pid {service['pid']}, up {service['uptime_s']:.0f} s, {service['rss_mb']:.0f} MB",
                "text",
            ),
        ],
    ]
    if store := state.get("store"):
        rows.insert(1, [("store    ", "dim"), (store, "text")])
    second = state["second"]
    if second["asked"]:
        total = sum(row["distinct"] for row in state["projects"])
        rows.append(
            [
                ("beside   ", "dim"),
                (f"{second['name']}, {second['vectors']} of {many(total, 'text')}", "text"),
            ]
        )
    elif second["advice"]:
        way = making or (
            "-> m brings it" if second["fix"].startswith("memsearch") else f"-> {second['fix']}"
        )
        rows.append([("beside   ", "dim"), (second["advice"], "text"), (f"  {way}", "accent")])
    if state["progress"]:
        now = state["progress"]
        rows.append(
            [
                ("now      ", "dim"),
                (f"{now['phase']} {now['project']} {now['done']}/{now['total']}", "accent"),
            ]
        )
    rows.append([])
    for row in state["projects"]:
        rows.append([(row["name"], "strong"), (f"  {row['collection']}", "dim")])
        rows.append(
            [
                (
                    f"  {many(row['days'], 'day')}, {many(row['entries'], 'entry')}, {row['vectors']} of {many(row['chunks'], 'chunk')} with meaning",
                    "text",
                )
            ]
        )
        rows.append([(f"  {row['memory']}", "dim")])
    rows += _sync_rows(state.get("sync", {"remote": ""}))
    rows.append([])
    for problem in state["problems"]:
        rows.append(
            [
                ("problem  ", "bad"),
                (problem["what"], "text"),
                (f"  -> {problem['fix']}" if problem["fix"] else "", "accent"),
            ]
        )
    if not state["problems"]:
        rows.append([("no problems", "good")])
    return rows


def _sync_rows(sync: dict[str, Any]) -> list[Row]:
    """Where the owner's machines meet, and how that went."""
    if not sync["remote"]:
        return []
    last = sync["last"] or {}
    met = (
        datetime.fromtimestamp(sync["worked"]).strftime("%Y-%m-%d %H:%M")
        if sync["worked"]
        else "not yet"
    )
    counts = ", ".join(
        f"{last[key]} {word}"
        for key, word in (("received", "received"), ("sent", "sent"), ("gone", "deleted"))
        if last.get(key)
    )
    rows: list[Row] = [
        [],
        [
            ("sync     ", "dim"),
            (sync["remote"], "text"),
            (f"  {met}", "good" if met != "not yet" else "warn"),
            (f"  {counts}" if counts else "", "dim"),
        ],
    ]
    rows += [
        [("         ", "dim"), (text, "warn")]
        for text in (*last.get("problems", []), *filter(None, [last.get("error")]))
    ]
    if last.get("conflicts"):
        rows.append(
            [
                ("         ", "dim"),
                (f"{many(last['conflicts'], 'note')} changed in two places", "warn"),
                ("  -> f5", "accent"),
            ]
        )
    rows += [
        [
            ("         ", "dim"),
            (f"{other['name']}, {many(other['files'], 'file')}: no folder here", "dim"),
        ]
        for other in sync["elsewhere"]
    ]
    return rows


def help_rows(screen: Screen) -> list[Row]:
    """How to search, then every key that works on *screen* now, by what it is for."""
    keys: dict[str, dict[str, list[str]]] = {}
    for active in screen.active_bindings.values():
        item = active.binding
        if active.enabled and item.description and item.id:
            first = item.id.partition(".")[0]
            group = next((name for name, ids in _GROUPS.items() if first in ids), "Here")
            if group == _ELSEWHERE and first != item.id:
                group = "Here"
            said = item.tooltip or item.description
            keys.setdefault(group, {}).setdefault(said, []).append(screen.app.get_key_display(item))
    names = [" ".join(dict.fromkeys(found)) for rows in keys.values() for found in rows.values()]
    width = max(map(len, names), default=10) + 2
    rows: list[Row] = []
    if "Searching" in keys:
        rows += [
            [("Search", "strong")],
            *([(f"  {line}", "text")] for line in _SEARCHING.splitlines()),
            [],
        ]
    for group in ("Here", *_GROUPS):
        if group in keys:
            rows.append([(group, "strong")])
            for said, found in keys[group].items():
                rows.append(
                    [(f"{' '.join(dict.fromkeys(found)):>{width}}  ", "accent"), (said, "text")]
                )
            rows.append([])
    return [*rows, *([(line, "dim")] for line in _about().splitlines())]
