"""The days of a memory, the notes of each day, and the known projects with their counts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

import memsearch_engine as engine
from memsearch_engine import Memory, MemsearchError

from memsearch_tui.library.rows import Item, ItemMaker, ProjectRow


class NoteDays:
    """Lists the days and their notes.

    Files that are indexed in their current state are listed from the index, which takes
    milliseconds at 30,000 entries. Other files are read.
    """

    def __init__(self, memory: engine.Memory, items: ItemMaker) -> None:
        self._memory, self._items = memory, items
        self._files: dict[str, list[engine.DayFile]] = {}

    def read(self) -> list[tuple[str, int]]:
        """Find the files again, and return (ISO day, number of notes), newest day first."""
        listed = self._memory.days()
        counts = count_notes(self._memory, listed)
        files: dict[str, list[engine.DayFile]] = {}
        for file in listed:
            files.setdefault(file.day, []).append(file)
        self._files = files  # replaced in one step: another thread may read it
        return list(counts.items())

    def notes(self, day: str) -> list[Item]:
        """Return the notes of an ISO day, oldest first; those without a time come last."""
        items: list[Item] = []
        for file in self._files.get(day, ()):
            titles = None
            with contextlib.suppress(engine.MemsearchError):
                titles = self._memory.files.titles(file)
            if titles is not None:
                project = self._items.project_of(file.path)
                items += [
                    Item(
                        title.entry_id,
                        file.path,
                        day,
                        title.time,
                        title.agent,
                        title.title,
                        title.marks,
                        project,
                        title.hash,
                        stale=title.stale,
                        unmerged=title.unmerged,
                    )
                    for title in titles
                ]
                continue
            with contextlib.suppress(OSError):
                entries = self._memory.files.read(file)
                items += [self._items.of_entry(entry, file.path, day) for entry in entries]
        return sorted(items, key=lambda item: (item.time or "99", item.path))

    def day_of(self, path: str) -> str:
        """Return the ISO day of a listed file; '' for a file that is not listed."""
        day = os.path.basename(path).removesuffix(".md")
        return day if any(file.path == path for file in self._files.get(day, ())) else ""

    def sources(self, day: str) -> list[tuple[str, str]]:
        """Return (path, text) of the files of an ISO day, as they are on disk.

        The text of a file that cannot be read is the error.
        """
        found = []
        for file in self._files.get(day, ()):
            try:
                text = self._memory.files.source(file.path)
            except OSError as error:
                text = str(error)
            found.append((short_path(self._memory, file.path), text))
        return found


def short_path(memory: engine.Memory, path: str) -> str:
    """Return *path* from the project's name on: enough for a person to find the file."""
    project = next((p for p in memory.projects if path.startswith(p.root + os.sep)), None)
    return os.path.join(project.name, os.path.relpath(path, project.root)) if project else path


def count_notes(memory: engine.Memory, files: Sequence[engine.DayFile]) -> dict[str, int]:
    """Return ISO day -> number of notes, in the order of *files*.

    For a file that is not indexed in its current state, the number of its headings is used, which
    is nearly right.
    """
    known: dict[str, tuple[int, int, int]] = {}
    with contextlib.suppress(engine.MemsearchError):  # a damaged catalog is being rebuilt
        known = memory.files.indexed()
    counts: dict[str, int] = {}
    for file in files:
        mtime_ns, size, count = known.get(file.path, (0, 0, 0))
        is_known = (mtime_ns, size) == (file.mtime_ns, file.size)
        counts[file.day] = counts.get(file.day, 0) + (
            count if is_known else engine.count_entries([file])
        )
    return counts


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
