"""The files of notes, and what the index knows of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memsearch_engine.search.scope import Scope

if TYPE_CHECKING:
    from memsearch_engine.core.projects import Project
    from memsearch_engine.index.rows import Row, Title
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.model import Document, Entry
    from memsearch_engine.journal.write import Target
    from memsearch_engine.search.request import SearchRequest
    from memsearch_engine.search.sections import Section


class Files:
    """The files of notes of these projects.

    >>> with Memory() as memory:
    ...     memory.files.unreadable()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def all(self) -> list[DayFile]:
        """All markdown files of the memory folders and of shared notes, newest day first."""
        return self._scope.files()

    def copies(self) -> list[tuple[str, str]]:
        """(copy, original) of each file that a sync program or a file manager has copied."""
        from memsearch_engine.journal.files import original_of

        return [(file.path, of) for file in self.all() if (of := original_of(file.path))]

    def unreadable(self) -> list[tuple[str, str]]:
        """(path, reason) of each file in the memory folders that can't be read."""
        from memsearch_engine.journal.shared import list_notes

        projects = self._scope.projects
        return [problem for project in projects for problem in list_notes(project.memory).problems]

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
        """The entry behind an entry or chunk id, with its file. Looks in these projects, then in
        all.

        Raises:
            NotFound: no such entry. UsageError: the id is too short or ambiguous.
        """
        return self._scope.section(name)

    def admitted(self, query: str | SearchRequest) -> list[Target]:
        """All notes that the filters of *query* admit (``agent:codex after:7d is:pinned -draft``),
        in no order. Words of the query are ignored.

        Raises:
            UsageError: the query names an unknown project. Unreachable: the index is damaged.
        """
        from memsearch_engine.journal.write import Target
        from memsearch_engine.search import lexical
        from memsearch_engine.search.request import request_of

        request, scope = request_of(query), self._scope
        projects = scope.named(request.projects) if request.projects else scope.projects
        rows = lexical.admitted(scope.catalog, projects, request)
        return [Target(row.path, row.entry_id, row.hash) for row in rows]

    # -- whose a file is

    def root_of(self, memory: str) -> str:
        """The project folder of a memory folder."""
        found = (project.root for project in self._scope.projects if project.memory == memory)
        return next(found, self._scope.place.root)

    def project_of(self, path: str) -> Project | None:
        """The project to whose notes, own or shared, a file belongs; None where there is none."""
        return self._scope.project_of(path)

    def memory_of(self, path: str) -> str:
        """The memory folder that a file belongs to."""
        return self._scope.memory_of(path)

    def owns(self, path: str) -> bool:
        """Whether a file is one of these projects' notes, or of their long-term memory."""
        path, folder = os.path.normpath(path), self._scope.home.longterm_search
        longterm = (str(folder / project.id[:8]) for project in self._scope.projects)
        return self.project_of(path) is not None or any(
            path.startswith(folder + os.sep) for folder in longterm
        )

    # -- what the index knows

    def counts(self, project: Project | None = None) -> dict[str, int]:
        """What is indexed of a project (by default the current one).

        Returns:
            ``files``, ``failed``, ``days``, ``entries``, ``chunks`` and ``distinct`` chunks; {}
            where there is no index.

        Raises:
            MemsearchError: the index is damaged.
        """
        catalog = self._scope.catalog
        return catalog.statistics.counts((project or self._scope.project).id) if catalog else {}

    def indexed(self) -> dict[str, tuple[int, int, int]]:
        """Path -> (modification time in ns, bytes, entries) of each file when it was indexed.

        Raises:
            MemsearchError: the index is damaged.
        """
        catalog, found = self._scope.catalog, dict[str, tuple[int, int, int]]()
        if catalog is not None:
            for project in {p.id for p in self._scope.projects}:
                found.update(catalog.files.entry_counts(project))
        return found

    def titles(self, file: DayFile) -> list[Title] | None:
        """The first lines of a file's entries; None where the file is not indexed as it is now.

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
