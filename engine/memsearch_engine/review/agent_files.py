"""The public interface of the memory files of agents."""

from __future__ import annotations

import contextlib
import os
import re
from datetime import date

from memsearch_engine.agents import agent_files
from memsearch_engine.agents.agent_files import AgentFile, AgentFileSection, Found
from memsearch_engine.core.errors import MemsearchError, NotFound, UsageError
from memsearch_engine.injection.notes import mark_withheld
from memsearch_engine.journal.disk import locked
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.note import Note
from memsearch_engine.search.scope import Scope
from memsearch_engine.search.supersession.listing import Supersession
from memsearch_engine.service.note_editor import NoteEditor

_MIN_NAME = 4
_MAX_NOTE = 8_000  # maximum characters of a note
_CHUNK = re.compile(r"[0-9a-f]{4,64}")
_TAKEN = re.compile(r"\(native:([0-9a-f]{12})\)")


class AgentFiles:
    """Memory files of agents: their auto memories, CLAUDE.md, AGENTS.md and the like.

    They are read and copied into notes, but never written.

    >>> with Memory() as memory:
    ...     memory.agent_files.all()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._notes = scope, NoteEditor(scope)

    def all(self, *, agent: str = "", compare: bool = False) -> list[AgentFile]:
        """Return the memory files for this project (or for all), in their agents' reading order.

        Args:
            agent: only the files that this agent reads.
            compare: also report the sections that a note contradicts. This needs the service;
                without it nothing is reported.
        """
        roots = (
            [p.root for p in self._scope.projects]
            if self._scope.everything
            else [self._scope.place.root]
        )
        found: Found = {}
        for root in roots:
            for path, readers in agent_files.sources(root, self._scope.folders).items():
                found.setdefault(path, readers)
        if agent:
            found = {
                path: readers
                for path, readers in found.items()
                if agent in (name for name, _ in readers)
            }
        memories = agent_files.read(found, self._scope.home)
        taken = self._taken()
        against = self._contradicted() if compare else {}
        for section in (section for memory in memories for section in memory.sections):
            section.note = taken.get(section.id, "")
            if pair := against.get(section.id):
                section.contradicted_by, section.contradicted_why = (
                    pair.newer.entry_id,
                    f"{pair.newer.day}: {pair.why}",
                )
        return memories

    def get(self, name: str) -> tuple[AgentFile, list[AgentFileSection]]:
        """Find a memory file or one of its sections.

        Args:
            name: the path of a file or its end, for all sections; the id of a section, for that
                one.

        Returns:
            The file and the sections.

        Raises:
            NotFound: nothing has that name.
            UsageError: several files or sections have it.
        """
        if len(name) < _MIN_NAME:
            raise UsageError(f"{name!r} is too short to name one", "use at least 4 characters")
        memories = self.all(compare=True)
        by_id = [
            (m, [s]) for m in memories for s in m.sections if s.id.startswith(name)
        ] or self._by_chunk(memories, name)
        path, root = os.path.expanduser(name), self._scope.place.root
        ways = [
            [memory for memory in memories if memory.path == os.path.abspath(path)],
            [
                memory
                for memory in memories
                if memory.path == os.path.normpath(os.path.join(root, path))
            ],
            [
                memory
                for memory in memories
                if memory.path.endswith(os.sep + name) and memory.scope == "project"
            ],
            [memory for memory in memories if memory.path.endswith(os.sep + name)],
        ]
        found = by_id or [(memory, memory.sections) for memory in next(filter(None, ways), [])]
        if not found:
            raise NotFound(
                f"no agent's memory is called {name}",
                "`memsearch agents files list` shows what there is",
            )
        if len(found) > 1:
            which = ", ".join(
                sorted(sections[0].id if by_id else memory.path for memory, sections in found)[:5]
            )
            raise UsageError(f"{name!r} names several: {which}", "type more of it")
        return found[0]

    def _by_chunk(
        self, memories: list[AgentFile], name: str
    ) -> list[tuple[AgentFile, list[AgentFileSection]]]:
        """Find sections by the id of a search hit."""
        catalog = self._scope.catalog
        if catalog is None or not _CHUNK.fullmatch(name):
            return []
        wanted = catalog.entries_of_chunk(name, "native")
        return [(m, [s]) for m in memories for s in m.sections if s.id in wanted]

    def take(self, memory: AgentFile, section: AgentFileSection) -> Note:
        """Copy a section into today's notes, with its source, at most once a day.

        This can be undone.

        Raises:
            UsageError: it was copied today already, or it is too long for a note.
            Unreachable: the note is not writable.
        """
        if len(section.text) > _MAX_NOTE:
            raise UsageError(
                f"a section of {len(section.text):,} characters is no note",
                f"at most {_MAX_NOTE:,}",
            )
        home, place = self._scope.home, self._scope.place.memory
        with locked(home, os.path.join(place, "native")):
            today = os.path.join(place, f"{date.today().isoformat()}.md")
            with contextlib.suppress(OSError):
                if f"(native:{section.id})" in read_day(today).data.decode("utf-8", "replace"):
                    raise UsageError(f"{section.id} was taken today")
            path = agent_files.short(memory.path, self._scope.place.root).replace("`", "")
            under = f", under {' › '.join(section.trail)}" if section.trail else ""
            whose = f", of {agent_files.titles(memory)}" if memory.author == "agent" else ""
            source = " ".join(f"`{path}`, line {section.line}{whose}{under}".split())
            return self._notes.add(f"{section.text}\n- Taken from: {source} (native:{section.id})")

    def _taken(self) -> dict[str, str]:
        """Section -> the note that was copied from it."""
        catalog = self._scope.catalog
        if catalog is None:
            return {}
        projects = sorted({project.id for project in self._scope.projects})
        rows = catalog.notes_like(projects, "%- Taken from: %(native:%")
        return {name: entry for text, entry in rows for name in _TAKEN.findall(text)}

    def _contradicted(self) -> dict[str, Supersession]:
        """Section -> the note of this project that contradicts it."""
        scope = self._scope
        try:
            found = scope.call(
                "contradicted", list[Supersession], timeout_s=60, place=scope.place_param
            )
        except MemsearchError:
            return {}
        return {
            p.older.entry_id: p
            for p in mark_withheld(found, scope.place.memory, scope.journal.origin)
            if p.is_effective
        }
