"""The agent files: auto memories, CLAUDE.md, AGENTS.md.

They are only read; a section can be copied into the notes.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import memsearch_engine as engine
from memsearch_engine import agent_file_path, agent_file_titles, agent_named
from textual import work
from textual.binding import Binding, BindingType

from memsearch_tui.aside import away, read, write
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets.pieces import Row

_EMPTY = [
    "No agent file here.",
    "",
    "Agents write their own memories, and a project may have a CLAUDE.md or an AGENTS.md.",
]
_LEGEND = "×  may be outdated    …  not loaded at the start    =  in your notes"


class AgentFilesScreen(Page["Item"]):
    """Dismisses with a note to show, or None.

    It is the note that was made from a section, or one that contradicts it.
    """

    TITLES = "agent files", "what it says"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("native", "Read", "read"),
        Binding("y", "take", "Copy into notes", id="native.take"),
        Binding("m", "note", "Its note", id="native.note"),
        Binding("right_square_bracket", "file(1)", "Next file", show=False, id="native.next"),
        Binding(
            "left_square_bracket", "file(-1)", "Previous file", show=False, id="native.previous"
        ),
        Binding("r", "reload", "Read again", id="native.reload"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._root = library.memory.place.root
        self._memories: dict[str, engine.AgentFile] = {}
        self._sections: dict[str, tuple[engine.AgentFile, engine.AgentFileSection]] = {}

    async def on_mount(self) -> None:
        """Read the files."""
        await self.action_reload()

    def _is_heading(self, key: str) -> bool:
        return key in self._memories

    async def action_reload(self) -> None:
        """Read the files again."""
        files = self._library.memory.agent_files
        await self.read("reading what agents remember", files.all, self._show)
        self._compare()

    @work(exclusive=True, group="compare")
    async def _compare(self) -> None:
        """Find sections that may be outdated.

        They appear later, because the service may have to start first.
        """
        compared = await away(partial(self._library.memory.agent_files.all, compare=True))
        taken = {name: section.note for name, (_, section) in self._sections.items()}
        for memory in compared:
            for section in memory.sections:
                section.note = section.note or taken.get(section.id, "")
        self._show(compared)

    def _show(self, memories: list[engine.AgentFile]) -> None:
        self._memories = {memory.path: memory for memory in memories}
        self._sections = {
            section.id: (memory, section) for memory in memories for section in memory.sections
        }
        keys = [
            key
            for memory in memories
            for key in (memory.path, *(section.id for section in memory.sections))
        ]
        self._list.empty = _EMPTY
        self._list.border_subtitle = many(len(memories), "file") if memories else ""
        self._status.set_remark(_LEGEND if memories else "")
        self._list.show_keys(keys)
        self._moved()

    def _row(self, index: int, width: int) -> Row:
        key = self._list.keys[index]
        if key in self._memories:
            memory = self._memories[key]
            tags: Row = [
                (f"{agent_named(agent).tag} ", agent_named(agent).tag) for agent in memory.agents
            ]
            flaw = memory.problem or ("not linked" if memory.orphaned else "")
            path, flaw = agent_file_path(memory.path, self._root), f"  {flaw}" if flaw else ""
            room = max(12, width - 1 - sum(len(tag) for tag, _ in tags) - len(flaw))
            # the end of a path is more useful
            path = path if len(path) <= room else f"…{path[1 - room :]}"
            return [(" ", "text"), *tags, (path, "strong"), (flaw, "warn")]
        _, section = self._sections[key]
        sign = (
            "×"
            if section.contradicted_by
            else "…"
            if section.unread_by
            else "="
            if section.note
            else " "
        )
        tone = "warn" if section.contradicted_by else "dim" if section.unread_by else "text"
        lines = (line.strip().lstrip("-*+> ") for line in section.text.splitlines())
        words = next((line for line in lines if line and not line.startswith(("```", "~~~"))), "")
        return [(f"  {sign} ", "warn" if section.contradicted_by else "dim"), (words, tone)]

    def _moved(self, by_hand: bool = False) -> None:
        found = self._sections.get(self._list.key) if self._list.key is not None else None
        self._detail.show(_rows(self._root, *found) if found else [])

    def action_file(self, step: int) -> None:
        """Go to the next file (1) or the previous one (-1)."""
        keys = self._list.keys
        heads = [place for place, key in enumerate(keys) if key in self._memories]
        own = max(
            (number for number, place in enumerate(heads) if place < self._list.cursor), default=0
        )
        if 0 <= own + step < len(heads):
            self._list.move_to(heads[own + step] + 1)

    async def action_take(self) -> None:
        """Copy the selected sections, or the one under the cursor, into today's notes."""
        chosen = [self._sections[key] for key in self._list.keys if key in self._list.selected]
        chosen = chosen or [found for found in [self._sections.get(self._list.key or "")] if found]
        new = [(memory, section) for memory, section in chosen if not section.note]
        if not new:
            self.notify("your notes have it already" if chosen else "nothing to take")
            return
        take = self._library.memory.agent_files.take

        def copy() -> list[engine.Note]:
            return [take(memory, section) for memory, section in new]

        taken = partial(self._taken, new)
        await write(self, "taking it into the notes", copy, taken, self._complain)

    def _taken(
        self, new: list[tuple[engine.AgentFile, engine.AgentFileSection]], notes: list[engine.Note]
    ) -> None:
        for (_, section), note in zip(new, notes):  # the index does not have it yet
            section.note = note.id
        self._list.clear_selection()
        self._moved()
        if notes:
            self.notify(
                f"{many(len(notes), 'note')} written to {notes[0].day} "
                "· u in the list of notes takes them back"
            )

    async def action_note(self) -> None:
        """Go to the note that contradicts the section, or to the note that was made from it."""
        found = self._sections.get(self._list.key or "")
        names = (
            [name for name in (found[1].contradicted_by, found[1].note) if name][:1]
            if found
            else []
        )
        await read(
            self,
            "opening it",
            lambda: list(self._library.related.of_case(names, [])),
            self._opened,
            self._complain,
        )

    def _opened(self, items: list[Item]) -> None:
        if items:
            self.dismiss(items[0])
        else:
            self.notify("no note belongs to this section")

    def leave(self) -> None:
        """Clear the selection, then leave."""
        if self._list.selected:
            self._list.clear_selection()
        else:
            self.dismiss(None)


def _rows(root: str, memory: engine.AgentFile, section: engine.AgentFileSection) -> list[Row]:
    """Return the text of a section, then the remarks on it."""
    where = f"{agent_file_path(memory.path, root)}, line {section.line}"
    rows: list[Row] = [[(where, "dim")], [(f"{agent_file_titles(memory)} · {memory.title}", "dim")]]
    if section.trail:
        rows.append([(" › ".join(section.trail), "strong")])
    rows += [[], *([(line, "text")] for line in section.text.split("\n")), []]
    if section.unread_by:
        who = ", ".join(agent_named(agent).title for agent in section.unread_by)
        rows.append(
            [
                (
                    (
                        f"{who} does not load this, or not all of it, "
                        "when a session starts: it stands behind its cap"
                    ),
                    "warn",
                )
            ]
        )
    if memory.orphaned:
        rows.append(
            [
                (
                    (
                        "Nothing that is loaded links to this file, "
                        "so its agent does not come to read it"
                    ),
                    "warn",
                )
            ]
        )
    if section.contradicted_by:
        rows.append(
            [
                (f"May be outdated: a note of {section.contradicted_why}", "warn"),
                ("  m opens it", "accent"),
            ]
        )
    if section.note:
        rows.append([(f"In your notes as {section.note}", "good"), ("  m opens it", "accent")])
    return rows
