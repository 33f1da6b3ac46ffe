"""What indexing costs, beside the model's own time (limit) and memsearch 0.4 (peer).

    python benchmarks/index.py --peer /tmp/peer              # 1,500 chunks in 365 files, about 7
    minutes python benchmarks/index.py --chunks 10000 --real 0       # random vectors: no cold
    index, the rest at that size

1. Cold: `memsearch index` of everything, against the same embedder run over the same texts in the
  same run, before and
   after. (The peer's cold index spends most of its time in padding; --peer-cold runs it, about 100
   ms a chunk.)
2. Unchanged: `memsearch index` again, in turn with the peer's, whole processes.
3. One new entry: from the file's write (the file watch sees it) until a search by words, then by
  meaning, has it. The
   peer can't be asked while its watch runs on a local database; its own debounce alone is 1.5 s
   (see its docs).
4. How many texts are embedded after a day is renamed, blank lines go in at its top, one line of
  text changes: counted
   where the engine calls its embedder. The peer's count is what its `index` reports.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from uuid import uuid4

from common import (
    BARE,
    Corpus,
    Peer,
    Product,
    Report,
    arguments,
    in_turn,
    make_corpus,
    median,
    p95,
    run,
    workplace,
)
from memsearch_engine.search.hits import Answer
from memsearch_engine.service.connection import Connection


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, default=1500)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--times", type=int, default=7, help="runs of the unchanged index")
    parser.add_argument("--changes", type=int, default=10, help="entries written")
    parser.add_argument(
        "--real",
        type=int,
        default=5000,
        help="embed really up to this many chunks, else random vectors",
    )
    parser.add_argument("--peer-cold", action="store_true", help="also time the peer's cold index")
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (folder, product):
        corpus = make_corpus(product.root, options.chunks, days=options.days)
        peer = Peer(options.peer, folder / "user") if options.peer else None
        if options.chunks <= options.real:
            cold(report, product, corpus)
        else:
            product.fill()
        if peer:
            done = peer.drive(do="index", paths=[str(corpus.memory)], fake=not options.peer_cold)
            if options.peer_cold:
                print(f"peer, cold: {done['chunks']} chunks in {done['seconds']:.1f} s")
        unchanged(report, product, peer, corpus, options.times)
        changed(report, product, corpus, options.changes)
        product.stop()
        embedded(report, product, peer, corpus)
    report.save()


def cold(report: Report, product: Product, corpus: Corpus) -> None:
    import psutil
    from memsearch_engine.core.settings import load
    from memsearch_engine.index import embed
    from memsearch_engine.index.chunk import chunks_of
    from memsearch_engine.journal.files import read_day

    embedder = embed.load(product.home, load(product.home).embedding)
    days = sorted(corpus.memory.glob("*.md"))
    texts = [
        chunk.embedded
        for day in days
        for entry in read_day(str(day)).entries
        for chunk in chunks_of(entry)
    ]
    texts = sorted(set(texts), key=len)

    def raw() -> tuple[float, float]:
        start, cpu = time.perf_counter(), time.process_time()
        embedder.passages(texts)
        return time.perf_counter() - start, time.process_time() - cpu

    embedder.passages(texts[:20])
    before = raw()
    start = time.perf_counter()
    run(product.command("index", "--json"), product.env, product.root)
    took = time.perf_counter() - start
    connection = product.start()
    spent = sum(psutil.Process(connection.call("status", dict)["pid"]).cpu_times()[:2])
    connection.close()
    after = raw()
    wall, cpu = (before[0] + after[0]) / 2, (before[1] + after[1]) / 2
    report.table(
        f"cold index of {len(texts):,} texts in {corpus.files} files (CPU: "
        "of the service, its start included)",
        ["", "s", "texts/s", "x the model alone", "CPU s", "x the model alone, CPU"],
        [
            [
                "memsearch index, starts the service",
                took,
                len(texts) / took,
                took / wall,
                spent,
                spent / cpu,
            ],
            [
                "limit: the model alone, before",
                before[0],
                len(texts) / before[0],
                before[0] / wall,
                before[1],
                1.0,
            ],
            [
                "limit: the model alone, after",
                after[0],
                len(texts) / after[0],
                after[0] / wall,
                after[1],
                1.0,
            ],
        ],
    )


def unchanged(
    report: Report, product: Product, peer: Peer | None, corpus: Corpus, times: int
) -> None:
    def up():
        product.warm(corpus.queries[:1])
        return run(product.command("index"), product.env, product.root)

    def down():
        product.stop()
        return run(product.command("index"), product.env, product.root)

    ways = {
        "python -c pass": lambda: run(BARE),
        "index, service up": up,
        "index, starts the service": down,
    }
    if peer:
        ways["peer: memsearch index"] = lambda: run(
            peer.command("index", str(corpus.memory)), peer.env, product.root
        )
    found = in_turn(ways, times)
    title = f"unchanged index, {corpus.chunks:,} chunks in {corpus.files} files"
    report.processes(title, found, ["python -c pass", "peer: memsearch index"])


def changed(report: Report, product: Product, corpus: Corpus, times: int) -> None:
    product.warm(corpus.queries[:3])
    connection = product.start()
    days = sorted(corpus.memory.glob("*.md"))
    days = [days[number * len(days) // times] for number in range(times)]
    found = [until_searchable(product, connection, day, n) for n, day in enumerate(days)]
    words, meaning = zip(*(both for both in found if both))
    connection.close()
    report.table(
        f"one new entry among {corpus.chunks:,}: from write to searchable, through the file watch",
        ["", "n", "median ms", "p95 ms", "max ms"],
        [
            ["found by words", len(words), median(words), p95(words), max(words)],
            ["found by meaning", len(meaning), median(meaning), p95(meaning), max(meaning)],
        ],
    )


def until_searchable(
    product: Product, connection: Connection, day: Path, number: int
) -> tuple[float, float] | None:
    """Write one entry into a day file, and search until it is found.

    Args:
        number: below 60; the minute of the entry.

    Returns:
        Milliseconds until it was found by words, and by meaning; None if it was not in 30 s.
    """
    name = f"zq{uuid4().hex[:10]}"
    text = (
        f"{day.read_text(encoding='utf-8')}\n### 23:{number:02d}\n"
        f"- The {name} gateway drops idle sockets.\n"
    )
    product.settle(connection)
    time.sleep(0.5)
    start = time.perf_counter()
    day.write_text(text, encoding="utf-8")
    by_words = None
    while time.perf_counter() - start < 30:
        query = f"{name} gateway idle sockets"
        answer = connection.call("search", Answer, place=product.place_param, query=query, limit=5)
        top = next((hit for hit in answer.hits if name in hit.row.text), None)
        took = (time.perf_counter() - start) * 1000
        if top and by_words is None:
            by_words = took
        if top and by_words and "dense" in top.ranks and answer.mode == "hybrid":
            return by_words, took
        time.sleep(0.01)
    print("FAILED: an entry did not become searchable within 30 s")
    return None


def embedded(report: Report, product: Product, peer: Peer | None, corpus: Corpus) -> None:
    from memsearch_engine.index import embed
    from memsearch_engine.service.commands import RequestContext
    from memsearch_engine.service.engine import Engine

    made: list[str] = []
    load = embed.load

    def counting(*arguments):
        embedder = load(*arguments)
        passages = embedder.passages
        embedder.passages = lambda texts, *rest: (made.extend(texts), passages(texts, *rest))[1]
        return embedder

    embed.load = counting
    engine = Engine(product.home)
    call = RequestContext(lambda state: None, lambda: False)
    day = sorted(corpus.memory.glob("*.md"))[len(list(corpus.memory.glob("*.md"))) // 2]
    entries = day.read_text(encoding="utf-8").count("\n### ")

    def count() -> tuple[int, int | None]:
        made.clear()
        engine.handlers["index"](call, product.place_param)
        if engine.indexer.problem:
            print(f"FAILED: {engine.indexer.problem}")
        mine = len(made)
        if not peer:
            return mine, None
        done = run(peer.command("index", str(corpus.memory)), peer.env, product.root)
        match = re.search(rb"(\d+) chunks?", done.out)
        return mine, int(match[1]) if match else None

    rows = []
    count()
    renamed = day.with_name("1999-01-02.md")
    day.rename(renamed)
    rows.append([f"a day of {entries} entries renamed", *count()])
    renamed.write_text("\n\n\n" + renamed.read_text(encoding="utf-8"), encoding="utf-8")
    rows.append(["three blank lines at its top", *count()])
    text = renamed.read_text(encoding="utf-8")
    renamed.write_text(
        re.sub(r"(?m)^- .*$", "- One line says something else now.", text, count=1),
        encoding="utf-8",
    )
    rows.append(["one line of text changed", *count()])
    engine.close()
    embed.load = load
    report.table("texts embedded after", ["", "memsearch", "peer"], rows)


if __name__ == "__main__":
    main()
