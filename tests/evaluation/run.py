"""Recall of the evaluation set, for every mode and fusion: ``python -m tests.evaluation.run``.

Builds the demo's year with many routine distractors in a temporary folder, indexes it with the
default model, asks all queries and prints recall@1/5/10 and MRR per kind. ``--json FILE`` keeps
every rank. Of queries without an answer, to which a note is nearest all the same, it prints how
many have a word that no note has.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import analyze, models
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import parse
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.spelling import absent, correct

from memsearch_tui.demo.history import build, stories
from tests.evaluation.compared import compare_all

HERE = Path(__file__).parent
END = date(2026, 11, 20)
WAYS = (
    ("hybrid", "weighted"),
    ("hybrid", "rrf"),
    ("dense", "weighted"),
    ("bm25", "weighted"),
    ("lexical", "weighted"),
)


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("--routine", type=int, default=3400, help="distractor entries")
    args.add_argument("--model", default="", help="embedding.model")
    args.add_argument("--both", action="store_true", help="the second model beside the first one")
    args.add_argument(
        "--without-prompts", action="store_true", help="notes whose conversations are lost"
    )
    args.add_argument(
        "--folder", type=Path, help="keep the corpus and index here, to ask again without indexing"
    )
    args.add_argument("--json", type=Path)
    args.add_argument("--misses", default="", help="show what was missed in MODE")
    options = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run(options.folder or Path(temporary), options)


def run(folder: Path, options) -> None:
    queries, ranks = ask(
        folder,
        options.routine,
        options.model,
        prompts=not options.without_prompts,
        both=options.both,
    )
    for query, place in zip(queries, ranks.get(options.misses, ())):
        if not 0 < place <= 5 and query["want"]:
            print(f"  miss {place:3d} {query['kind']:14s} {query['q']}  -> {query['want']}")
    table(queries, ranks)
    injected(folder, queries)
    if options.json:
        options.json.write_text(json.dumps({"queries": queries, "ranks": ranks}))


class World(NamedTuple):
    """The indexed corpus. ``ids``: story -> entry id; ``projects``: by name."""

    catalog: Catalog
    space: VectorIndex
    projects: dict[str, Project]
    ids: dict[str, str]
    queries: list[dict]
    second: VectorIndex | None = None

    def answer(
        self, query: dict, mode: str = "hybrid", fusion: str = "weighted", limit: int = 50
    ) -> Answer:
        text = query["q"]
        if "after_days_ago" in query:
            after, before = (
                END - timedelta(days=query[key]) for key in ("after_days_ago", "before_days_ago")
            )
            text += f" after:{after} before:{before}"
        scope = (
            list(self.projects.values())
            if query["project"] == "*"
            else [self.projects[query["project"]]]
        )
        return hybrid.search(
            Sources(self.catalog, self.space, scope, self.second),
            parse(text, END, limit=limit, mode=mode, fusion=fusion),
        )

    def rank(self, query: dict, mode: str, fusion: str) -> int:
        """The place of the first right answer within 50, or 0."""
        answer, want = self.answer(query, mode, fusion), self.wanted(query)
        if not want:
            return 0 if answer.hits else 1
        return next(
            (place for place, hit in enumerate(answer.hits, 1) if hit.row.entry_id in want), 0
        )

    def wanted(self, query: dict) -> set[str]:
        return {self.ids[story] for story in query["want"]}


@contextlib.contextmanager
def world(
    folder: Path, routine: int, model: str = "", *, prompts: bool = True, both: bool = False
) -> Iterator[World]:
    """Build and index the corpus under *folder*, or open what is there."""
    settings = Settings()
    settings.embedding.model = model
    demo = build(folder / "demo", END, routine)
    home = Home(folder / "home").ensure()
    catalog = Catalog(home.cache_db, writable=True)
    if both or model == models.SECOND:
        models.pull(home, models.SECOND)
    space = VectorIndex(home, settings.milvus, load_embedder(home, settings.embedding))
    beside = load_embedder(home, EmbeddingSettings(model=models.SECOND)) if both else None
    second = VectorIndex(home, settings.milvus, beside) if beside else None
    asked = (
        {(story.agent, story.session_id, story.turn): story.prompt for story in demo.captured}
        if prompts
        else {}
    )
    projects = {
        name: Project(
            f"id-{name}",
            name,
            f"ms_{name.replace('-', '_')}_0",
            str(root),
            str(root / ".memsearch/memory"),
        )
        for name, root in demo.projects.items()
    }
    for project in projects.values():
        scan(
            catalog,
            project.id,
            [project.memory],
            settings,
            memory=project.memory,
            prompts=lambda names: {name: asked[name] for name in names if name in asked},
        )
        for one in filter(None, (space, second)):
            one.embed(one.missing(catalog, project.id))
            one.reconcile(catalog, project.id, project.collection)
        compare_all(catalog, space, project)
    ids = {story.id: story.entry_id for story in stories()}
    queries = [
        json.loads(line)
        for line in (HERE / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    try:
        yield World(catalog, space, projects, ids, queries, second)
    finally:
        for one in filter(None, (space, second)):
            one.close()
        catalog.close()


def ask(
    folder: Path,
    routine: int,
    model: str = "",
    ways: tuple[tuple[str, str], ...] = WAYS,
    *,
    prompts: bool = True,
    both: bool = False,
    sample: int = 0,
) -> tuple[list[dict], dict[str, list[int]]]:
    """All queries, or *sample* of them, and the rank of the right answer per way and query."""
    with world(folder, routine, model, prompts=prompts, both=both) as there:
        queries = there.queries
        if sample:
            chosen = random.Random(7).sample(range(len(queries)), min(sample, len(queries)))
            queries = [queries[number] for number in sorted(chosen)]
        ranks = {
            mode if mode != "hybrid" else f"hybrid/{fusion}": [
                there.rank(query, mode, fusion) for query in queries
            ]
            for mode, fusion in ways
        }
        return queries, ranks


def answers(
    folder: Path, routine: int, *, prompts: bool = True, both: bool = False
) -> list[tuple[dict, set[str], Answer]]:
    """Every query with the ids of its right answers and what the default answers, as far as a list
    shows.
    """
    with world(folder, routine, prompts=prompts, both=both) as there:
        return [
            (query, there.wanted(query), there.answer(query, limit=10)) for query in there.queries
        ]


def injected(folder: Path, queries: list[dict]) -> None:
    """How many questions have a word that no note has, which is what is said of those without an
    answer.
    """
    catalog = Catalog(folder / "home" / "cache.db")
    for name, chosen in (
        ("without an answer", [query for query in queries if not query["want"]]),
        ("with one", [query for query in queries if query["want"]]),
    ):
        parsed = [parse(query["q"], END) for query in chosen]
        corrected = [
            correct(catalog, analyze.query_terms(query.text), query)[1] for query in parsed
        ]
        named = sum(bool(absent(catalog, query, near)) for query, near in zip(parsed, corrected))
        print(f"questions {name}: {named} of {len(chosen)} have a word that no note has")
    catalog.close()


def table(queries: list[dict], ranks: dict[str, list[int]]) -> None:
    kinds = [*dict.fromkeys(query["kind"] for query in queries if query["want"]), "all"]
    print(f"{'kind':16s} {'n':>4s}  " + "  ".join(f"{name:>24s}" for name in ranks))
    print(f"{'':16s} {'':4s}  " + "  ".join(f"{'R@1   R@5  R@10   MRR':>24s}" for _ in ranks))
    for kind in kinds:
        chosen = [i for i, q in enumerate(queries) if q["want"] and kind in (q["kind"], "all")]
        cells = []
        for found in ranks.values():
            places = [found[i] for i in chosen]
            share = [sum(0 < p <= k for p in places) / len(places) for k in (1, 5, 10)]
            mrr = sum(1 / p for p in places if p) / len(places)
            cells.append(f"{share[0]:6.2f}{share[1]:6.2f}{share[2]:6.2f}{mrr:6.2f}")
        print(f"{kind:16s} {len(chosen):4d}  " + "  ".join(cells))


if __name__ == "__main__":
    main()
