"""Recall of the product and of memsearch 0.4 (peer) on the same journals, queries and embedding
model.

    python benchmarks/quality.py --peer /tmp/peer            # 1,500 distractors, about 8 minutes
    python benchmarks/quality.py --routine 3400 --sample 0   # the size that tests/evaluation uses,
    product only

The evaluation set of tests/evaluation: hand-written turns of a year in three projects between
templated routine turns, and queries of many kinds. The product's side is tests/evaluation's own
code. The peer indexes the same files with its defaults and answers through its library, in one
process (batching is fair here, no time is measured); what it finds is mapped to entries by file and
lines, the first hit of each entry counts. Its scope is a path prefix where a query asks one
project. It has no date filter, so queries with dates are asked as they are written; "all but dated"
leaves them out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from common import Peer, Report, arguments, workplace
from memsearch_engine.journal.files import read_day

from memsearch_tui.demo.history import stories
from tests.evaluation import run as evaluation


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--routine", type=int, default=1500, help="routine turns between the others"
    )
    parser.add_argument(
        "--sample", type=int, default=0, help="ask only so many queries, chosen at random (0: all)"
    )
    parser.add_argument(
        "--folder", type=Path, help="work here and keep it: the next run need not index"
    )
    options = parser.parse_args()
    report = Report(options)
    with workplace(options.folder) as (folder, _):
        queries, ranks = product(folder, options.routine, options.sample)
        if options.peer:
            ranks["peer"] = peer(folder, Peer(options.peer, folder / "user"), queries)
    show(report, queries, ranks)
    report.save()


def product(folder: Path, routine: int, sample: int) -> tuple[list[dict], dict[str, list[int]]]:
    """Queries, and the place of the right answer (0: not among 50) for every way to ask the
    product.
    """
    found = folder / f"product-{routine}-{sample}.json"
    if not found.exists():
        shutil.rmtree(folder / "demo", ignore_errors=True)
        found.write_text(json.dumps(evaluation.ask(folder, routine, sample=sample)))
    queries, ranks = json.loads(found.read_text())
    return queries, ranks


def peer(folder: Path, other: Peer, queries: list[dict]) -> list[int]:
    memories = {
        root.name: root / ".memsearch" / "memory"
        for root in sorted((folder / "demo" / "projects").iterdir())
    }
    if not (folder / "user" / ".memsearch" / "milvus.db").exists():
        done = other.drive(do="index", paths=[str(memory) for memory in memories.values()])
        print(f"the peer indexed {done['chunks']} chunks in {done['seconds']:.0f} s")
    asked = [
        {"q": query["q"]}
        | ({} if query["project"] == "*" else {"prefix": str(memories[query["project"]])})
        for query in queries
    ]
    hits = other.drive(do="ask", queries=asked, limit=50)["hits"]
    entries = {
        str(path.resolve()): [
            (entry.start_line, entry.end_line, entry.id) for entry in read_day(str(path)).entries
        ]
        for memory in memories.values()
        for path in memory.glob("*.md")
    }
    ids = {story.id: story.entry_id for story in stories()}
    return [
        place(found, entries, {ids[story] for story in query["want"]})
        for query, found in zip(queries, hits)
    ]


def place(hits: list, entries: dict[str, list[tuple[int, int, str]]], want: set[str]) -> int:
    """The place of the first wanted entry among the entries that the hits lie in; 0 where there is
    none.
    """
    if not want:
        return 0 if hits else 1
    seen: dict[str, None] = {}
    for source, start, end in hits:
        for first, last, entry in entries.get(source, ()):
            if first <= end and start <= last:
                seen.setdefault(entry)
    return next((number for number, entry in enumerate(seen, 1) if entry in want), 0)


def show(report: Report, queries: list[dict], ranks: dict[str, list[int]]) -> None:
    kinds = [
        *dict.fromkeys(query["kind"] for query in queries if query["want"]),
        "all",
        "all but dated",
    ]
    rows = []
    for kind in kinds:
        chosen = [
            number
            for number, query in enumerate(queries)
            if query["want"]
            and (
                kind in (query["kind"], "all")
                or (kind == "all but dated" and "after_days_ago" not in query)
            )
        ]
        for name, places in ranks.items():
            mine = [places[number] for number in chosen]
            shares = [sum(0 < p <= k for p in mine) / max(1, len(mine)) for k in (1, 5, 10)]
            mrr = sum(1 / p for p in mine if p) / max(1, len(mine))
            rows.append([kind, name, len(mine), *(f"{value:.2f}" for value in (*shares, mrr))])
    wide = []
    for kind in kinds:
        mine = {
            name: f"{cells[0]} {cells[1]} {cells[2]} {cells[3]}"
            for k, name, _, *cells in rows
            if k == kind
        }
        wide.append([kind, next(n for k, _, n, *_ in rows if k == kind), *mine.values()])
    report.table("R@1 R@5 R@10 MRR", ["kind", "n", *(f"{name}" for name in ranks)], wide)


if __name__ == "__main__":
    main()
