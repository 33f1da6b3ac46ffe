"""Compares all notes of a project at once, as the service does while it is idle."""

from __future__ import annotations

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search.supersession.notes import Comparer


def compare_all(catalog: Catalog, index: VectorIndex, project: Project) -> None:
    """Compare all notes of a project that were not compared yet."""
    comparer = Comparer()
    comparer.note(project)
    while comparer.is_due(index):
        comparer.step(catalog, index)
