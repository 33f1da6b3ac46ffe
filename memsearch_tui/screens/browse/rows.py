"""The rows of the list and of the rail, made from the state. No widget here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memsearch_engine import agent_named, agent_names
from rich.cells import cell_len

from memsearch_tui.library import Item
from memsearch_tui.timeline import Hits, Key, is_heading
from memsearch_tui.widgets import render
from memsearch_tui.widgets.calendar import iso_date
from memsearch_tui.widgets.header import when
from memsearch_tui.widgets.pieces import LINE_BREAK, Row, cut, drawable, mark_words, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memsearch_tui.screens.browse.state import BrowseState

#: Indent of the second line of a row in cells: below the title, after the time and the agent.
INDENT = 11
_WIDE_ROW = 90
_REPLACED, _BEFORE = 2, 10  # superseded hits in the second line; least cells of each
_UNFOLDS: Row = [("   ⏎ ", "key"), ("shows them", "dim")]
_PROJECT = 10  # characters of a project's name in a narrow row


class EntryRows:
    """Makes the rows of notes, hits and headings."""

    def __init__(self, state: BrowseState) -> None:
        self._state = state

    def row(self, key: Key, width: int, lines: int = 1) -> Row:
        """Return the row of *key* in *width* cells and *lines* lines."""
        if is_heading(key):
            return self._heading(key, width) if key[1] else []
        shown = self._state.shown
        if isinstance(shown, Hits) and key == Hits.FOLD:
            return [(f"  only faintly alike ({shown.folded})", "dim"), *_UNFOLDS]
        item = shown.item(key)
        if item is None:
            return []
        row = self._head(item, width)
        if item.doubtful:
            return [*row, (item.title, "dim")]
        if not isinstance(shown, Hits):
            return [*row, *render.inline(item.title)]
        is_current = bool(item.replaced) and not item.superseded
        if lines == 1:
            row += [render.sign("is current")] if is_current else []
            room = width - _cells(row)
            text = render.snippet(item.title, item.text, self._state.words(), room)
            return [*row, *self._marked(text, item)]
        current: Row = [("  ", "text"), render.sign("is current", " current")]
        return self._two_lines(item, row, current if is_current else [], width)

    def _two_lines(self, item: Item, row: Row, current: Row, width: int) -> Row:
        """Return the row of a hit in two lines. The second line has the rest of its text; a text
        that fits in the first line is followed by superseded versions or by its other lines. A wide
        row always has room for superseded versions.
        """
        words, room = self._state.words(), width - _cells(row)
        text = render.snippet(item.title, item.text, words, room + width - INDENT - _cells(current))
        before, alone = self._before(item, width), room - _cells(current)
        if cell_len(text) <= alone or (before and width >= _WIDE_ROW):
            text = render.snippet(item.title, item.text, words, alone)
            line = cut(self._marked(text, item), alone)
            return [*row, *line, *current, *(before or self._more(item, text))]
        first, *rest = wrap(self._marked(text, item), room)
        more = [piece for line in rest for piece in [(" ", "text"), *line]][1:]
        more += [(" · ", "dim"), *before[1:]] if before else []
        second = cut(more, width - INDENT - _cells(current))
        return [*row, *first, LINE_BREAK, *second, *current]

    def _more(self, item: Item, shown: str) -> Row:
        """Return the second line of a hit that fits in one: the other lines of its matching part,
        else its day, author and file.
        """
        if more := render.other_lines(item.text, shown):
            return [LINE_BREAK, *mark_words(more, "dim", self._state.words())]
        who = agent_named(item.agent).title if item.agent in agent_names() else "by hand"
        day = named_day(item.day, self._state.library.today()) if item.day else "no day"
        return [LINE_BREAK, (f"{day} · {who} · {os.path.basename(item.path)}", "dim")]

    def _marked(self, text: str, item: Item) -> Row:
        tone = "dim" if item.superseded else "text"
        return mark_words(drawable(text), tone, self._state.words())

    def _before(self, item: Item, width: int) -> Row:
        """Return the second line of a hit with superseded versions: their text and dates."""
        found = item.replaced or item.earlier
        if not found:
            return []
        today, words = self._state.library.today(), self._state.words()
        label = "before: " if item.replaced else "earlier: "
        row: Row = [LINE_BREAK, (label, "dim")]
        share = (width - INDENT - len(label)) // min(len(found), _REPLACED)
        for day, title in found[:_REPLACED]:
            since = f"{short_day(day, today)} "
            room = max(_BEFORE, share - len(since) - 3)
            text = render.snippet(title, "", words, room)
            text = text if cell_len(text) <= room else f"{text[: room - 1]}…"
            row += [(" · ", "dim")] if len(row) > 2 else []
            row += [(since, "dim"), *mark_words(text, "dim", words)]
        return row

    def _head(self, item: Item, width: int) -> Row:
        """Return the part before the title: time, agent, project, author and signs."""
        wide = width >= _WIDE_ROW  # in a narrow list the title has priority
        if isinstance(self._state.shown, Hits):
            day = short_day(item.day, self._state.library.today())
            stamp = f"{item.day} {item.time}" if wide else f"{day:>9s}"
        else:
            stamp = item.time or "     "
        tag = render.agent_tag(item.agent)
        row: Row = [(f"{stamp} ", "dim")]
        if not item.author or item.agent:  # a shared note written by hand is not by "me"
            row.append((f"{tag} ", tag))
        if self._shows_more_than(item.project):
            row.append((f"{item.project[: None if wide else _PROJECT]} ", "accent"))
        if item.author:
            row.append((f"{item.author} ", "strong"))
        if item.by_meaning:
            row.append(render.sign("by meaning"))
        has_conversation = self._state.evidence.get(item.key, "") in ("live", "archived")
        row.append(render.sign("has conversation") if has_conversation else ("  ", "dim"))
        return row + render.signs(item.marks | _found_of(item))

    def _heading(self, key: Key, width: int) -> Row:
        shown = self._state.shown
        if key == Hits.FAINT:
            text, count = "only faintly alike", ""
        elif isinstance(shown, Hits):
            agent, day, found = shown.conversations[key]
            who = agent_named(agent).title if agent in agent_names() else "by hand"
            text, count = f"{who} · {day or 'no day'}", f" {found}"
        else:
            text = named_day(key[1], self._state.library.today())
            count = f" {shown.counts.get(key[1], '')}"
        line = "─" * max(2, width - len(text) - len(count) - 4)
        return [(f" {text} ", "strong"), (f"{line}{count}", "dim")]

    def _shows_more_than(self, project: str) -> bool:
        """Return whether notes of projects other than *project* are listed."""
        memory, query = self._state.library.memory, self._state.query
        return (
            memory.everything
            or bool(query and memory.project.name != project)
            or "project:" in query
        )


def _cells(row: Row) -> int:
    """Return the width of a row in cells."""
    return sum(cell_len(text) for text, _ in row)


def _found_of(item: Item) -> dict[str, str]:
    """Return the computed facts about a note, by their sign in a row."""
    found = {
        "superseded-by": item.superseded,
        "gone": item.stale in ("gone", "partly"),
        "moved": item.stale == "moved",
        "unmerged": item.unmerged,
    }
    return {name: "" for name, is_so in found.items() if is_so}


class PlaceRows:
    """The rail: review queue, agents, saved searches and pinned notes."""

    def __init__(self, state: BrowseState) -> None:
        self._state = state

    def keys(self, saved: Sequence[str]) -> list[Key]:
        """Return the rows, each as (kind, name); a heading has no kind.

        Args:
            saved: the searches that the owner saved.
        """
        now = self._state.standing
        groups: list[tuple[str, list[Key]]] = [
            (
                "to decide",
                [("wait", "")] * bool(now.waiting) + [("alarm", alarm) for alarm in now.alarms],
            ),
            ("agents", [("agent", agent) for agent, _, _ in now.agents]),
            ("searches", [("search", text) for text in saved]),
            ("pinned", [("pin", item.entry_id) for item in now.pinned]),
        ]
        return [key for title, rows in groups if rows for key in [("", title), *rows]]

    def row(self, key: Key) -> Row:
        """Return the pieces of a row."""
        kind, name = key
        now, today = self._state.standing, self._state.library.today()
        if kind == "wait":
            return [("f5 ", "dim"), (f"{now.waiting} to decide", "warn")]
        if kind == "alarm":
            return [("f4 ", "dim"), (name, "bad")]
        if kind == "search":
            return [("/ ", "dim"), (name, "text")]
        if kind == "agent":
            _, count, newest = next(row for row in now.agents if row[0] == name)
            tag = render.agent_tag(name)
            return [
                (f"{tag} ", tag),
                (f"{name or 'by hand':12s}", "text"),
                (f"{count:>7,}  ", "dim"),
                (short_day(when(newest, today), today), "dim"),
            ]
        if kind == "pin":
            item = next((item for item in now.pinned if item.entry_id == name), None)
            return [("◆ ", "accent"), *render.inline(item.title)] if item else []
        return [(f" {name}", "strong")]


def first_steps(agents: list[str]) -> list[str]:
    """Return the steps for a memory without notes, with their keys."""
    here = ", ".join(agent_named(agent).title for agent in agents)
    connect = f"lets {here} write here, and imports old sessions" if here else ""
    return [
        "Nothing here yet.",
        "",
        f"c  {connect or 'lets your agents write here'}",
        "+  writes the first note",
        "F  looks in all projects",
        "v  shows a sample year, in a home of its own (memsearch demo)",
    ]


def named_day(day: str, today: str) -> str:
    """Return a day as a heading: ``Today · Sun 22 Nov``, ``Fri 20 Nov 2025``."""
    date, now = iso_date(day), iso_date(today)
    if date is None or now is None:
        return day
    near = {0: "Today · ", 1: "Yesterday · "}.get((now - date).days, "")
    year = f" {date:%Y}" if date.year != now.year else ""
    return f"{near}{date:%a} {date.day} {date:%b}{year}"


def short_day(day: str, today: str) -> str:
    """Return a short form of a day: ``8 Apr``; of another year, ``8 Apr 25``."""
    date = iso_date(day)
    if date is None:
        return day
    return f"{date.day} {date:%b}" + ("" if day[:4] == today[:4] else f" {date:%y}")
