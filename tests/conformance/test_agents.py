"""What every agent's package has to do, the same for all: for those that we bring, and for one that
a folder and a line add.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from memsearch_engine.core import agent_registry

from tests.conftest import Box, until
from tests.evaluation.recall import chats

SITE = Path(__file__).parent / "site"
SETTINGS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "opencode": ".config/opencode/opencode.json",
    "openclaw": ".openclaw/openclaw.json",
    "qwen": ".qwen/settings.json",
    "gemini": ".gemini/settings.json",
    "pi": ".pi/agent/settings.json",
    "copilot": ".copilot/settings.json",
    "pocket": ".pocket/settings.json",
}
PLACES = {
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions",
    "opencode": ".local/share/opencode",
    "openclaw": ".openclaw/agents",
    "qwen": ".qwen/projects",
    "gemini": ".gemini/tmp",
    "pi": ".pi/agent",
    "copilot": ".copilot/session-state",
    "kilo": ".local/share/kilo",
    "cline": ".cline/data/sessions",
    "kimi": ".kimi-code/sessions",
    "vibe": ".vibe/logs/session",
    "cursor": ".config/Cursor/User/globalStorage",
    "aider": "",
    "crush": ".crush",
    "goose": ".local/share/goose/sessions",
    "zed": ".local/share/zed/threads",
    "pocket": ".pocket/chats",
}
TOLD = [
    (
        "which isolation level do payouts run in?",
        "Payouts run in SERIALIZABLE now, since two of them met on one ledger.",
    ),
    (
        "and how often are they tried again?",
        "A payout is tried again three times when it meets another, then it is parked.",
    ),
]


@pytest.fixture
def many(box: Box) -> Box:
    box.env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SITE), box.env.get("PYTHONPATH")]))
    return box


def chat(box: Box, agent: str, prefix: str = "") -> tuple[list[chats.Said], Path]:
    """A session of two turns as the agent writes it, and the file or database that it lies in."""
    lies_here = agent in agent_registry.names() and agent_registry.agent(agent).in_projects
    folder = (box.project if lies_here else box.user) / PLACES[agent]
    folder.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC)
    said = [
        chats.Said(
            agent,
            f"{prefix}5e551011-0000-4000-8000-000000000001",
            f"5e551011-0000-4000-8000-00000000001{n}",
            when + timedelta(seconds=1 + n),
            *words,
        )
        for n, words in enumerate(TOLD)
    ]
    if agent == "pocket":
        lines = [
            {
                "id": s.turn,
                "at": s.at.isoformat(),
                "cwd": str(box.project),
                "asked": s.asked,
                "answered": s.answered,
            }
            for s in said
        ]
        (folder / f"{said[0].session}.chat").write_text(json.dumps(lines))
    else:
        chats._WRITERS[agent](folder, box.project, said[0].session, said)
    return said, next(
        file
        for file in folder.rglob("*")
        if file.suffix in (".jsonl", ".db", ".sqlite", ".chat", ".vscdb")
        or ".messages." in file.name
        or file.name in ("CURRENT", ".aider.chat.history.md")
    )


def listed(box: Box) -> list[dict]:
    return box.run("entries", "--json").json["entries"]


def is_whole(box: Box, agent: str) -> None:
    """Everything that is promised of an agent, on one session."""
    settings = box.user / SETTINGS[agent]
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_bytes(b'{\n   "theirs": {"kept": true}\n}')
    before = {path: path.read_bytes() for path in box.user.rglob("*") if path.is_file()}

    # installed, by what was shown; found again
    shown = box.ok("plugins", "install", agent, "--dry-run", "--no-trust", "--json").json[
        "changed"
    ][agent]
    box.ok("plugins", "install", agent, "--no-trust")
    assert {change["path"] for change in shown} == {
        str(path)
        for path in box.user.rglob("*")
        if path.is_file() and path.read_bytes() != before.get(path)
    }
    (status,) = box.ok("plugins", "status", agent, "--json").json["plugins"]
    assert status["agent"] == agent and status["installed"]

    # captured, by its hook
    said, file = chat(box, agent)
    payload = {
        "session_id": said[0].session,
        "turn_id": said[1].turn,
        "prompt_id": said[1].turn,
        "cwd": str(box.project),
        "transcript_path": str(file),
        "hook_event_name": "Stop",
    }
    assert box.ok("hook", agent, "Stop", stdin=json.dumps(payload)).json == {}
    until(lambda: len(listed(box)) == 2, what="both turns are noted")
    assert [entry["agent"] for entry in listed(box)] == [agent, agent]
    assert {entry["turn"] for entry in listed(box)} == {turn.turn for turn in said}

    box.index()

    # found by its name, opened at the turn, gone on with
    hit = box.ok("search", f"payouts isolation agent:{agent}", "--json", "--no-wait").json["hits"][
        0
    ]
    assert "SERIALIZABLE" in hit["content"]
    opened = box.ok("transcript", hit["entry_id"], "--json").json
    assert opened["turns"][0]["user"] == TOLD[0][0] and opened["state"] == "live"
    assert (
        box.ok("transcript", str(file), "--session", said[0].session, "--json").json["turns"][0][
            "agent"
        ]
        == agent
    )

    # injected at the start of the next session
    injected_text = box.ok(
        "hook", agent, "SessionStart", stdin=json.dumps({**payload, "session_id": "another"})
    ).json
    injected = injected_text.get("hookSpecificOutput", injected_text)["additionalContext"]
    assert "SERIALIZABLE" in injected
    assert box.ok("context", agent, "--json").json["text"] in injected

    # counted, and nothing is taken twice
    rows = [row for row in box.ok("coverage", "--json").json["days"] if row["agent"] == agent]
    assert sum(row["covered"] for row in rows) == 2
    assert box.ok("import", agent, "--yes", "--json").json["new"] == 0 and len(listed(box)) == 2
    here = {row["agent"]: row for row in box.ok("agents", "--json").json["agents"]}[agent]
    assert here["turns"] == here["captured"] == 2 and here["folders"] == [
        str(box.user / PLACES[agent])
    ]

    # and taken out again, byte for byte
    box.ok("plugins", "uninstall", agent)
    assert {path: path.read_bytes() for path in before} == before
    left = {path for path in box.user.rglob("*") if path.is_file()} - {*before}
    assert {path for path in left if path.suffix} == {file}


def is_read(box: Box, agent: str) -> None:
    """What is promised of an agent whose sessions are only read."""
    said, file = chat(box, agent, "session_" * (agent == "kimi"))
    assert box.ok("import", agent, "--yes", "--json").json["new"] == 2
    box.index()
    hit = box.ok("search", f"payouts isolation agent:{agent}", "--json", "--no-wait").json["hits"][
        0
    ]
    assert "SERIALIZABLE" in hit["content"]
    opened = box.ok("transcript", hit["entry_id"], "--json").json
    assert opened["turns"][0]["user"] == TOLD[0][0] and opened["state"] == "live"
    session = listed(box)[0]["session"]  # Aider's have no names of their own
    assert session == said[0].session or agent == "aider"
    assert (
        box.ok("transcript", str(file), "--session", session, "--json").json["turns"][0]["agent"]
        == agent
    )
    assert box.ok("import", agent, "--yes", "--json").json["new"] == 0 and len(listed(box)) == 2
    here = {row["agent"]: row for row in box.ok("agents", "--json").json["agents"]}[agent]
    has_entry = agent not in ("vibe", "aider", "goose")
    assert here["turns"] == here["captured"] == 2 and here["can"] == [
        "sessions",
        *(["mcp"] if has_entry else []),
    ]
    for verb in ("install", "status", "uninstall"):
        refused = box.run("plugins", verb, agent)
        assert (
            refused.code == 2
            and "only read" in refused.err
            and "plugins install mcp" in refused.err
        )
    assert not [
        row
        for row in box.ok("plugins", "status", "--json").json["plugins"]
        if row["agent"] == agent
    ]


@pytest.mark.parametrize(
    "agent", [name for name in agent_registry.names() if name not in agent_registry.live()]
)
@pytest.mark.slow
def test_an_agent_whose_sessions_are_read_is_found_and_opened(many, agent):
    is_read(many, agent)


@pytest.mark.slow
@pytest.mark.parametrize("agent", [*agent_registry.live(), "pocket"])
def test_an_agent_does_all_that_is_promised(many, agent):
    is_whole(many, agent)


@pytest.mark.slow
def test_the_fifth_agents_facts_reach_the_app(many):
    said, _ = chat(many, "pocket")
    many.ok("import", "pocket", "--yes")
    many.index()
    script = (
        "from memsearch_engine import Memory\nfrom memsearch_tui.library import Library\n"
        "from memsearch_tui.widgets import lines, render\n"
        "memory = Memory(); "
        "entry = memory.files.section(memory.search('payouts', wait=False).hits[0].id).entry\n"
        "way = Library(memory).notes.resume(entry)\n"
        "print(way, render.agent_tag('pocket'), 'po' in lines._LOOKS)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=many.project,
        env=many.env,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == (
        f"(['pocket', 'go-on', '{said[0].session}'], '{many.project}') po True"
    ), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("codex", "claude-code"),
        ("claude-code", "openclaw"),
        ("opencode", "codex"),
        ("openclaw", "qwen"),
        ("qwen", "gemini"),
        ("gemini", "pi"),
        ("pi", "copilot"),
        ("copilot", "pocket"),
    ],
)
def test_without_an_agents_package_all_others_work(many, gone, left):
    many.env["TEST_WITHOUT_AGENT"] = gone
    is_whole(many, left)
    assert gone not in {row["agent"] for row in many.ok("agents", "--json").json["agents"]}
    refused = many.run("import", gone, "--yes")
    assert refused.code == 2 and "known:" in refused.err
