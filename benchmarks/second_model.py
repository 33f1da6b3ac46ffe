"""What the second model costs: ``python benchmarks/second_model.py --chunks 2000`` (needs the
multilingual extra).

Indexes a corpus with the installed model, then brings multilingual-e5-small and waits until it has
read all notes: how long that takes, and the service's memory and one request's time, before and
after.
"""

from __future__ import annotations

import time
from typing import Any

import psutil
from common import Report, arguments, make_corpus, median, p95, workplace
from memsearch_engine.index import models
from memsearch_engine.search.hits import Answer


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=40)
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (folder, product):
        corpus = make_corpus(folder / "project", options.chunks)
        connection = product.start()
        rows = [
            [
                "the installed model alone",
                *_state(connection, product, corpus.queries[: options.requests]),
                None,
            ]
        ]
        try:
            models.pull(product.home, models.SECOND)
        except Exception as error:
            report.table("the second model", ["", "why not"], [["not here", str(error)]])
            return
        start = time.perf_counter()
        while _second(connection, product)["vectors"] < options.chunks * 0.98:
            connection.call("wait", dict, deadline_s=1, version=1 << 60)
        took = time.perf_counter() - start
        product.settle(connection)
        rows.append(
            [
                "and the second beside it",
                *_state(connection, product, corpus.queries[: options.requests]),
                took,
            ]
        )
        connection.close()
    report.table(
        f"{options.chunks} chunks", ["", "RSS MB", "p50 ms", "p95 ms", "embedded in s"], rows
    )
    print(f"{options.chunks / took:.0f} chunks a second, once")
    report.save()


def _second(connection: Any, product: Any) -> dict[str, Any]:
    found: dict[str, Any] = connection.call("health", dict, place=product.place_param)["second"]
    return found


def _state(connection: Any, product: Any, queries: list[str]) -> list[float]:
    took = []
    for query in queries:
        start = time.perf_counter()
        connection.call("search", Answer, place=product.place_param, query=query)
        took.append((time.perf_counter() - start) * 1000)
    rss = psutil.Process(connection.call("status", dict)["pid"]).memory_info().rss / 2**20
    return [rss, median(took), p95(took)]


if __name__ == "__main__":
    main()
