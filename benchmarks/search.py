"""What a search costs, beside memsearch 0.4 (peer) and beside limits: a bare Python start, SQLite
FTS5, a dot product.

    python benchmarks/search.py --peer /tmp/peer                     # 1,000 and 10,000 chunks,
    about 6 minutes python benchmarks/search.py --chunks 100000                      # without the
    peer, about 10 minutes

(``benchmarks/peer.sh /tmp/peer`` makes the peer's venv.) For every size, on a corpus of that many
chunks:

1. whole processes, run in turn: `memsearch search` with the service up; with the service down and
  `--no-wait` (words
   only); with the service down, starting it; `memsearch --help`; `python -c pass`; the peer's
   search.
2. one request to the running service, by mode, p50 and p95 over distinct queries in turn, beside
  plain FTS5 and a numpy
   dot product over the same texts and vectors, the model alone, an empty request, and the peer's
   library kept open.
3. the service: time to open, memory, CPU while nothing happens.

Above --real chunks, both sides are filled with random vectors (fill.py): what search costs does not
depend on them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

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


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--times", type=int, default=7, help="runs of each whole process")
    parser.add_argument(
        "--requests", type=int, default=60, help="requests of each kind to the service"
    )
    parser.add_argument(
        "--seconds", type=float, default=120, help="at most this long for the requests of one size"
    )
    parser.add_argument("--idle", type=float, default=10, help="seconds to watch the idle service")
    parser.add_argument("--real", type=int, default=0, help="embed really up to this many chunks")
    parser.add_argument(
        "--folder",
        type=Path,
        help="work here and keep it (one size only): the next run need not index",
    )
    options = parser.parse_args()
    report = Report(options)
    for chunks in options.chunks:
        with workplace(options.folder) as (folder, product):
            one_size(report, options, folder, product, chunks)
    report.save()


def one_size(report: Report, options, folder: Path, product: Product, chunks: int) -> None:
    peer = Peer(options.peer, folder / "user") if options.peer else None
    corpus = prepare(folder, product, peer, chunks, real=chunks <= options.real)
    title = f"{chunks:,} chunks in {corpus.files} files"
    processes(report, title, product, peer, corpus, options.times)
    service(report, title, product, corpus, options.idle)
    requests(report, title, folder, product, peer, corpus, options)


def prepare(
    folder: Path, product: Product, peer: Peer | None, chunks: int, *, real: bool
) -> Corpus:
    kept = product.root.exists()
    corpus = make_corpus(folder / "again" if kept else product.root, chunks)
    if kept:
        shutil.rmtree(folder / "again")
        corpus.root = product.root
        return corpus
    if real:
        product.start().close()
    else:
        product.fill()
    if peer:
        indexed = peer.drive(do="index", paths=[str(corpus.memory)], fake=not real)["chunks"]
        if abs(indexed - chunks) > chunks / 50:
            print(f"note: the peer made {indexed} chunks of the same files")
    return corpus


def processes(
    report: Report, title: str, product: Product, peer: Peer | None, corpus: Corpus, times: int
) -> None:
    queries = iter(corpus.queries * 10)
    modes: dict[str, set[str]] = {"up": set(), "down": set(), "start": set()}

    def search(kind: str, *flags: str):
        done = run(
            product.command("search", next(queries), "--json", *flags), product.env, product.root
        )
        modes[kind].add(json.loads(done.out)["mode"] if done.ok else "failed")
        return done

    def with_service():
        product.warm(corpus.queries[-5:])
        return search("up")

    def no_wait():
        product.stop()
        return search("down", "--no-wait")

    def starting():
        product.stop()
        return search("start")

    ways: dict[str, Callable] = {
        "python -c pass": lambda: run(BARE, product.env),
        "memsearch --help": lambda: run(product.command("--help"), product.env),
        "search, service up": with_service,
        "search --no-wait, service down": no_wait,
        "search, starts the service": starting,
    }
    if peer:
        ways["peer: memsearch search"] = lambda: run(
            peer.command("search", next(queries), "-j"), peer.env, product.root
        )
    found = in_turn(ways, times)
    report.processes(title, found, ["python -c pass", "peer: memsearch search"])
    print(
        "answered as:",
        "; ".join(f"{kind} {', '.join(sorted(seen))}" for kind, seen in modes.items()),
    )


def service(report: Report, title: str, product: Product, corpus: Corpus, idle_s: float) -> None:
    import psutil

    opened, first = [], []
    for number in range(3):
        product.stop()
        start = time.perf_counter()
        connection = product.start()
        opened.append((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        ask(connection, product, corpus.queries[number], "hybrid")
        first.append((time.perf_counter() - start) * 1000)
        if number < 2:
            connection.close()
    for query in corpus.queries[:20]:
        ask(connection, product, query, "hybrid")
    process = psutil.Process(connection.call("status", dict)["pid"])
    connection.close()
    time.sleep(2)  # what the queries left to do
    before, since = sum(process.cpu_times()[:2]), time.perf_counter()
    time.sleep(idle_s)
    cpu = (sum(process.cpu_times()[:2]) - before) / (time.perf_counter() - since) * 100
    memory = process.memory_info().rss / 2**20
    disk = (
        sum(file.stat().st_size for file in product.home.root.rglob("*") if file.is_file()) / 2**20
    )
    report.table(
        f"{title}: the service",
        [
            "",
            "start to settled ms",
            "first hybrid ms",
            "RSS MB",
            f"idle CPU % ({idle_s:.0f} s)",
            "home on disk MB",
        ],
        [["service", median(opened), median(first), memory, cpu, disk]],
    )


def ask(connection, product: Product, query: str, mode: str, fusion: str = ""):
    return connection.call(
        "search", Answer, place=product.place_param, query=query, mode=mode, fusion=fusion
    )


def requests(
    report: Report,
    title: str,
    folder: Path,
    product: Product,
    peer: Peer | None,
    corpus: Corpus,
    options,
):
    connection = product.start()
    plain, nearest, embed = limits(folder, product)
    ways: dict[str, Callable[[str], object]] = {
        "hybrid": lambda query: ask(connection, product, query, "hybrid"),
        "hybrid, rrf": lambda query: ask(connection, product, query, "hybrid", "rrf"),
        "dense": lambda query: ask(connection, product, query, "dense"),
        "bm25": lambda query: ask(connection, product, query, "bm25"),
        "lexical": lambda query: ask(connection, product, query, "lexical"),
        "hybrid, agent: and after:": lambda query: ask(
            connection, product, f"{query} agent:codex after:2026-08-01", "hybrid"
        ),
        "hybrid, a word mistyped": lambda query: ask(
            connection, product, f"{query} timoeutt", "hybrid"
        ),
        "empty request (status)": lambda _: connection.call("status", dict),
    }
    alone: dict[str, Callable[[str], object]] = {
        "limit: the model, one query": embed,
        "limit: FTS5, plain": plain,
        "limit: numpy dot product": nearest,
    }
    times: dict[str, list[float]] = {name: [] for name in ways | alone}
    queries = corpus.queries[50 : 50 + options.requests]
    # the limits run after all requests: idle threads of numpy would take a core from the service
    for some in (ways, alone):
        for way in some.values():
            way(corpus.queries[0])
        end = time.monotonic() + options.seconds
        for query in queries:
            for name, way in some.items():
                start = time.perf_counter()
                way(query)
                times[name].append((time.perf_counter() - start) * 1000)
            if time.monotonic() > end:
                break
    connection.close()
    if peer:
        product.stop()
        asked = [{"q": query} for query in queries[:30]]
        times["peer: its library, kept open"] = peer.drive(do="ask", queries=asked, limit=10)["ms"][
            2:
        ]
    base = median(times["hybrid"])
    report.table(
        f"{title}: one request",
        ["request", "n", "p50 ms", "p95 ms", "of hybrid"],
        [
            [name, len(ms), median(ms), p95(ms), f"{median(ms) / base:.2f}"]
            for name, ms in times.items()
        ],
    )


def limits(folder: Path, product: Product):
    """Plain FTS5 over the same texts, a dot product over the same vectors, the model on its own."""
    import numpy as np
    from memsearch_engine.core.settings import load
    from memsearch_engine.index import embed

    embedder = embed.load(product.home, load(product.home).embedding)
    vectors = sqlite3.connect(product.home.index / embedder.fingerprint / "vectors.db")
    matrix = np.stack(
        [
            np.frombuffer(blob, np.float32)
            for (blob,) in vectors.execute("SELECT vector FROM vectors")
        ]
    )
    vectors.close()
    catalog = sqlite3.connect(product.home.cache_db)
    texts = catalog.execute("SELECT text FROM chunks").fetchall()
    catalog.close()
    words = sqlite3.connect(folder / "plain.db")
    words.execute("DROP TABLE IF EXISTS notes")
    words.execute("CREATE VIRTUAL TABLE notes USING fts5(text, tokenize='porter unicode61')")
    words.executemany("INSERT INTO notes VALUES (?)", texts)
    words.commit()
    fixed = embedder.query("a query of middling length")

    def plain(query: str) -> list:
        match = " OR ".join('"' + word.replace('"', "") + '"' for word in query.split())
        return words.execute(
            "SELECT rowid, text FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT 10", (match,)
        ).fetchall()

    def nearest(_: str):
        scores = matrix @ fixed
        best = np.argpartition(scores, -10)[-10:]
        return best[np.argsort(-scores[best])]

    return plain, nearest, embedder.query


if __name__ == "__main__":
    main()
