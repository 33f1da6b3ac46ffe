"""Installed into the real agents: every turn is one right entry, opened at its turn, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time
import uuid
from pathlib import Path

import pytest

from tests.agents.conftest import Lab

pytestmark = [pytest.mark.agents]

SECRET = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"


def snapshot(folder: Path, *names: str) -> dict[str, bytes]:
    """The user's own configuration: every file of *names* below *folder*."""
    found = {}
    for name in names:
        for file in sorted(folder.glob(name)):
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
    return found


def test_claude_code_scenarios(lab: Lab):
    lab.have("claude")
    settings = lab.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n    "cleanupPeriodDays": 99\n}')
    before = snapshot(lab.user / ".claude", "settings.json", "skills/**/*")
    lab.ok("plugins", "install", "claude-code")
    session = str(uuid.uuid4())
    # a plain turn, a tool call, unicode, a secret, in one session that is resumed each time
    assert (
        lab.claude(
            'How long do sessions live? <<{"say": "Sessions live 30 minutes, because of the gateway."}>>',
            "--session-id",
            session,
        ).code
        == 0
    )
    lab.claude('Run the tests <<{"run": "echo 41 passed", "say": "All 41 tests pass."}>>', "--resume", session)
    lab.claude('次のタスクは？🎉 <<{"say": "次は検索です。"}>>', "--resume", session)
    lab.claude(f'Use {SECRET} to push <<{{"say": "I pushed with {SECRET}."}}>>', "--resume", session)
    lab.claude('This one fails <<{"status": 400}>>', "--resume", session)
    entries = lab.captured(5)
    by_text = {e["content"]: e for e in entries}
    assert {e["session"] for e in entries} == {session} and len({e["turn"] for e in entries}) == 5
    for words in (
        "30 minutes, because of the gateway",
        "`echo 41 passed`",
        "次は検索です",
        "[REDACTED:github-token:",
        "The turn failed",
    ):
        assert sum(words in text for text in by_text) == 1, words
    tests = next(e for e in entries if "41 tests" in e["content"])
    (turn,) = lab.ok("transcript", tests["entry_id"], "--json").json["turns"]
    assert turn["tools"][0]["output"] == "41 passed" and turn["assistant"].endswith("All 41 tests pass.")
    assert lab.ok("coverage", "--json").json["percent"] == 100
    # no secret on our disk, no process, and everything as it was
    for file in [*lab.home.root.rglob("*"), *lab.memory.rglob("*")]:
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
    assert lab.leftovers() == []
    lab.ok("plugins", "uninstall", "claude-code")
    assert snapshot(lab.user / ".claude", "settings.json", "skills/**/*") == before


def test_a_new_claude_session_is_told_what_is_known_and_it_is_no_memory_again(lab: Lab):
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    lab.ok("add", "The staging database moved to Postgres 16")
    told = lab.ok("context", "claude-code", "--json").json
    assert "Postgres 16" in told["text"] and 0 < told["tokens"] <= 1500

    lab.claude('What do you know? <<{"say": "Postgres 16, as the notes say."}>>')
    assert "The staging database moved to Postgres 16" in lab.model.said()
    (entry,) = [e for e in lab.captured(2) if e["agent"]]
    assert "memsearch-memory" not in entry["content"] and "staging" not in entry["content"]
    (row,) = lab.ok("context", "--log", "--json").json["injections"]
    assert row["agent"] == "claude-code" and "Postgres 16" in row["text"] and row["session"] == entry["session"]


def test_codex_scenarios(lab: Lab):
    lab.have("codex")
    before = snapshot(lab.user / ".codex", "config.toml", "hooks.json")
    lab.ok("plugins", "install", "codex")
    state = next(row for row in lab.ok("plugins", "status", "codex", "--json").json["plugins"])
    assert state["installed"] and state["problems"] == []
    first = lab.codex('Which retry limit? <<{"say": "We retry five times, then park the webhook."}>>')
    thread = next(json.loads(line) for line in first.out.splitlines() if "thread.started" in line)["thread_id"]
    lab.client(str(lab.bin / "codex"), "exec", "resume", "--skip-git-repo-check", "--json", thread,
               'Now run it <<{"run": "echo hello-codex", "say": "It printed hello."}>>')  # fmt: skip
    lab.codex('Unicode: naïve café 日本語 <<{"say": "はい。"}>>')
    lab.codex(f'Use {SECRET} <<{{"say": "Used it."}}>>')
    lab.codex('This one fails <<{"status": 400}>>')
    entries = lab.captured(5)
    assert sum(e["session"] == thread for e in entries) == 2
    hello = next(e for e in entries if "It printed hello" in e["content"])
    (turn,) = lab.ok("transcript", hello["entry_id"], "--json").json["turns"]
    assert turn["tools"][0]["output"].strip() == "hello-codex" and turn["turn"] == hello["turn"]
    assert lab.ok("coverage", "--json").json["percent"] == 100
    for file in [*lab.home.root.rglob("*"), *lab.memory.rglob("*")]:
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
    assert lab.leftovers() == []
    lab.ok("plugins", "uninstall", "codex")
    assert snapshot(lab.user / ".codex", "config.toml", "hooks.json") == before
    assert not (lab.user / ".codex" / "skills" / "remember").exists()


def test_two_sessions_at_once_and_the_other_agent_finds_it(lab: Lab):
    lab.have("claude")
    lab.have("codex")
    lab.ok("plugins", "install", "claude-code", "codex")
    say = [
        threading.Thread(target=lab.claude, args=(f'Question {n} <<{{"sleep": 1, "say": "Claude answers number {n}."}}>>',))
        for n in range(2)
    ] + [
        threading.Thread(target=lab.codex, args=(f'Question {n} <<{{"sleep": 1, "say": "Codex answers number {n}."}}>>',))
        for n in range(2)
    ]  # fmt: skip
    for thread in say:
        thread.start()
    for thread in say:
        thread.join()
    entries = lab.captured(4)
    assert len({e["session"] for e in entries}) == 4
    # Codex, in its own read-only sandbox, asks with the command of the skill
    command = f"{lab.argv()[0]} -m memsearch_tui.cli.main search Claude answers number --json"
    lab.codex(f'Recall <<{{"run": "{command}", "say": "Found it."}}>>')
    found = [e for e in lab.captured(5) if "Found it" in e["content"]]
    (turn,) = lab.ok("transcript", found[0]["entry_id"], "--json").json["turns"]
    assert "Claude answers number" in turn["tools"][0]["output"]


def test_a_hook_that_never_came_is_made_up_for(lab: Lab):
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    lab.claude('First <<{"say": "The first answer."}>>', env={"MEMSEARCH_DISABLE": "1"})
    assert lab.run("entries", "--json").json["entries"] == []
    assert lab.ok("coverage", "--json").json["percent"] == 100
    (entry,) = lab.captured(1)
    assert "The first answer" in entry["content"]


def test_opencode_scenarios(lab: Lab):
    lab.have("opencode")
    lab.ok("plugins", "install", "opencode")
    lab.ok("add", "The importer runs at night")
    done = lab.opencode('Which port? <<{"say": "It listens on 8123 behind the proxy."}>>', timeout=300)
    assert "8123" in done.out, done
    entries = lab.captured(2, 60)
    entry = next(e for e in entries if e["agent"] == "opencode")
    assert "8123 behind the proxy" in entry["content"]
    (turn,) = lab.ok("transcript", entry["entry_id"], "--json").json["turns"]
    assert turn["status"] == "done" and "Which port?" in turn["user"]
    said = [r for r in lab.model.requests if "The importer runs at night" in json.dumps(r)]
    titles = [r for r in lab.model.requests if "title generator" in json.dumps(r)]
    assert said and not any(r in titles for r in said)
    assert {"memory_search", "memory_get", "memory_transcript"} <= {
        tool["function"]["name"] for r in lab.model.requests for tool in r.get("tools") or []
    }
    lab.ok("plugins", "uninstall", "opencode")
    assert not (lab.user / ".config" / "opencode" / "plugins").exists()


def test_claude_installs_it_as_a_plugin_from_the_marketplace_folder(lab: Lab, tmp_path):
    lab.have("claude")
    market = tmp_path / "market"
    shutil.copytree(Path(__file__).parents[2] / "plugins", market)
    (lab.bin / "memsearch").write_text(f'#!/bin/sh\nexec {lab.argv()[0]} -m memsearch_tui.cli.main "$@"\n')
    (lab.bin / "memsearch").chmod(0o755)
    claude = str(lab.bin / "claude")
    assert lab.client(claude, "plugin", "marketplace", "add", str(market)).code == 0
    assert lab.client(claude, "plugin", "install", "memsearch@memsearch-tui").code == 0
    lab.claude('By plugin <<{"say": "Captured by the plugin."}>>')
    (entry,) = lab.captured(1)
    assert "Captured by the plugin" in entry["content"]


def test_no_client_is_slowed_by_a_hook_whose_program_is_gone(lab: Lab):
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    settings = lab.user / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace(lab.argv()[0].rpartition("/")[0], "/gone"))
    assert lab.claude('Hi there <<{"say": "Still works."}>>').code == 0
    subprocess.run(["true"], check=True)
    state = lab.run("plugins", "status", "claude-code", "--json").json["plugins"][0]
    assert state["problems"]


def test_the_real_command_lines_summarise_and_leave_no_trace(lab: Lab):
    lab.have("claude")
    lab.have("codex")
    lab.model.replies = lambda request: (
        "- User asked about limits\n- Agent set them to five"
        if "[memsearch summariser]" in json.dumps(request)
        else None
    )
    lab.ok("config", "set", "capture.summarize.provider", "native")
    lab.ok("plugins", "install", "claude-code", "codex")
    lab.claude('Set the limits <<{"say": "They are five now."}>>')
    lab.codex('Set the limits <<{"say": "They are five now, too."}>>')
    lab.captured(2)

    def summarised():
        found = lab.run("entries", "--json").json["entries"]
        return found if all(e["body"].startswith("- User asked about limits") for e in found) else None

    from tests.conftest import until

    entries = until(summarised, 60, "two summaries")
    assert all(e["marks"] == {} for e in entries)
    state = lab.ok("spend", "--json").json
    assert state["summaries"] == {"done": 2} and state["today_tokens"] > 0
    # the summarisers' own calls are no sessions: nothing of them is on disk, nothing of them is captured
    rows = {row["agent"]: row["sessions"] for row in lab.ok("agents", "--no-versions", "--json").json["agents"]}
    assert (rows["claude-code"], rows["codex"]) == (1, 1)
    lab.captured(2)
    assert lab.leftovers() == []


def test_a_sub_agents_work_is_its_parents_turn(lab: Lab):
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    task = {"description": "look", "prompt": "Look around", "subagent_type": "general-purpose"}
    script = json.dumps({"call": ["Agent", task], "say": "The parent is done."})
    lab.claude(f"Delegate it <<{script}>>", "--allowedTools", "Agent")
    (entry,) = lab.captured(1)
    assert "The parent is done" in entry["content"]
    (turn,) = lab.ok("transcript", entry["entry_id"], "--json").json["turns"]
    assert [tool.get("name") for tool in turn["tools"]] == ["Agent"]
    assert lab.ok("coverage", "--json").json["percent"] == 100


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_turn_that_was_interrupted_before_anything_came_is_covered(lab: Lab, client: str):
    import signal

    from tests.conftest import until

    lab.have(client)
    agent = {"claude": "claude-code", "codex": "codex"}[client]
    lab.ok("plugins", "install", agent)
    first = 'Warm up <<{"say": "Warm."}>>'
    (lab.claude if client == "claude" else lab.codex)(first)
    lab.captured(1)
    argv = (
        ["-p", "--", 'Think long <<{"sleep": 60}>>']
        if client == "claude"
        else ["exec", "--skip-git-repo-check", 'Think long <<{"sleep": 60}>>']
    )
    process = subprocess.Popen(
        [str(lab.bin / client), *argv], cwd=lab.project, env=lab.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip
    until(lambda: "Think long" in lab.model.said(), 60, "the request")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    with sqlite3.connect(lab.home.state_db) as db:  # as if it had been installed an hour ago
        db.execute("UPDATE capturing SET since = since - 3600")
    quiet = time.time() - 200  # whether a hook told of it or not: once the session is quiet, reconciling takes it
    for file in [*lab.user.glob(".claude/projects/*/*.jsonl"), *lab.user.glob(".codex/sessions/*/*/*/*.jsonl")]:
        os.utime(file, (quiet, quiet))
    state = lab.ok("coverage", "--json").json
    assert (state["percent"], state["captured"], state["trivial"]) == (
        100,
        1,
        1,
    )  # no answer, no work: nothing to remember
    lab.captured(1)
    assert lab.leftovers() == []
