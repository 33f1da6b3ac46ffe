"""Gemini CLI's older sessions: one JSON document each."""

from __future__ import annotations

import hashlib
import json
import sqlite3

import pytest
from memsearch_engine.agents.gemini.reader import Reader as Gemini
from memsearch_engine.agents.transcripts.locate import all_sessions
from memsearch_engine.agents.transcripts.readers import reader_of
from memsearch_engine.core.home import AgentFolders, Home

gemini = Gemini()

SESSION = "ef937a63-814d-43c0-88d3-f7a6722f33b2"
NAME = "session-2025-12-05T11-14-ef937a63.json"


def message(number, kind, content, **more):
    return {
        "id": f"m{number}",
        "timestamp": f"2025-12-05T11:14:{number:02}.000Z",
        "type": kind,
        "content": content,
        **more,
    }


def test_a_session_in_one_document_is_read_and_listed(tmp_path):
    chats = tmp_path / "abc" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/home/ana/proj")
    call = {
        "id": "c",
        "name": "run_shell_command",
        "args": {"command": "make"},
        "status": "success",
        "resultDisplay": "ok",
    }
    data = {
        "sessionId": SESSION,
        "projectHash": "abc",
        "startTime": "2025-12-05T11:14:00.000Z",
        "lastUpdated": "x",
        "messages": [
            message(1, "user", "Round half-even"),
            message(2, "gemini", "", toolCalls=[call], thoughts=[], tokens=None),
            message(3, "gemini", "Rounded."),
            message(4, "info", "note"),
            message(5, "user", [{"text": "And now?"}]),
        ],
    }
    (chats / NAME).write_text(json.dumps(data, indent=2))
    (found,) = all_sessions("gemini", AgentFolders({"gemini": [tmp_path]}))
    assert found.session == SESSION and gemini.locate(tmp_path, SESSION).path == found.path
    assert reader_of(found.path).agent == "gemini"
    session = gemini.open_session(found)
    assert session.ids == ["m1", "m5"] and not session.unknown
    first, second = session.turns()
    assert (first.user, first.assistant, first.cwd, first.status) == (
        "Round half-even",
        "Rounded.",
        "/home/ana/proj",
        "done",
    )
    assert [(tool.input, tool.output) for tool in first.tools] == [("make", "ok")]
    assert (second.user, second.status, session.turns(1)[0].turn) == (
        "And now?",
        "interrupted",
        "m5",
    )

    lines = [{key: value for key, value in data.items() if key != "messages"}, *data["messages"]]
    (chats / f"{NAME}l").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )  # it was resumed since
    (copied,) = all_sessions("gemini", AgentFolders({"gemini": [tmp_path]}))
    assert copied.path.endswith(".jsonl") and gemini.open_session(copied).ids == ["m1", "m5"]


def test_a_damaged_document_is_counted(tmp_path):
    for text in ("", "[]", '{"sessionId": "s", "messages": [{"id"', '{"messages": 1}', "null"):
        file = tmp_path / NAME
        file.write_text(text)
        session = gemini.open_session(gemini.at(file))
        assert session.turns() == [] and session.unknown["(not JSON)"] == 1


@pytest.mark.parametrize("named_in", ["projects.json", "trustedFolders.json", "state.db"])
def test_a_folder_that_only_a_hash_names_is_found_among_the_known_ones(tmp_path, named_in):
    root = "/home/ana/my proj"
    chats = tmp_path / "tmp" / hashlib.sha256(root.encode()).hexdigest() / "chats"
    chats.mkdir(parents=True)
    home = Home(tmp_path / "memsearch")
    data = {"sessionId": SESSION, "messages": [message(1, "user", "Where is it?")]}
    (chats / NAME).write_text(json.dumps(data))
    (found,) = all_sessions("gemini", AgentFolders({"gemini": [tmp_path / "tmp"]}))
    assert [turn.cwd for turn in gemini.open_session(found, home.offsets).turns()] == [""]
    if named_in == "state.db":
        home.ensure()
        with sqlite3.connect(home.state_db) as db:
            db.execute("CREATE TABLE project_paths (root TEXT)")
            db.execute("INSERT INTO project_paths VALUES (?)", (root,))
    else:
        table = {"/home/ana/other": "other", root: "my-proj"}
        text = json.dumps({"projects": table} if named_in == "projects.json" else table)
        (tmp_path / named_in).write_text(text)
    assert [turn.cwd for turn in gemini.open_session(found, home.offsets).turns()] == [root]


@pytest.mark.parametrize("linked", [".gemini", ".gemini/tmp", ".gemini/tmp/abc"])
def test_a_folder_above_a_session_may_be_a_link(tmp_path, linked):
    chats = tmp_path / ".gemini" / "tmp" / "abc" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/home/ana/proj")
    data = {"sessionId": SESSION, "messages": [message(1, "user", "Where is it?")]}
    (chats / NAME).write_text(json.dumps(data))
    (tmp_path / linked).rename(tmp_path / "disk")
    (tmp_path / linked).symlink_to(tmp_path / "disk")
    (found,) = all_sessions("gemini", AgentFolders({"gemini": [tmp_path / ".gemini" / "tmp"]}))
    assert [turn.cwd for turn in gemini.open_session(found).turns()] == ["/home/ana/proj"]


@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16"])
def test_a_document_with_a_byte_order_mark_is_read(tmp_path, form):
    chats = tmp_path / "abc" / "chats"
    chats.mkdir(parents=True)
    data = {"sessionId": SESSION, "messages": [message(1, "user", "Runde „halb“")]}
    (chats / NAME).write_text(json.dumps(data, ensure_ascii=False), encoding=form)
    session = gemini.open_session(gemini.at(chats / NAME))
    assert [turn.user for turn in session.turns()] == ["Runde „halb“"]
