"""Installed into the real agents: every turn is one right entry, opened at its turn, and nothing is
left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pexpect
import pytest
from memsearch_engine.core.own_prompts import MARK

from tests.agents.conftest import Lab
from tests.conftest import until
from tests.injection.corpus import MISSING, case, furnish, prepared, work_was_done
from tests.injection.corpus import entry as noted

pytestmark = [pytest.mark.agents]

SECRET = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"


#: client -> the agent's name, the folder of the user's own configuration, and what of it is as it
#: was in the end
CLIENTS = {
    "claude": ("claude-code", ".claude", ("settings.json", "skills/**/*")),
    "codex": ("codex", ".codex", ("config.toml", "hooks.json", "skills/[a-z]*/*")),
    "opencode": ("opencode", ".config/opencode", ("opencode.json", "plugins/**/*", "skills/**/*")),
    "openclaw": ("openclaw", ".openclaw", ("openclaw.json", "extensions/**/*")),
    "qwen": ("qwen", ".qwen", ("settings.json", "skills/**/*")),
    "gemini": ("gemini", ".gemini", ("settings.json", "skills/**/*")),
    "copilot": ("copilot", ".copilot", ("settings.json", "hooks/**/*", "skills/**/*")),
    "pi": ("pi", ".pi/agent", ("settings.json", "models.json", "extensions/**/*", "skills/**/*")),
}


def snapshot(folder: Path, *names: str) -> dict[str, bytes]:
    """The user's own configuration: every file of *names* below *folder*."""
    found = {}
    for name in names:
        for file in sorted(folder.glob(name)):
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
    return found


def turn_of(lab: Lab, entry: dict[str, Any]) -> dict[str, Any]:
    """The one turn that an entry's anchor opens."""
    (turn,) = lab.ok("transcript", entry["entry_id"], "--json").json["turns"]
    assert (turn["session"], turn["turn"]) == (entry["session"], entry["turn"])
    return turn


def at_once(*calls: tuple[Any, ...]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [done.result() for done in [pool.submit(*call) for call in calls]]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_turn_of_a_session_is_one_right_entry(lab: Lab, client: str):
    agent, folder, names = CLIENTS[client]
    lab.have(client)
    before = snapshot(lab.user / folder, *names)
    lab.ok("plugins", "install", agent)
    # no script in the first one: OpenClaw's next process learns of it right before the next
    # prompt's own script
    lab.model.replies = lambda request: "Sessions live 30 minutes, because of the gateway."
    session = lab.turn(client, "How long do sessions live?")
    lab.model.replies = lambda request: None
    lab.turn(
        client, 'Run the tests <<{"run": "echo 41 passed", "say": "All 41 tests pass."}>>', session
    )
    lab.turn(client, '次のタスクは？🎉 <<{"say": "次は検索です。"}>>', session)
    lab.turn(client, f'Use {SECRET} to push <<{{"say": "I pushed with {SECRET}."}}>>', session)
    lab.turn(client, 'This one fails <<{"status": 400}>>', session)
    if (
        client == "qwen"
    ):  # it tells of no turn that failed: the next look through its sessions finds it
        lab.captured(4)
        lab.ok("coverage")
    # Gemini CLI keeps nothing of a refusal: such a turn has no answer and no work, and is counted
    # as trivial
    entries = lab.captured(4 if client == "gemini" else 5)
    assert {(e["agent"], e["session"]) for e in entries} == {(agent, session)}
    masked = (
        f"{SECRET[:6]}…" if client == "openclaw" else "[REDACTED:github-token:"
    )  # OpenClaw keeps none of it either
    for asked, said in (
        ("How long do sessions live?", "Sessions live 30 minutes, because of the gateway."),
        ("Run the tests", "All 41 tests pass.\n- Commands: `echo 41 passed`"),
        ("次のタスクは？🎉", "次は検索です"),
        ("to push", f"I pushed with {masked}"),
        *([("This one fails", "The turn failed")] if client != "gemini" else []),
    ):
        (entry,) = [e for e in entries if f"\n- {said}" in e["content"]]
        turn = turn_of(lab, entry)
        assert asked in turn["user"] and asked in entry["content"]
        assert turn["status"] == ("failed" if "fails" in asked else "done")
        assert [tool["output"].strip() for tool in turn["tools"]] == (
            ["41 passed"] if "tests" in asked else []
        )
    assert lab.ok("coverage", "--json").json["percent"] == 100
    (state,) = lab.ok("plugins", "status", agent, "--json").json["plugins"]
    assert state["installed"] and state["problems"] == []
    # no secret on our disk, no process, and everything as it was
    for file in [*lab.home.root.rglob("*"), *lab.memory.rglob("*")]:
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
    lab.end_gateway()
    # the service may just be comparing notes with the repository, in a process of its own
    until(lambda: not lab.leftovers(), 20, "the end of all processes but the service")
    lab.ok("plugins", "uninstall", agent)
    assert snapshot(lab.user / folder, *names) == before


#: how the model calls our search there: OpenClaw keeps tools in a catalogue
SEARCH = {
    "opencode": ["memory_search", {"query": "database"}],
    "openclaw": ["tool_call", {"id": "memsearch_search", "args": {"query": "database"}}],
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_new_session_gets_context_that_is_not_captured_again(lab: Lab, client: str):
    agent = CLIENTS[client][0]
    lab.have(client)
    lab.ok("plugins", "install", agent)
    lab.ok("add", "The staging database moved to Postgres 16")
    injected = lab.ok("context", agent, "--json").json
    assert "Postgres 16" in injected["text"] and 0 < injected["tokens"] <= 1500

    script = {
        "say": "It is as the notes say.",
        **({"call": SEARCH[client]} if client in SEARCH else {}),
    }
    session = lab.turn(client, f"What do you know? <<{json.dumps(script)}>>")
    assert json.dumps(injected["text"], ensure_ascii=False)[1:-1] in lab.model.said()
    titles = [request for request in lab.model.requests if "title generator" in json.dumps(request)]
    assert "staging" not in json.dumps(titles)
    (entry,) = [e for e in lab.captured(2) if e["agent"]]
    assert "memsearch-memory" not in entry["content"] and "staging" not in entry["content"]
    turn = turn_of(lab, entry)
    assert "memsearch-memory" not in turn["user"] and entry["session"] == session
    assert ["Postgres 16" in tool["output"] for tool in turn["tools"]] == [True] * (
        client in SEARCH
    )
    if client == "opencode":
        offered = [
            tool["function"]["name"]
            for request in lab.model.requests
            for tool in request.get("tools") or []
        ]
        assert {"memory_search", "memory_get", "memory_transcript"} <= set(offered)
    (row,) = lab.ok("context", "--log", "--json").json["injections"]
    assert row["agent"] == agent and "Postgres 16" in row["text"] and row["session"] == session


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_relevant_to_a_prompt_is_injected_once_and_not_captured_again(
    lab: Lab, client: str
):
    agent = CLIENTS[client][0]
    lab.have(client)
    known = case("data", "data-05")
    lab.home.ensure().config.write_text("[recall]\nwait_ms = 3000\ninject = false\n")
    furnish(lab, known)
    lab.ok("plugins", "install", agent)
    lab.ready()
    prepared(lab)
    before = len(lab.ok("entries", "-n", "500", "--json").json["entries"])

    def injected() -> list[int]:
        """How often each request of a conversation has the note."""
        asked = [json.dumps(request, ensure_ascii=False) for request in lab.model.requests]
        return [
            words.count("floor the day at zero") for words in asked if "negative quantity?" in words
        ]

    session = lab.turn(client, known["prompt"])
    assert injected() and injected()[-1] == 1, injected()
    titles = [request for request in lab.model.requests if "title generator" in json.dumps(request)]
    assert "floor the day" not in json.dumps(titles)
    lab.model.requests.clear()
    lab.turn(client, f"And once more: {known['prompt']}", session)
    assert injected() and max(injected()) <= 1, (
        injected()
    )  # what an agent keeps it still has, and nothing comes twice

    def entries() -> list[dict[str, Any]]:
        lab.run("inbox", "--json")
        found = lab.ok("entries", "-n", "500", "--json").json["entries"]
        return [e for e in found if e["agent"]] if len(found) == before + 2 else []

    for entry in until(entries, 30, "two entries"):
        assert (
            "floor the day" not in entry["content"]
            and "memsearch-memory" not in turn_of(lab, entry)["user"]
        )
    (receipt,) = lab.ok("context", "--log", "--session", session, "--json").json["injections"]
    assert receipt["agent"] == agent and len(receipt["notes"]) == 1 and receipt["tokens"] <= 300


SCREENS = {
    "opencode": "Ask anything",
    "pi": r"\(mock\) mock-model",
}  # of a client that is ready: what is typed before is lost in parts


@pytest.mark.parametrize("client", SCREENS)
def test_its_user_sees_a_line_about_the_injection(lab: Lab, client: str):
    """In the client's own screen: Claude Code has a place for it in its hooks' answer, these are
    asked for one by our plugin.
    """
    lab.have(client)
    known = case("data", "data-05")
    lab.home.ensure().config.write_text("[recall]\nwait_ms = 3000\nmax_tokens = 250\n")
    furnish(lab, known)
    later = (
        "The helper number {n} of the loader has another name now, "
        "and its callers were changed along."
    )
    entries = (
        noted(f"rename helper {n} of the loader", later.format(n=n), 300 + n) for n in range(9)
    )
    lab.write(
        "2026-02-25", "# 2026-02-25\n\n" + "\n".join(entries)
    )  # else the start tells of what the prompt is about
    lab.own()
    lab.index()
    lab.ok("plugins", "install", CLIENTS[client][0])
    lab.ready()
    prepared(lab)
    screen = pexpect.spawn(
        str(lab.bin / client),
        cwd=str(lab.project),
        env={**lab.env, "TERM": "xterm-256color"},
        dimensions=(40, 160),
        encoding="utf-8",
        timeout=90,
    )
    try:
        screen.expect(SCREENS[client])
        screen.send(known["prompt"])
        screen.expect("below zero")
        screen.send("\r")
        screen.expect(r"\[memsearch\] injected: 2026-02-12")
    finally:
        screen.close(force=True)


@pytest.mark.parametrize("client", ["pi"])
def test_its_user_sees_a_line_about_settings_that_can_t_be_read(lab: Lab, client: str):
    """Nothing is injected then, and the line is shown all the same."""
    lab.have(client)
    lab.ok("plugins", "install", CLIENTS[client][0])
    lab.home.ensure().config.write_text("[recall\n")
    screen = pexpect.spawn(
        str(lab.bin / client),
        cwd=str(lab.project),
        env={**lab.env, "TERM": "xterm-256color"},
        dimensions=(40, 160),
        encoding="utf-8",
        timeout=90,
    )
    try:
        screen.expect(SCREENS[client])
        screen.send("Where is the limit set")
        screen.expect("limit set")
        screen.send("\r")
        screen.expect(r"nothing is captured")
    finally:
        screen.close(force=True)


@pytest.mark.parametrize(
    "client", ["claude", "codex", "opencode", "qwen", "gemini", "pi", "copilot"]
)
def test_what_is_known_about_a_command_and_an_error_comes_once_and_is_no_memory_again(
    lab: Lab, client: str
):
    """OpenClaw has no place for it."""
    agent = CLIENTS[client][0]
    lab.have(client)
    lab.home.ensure().config.write_text("[recall]\nwait_ms = 3000\ninject = false\n")
    work_was_done(lab)
    for name, said in (("alembic", "ok"), ("report", MISSING.format("/x", 8))):
        script = lab.project / name
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n{'exit 1' * (name == 'report')}\n")
        script.chmod(0o755)
    lab.ok("plugins", "install", agent)
    lab.ready()
    prepared(lab)

    def injected(words: str) -> list[int]:
        """How often each request has *words*."""
        return [
            json.dumps(request, ensure_ascii=False).count(words) for request in lab.model.requests
        ]

    session = lab.turn(client, 'Migrate <<{"run": "alembic upgrade head", "say": "Migrated."}>>')
    other = "-x tenant=acme upgrade head"
    assert injected(other)[-1] == 1, injected(other)
    lab.model.requests.clear()
    lab.turn(client, 'Report <<{"run": "./report --all", "say": "It failed."}>>', session)
    assert injected("edited `requirements.txt`, ran `uv sync`")[-1] == 1
    lab.turn(client, 'Again <<{"run": "./report --all", "say": "It failed again."}>>', session)
    # a session that Gemini CLI resumes sends each result of a tool twice, whatever stands in it
    assert max(injected("edited `requirements.txt`, ran `uv sync`")) == (
        2 if client == "gemini" else 1
    )

    def entries() -> list[dict[str, Any]]:
        lab.run("inbox", "--json")
        found = [
            e
            for e in lab.ok("entries", "-n", "500", "--json").json["entries"]
            if e["session"] == session
        ]
        return found if len(found) == 3 else []

    for entry in until(entries, 30, "three entries"):
        assert "requirements.txt" not in entry["content"] and "memsearch-memory" not in json.dumps(
            turn_of(lab, entry)
        )
    events = {
        row["event"]
        for row in lab.ok("context", "--log", "--session", session, "--json").json["injections"]
    }
    assert events == {"PreToolUse", "PostToolUse"}


PATCH = "*** Begin Patch\n*** Add File: app/catalog/cache.py\n+SIZE = 900\n*** End Patch"
#: how the model writes a file there
WRITES: dict[str, Any] = {
    "claude": {"call": ["Write", {"file_path": "app/catalog/cache.py", "content": "SIZE = 900\n"}]},
    "codex": {
        "run": f"apply_patch <<'END'\n{PATCH}\nEND\n"
    },  # it takes a patch out of a shell's command
    "opencode": {
        "call": ["write", {"filePath": "app/catalog/cache.py", "content": "SIZE = 900\n"}]
    },
    "qwen": {
        "call": [
            "write_file",
            {"file_path": "{project}/app/catalog/cache.py", "content": "SIZE = 900\n"},
        ]
    },
    "gemini": {
        "call": [
            "write_file",
            {"file_path": "{project}/app/catalog/cache.py", "content": "SIZE = 900\n"},
        ]
    },
    "copilot": {
        "call": ["create", {"path": "{project}/app/catalog/cache.py", "file_text": "SIZE = 900\n"}]
    },
    "pi": {"call": ["write", {"path": "app/catalog/cache.py", "content": "SIZE = 900\n"}]},
}


@pytest.mark.parametrize("client", WRITES)
def test_a_rule_about_a_file_is_injected_where_it_is_written_to(lab: Lab, client: str):
    agent = CLIENTS[client][0]
    lab.have(client)
    lab.home.ensure().config.write_text("[recall]\nwait_ms = 3000\ninject = false\n")
    work_was_done(lab)
    lab.ok("plugins", "install", agent)
    lab.ready()
    prepared(lab)
    (lab.project / "app" / "catalog").mkdir(parents=True, exist_ok=True)  # Copilot CLI makes none
    script = json.dumps({**WRITES[client], "say": "It is larger."}).replace(
        "{project}", str(lab.project)
    )
    session = lab.turn(client, f"Make it larger <<{script}>>")
    injected = [
        json.dumps(request, ensure_ascii=False).count("at most 500 entries")
        for request in lab.model.requests
    ]
    assert injected[-1] == 1, injected
    if client != "codex":  # its sandbox lets nothing be written unattended
        assert (lab.project / "app/catalog/cache.py").read_text() == "SIZE = 900\n"
    (receipt,) = lab.ok("context", "--log", "--session", session, "--json").json["injections"]
    assert receipt["event"] == "PreToolUse"


COMPACTS = ("claude", "qwen", "gemini", "pi")


@pytest.mark.parametrize("client", COMPACTS)
def test_after_a_compaction_a_session_gets_what_its_summary_lost(lab: Lab, client: str):
    lab.have(client)
    lab.home.ensure().config.write_text("[recall]\nwait_ms = 3000\n")
    lab.ok("plugins", "install", CLIENTS[client][0])
    said = "Payout files stay for 400 days in the cold bucket, then a lifecycle rule deletes them."
    session = lab.turn(client, f"How long do payout files stay? <<{json.dumps({'say': said})}>>")
    lab.captured(1)
    lab.ready()
    prepared(lab)
    lab.model.replies = lambda request: (
        "<summary>We talked about files.</summary>"
        if client == "claude"
        else "<state_snapshot>We talked about files.</state_snapshot>"
    )
    lab.compact(client, session)
    lab.model.requests.clear()
    lab.model.replies = lambda request: "Nothing else."
    lab.turn(client, "What else is there to do?", session)
    asked = json.dumps(
        [r for r in lab.model.requests if "What else is there to do?" in json.dumps(r)][-1]
    )
    assert (
        asked.count("What this session had noted before it was compacted") == 1
        and "400 days in the cold bucket" in asked
    )
    injected = [
        r
        for r in lab.ok("context", "--log", "--session", session, "--json").json["injections"]
        if r["notes"]
    ]
    # Qwen Code loses what was injected when it compresses, and gets it again where the
    # session goes on. Gemini CLI asks about its command as about a prompt, sometimes with its
    # summary written by then, and keeps as little
    assert len(injected) in {"claude": (1,), "qwen": (2,), "gemini": (1, 2), "pi": (1,)}[client], (
        json.dumps(injected)
    )
    assert not any("/comp" in entry["content"] for entry in lab.captured(2))
    assert all(
        receipt["event"] == "PostCompact" and receipt["tokens"] <= 800 for receipt in injected
    )


def test_two_sessions_at_once_and_the_other_agent_finds_it(lab: Lab):
    clients = ("claude", "codex", "opencode")
    lab.have(*clients)
    lab.ok("plugins", "install", *(CLIENTS[client][0] for client in clients))
    lab.client(
        str(lab.bin / "opencode"), "session", "list"
    )  # it makes its database: two first starts at once fail over that
    say = 'Question {n} <<{{"sleep": 1, "say": "{client} answers number {n}."}}>>'
    turns = [(client, n) for client in clients for n in range(2)]
    sessions = at_once(*((lab.turn, client, say.format(client=client, n=n)) for client, n in turns))
    entries = {e["session"]: e["content"] for e in lab.captured(6)}
    for (client, n), session in zip(turns, sessions, strict=True):
        assert f"{client} answers number {n}" in entries[session]
    # Codex, in its own read-only sandbox, asks with the command of the skill
    command = f"{lab.argv()[0]} -m memsearch_tui.cli.main search claude answers number --json"
    lab.codex(f'Recall <<{{"run": "{command}", "say": "Found it."}}>>')
    (found,) = [e for e in lab.captured(7) if "Found it" in e["content"]]
    assert "claude answers number" in turn_of(lab, found)["tools"][0]["output"]


def test_openclaws_gateway_answers_two_at_once_and_its_heartbeat_is_nobodys_turn(lab: Lab):
    lab.have("openclaw")
    config = lab.user / ".openclaw" / "openclaw.json"
    config.write_text(config.read_text().replace('"every": "1h"', '"every": "10s"'))
    lab.ok("plugins", "install", "openclaw")
    lab.ok("add", "The importer runs at night")
    both = threading.Barrier(2)

    def reply(request: dict[str, Any]) -> str | None:
        if "Which tools?" in json.dumps(request):
            return None  # by its script
        return (
            f"Number {both.wait(60)}." if "Question" in json.dumps(request) else "The heart beats."
        )

    lab.model.replies = reply
    lab.gateway()
    assert at_once(*((lab.openclaw, f"Question {n}", f"agent:main:{n}") for n in range(2))) == [
        200,
        200,
    ]
    assert len({e["session"] for e in lab.captured(3) if e["agent"]}) == 2

    def beats() -> list[dict[str, Any]]:
        return [
            request for request in lab.model.requests if "heartbeat monitor" in json.dumps(request)
        ]

    (beat, *_) = until(beats, 60, "a heartbeat")
    assert "runs at night" not in json.dumps(beat)
    # the next turn in its session, and only that
    script = json.dumps({"call": ["tool_search", {"query": "memsearch"}], "say": "Three tools."})
    assert lab.openclaw(f"Which tools? <<{script}>>") == 200
    (entry,) = [e for e in lab.captured(4) if "Three tools" in e["content"]]
    turn = turn_of(lab, entry)
    assert turn["assistant"] == "Three tools."
    for tool in ("memsearch_search", "memsearch_get", "memsearch_transcript"):
        assert tool in turn["tools"][0]["output"]
    assert lab.ok("coverage", "--json").json["percent"] == 100
    assert not any("heart" in e["content"] for e in lab.captured(4))


def test_a_hook_that_never_came_is_made_up_for(lab: Lab):
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    lab.claude('First <<{"say": "The first answer."}>>', env={"MEMSEARCH_DISABLE": "1"})
    assert lab.run("entries", "--json").json["entries"] == []
    assert lab.ok("coverage", "--json").json["percent"] == 100
    (entry,) = lab.captured(1)
    assert "The first answer" in entry["content"]


def test_claude_installs_it_as_a_plugin_from_the_marketplace_folder(lab: Lab, tmp_path):
    lab.have("claude")
    market = tmp_path / "market"
    shutil.copytree(Path(__file__).parents[2] / "plugins", market)
    (lab.bin / "memsearch").write_text(
        f'#!/bin/sh\nexec {lab.argv()[0]} -m memsearch_tui.cli.main "$@"\n'
    )
    (lab.bin / "memsearch").chmod(0o755)
    claude = str(lab.bin / "claude")
    assert lab.client(claude, "plugin", "marketplace", "add", str(market)).code == 0
    assert lab.client(claude, "plugin", "install", "memsearch@memsearch-tui").code == 0
    lab.claude('By plugin <<{"say": "Captured by the plugin."}>>')
    (entry,) = lab.captured(1)
    assert "Captured by the plugin" in entry["content"]
    state = lab.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]
    assert state["installed"] and state["plugin"] and state["problems"] == []
    # to install it is to have it: no second set of hooks
    assert lab.ok("plugins", "install", "claude-code", "--json").json["changed"] == {
        "claude-code": []
    }
    assert lab.client(claude, "plugin", "uninstall", "memsearch@memsearch-tui").code == 0
    lab.ok("plugins", "install", "claude-code")
    assert lab.client(claude, "plugin", "install", "memsearch@memsearch-tui").code == 0
    twice = lab.run("plugins", "status", "claude-code", "--json")
    assert twice.code == 5 and "twice" in twice.json["plugins"][0]["problems"][0]


def test_codex_installs_it_as_a_plugin_and_trust_is_all_that_is_added(lab: Lab, tmp_path):
    lab.have("codex")
    market = tmp_path / "market"
    shutil.copytree(Path(__file__).parents[2] / "plugins", market)
    (lab.bin / "memsearch").write_text(
        f'#!/bin/sh\nexec {lab.argv()[0]} -m memsearch_tui.cli.main "$@"\n'
    )
    (lab.bin / "memsearch").chmod(0o755)
    codex = str(lab.bin / "codex")
    assert lab.client(codex, "plugin", "marketplace", "add", str(market)).code == 0
    assert lab.client(codex, "plugin", "add", "memsearch@memsearch-tui").code == 0
    state = lab.run("plugins", "status", "codex", "--json").json["plugins"][0]
    assert state["installed"] and state["plugin"] and "does not trust" in state["problems"][0]
    changed = lab.ok("plugins", "install", "codex", "--json").json["changed"]["codex"]
    assert [patch["what"] for patch in changed] == ["trust for our hooks"]
    assert lab.ok("plugins", "status", "codex", "--json").json["plugins"][0]["problems"] == []
    assert not (lab.user / ".codex" / "hooks.json").exists()
    lab.turn("codex", 'By plugin <<{"say": "Captured by the plugin."}>>')
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
    lab.have("claude", "codex", "qwen", "pi")
    lab.model.replies = lambda request: (
        "- User asked about limits\n- Agent set them to five"
        if MARK in json.dumps(request)
        else None
    )
    lab.ok("config", "set", "capture.summarize.provider", "native")
    lab.ok("plugins", "install", "claude-code", "codex", "qwen", "pi")
    lab.claude('Set the limits <<{"say": "They are five now."}>>')
    lab.codex('Set the limits <<{"say": "They are five now, too."}>>')
    lab.turn("qwen", 'Set the limits <<{"say": "They are five now as well."}>>')
    lab.turn("pi", 'Set the limits <<{"say": "They are five now, here too."}>>')
    lab.captured(4)

    def summarised():
        found = lab.run("entries", "--json").json["entries"]
        return (
            found if all(e["body"].startswith("- User asked about limits") for e in found) else None
        )

    entries = until(summarised, 60, "four summaries")
    assert all(e["marks"].keys() <= {"branch"} for e in entries), [
        e["marks"] for e in entries
    ]  # none is pending
    state = lab.ok("spend", "--json").json
    assert state["summaries"] == {"done": 4} and state["today_tokens"] > 0
    # the summarisers' own calls are no sessions: nothing of them is on disk, nothing of them is
    # captured
    rows = {
        row["agent"]: row["sessions"]
        for row in lab.ok("agents", "--no-versions", "--json").json["agents"]
    }
    assert (rows["claude-code"], rows["codex"], rows["qwen"], rows["pi"]) == (1, 1, 1, 1)
    lab.captured(4)
    assert lab.leftovers() == []


@pytest.mark.parametrize(
    ("client", "tool", "kind"),
    [
        ("claude", "Agent", "general-purpose"),
        ("opencode", "task", "general"),
        ("qwen", "agent", "general-purpose"),
    ],
)
def test_a_sub_agents_work_is_its_parents_turn(lab: Lab, client: str, tool: str, kind: str):
    agent = CLIENTS[client][0]
    lab.have(client)
    lab.ok("plugins", "install", agent)
    task = {"description": "look", "prompt": "Look around", "subagent_type": kind}
    script = json.dumps({"call": [tool, task], "say": "The parent is done."})
    session = lab.turn(client, f"Delegate it <<{script}>>")
    (entry,) = lab.captured(1)
    assert "The parent is done" in entry["content"] and entry["session"] == session
    assert [call["name"] for call in turn_of(lab, entry)["tools"]] == [tool]
    asked = [json.dumps(request) for request in lab.model.requests]
    assert any("Look around" in request and "Delegate it" not in request for request in asked)
    assert lab.ok("coverage", "--json").json["percent"] == 100
    lab.captured(1)


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_turn_that_was_interrupted_before_anything_came_is_covered(lab: Lab, client: str):
    import signal

    lab.have(client)
    lab.ok("plugins", "install", CLIENTS[client][0])
    lab.turn(client, 'Warm up <<{"say": "Warm."}>>')
    lab.captured(1)
    argv = (
        ["-p", "--", 'Think long <<{"sleep": 60}>>']
        if client == "claude"
        else ["exec", "--skip-git-repo-check", 'Think long <<{"sleep": 60}>>']
    )
    process = subprocess.Popen(
        [str(lab.bin / client), *argv],
        cwd=lab.project,
        env=lab.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: "Think long" in lab.model.said(), 60, "the request")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    with sqlite3.connect(lab.home.state_db) as db:  # as if it had been installed an hour ago
        db.execute("UPDATE capturing SET since = since - 3600")
    quiet = (
        time.time() - 200
    )  # whether a hook reported it or not: once the session is quiet, reconciling takes it
    for file in [
        *lab.user.glob(".claude/projects/*/*.jsonl"),
        *lab.user.glob(".codex/sessions/*/*/*/*.jsonl"),
    ]:
        os.utime(file, (quiet, quiet))
    state = lab.ok("coverage", "--json").json
    assert (state["percent"], state["captured"], state["trivial"]) == (
        100,
        1,
        1,
    )  # no answer, no work: nothing to remember
    lab.captured(1)
    assert lab.leftovers() == []


def _copies(request: dict[str, Any]) -> int:
    return len(re.findall(r"[<[]memsearch-memory id=", json.dumps(request)))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_resumed_session_gets_its_context_once(lab: Lab, client: str):
    """The notes change after each turn, so that each resumption would add another text. In every
    request there is one.
    """
    lab.have(client)
    lab.ok("plugins", "install", CLIENTS[client][0])
    lab.ok("add", "The staging database moved to Postgres 16")
    session = lab.turn(client, 'Turn 0 <<{"say": "Answer 0."}>>')
    for number in range(1, 4):
        lab.captured(2 * number)
        lab.ok("add", f"Fact {number} came later")
        lab.turn(client, f'Turn {number} <<{{"say": "Answer {number}."}}>>', session)
    if client == "claude":
        lab.claude('Forked <<{"say": "Answer 4."}>>', "--resume", session, "--fork-session")
    asked = [
        r
        for r in lab.model.requests
        if "Turn 0" in json.dumps(r) and "title" not in json.dumps(r)[:3000].lower()
    ]
    assert len(asked) >= 4 and {_copies(request) for request in asked} == {1}, [
        _copies(r) for r in asked
    ]
    rows = lab.ok("context", "--log", "--json").json["injections"]
    assert rows and all(row["text"] for row in rows)


def test_claude_gets_its_context_again_after_a_compaction(lab: Lab):
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    lab.ok("add", "The staging database moved to Postgres 16")
    session = lab.turn("claude", 'Turn 0 <<{"say": "Answer 0."}>>')
    lab.captured(2)
    lab.claude("/compact", "--resume", session)
    lab.claude('After it <<{"say": "Answer 1."}>>', "--resume", session)
    (last,) = [r for r in lab.model.requests if "After it" in json.dumps(r)]
    assert 1 <= _copies(last) <= 2 and "Postgres 16" in json.dumps(last)


def test_claude_headless_may_recall_and_no_more(lab: Lab):
    """Without the rules it is denied; with them the three commands that read run, and nothing that
    is tied to them.
    """
    lab.have("claude")
    lab.ok("plugins", "install", "claude-code")
    lab.ok("add", "The staging database moved to Postgres 16")
    settings = lab.user / ".claude" / "settings.json"
    before = settings.read_bytes()
    (name,) = re.findall(
        r"`([^`]+) search ",
        (lab.user / ".claude" / "skills" / "memory-recall" / "SKILL.md").read_text(),
    )[:1]
    mark = lab.root / "mark"

    def answered(command: str) -> str:
        call = json.dumps(
            {"call": ["Bash", {"command": command, "description": "d"}], "say": "Done."}
        )
        count = len(lab.model.requests)
        lab.client(str(lab.bin / "claude"), "-p", "--", f"Look it up <<{call}>>")
        return json.dumps(lab.model.requests[count:][-1]["messages"][-1])

    assert "Postgres 16" not in answered(f"{name} search staging")
    notes = lab.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]["notes"]
    assert "--allow" in notes[0]
    lab.ok("plugins", "install", "claude-code", "--allow")
    assert lab.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]["notes"] == []
    assert "Postgres 16" in answered(f"{name} search staging")
    for command in (
        f"{name} search staging; touch {mark}",
        f"{name} search staging && touch {mark}",
        f"{name} search $(touch {mark})",
        f"{name} search staging > {mark}",
        f"{name} delete --all --yes",
        f"touch {mark}",
    ):
        answered(command)
        assert not mark.exists(), command
    assert len(lab.run("entries", "-n", "50", "--json").json["entries"]) >= 1
    lab.ok(
        "plugins", "install", "claude-code"
    )  # once more, without the word: what was allowed stays
    assert lab.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]["notes"] == []
    lab.ok("plugins", "uninstall", "claude-code")
    assert b"memsearch" not in settings.read_bytes() and before != settings.read_bytes()


def test_asking_codex_about_its_hooks_asks_nobody_else(lab: Lab):
    """Its app server looks for news of its plugins on GitHub before it answers: a proxy would see
    it.
    """
    import socket

    lab.have("codex")
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = proxy.accept()
                    with connection:
                        asked.append(connection.recv(200))

        threading.Thread(target=listen, daemon=True).start()
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        lab.env |= {
            "HTTPS_PROXY": address,
            "https_proxy": address,
            "ALL_PROXY": address,
            "NO_PROXY": "",
            "no_proxy": "",
        }
        lab.ok("plugins", "install", "codex")
        assert lab.ok("plugins", "status", "codex", "--json").json["plugins"][0]["problems"] == []
        assert (
            lab.ok("--offline", "plugins", "status", "codex", "--json").json["plugins"][0][
                "problems"
            ]
            == []
        )
    assert asked == []
    left = {path.name for path in (lab.user / ".codex").iterdir()}
    assert (
        not [name for name in left if name.endswith((".sqlite", "-wal", "-shm"))]
        and "skills" in left
    )
    assert not list((lab.user / ".codex").glob(".tmp/git-*"))
    assert lab.leftovers() == []
