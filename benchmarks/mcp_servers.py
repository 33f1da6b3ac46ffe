"""Many agents at once: ``python benchmarks/mcp_servers.py --servers 50 --chunks 2000`` (needs the
mcp extra).

Starts that many `memsearch mcp`, as that many agents' sessions do, asks each one question, and
prints what each costs and that all of them share one service.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import psutil
from common import MEMSEARCH, Report, arguments, make_corpus, median, p95, workplace

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--servers", type=int, default=50)
    parser.add_argument("--chunks", type=int, default=2000)
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (folder, product):
        corpus = make_corpus(folder / "project", options.chunks)
        connection = product.start()
        opened, asked, servers = [], [], []
        for number in range(options.servers):
            start = time.perf_counter()
            server = subprocess.Popen(
                [MEMSEARCH, "mcp"],
                cwd=product.root,
                env=product.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            _say(server, 1, "initialize", _HELLO)
            _answer(server, 1)
            opened.append((time.perf_counter() - start) * 1000)
            servers.append(server)
            start = time.perf_counter()
            query = {
                "name": "recall",
                "arguments": {"query": corpus.queries[number % len(corpus.queries)]},
            }
            _say(server, 2, "tools/call", query)
            assert not _answer(server, 2)["result"].get("isError")
            asked.append((time.perf_counter() - start) * 1000)
        memory = [psutil.Process(server.pid).memory_full_info() for server in servers]
        services = [p for p in psutil.process_iter() if _is_service(p, str(product.home.root))]
        service = services[0].memory_info().rss / 2**20
        for server in servers:
            server.stdin.close()  # type: ignore[union-attr]
            server.wait(30)
        left = sum(server.poll() is None for server in servers)
        connection.close()
    report.table(
        f"{options.servers} servers, {options.chunks} chunks",
        ["", "start ms", "first answer ms", "p95 ms", "RSS MB", "of its own (USS) MB"],
        [
            [
                "one server",
                median(opened),
                median(asked),
                p95(asked),
                median(m.rss / 2**20 for m in memory),
                median(m.uss / 2**20 for m in memory),
            ]
        ],
    )
    print(
        f"services: {len(services)}, {service:.0f} MB; "
        f"servers left when their input is closed: {left}"
    )
    report.save()


def _is_service(process: psutil.Process, home: str) -> bool:
    try:
        return (
            "memsearch_engine.service.server" in " ".join(process.cmdline())
            and process.environ().get("MEMSEARCH_HOME") == home
        )
    except psutil.Error:
        return False


def _say(server: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> None:
    assert server.stdin
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def _answer(server: subprocess.Popen[bytes], number: int) -> dict[str, Any]:
    assert server.stdout
    for line in server.stdout:
        found: dict[str, Any] = json.loads(line)
        if found.get("id") == number:
            return found
    raise AssertionError("the server ended")


if __name__ == "__main__":
    main()
