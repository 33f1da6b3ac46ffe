"""Runs inside the peer's venv: reads one task as JSON from stdin, answers as JSON on the last line
of stdout.

``index``: paths into the peer's own store, by its own API; with ``fake`` its embedder hands out
random unit vectors (the counterpart of fill.py). ``ask``: queries through its API in one process,
with each one's time. Uses nothing of the product.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time


def main() -> None:
    task = json.load(sys.stdin)
    from memsearch.core import MemSearch

    peer = MemSearch(
        task.get("paths"),
        embedding_provider="onnx",
        embedding_model=task["model"],
        milvus_uri=task["uri"],
    )
    if task["do"] == "index":
        if task.get("fake"):
            peer._embedder.embed = fake(peer._embedder.dimension)
        start = time.perf_counter()
        chunks = asyncio.run(peer.index())
        answer = {"chunks": chunks, "seconds": time.perf_counter() - start}
    else:
        answer = asyncio.run(ask(peer, task["queries"], task["limit"]))
    if hasattr(peer, "close"):
        peer.close()
    print()
    print(json.dumps(answer))


def fake(dimension: int):
    async def embed(texts: list[str]) -> list[list[float]]:
        vectors = []
        for text in texts:
            chance = random.Random(text)
            vector = [chance.gauss(0, 1) for _ in range(dimension)]
            length = sum(value * value for value in vector) ** 0.5
            vectors.append([value / length for value in vector])
        return vectors

    return embed


async def ask(peer, queries: list[dict], limit: int) -> dict:
    hits, times = [], []
    for query in queries:
        start = time.perf_counter()
        found = await peer.search(query["q"], top_k=limit, source_prefix=query.get("prefix"))
        times.append((time.perf_counter() - start) * 1000)
        hits.append([[hit["source"], hit["start_line"], hit["end_line"]] for hit in found])
    return {"hits": hits, "ms": times}


main()
