"""Every recorded session is read to the turns that a person found in it.

``expected/`` was written by reading the raw samples, not from any reader's output; where a sample
can be read in two ways, it names both.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.transcripts.model import Turn

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "samples"
IN_PROJECTS = ("aider", "crush")
EXPECTED = sorted((HERE / "expected").glob("*/*.json"))


def sample(agent: str, name: str) -> Path:
    return next((SAMPLES / agent).rglob(name))


@pytest.mark.parametrize("file", EXPECTED, ids=lambda file: f"{file.parent.name}-{file.stem[:20]}")
def test_a_sample_gives_the_turns_that_are_in_it(file, monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", "UTC")  # Aider writes local times, its own were recorded there
    time.tzset()
    expected = json.loads(file.read_text())
    for turn in (turn for session in expected["sessions"] for turn in session["turns"]):
        if (
            file.parent.name in IN_PROJECTS
        ):  # the folder of a session is the one that its file lies in
            turn["cwd"] = turn["cwd"].replace("/home/ana", str(tmp_path))
    path = sample(file.parent.name, expected["file"])
    if (
        file.parent.name in IN_PROJECTS
    ):  # where no repository has it, which would make it somebody else's
        own = tmp_path / path.relative_to(SAMPLES / file.parent.name)
        shutil.copytree(path.parent, own.parent)
        path = own
    for session in expected["sessions"]:
        conversation = locate.open_session(
            locate.recognise(str(path), session["session"] if path.suffix != ".jsonl" else "")
        )
        assert conversation.unknown == {}
        assert bool(conversation.parent) == bool(session["subagent"])
        turns = conversation.turns()
        assert (
            conversation.ids
            == [turn.turn for turn in turns]
            == [turn["turn"] for turn in session["turns"]]
        )
        for turn, wanted in zip(turns, session["turns"], strict=True):
            compare(turn, wanted)
            assert turn.agent == file.parent.name and turn.session == session["session"]
            assert conversation.turns(
                conversation.find(turn.turn), conversation.find(turn.turn) + 1
            ) == [turn]


def compare(turn: Turn, wanted: dict) -> None:
    assert turn.user == wanted["user"]
    assert turn.assistant in [wanted["assistant"], *wanted.get("assistant_alternatives", [])]
    assert (
        turn.status == wanted["status"]
        and turn.outside == wanted["outside"]
        and turn.cwd == wanted["cwd"]
    )
    if turn.agent == "aider":  # of its prompts, or where that is not known, of its session
        assert wanted["started"] <= turn.started < f"{wanted['started'][:11]}24"
    else:
        assert turn.started in [wanted["started"], *wanted.get("started_alternatives", [])]
    assert [(tool.name, tool.input) for tool in turn.tools] == [
        (tool["name"], tool["input"]) for tool in wanted["tools"]
    ]
    for tool, shown in zip(turn.tools, wanted["tools"], strict=True):
        if "aggregated_output" in shown:
            assert tool.output == shown["aggregated_output"]
        elif "output" in shown:
            assert tool.output == shown["output"].rpartition("Output:\n")[2]
        else:
            assert tool.output.startswith(shown["output_starts"])


def test_every_sample_has_expectations():
    kinds = (
        "*.jsonl",
        "*.db",
        "*.sqlite",
        "*.messages.json",
        "CURRENT",
        "globalStorage/state.vscdb",
        ".aider.chat.history.md",
    )
    files = {
        file for kind in kinds for file in SAMPLES.rglob(kind) if file.parent.name != "journal"
    }
    named = {sample(file.parent.name, json.loads(file.read_text())["file"]) for file in EXPECTED}
    assert files == named


def test_all_sessions_of_a_database_are_listed():
    for agent, name, count in (
        ("opencode", "opencode.db", 10),
        ("kilo", "kilo.db", 10),
        ("openclaw", "openclaw-agent.sqlite", 8),
    ):
        with sqlite3.connect(f"{sample(agent, name).as_uri()}?mode=ro", uri=True) as db:
            table = {"opencode": "session", "kilo": "session", "openclaw": "session_windows"}[agent]
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (count,)
