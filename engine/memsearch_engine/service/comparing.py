"""Comparing notes with those near to them, for what amends what (``search.chains``): what the index
thread does when it rests, a slice at a time. It knows no files and makes no vectors.
"""

from __future__ import annotations

import logging

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import chains

log = logging.getLogger("memsearch.service")
_AT_ONCE = 32


class _Waiting(msgspec.Struct):
    """A project with notes that may be new. ``after``: the last chunk that was looked at, by its
    catalog id.
    """

    project: Project
    after: int = 0


class Comparer:
    """Which projects have notes that were not compared. All calls come from the index thread."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def note(self, project: Project) -> None:
        """Its notes may have changed. What cannot be compared now, since it has no vector yet, is
        looked at again after the next note.
        """
        self._waiting[project.id] = _Waiting(project)

    def is_due(self, space: VectorIndex | None) -> bool:
        """Whether there is anything to do. On a server each comparison would be a request: there
        they are made when somebody asks.
        """
        return bool(self._waiting) and space is not None and space.is_local

    def doing(self) -> str:
        """What is compared now, for people."""
        projects = [waiting.project.slug for waiting in list(self._waiting.values())]
        return f"comparing the notes of {', '.join(projects)} with each other"

    def step(self, catalog: Catalog, space: VectorIndex) -> None:
        """Compare some notes of one project. One that fails is left until its notes change again."""
        name, waiting = next(iter(self._waiting.items()))
        project = waiting.project
        try:
            rows = catalog.links.not_compared(
                project.id, chains.judge(space), waiting.after, _AT_ONCE
            )
            if rows:
                held = space.vectors(project.collection, [row.chunk_id for row in rows])
                rows, waiting.after = [row for row in rows if row.chunk_id in held], rows[-1].id
                catalog.links.put(
                    rows, chains.judge(space), chains.compare(catalog, space, project, rows)
                )
                return
            catalog.links.prune(project.id)
        except Exception:  # what amends what is found when somebody asks
            log.exception("the notes of %s are not compared", project.slug)
        self._waiting.pop(name, None)


def compare_all(catalog: Catalog, space: VectorIndex, project: Project) -> None:
    """Compare all notes of a project that were not."""
    comparer = Comparer()
    comparer.note(project)
    while comparer.is_due(space):
        comparer.step(catalog, space)
