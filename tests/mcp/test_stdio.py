"""Standard input and output: what is no request is answered, wrong arguments are sentences, and the
server ends with its client.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import psutil
import pytest

from memsearch_tui.cli import setup
from memsearch_tui.mcp_server import client_process, serve
from tests.conftest import Box, until

pytest.importorskip("mcp")
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def test_what_is_no_request_gets_an_error_and_wrong_arguments_sentences(box: Box):
    lines = [
        json.dumps(_HELLO),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "{oops",
        "[]",
        '{"id": 7}',
        '{"jsonrpc": "2.0", "id": "eight", "method": 5}',
        '{"jsonrpc": "2.0", "id": null, "method": "notifications/initialized"}',  # no answer
        '{"jsonrpc": "2.0", "id": null, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": null, "method": "tools/call", "params": {"name": "open"}}',
        '{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        json.dumps(call(9, "recall", query="", limit=99)),
        json.dumps(call(10, "timeline", day="yesterday")),
        json.dumps(call(11, "open")),
        json.dumps(call(12, "recall", query=5, limit="x")),
        json.dumps(call(13, "open", id="abcd", what="all")),
        json.dumps({"jsonrpc": "2.0", "id": 14, "method": "ping"}),
    ]
    env = {**box.env, "MEMSEARCH_NO_SERVICE": "1"}
    argv = box.argv("mcp")
    with subprocess.Popen(
        argv,
        env=env,
        cwd=box.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin and server.stdout
        server.stdin.write("".join(f"{line}\n" for line in lines).encode())
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(len(lines) - 2)]
        server.stdin.close()
        assert server.wait(30) == 0
    errors = [(answer["id"], answer["error"]["code"]) for answer in answers if "error" in answer]
    assert sorted(errors, key=str) == sorted(
        [(None, -32700), *[(None, -32600)] * 6, (7, -32600), ("eight", -32600)], key=str
    )
    said = {
        a["id"]: a["result"]["content"][0]["text"]
        for a in answers
        if "content" in a.get("result", {})
    }
    assert said == {
        9: "recall: query must not be empty. recall: limit must be at most 30.",
        10: "timeline: day must be of the form YYYY-MM-DD.",
        11: "open needs id.",
        12: "recall: query must be a text. recall: limit must be a whole number.",
        13: "open: what must be one of 'note' or 'conversation'.",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "through", [[], ["sh", "-c", '"$@"; true', "sh"]], ids=["", "a shell between"]
)
def test_it_ends_when_its_client_is_killed_and_another_process_holds_the_pipe(
    box: Box, through: list[str]
):
    read, write = os.pipe()
    code = (
        "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:]);"
        " print(p.pid, flush=True); time.sleep(600)"
    )
    argv = [sys.executable, "-c", code, *through, *map(str, box.argv("mcp"))]
    client = subprocess.Popen(
        argv, env=box.env, cwd=box.project, stdin=read, stdout=subprocess.PIPE, text=True
    )
    try:
        os.write(write, json.dumps(_HELLO).encode() + b"\n")
        assert client.stdout
        first = psutil.Process(int(client.stdout.readline()))
        assert "protocolVersion" in client.stdout.readline()  # it serves
        servers = [first, *first.children(recursive=True)]
        client.kill()
        client.wait()
        until(
            lambda: not psutil.wait_procs(servers, 0)[1], 20, "the server to end"
        )  # this process holds the pipe
    finally:
        client.kill()
        for end in (read, write):
            os.close(end)


def test_the_way_to_the_client_is_there_as_long_as_nobody_is_orphaned():
    chain = client_process.parents()
    assert client_process.are_there(chain)
    assert not client_process.are_there([(os.getpid(), 1 << 30)])


def test_the_way_to_the_client_is_looked_up_before_the_server_is_imported(monkeypatch):
    given = []
    monkeypatch.setattr(serve, "over_stdio", given.append)
    setup.mcp.callback(http=False, port=0)
    assert given == [client_process.parents()]
