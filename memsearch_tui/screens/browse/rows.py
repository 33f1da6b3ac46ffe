"""The rows of the list and of the rail, made from the state. No widget here."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memsearch_engine import agent_named, agent_names
from rich.cells import cell_len

from memsearch_tui.counted import when
from memsearch_tui.library import Item
from memsearch_tui.screens.browse.state import BrowseState
from memsearch_tui.timeline import Hits, Key, is_heading
from memsearch_tui.widgets import render
from memsearch_tui.widgets.calendar import iso_date
from memsearch_tui.widgets.pieces import LINE_BREAK, Row, cut, drawable, mark_words, unwrapped, wrap

#: Indent of the second line of a row in cells.
INDENT = 11
_WIDE_ROW = 90
_DAY = 10  # cells of the day before the first note of each day
_TIMED_ROW = 60  # least cells of a row that has both day and time
_REPLACED, _BEFORE = 2, 10  # superseded hits in the second line; least cells of each
_NAMED_ROW = 78  # least cells of a row with an agent's name: 50 are left for its text
_ASKED = "User asked: "  # begins a note that was summarised without a model
_UNFOLDS: Row = [("   ⏎ ", "key"), ("shows them", "dim")]
_PROJECT = 10  # characters of a project's name in a narrow row


class EntryRows:
    """Makes the rows of notes, hits and headings."""

    def __init__(self, state: BrowseState) -> None:
        self._state = state

    def row(self, key: Key, width: int, lines: int = 1) -> Row:
        """Return the row of *key* in *width* cells and *lines* lines."""
        shown = self._state.shown
        if isinstance(shown, Hits) and is_heading(key):
            return self._heading(shown, key, width)
        if isinstance(shown, Hits) and key == Hits.FOLD:
            return [(f"  only faintly alike ({shown.folded})", "dim"), *_UNFOLDS]
        item = shown.item(key)
        if item is None:
            return []
        row = self._head(item, width)
        if item.doubtful and lines == 1:
            return [*row, (item.title.removeprefix(_ASKED), "dim")]
        if not isinstance(shown, Hits):
            asked = item.title.removeprefix(_ASKED)
            title = [(drawable(part), tone) for part, tone in render.inline(asked)]
            if lines == 1:
                return [*row, *title]
            first, *rest = wrap(title, width - _cells(row))
            body = self._state.bodies.get((item.key, item.hash))  # None until it is read
            more = unwrapped(rest)
            if not more and body is not None:
                other = render.other_lines(body.replace(_ASKED, ""), asked)
                more = [(other or self._facts(item), "dim")]
            return [*row, *first, LINE_BREAK, (" " * (_cells(row) - INDENT), "text"), *more]
        is_current = bool(item.replaced) and not item.superseded
        if lines == 1:
            row += [render.sign("is current")] if is_current else []
            room = width - _cells(row)
            text = self._snippet(item, room)
            return [*row, *self._marked(text, item)]
        current: Row = [("  ", "text"), render.sign("is current", " current")]
        return self._two_lines(item, row, current if is_current else [], width)

    def _two_lines(self, item: Item, row: Row, current: Row, width: int) -> Row:
        """Return the row of a hit in two lines. The second line has the rest of its text; a text
        that fits in the first line is followed by superseded versions or by its other lines. A wide
        row always has room for superseded versions.
        """
        room = width - _cells(row)
        text = self._snippet(item, room + width - INDENT - _cells(current))
        before, alone = self._before(item, width), room - _cells(current)
        if cell_len(text) <= alone or (before and width >= _WIDE_ROW):
            text = self._snippet(item, alone)
            line = cut(self._marked(text, item), alone)
            return [*row, *line, *current, *(before or self._more(item, text))]
        first, *rest = wrap(self._marked(text, item), room)
        more = unwrapped(rest)
        more += [(" · ", "dim"), *before[1:]] if before else []
        second = cut(more, width - INDENT - _cells(current))
        return [*row, *first, LINE_BREAK, *second, *current]

    def _more(self, item: Item, shown: str) -> Row:
        """Return the second line of a hit that fits in one: the other lines of its matching part,
        else its day, author and file.
        """
        if more := render.other_lines(item.text.replace(_ASKED, ""), shown):
            return [LINE_BREAK, *mark_words(more, "dim", self._state.words())]
        day = named_day(item.day, self._state.library.today()) if item.day else "no day"
        return [LINE_BREAK, (f"{day} · {self._facts(item)}", "dim")]

    def _facts(self, item: Item) -> str:
        """Return the author and the file of a note."""
        who = agent_named(item.agent).title if item.agent in agent_names() else "by hand"
        return f"{who} · {os.path.basename(item.path)}"

    def _snippet(self, item: Item, room: int) -> str:
        """Return the line of a hit that answers best, cut to *room* cells."""
        line = render.snippet(item.title, item.text, self._state.words(), room)
        return line.removeprefix(_ASKED)

    def _marked(self, text: str, item: Item) -> Row:
        tone = "dim" if item.superseded or item.doubtful else "text"
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
        tag = render.agent_tag(item.agent)
        row = self._when(item, width)
        project = f"{item.project[: None if wide else _PROJECT]} "
        project *= self._shows_more_than(item.project)
        if not item.author or item.agent:  # a shared note written by hand is not by "me"
            is_named = width - cell_len(project) >= _NAMED_ROW
            row.append((f"{render.agent_short(item.agent) if is_named else tag} ", tag))
        row.append((project, "accent"))
        if item.author:
            row.append((f"{item.author} ", "strong"))
        if item.by_meaning:
            row.append(render.sign("by meaning"))
        has_conversation = self._state.evidence.get(item.key, "") in ("live", "archived")
        row.append(render.sign("has conversation") if has_conversation else ("  ", "dim"))
        return row + render.signs(item.marks | _found_of(item))

    def _when(self, item: Item, width: int) -> Row:
        """Return day and time. In the list of all notes the first note of each day names it; in a
        narrow row only the others have their time.
        """
        shown, today = self._state.shown, self._state.library.today()
        if isinstance(shown, Hits):
            wide = width >= _WIDE_ROW
            day = f"{item.day} {item.time}" if wide else f"{short_day(item.day, today):>9s}"
            return [(f"{day} ", "dim")]
        day = column_day(item.day, today) if shown.begins_day(item.key) else ""
        if width >= _TIMED_ROW:
            return [(f"{day:{_DAY}s} ", "strong"), (f"{item.time:5s} ", "dim")]
        return [(f"{day:{_DAY}s} ", "strong") if day else (f"{item.time:>{_DAY}s} ", "dim")]

    def _heading(self, shown: Hits, key: Key, width: int) -> Row:
        if key == Hits.FAINT:
            text, count = "only faintly alike", ""
        else:
            agent, day, found = shown.conversations[key]
            who = agent_named(agent).title if agent in agent_names() else "by hand"
            text, count = f"{who} · {day or 'no day'}", f" {found}"
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
    """The rail: agents, saved searches and pinned notes."""

    def __init__(self, state: BrowseState) -> None:
        self._state = state

    def keys(self, saved: Sequence[str]) -> list[Key]:
        """Return the rows, each as (kind, name); a heading has no kind.

        Args:
            saved: the searches that the owner saved.
        """
        now = self._state.standing
        groups: list[tuple[str, list[Key]]] = [
            ("agents", [("agent", agent) for agent, _, _ in now.agents]),
            ("searches", [("search", text) for text in saved]),
            ("pinned", [("pin", item.entry_id) for item in now.pinned]),
        ]
        return [key for title, rows in groups if rows for key in [("", title), *rows]]

    def row(self, key: Key) -> Row:
        """Return the pieces of a row."""
        kind, name = key
        now, today = self._state.standing, self._state.library.today()
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
            return (
                [("◆ ", "accent"), *render.inline(item.title.removeprefix(_ASKED))] if item else []
            )
        return [(f" {name}", "strong")]


def first_steps(root: str, agents: list[str]) -> list[str]:
    """Return the steps for a memory without notes, with their keys.

    Args:
        root: the project's folder, which may have been moved or removed.
    """
    if not os.path.isdir(root):
        return [f"{root} is gone.", "", "r   reads it again", "F2  lists all projects"]
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
    """Return the name of a day: ``Today · Sun 22 Nov``, ``Fri 20 Nov 2025``."""
    date, now = iso_date(day), iso_date(today)
    if date is None or now is None:
        return day
    near = {0: "Today · ", 1: "Yesterday · "}.get((now - date).days, "")
    year = f" {date:%Y}" if date.year != now.year else ""
    return f"{near}{date:%a} {date.day} {date:%b}{year}"


def column_day(day: str, today: str) -> str:
    """Return a day in at most ten cells: ``Today``, ``Fri 20 Nov``, ``20 Nov 25``."""
    name = named_day(day, today).partition(" · ")[0]
    return name if len(name) <= _DAY else short_day(day, today)


def short_day(day: str, today: str) -> str:
    """Return a short form of a day: ``8 Apr``; of another year, ``8 Apr 25``."""
    date = iso_date(day)
    if date is None:
        return day
    return f"{date.day} {date:%b}" + ("" if day[:4] == today[:4] else f" {date:%y}")
