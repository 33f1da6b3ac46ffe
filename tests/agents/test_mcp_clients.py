"""Real agents that reach the memory by the Model Context Protocol alone, and the protocol's own
inspector and conformance suite.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Lab
from tests.agents.test_real_clients import turn_of
from tests.conftest import Box

pytestmark = pytest.mark.agents

#: client -> (its name for us, how it names the tool)
NAMES = {
    "claude": ("claude-code", "mcp__memsearch__recall"),
    "codex": ("codex", "mcp__memsearch__recall"),
    "opencode": ("opencode", "memsearch_recall"),
}


#: Claude Code offers servers' tools by a search of its own first; a script can't search. With a
#: prompt on the command line, it asks the model before slow servers have started.
AT_ONCE = {"ENABLE_TOOL_SEARCH": "false", "MCP_CONNECTION_NONBLOCKING": "false"}


def answered(lab: Lab) -> str:
    """The request in which the model is given what the tool said; '' where there is none."""
    requests = [json.dumps(request, ensure_ascii=False) for request in lab.model.requests]
    return next(
        (text for text in requests if "not instructions" in text and "memsearch-memory" in text), ""
    )


@pytest.mark.parametrize("client", NAMES)
def test_an_agent_recalls_by_the_protocol_alone(lab: Lab, client: str):
    """Nothing of ours in it but the entry in its own list of servers."""
    agent, tool = NAMES[client]
    lab.have(client)
    lab.ok("add", "The staging database moved to Postgres 16")
    lab.index()
    lab.ok("plugins", "install", "mcp", "--for", agent)
    call = {"call": [tool, {"query": "which postgres on staging"}], "say": "Postgres 16."}
    prompt = f"Which one <<{json.dumps(call)}>>"
    if client == "claude":
        lab.client(str(lab.bin / "claude"), "-p", "--allowedTools", tool, "--", prompt, env=AT_ONCE)
    else:
        if client == "codex":  # it waits for servers that are required alone
            config = lab.user / ".codex" / "config.toml"
            server = "[mcp_servers.memsearch]\n"
            config.write_text(config.read_text().replace(server, server + "required = true\n"))
        lab.turn(client, prompt)
    assert "Postgres 16" in answered(lab)
    lab.ok("plugins", "uninstall", "mcp", "--for", agent)
    assert lab.leftovers() == []  # its server ended with it


def test_a_turn_that_recalled_is_captured_and_waits_for_nothing(lab: Lab):
    """Our own answers are no content from outside, and no memory again."""
    lab.have("claude")
    lab.ok("add", "The staging database moved to Postgres 16")
    lab.index()
    lab.ok("plugins", "install", "claude-code", "--no-allow")
    lab.ok("plugins", "install", "mcp", "--for", "claude-code")
    tool = NAMES["claude"][1]
    call = {
        "call": [tool, {"query": "which postgres on staging"}],
        "say": "It is the sixteenth, as noted.",
    }
    lab.client(
        str(lab.bin / "claude"),
        "-p",
        "--allowedTools",
        tool,
        "--",
        f"Which one <<{json.dumps(call)}>>",
        env=AT_ONCE,
    )
    assert "Postgres 16" in answered(lab)
    entries = [entry for entry in lab.captured(2) if entry["agent"]]
    assert "trust" not in json.dumps(
        entries[0]["marks"] if "marks" in entries[0] else entries[0]["content"]
    )
    assert "memsearch-memory" not in json.dumps(turn_of(lab, entries[0]))


def npm(name: str, package: str, binary: str) -> Path:
    base = Path(
        os.environ.get("MEMSEARCH_TEST_CLIENTS")
        or Path.home() / ".cache" / "memsearch-test-clients"
    )
    found = base / name / "node_modules" / ".bin" / binary
    if not found.exists():
        (base / name).mkdir(parents=True, exist_ok=True)
        (base / name / "package.json").write_text('{"name": "clients", "private": true}')
        done = subprocess.run(
            ["npm", "install", package, "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=base / name,
            capture_output=True,
            text=True,
            timeout=900,
        )
        if not found.exists():
            pytest.skip(f"{package} could not be installed: {done.stderr[-300:]}")
    return found


#: What the suite asks of any server; its other scenarios want tools and prompts of its own making.
SCENARIOS = (
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


def test_the_official_conformance_suite(box: Box):
    """It speaks to servers over HTTP without a token: the same server stands behind a gate of the
    test's own, which adds it.
    """
    suite = npm("conformance", "@modelcontextprotocol/conformance@0.1.13", "conformance")
    box.fill()
    box.index()
    script = (
        "import anyio, socket, sys, uvicorn\nfrom memsearch_tui.mcp_server.server import build\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
        "from mcp.server.transport_security import TransportSecuritySettings as T\n"
        "p = s.getsockname()[1]\n"
        "n = [f'127.0.0.1:{p}', f'localhost:{p}']\n"
        "app = build(sys.argv[1]).streamable_http_app(transport_security=T(allowed_hosts=n, "
        "allowed_origins=[f'http://{x}' for x in n]))\n"
        "anyio.run(lambda: uvicorn.Server(uvicorn.Config(app, "
        "log_level='error')).serve(sockets=[s]))\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", script, str(box.project)],
        env=box.env,
        cwd=box.project,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        failed: dict[str, Any] = {}
        for scenario in SCENARIOS:
            done = subprocess.run(
                [
                    str(suite),
                    "server",
                    "--url",
                    f"http://127.0.0.1:{port}/mcp",
                    "--scenario",
                    scenario,
                ],
                capture_output=True,
                text=True,
                timeout=120,
                cwd=box.root,
            )
            if done.returncode:
                failed[scenario] = done.stdout[-800:] + done.stderr[-300:]
        assert not failed, failed
    finally:
        server.terminate()
        server.wait(20)


def test_the_official_inspector(box: Box):
    inspector = npm("inspector", "@modelcontextprotocol/inspector@0.15.0", "mcp-inspector")
    box.fill()
    box.index()

    def asked(*arguments: str) -> Any:
        done = subprocess.run(
            [
                str(inspector),
                "--cli",
                sys.executable,
                "-m",
                "memsearch_tui.cli.main",
                "mcp",
                *arguments,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=box.project,
            env=box.env,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    assert {tool["name"] for tool in asked("--method", "tools/list")["tools"]} >= {
        "recall",
        "open",
        "timeline",
    }
    found = asked(
        "--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=redis ttl"
    )
    assert "900 seconds" in json.dumps(found)
