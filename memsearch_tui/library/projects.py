"""The known projects, with their number of notes."""

from __future__ import annotations

import contextlib
import os

from memsearch_engine import Memory, MemsearchError

from memsearch_tui.library.days import count_notes
from memsearch_tui.library.rows import ProjectRow


class KnownProjects:
    """Lists the projects in the registry of a home."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._names: list[str] = []

    def names(self) -> list[str]:
        """Return the names of all known projects; [] if the registry cannot be read."""
        if not self._names:
            with contextlib.suppress(MemsearchError):
                self._names = sorted({project.name for project in self._memory.known()})
        return self._names

    def rows(self) -> list[ProjectRow]:
        """Return every known project, the one with the newest note first."""
        rows = []
        with Memory(self._memory.place.root, home=self._memory.home, everything=True) as everything:
            files = everything.days()
            for project in everything.projects:
                own = [file for file in files if everything.files.project_of(file.path) == project]
                counts = {day: n for day, n in count_notes(everything, own).items() if n}
                here = os.path.isdir(project.root)
                notes, newest = sum(counts.values()), max(counts, default="")
                rows.append(
                    ProjectRow(project.name, project.root, notes, len(counts), newest, here)
                )
        return sorted(rows, key=lambda row: (row.newest, row.name), reverse=True)
