"""Index a project with random unit vectors instead of the model's: ``python benchmarks/fill.py HOME
PROJECT``.

Embedding 100,000 chunks takes the better part of an hour on two cores; what storing and searching
cost does not depend on what the vectors mean. The same text always gets the same vector. Everything
else is the product's own path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import locate
from memsearch_engine.core.settings import load
from memsearch_engine.index import embed
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import text_hash
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search.supersession import notes


class Random:
    """Has the real model's fingerprint and dimension, and nothing else of it."""

    def __init__(self, fingerprint: str, dimension: int) -> None:
        self.fingerprint, self.dimension = fingerprint, dimension

    def query(self, text: str) -> np.ndarray:
        return self.passages([text])[0]

    def passages(
        self, texts: list[str], cancelled: Callable[[], bool] = lambda: False
    ) -> np.ndarray:
        vectors = np.stack(
            [
                np.random.default_rng(int(text_hash(text), 16)).standard_normal(
                    self.dimension, np.float32
                )
                for text in texts
            ]
        )
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main(home_root: str, root: str) -> None:
    os.umask(0o077)  # as in the service: no other user can read these files
    home = Home(Path(home_root)).ensure()
    settings = load(home)
    registry = Registry(home)
    project = registry.at(locate(root, home))
    registry.close()
    catalog = Catalog(home.cache_db, writable=True)
    scan(catalog, project.id, [project.memory], settings, memory=project.memory)
    dimension = embed.load(home, settings.embedding).dimension
    space = VectorIndex(
        home, settings.milvus, Random(embed.fingerprint_of(home, settings.embedding), dimension)
    )
    space.embed(space.missing(catalog, project.id))
    space.reconcile(catalog, project.id, project.collection)
    compared(catalog, space, project.id)
    space.close()
    catalog.close()


def compared(catalog: Catalog, space: VectorIndex, project: str) -> None:
    """Leave the notes as those of a home in use are: compared with each other, which takes the
    service minutes once when it rests.
    """
    after = 0
    while rows := catalog.links.not_compared(project, notes.version(space), after, 1000):
        catalog.links.put(rows, notes.version(space), [])
        after = rows[-1].id


if __name__ == "__main__":
    main(*sys.argv[1:])
