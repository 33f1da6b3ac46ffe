"""Compare notes with similar notes in small steps while the service is idle.

Each step stores which note supersedes which (``supersession.notes``). It reads no files and makes
no vectors.
"""

from __future__ import annotations

import logging

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search.supersession import notes

log = logging.getLogger("memsearch.service")
_AT_ONCE = 32


class Comparer:
    """Compares the notes of projects that were reported as changed.

    Only the index thread may call it.
    """

    def __init__(self) -> None:
        #: project id -> project, and catalog id of the last chunk that was checked
        self._waiting: dict[str, tuple[Project, int]] = {}

    def note(self, project: Project) -> None:
        """Report that the notes of a project may have changed.

        Notes without a vector are skipped until the next report.
        """
        self._waiting[project.id] = project, 0

    def is_due(self, index: VectorIndex | None) -> bool:
        """Whether there is anything to compare.

        Always False on a Milvus server, where each comparison would be a request. Notes are then
        compared during a search.
        """
        return bool(self._waiting) and index is not None and index.is_local

    def doing(self) -> str:
        """A sentence for people about the current work."""
        projects = [project.name for project, _ in list(self._waiting.values())]
        return f"comparing the notes of {', '.join(projects)} with each other"

    def step(self, catalog: Catalog, index: VectorIndex) -> None:
        """Compare some notes of one project.

        If this fails, the project is skipped until its notes change again.
        """
        project, after = next(iter(self._waiting.values()))
        version = notes.version(index)
        try:
            rows = catalog.links.not_compared(project.id, version, after, _AT_ONCE)
            if rows:
                vectors = index.vectors(project.collection, [row.chunk_id for row in rows])
                self._waiting[project.id] = project, rows[-1].id
                rows = [row for row in rows if row.chunk_id in vectors]
                catalog.links.put(rows, version, notes.compare(catalog, index, project, rows))
                return
            catalog.links.prune(project.id)
        except Exception:  # the notes are compared during a search instead
            log.exception("the notes of %s are not compared", project.slug)
        self._waiting.pop(project.id, None)
