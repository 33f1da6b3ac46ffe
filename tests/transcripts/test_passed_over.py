"""What was not read of a transcript is shown before an import, and by doctor's ledger."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest
from memsearch_engine.agents.transcripts.locate import unread_files
from memsearch_engine.capture import backfill
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.ledger import CaptureLedger
from memsearch_engine.core.home import AgentFolders, Home


def test_damage_and_unknown_kinds_are_counted_by_agent(tmp_path):
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    row = {
        "type": "user",
        "uuid": "00000000-0000-4000-8000-000000000001",
        "sessionId": "s",
        "cwd": str(tmp_path),
        "timestamp": "2026-11-20T09:00:00Z",
        "message": {"content": "the request"},
    }
    new = json.dumps({"type": "of-a-new-kind"})
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text(f"{json.dumps(row)}\n{'{torn'}\n{new}\n{{}}\n")
    home = Home(tmp_path / "home")
    home.ensure()
    with contextlib.closing(CapturePipeline(home)) as pipeline:
        folders = AgentFolders({"claude-code": [tmp_path / "projects"]})
        made = backfill.plan(home, pipeline, folders, backfill.ImportSelection(("claude-code",)))
    counted = {"(not JSON)": 2, "of-a-new-kind": 2, "(no kind)": 2}
    assert made.passed_over == {"claude-code": counted}
    with contextlib.closing(CaptureLedger(home)) as ledger:
        assert {kind for _, kind, _, _ in ledger.unknown()} == set(counted)


def planned(tmp_path, agent: str, folder) -> backfill.ImportPlan:
    home = Home(tmp_path / "home")
    home.ensure()
    with contextlib.closing(CapturePipeline(home)) as pipeline:
        folders = AgentFolders({agent: [folder]})
        return backfill.plan(home, pipeline, folders, backfill.ImportSelection((agent,)))


@pytest.mark.parametrize(
    ("agent", "folder", "name"),
    [
        ("claude-code", "-p", "s.jsonl.bak"),
        ("claude-code", "-p", "s.json"),
        ("codex", "2026/11/20", "thread-1.jsonl"),
        ("pi", "sessions/-p", "old.jsonl"),
        ("openclaw", "main/sessions", "s.json"),
    ],
)
def test_a_file_among_sessions_that_no_reader_knows_is_listed(tmp_path, agent, folder, name):
    root = tmp_path / "theirs"
    known = {"codex": "rollout-x.jsonl", "pi": "2026-11-20T10-00-00-000Z_s.jsonl"}
    for one in (known.get(agent, "s.jsonl"), name, "agent-1.jsonl.lock", "notes.md"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / one).write_text("{}\n")
    file = str(root / folder / name)
    made = planned(tmp_path, agent, root)
    assert (file, "no known name of a session") in made.not_read
    assert {where for where, _ in made.not_read} <= {
        file,
        str(root / folder / known.get(agent, "s.jsonl")),
    }
    assert unread_files(agent, AgentFolders({agent: [root]})) == [
        (file, "no known name of a session")
    ]


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("copilot", "history-session-state/session_x_17.json"),
        ("qwen", "tmp/0f/chats/session-2025-10-01T10-00-x.json"),
        ("vibe", "session/session_2025.json"),
        ("cursor", "projects/p/agent-transcripts/old.txt"),
        ("opencode", "theirs/storage/session/0f/ses_2.json"),
    ],
)
def test_sessions_of_older_versions_are_listed(tmp_path, agent, name):
    root, file = tmp_path / "theirs", tmp_path / name
    file.parent.mkdir(parents=True)
    root.mkdir(exist_ok=True)
    file.write_text("{}")
    if agent == "opencode":
        (file.parent / "ses_1.json").write_text("{}")  # the client took it over
        with contextlib.closing(sqlite3.connect(root / "opencode.db")) as db:
            db.executescript(
                "CREATE TABLE session(id, parent_id, time_created, time_updated);"
                "INSERT INTO session VALUES ('ses_1', NULL, 1, 1);"
            )
    found = unread_files(agent, AgentFolders({agent: [root]}))
    assert found == [(str(file), "a session of an older version")]


def test_sessions_of_opencode_2_are_listed(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "opencode.db")) as db:
        db.executescript(
            "CREATE TABLE session(id, parent_id, time_created, time_updated);"
            "INSERT INTO session VALUES ('ses_1', NULL, 1, 1);"
            "CREATE TABLE session_v2(id, parent_id);"
            "INSERT INTO session_v2 VALUES ('ses_1', NULL), ('ses_2', NULL), ('ses_3', 'ses_2');"
        )
    assert unread_files("opencode", AgentFolders({"opencode": [tmp_path]})) == [
        (str(tmp_path / "opencode.db"), "1 sessions of a newer version")
    ]


def test_a_session_without_a_readable_turn_is_listed(tmp_path):
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_text('{"type": "of-a-new-kind"}\n{torn\n')
    (folder / "empty.jsonl").write_text("")
    assert planned(tmp_path, "claude-code", folder.parent).not_read == [
        (
            str(folder / "s.jsonl"),
            "no turn was found, and 2 records are damaged or of unknown kinds",
        )
    ]


def test_a_session_that_is_a_broken_link_is_listed_as_unreadable(tmp_path):
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").symlink_to(tmp_path / "gone.jsonl")
    made = planned(tmp_path, "claude-code", folder.parent)
    assert made.failed == [(str(folder / "s.jsonl"), "No such file or directory")]


@pytest.mark.slow
def test_import_and_doctor_name_what_is_not_read(box, tmp_path):
    folder = tmp_path / "c" / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / "s.jsonl.old").write_text("{}\n")
    box.env |= {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "MEMSEARCH_NO_SERVICE": "1"}
    line = f"not read: {folder / 's.jsonl.old'}: no known name of a session"
    dry_run = ("agents", "import", "claude-code", "--dry-run")
    assert line in box.run(*dry_run).err
    assert box.run(*dry_run, "--json").json["not_read"][0]["where"] == str(folder / "s.jsonl.old")
    assert line in box.run("doctor").out
