"""What it costs to find what amends what: `python benchmarks/supersession.py --chunks 1000 10000`.

Notes of the demo's kind with random vectors (`fill.py`) are compared in the slices in which the
service does it when it rests; then one more note, and none. What lies in the catalog afterwards is
read as a search reads it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from common import make_corpus
from fill import Random
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index import embed
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search.supersession.notes import Comparer

from tests.evaluation.compared import compare_all


def measured(chunks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, settings = Home(Path(folder, "home")).ensure(), Settings()
        home.ensure_socket_folder()
        memory = Path(folder, "project")
        make_corpus(memory, chunks)
        project = Project("id", "p", "ms_p_0", str(memory), str(memory / ".memsearch/memory"))
        dimension = embed.load(home, settings.embedding).dimension
        catalog = Catalog(home.cache_db, writable=True)
        space = VectorIndex(
            home, settings.milvus, Random(embed.fingerprint_of(home, settings.embedding), dimension)
        )

        def index() -> None:
            scan(catalog, project.id, [project.memory], settings, memory=project.memory)
            space.embed(space.missing(catalog, project.id))
            space.reconcile(catalog, project.id, project.collection)

        index()
        space.warm(project.collection)
        slices = []
        comparer = Comparer()
        comparer.note(project)
        while comparer.is_due(space):
            start = time.perf_counter()
            comparer.step(catalog, space)
            slices.append(time.perf_counter() - start)
        day = next(Path(project.memory).glob("*.md"))
        day.write_text(f"{day.read_text()}\n### 23:59\n- The cache TTL is 30 s instead of 60\n")
        index()
        start = time.perf_counter()
        compare_all(catalog, space, project)
        one = time.perf_counter() - start
        start = time.perf_counter()
        compare_all(catalog, space, project)
        none = time.perf_counter() - start
        names = [
            name for (name,) in catalog.database.query("SELECT entry_id FROM entries LIMIT 500")
        ]
        start = time.perf_counter()
        for name in names:
            catalog.links.of(project.id, older=name)
        read = (time.perf_counter() - start) / len(names)
        print(
            f"{chunks:>8,} {1000 * sum(slices) / chunks:10.2f} "
            f"{1000 * statistics.median(slices):10.0f} {1000 * max(slices):10.0f}"
            f" {1000 * one:10.0f} {1000 * none:10.1f} "
            f"{1000 * read:10.3f} {len(catalog.links.of(project.id)):8d}"
        )
        space.close()
        catalog.close()


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("--chunks", type=int, nargs="+", default=[1000, 10_000])
    options = args.parse_args()
    print("milliseconds")
    print(
        f"{'notes':>8s} {'a note':>10s} {'a slice':>10s} {'slowest':>10s} "
        f"{'one more':>10s} {'none':>10s} {'a look':>10s} {'found':>8s}"
    )
    for chunks in options.chunks:
        measured(chunks)
    print(
        "a slice: 32 notes; one more, none: a run after one note was written, "
        "and after none was; a look: what a search reads of a note"
    )


if __name__ == "__main__":
    main()
