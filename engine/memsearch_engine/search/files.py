"""Access to the files that contain notes, and to their state in the index."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from memsearch_engine.search.scope import ScopePart

if TYPE_CHECKING:
    from memsearch_engine.core.projects import Project
    from memsearch_engine.index.rows import Row, Title
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.model import Document, Entry
    from memsearch_engine.journal.targets import Target
    from memsearch_engine.search.request import SearchRequest
    from memsearch_engine.search.sections import Section


class Files(ScopePart):
    """The note files of the projects in a scope.

    >>> with Memory() as memory:
    ...     memory.files.unreadable()
    []
    """

    def all(self) -> list[DayFile]:
        """All markdown files of the memory folders and of shared notes, newest day first."""
        return self._scope.files()

    def copies(self) -> list[tuple[str, str]]:
        """(copy, original) for each file that is a copy made by a sync program or file manager."""
        from memsearch_engine.journal.files import original_of

        return [(file.path, of) for file in self.all() if (of := original_of(file.path))]

    def unreadable(self) -> list[tuple[str, str]]:
        """(path, reason) of each file in the memory folders that can't be read."""
        from memsearch_engine.journal.shared import list_notes

        found: list[tuple[str, str]] = []
        for project in self._scope.projects:
            listing = list_notes(project.memory)
            found += listing.problems
            found += [
                (file.path, os.strerror(errno.EACCES))
                for file in listing.files
                if not os.access(file.path, os.R_OK)
            ]
        return found

    def source(self, path: str) -> str:
        """The text of a file. Raises OSError."""
        from memsearch_engine.core import safe_files

        return safe_files.read(path).decode("utf-8", "replace")

    def document(self, path: str) -> Document:
        """A file with its entries. Raises OSError."""
        return self._scope.document(path)

    def read(self, file: DayFile) -> list[Entry]:
        """The entries of a file. Raises OSError."""
        return self._scope.read(file)

    def section(self, name: str) -> Section:
        """The entry with an entry id or chunk id, and its file.

        The projects of the scope are searched first, then all projects.

        Raises:
            NotFound: no such entry.
            UsageError: the id is too short or ambiguous.
        """
        return self._scope.section(name)

    def admitted(self, query: str | SearchRequest) -> list[Target]:
        """All notes that match the filters of *query*, in no particular order.

        Args:
            query: filters such as ``agent:codex after:7d is:pinned -draft``. Words are ignored.

        Raises:
            UsageError: the query names an unknown project.
            Unreachable: the index is damaged.
        """
        from memsearch_engine.journal.targets import Target
        from memsearch_engine.search import lexical
        from memsearch_engine.search.request import request_of

        request, scope = request_of(query), self._scope
        projects = scope.named(request.projects) if request.projects else scope.projects
        rows = lexical.admitted(scope.catalog, projects, request)
        return [Target(row.path, row.entry_id, row.hash) for row in rows]

    # -- owner of a file

    def root_of(self, memory: str) -> str:
        """The project folder of a memory folder."""
        found = (project.root for project in self._scope.projects if project.memory == memory)
        return next(found, self._scope.place.root)

    def project_of(self, path: str) -> Project | None:
        """The project that has this file among its own or shared notes; None if there is none."""
        return self._scope.project_of(path)

    def owns(self, path: str) -> bool:
        """Whether a file contains notes or long-term memory of these projects."""
        path, folder = os.path.normpath(path), self._scope.home.longterm_search
        longterm = (str(folder / project.id[:8]) for project in self._scope.projects)
        return self.project_of(path) is not None or any(
            path.startswith(folder + os.sep) for folder in longterm
        )

    # -- state of the index

    def counts(self, project: Project | None = None) -> dict[str, int]:
        """Count what is indexed of a project.

        Args:
            project: the current project by default.

        Returns:
            ``files``, ``failed``, ``days``, ``entries``, ``chunks`` and ``distinct`` chunks; {} if
            there is no index.

        Raises:
            MemsearchError: the index is damaged.
        """
        catalog = self._scope.catalog
        return catalog.statistics.counts((project or self._scope.project).id) if catalog else {}

    def indexed(self) -> dict[str, tuple[int, int, int]]:
        """State of each file when it was indexed.

        Returns:
            path -> (modification time in ns, size in bytes, number of entries).

        Raises:
            MemsearchError: the index is damaged.
        """
        catalog, found = self._scope.catalog, dict[str, tuple[int, int, int]]()
        if catalog is not None:
            for project in {p.id for p in self._scope.projects}:
                found.update(catalog.files.entry_counts(project))
        return found

    def titles(self, file: DayFile) -> list[Title] | None:
        """The titles of a file's entries; None if its current version is not indexed.

        Raises:
            MemsearchError: the index is damaged.
        """
        catalog = self._scope.catalog
        return catalog.files.titles(file) if catalog is not None else None

    def agents(self) -> list[tuple[str, int, str]]:
        """(agent, number of notes, newest day) of the indexed notes. Raises MemsearchError."""
        catalog = self._scope.catalog
        return catalog.statistics.agents(self._ids()) if catalog is not None else []

    def marked(self, mark: str, limit: int) -> list[Row]:
        """The newest indexed notes with a mark. Raises MemsearchError."""
        catalog = self._scope.catalog
        return catalog.marked(self._ids(), mark, limit) if catalog is not None else []

    def _ids(self) -> list[str]:
        return sorted({project.id for project in self._scope.projects})
