"""One Milvus server for many: what each of them waits for, and whether anybody sees or loses
another's rows.

Every client is a process with a collection of its own, in which several projects have their rows,
like the service of one home. All write at once, then all search and write at once. First one client
alone, then all of them, on the same server in one run. Without --uri the server is Milvus 2.3.5
from PyPI, which the tests use as well. That version searches by meaning only.

python benchmarks/server.py [--clients 20] [--rows 1000] [--projects 3] [--requests 20] [--uri
http://… --token …]
"""

from __future__ import annotations

import multiprocessing
import os
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
import psutil
from common import arguments, median, p95
from memsearch_engine.index.milvus import MilvusServerStore, StoreRow
from memsearch_engine.index.rows import Filter

from tests.index.milvus_server import VERSION, MilvusServer, install

DIMENSION = 384
_WORDS = [f"word{number}" for number in range(2_000)]
_BATCH, _WAIT_S = 500, 3_600


def row(client: int, number: int, chance: random.Random, vectors: np.random.Generator) -> StoreRow:
    vector = vectors.standard_normal(DIMENSION).astype(np.float32)
    words = " ".join(chance.choices(_WORDS, k=40))
    name = f"{client:04x}{number:012x}"
    return StoreRow(
        name,
        vector / np.linalg.norm(vector),
        f"own{client} {words}",
        "2026-01-01",
        "codex",
        "s",
        "turn",
    )


def client(number: int, uri: str, token: str, options: Any, gates: list[Any], said: Any) -> None:
    """One home: fills its projects, then searches in them, and writes now and then."""
    os.nice(10)  # the server has processors of its own where it serves several people
    chance, vectors = random.Random(number), np.random.default_rng(number)
    store = MilvusServerStore(uri, token, f"memsearch_bench_{number:04x}_{os.getppid()}")
    projects = [
        f"ms_shop_{project:08x}" for project in range(options.projects)
    ]  # the same names in every home
    each = options.rows // options.projects
    errors, foreign = 0, 0
    waits: list[float] = []
    gates[0].wait(_WAIT_S)
    began = time.perf_counter()
    for project in projects:
        store.ensure(project, DIMENSION)
        for start in range(0, each, _BATCH):
            batch = range(start, min(start + _BATCH, each))
            store.upsert(project, [row(number, i, chance, vectors) for i in batch])
        store.flush()
    wrote = time.perf_counter() - began
    held = sum(store.count(project) for project in projects)
    gates[1].wait(_WAIT_S)
    for request in range(options.requests):
        project = chance.choice(projects)
        began = time.perf_counter()
        try:
            found = store.dense(project, row(number, 0, chance, vectors).vector, 40, Filter())
            found += store.bm25(
                project,
                [f"own{chance.randrange(options.clients)}", *chance.choices(_WORDS, k=5)],
                40,
                Filter(),
            )
        except Exception:
            errors += 1
            continue
        waits.append(time.perf_counter() - began)
        foreign += sum(not name.startswith(f"{number:04x}") for name, _ in found)
        if request % 5 == 4:
            store.upsert(project, [row(number, i, chance, vectors) for i in range(5)])
        if request == options.requests // 2 and number == 0:
            store.drop(projects[-1])  # a reset, while the others are at work
    gates[2].wait(_WAIT_S)
    left = sum(store.count(project) for project in projects)
    said.put((number, wrote, held, left, waits, errors, foreign))
    gates[3].wait(_WAIT_S)
    store._client.drop_collection(store.name)
    store.close()


def measure(count: int, uri: str, token: str, options: Any) -> list[tuple[Any, ...]]:
    context = multiprocessing.get_context("spawn")
    gates, said = [context.Barrier(count) for _ in range(4)], context.Queue()
    workers = [
        context.Process(target=client, args=(number, uri, token, options, gates, said), daemon=True)
        for number in range(count)
    ]
    for worker in workers:
        worker.start()
    results = []
    while len(results) < count:
        try:
            results.append(said.get(timeout=2))
        except Empty:
            if any(worker.exitcode for worker in workers):
                raise SystemExit("FAILED: a client ended") from None
    for worker in workers:
        worker.join(60)
    return results


def show(count: int, results: list[tuple[Any, ...]], options: Any) -> bool:
    waits = [wait * 1e3 for _, _, _, _, found, _, _ in results for wait in found]
    each = options.rows // options.projects * options.projects
    slowest = max(wrote for _, wrote, *_ in results)
    kept = all(left == held == each for number, _, held, left, *_ in results if number)
    errors, foreign = (sum(result[place] for result in results) for place in (5, 6))
    print(
        f"{count:4d} clients  written {count * each / slowest:8.0f} "
        f"rows/s   search (meaning and words) p50 {median(waits):7.1f} ms  "
        f"p95 {p95(waits):7.1f} ms   {errors} errors, {foreign} rows of others, "
        f"{'nobody lost a row to a reset' if kept else 'FAILED: rows were lost'}"
    )
    return kept and not foreign and not errors


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000, help="of each client")
    parser.add_argument("--projects", type=int, default=3)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--uri", default="")
    parser.add_argument("--token", default="")
    options = parser.parse_args()
    with ExitStack() as stack:
        uri, process = options.uri, None
        if not uri:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="server")))
            if reason := install():
                raise SystemExit(f"FAILED: {reason}")
            began = time.perf_counter()
            server = MilvusServer(folder)
            stack.callback(server.kill)
            uri, process = server.uri, psutil.Process(server.pid)
            print(f"Milvus {VERSION} answers after {time.perf_counter() - began:.0f} s")
        print(
            f"{options.rows} rows of {DIMENSION} numbers in {options.projects} "
            f"projects each, {options.requests} searches each, at {uri}"
        )
        sound = True
        for count in dict.fromkeys((1, max(1, options.clients // 4), options.clients)):
            sound &= show(count, measure(count, uri, options.token, options), options)
            if process:
                print(f"  the server: {process.memory_info().rss / 1e9:.2f} GB")
        if not sound:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
