"""Vibe's sessions: its journal, sub-agents."""

from __future__ import annotations

import json
import os
from pathlib import Path

from memsearch_engine.agents.vibe.reader import Reader as Vibe

vibe = Vibe()


def test_a_sub_agent_that_calls_itself_ends(tmp_path):
    folder = tmp_path / "unified" / "child-abc"
    (folder / "generations" / "1").mkdir(parents=True)
    (folder / "chunks").mkdir()
    effect = {
        "type": "effect",
        "detail": {"kind": "subagent", "toolName": "agents.spawn", "childSessionId": "child-abc"},
    }
    entries = [
        {
            "type": "message",
            "role": "user",
            "id": f"u{n}",
            "source": "turn_start",
            "content": [{"type": "text", "text": "go"}],
        }
        for n in range(2)
    ]
    for file, value in {
        "CURRENT": {"generation": "1"},
        "generations/1/manifest.json": {"projection_state": {"chunks": ["b" * 64]}},
        f"chunks/{'b' * 64}.json": [entries[0], effect, entries[1], effect],
    }.items():
        (folder / file).write_text(json.dumps(value), encoding="utf-8")
    turns = vibe.open_session(vibe.at(folder / "CURRENT")).turns()
    assert len(turns) == 2 and not any(turn.outside for turn in turns)
    fetch = {"type": "effect", "detail": {"kind": "tool", "toolName": "web_fetch", "input": {}}}
    (folder / "chunks" / f"{'b' * 64}.json").write_text(
        json.dumps([entries[0], effect, fetch]), encoding="utf-8"
    )
    assert vibe.open_session(vibe.at(folder / "CURRENT")).turns()[0].outside


def vibe_session(folder: Path, entries: list[dict], journal: list[dict], ended: dict) -> Path:
    (folder / "generations" / "1").mkdir(parents=True)
    for name in ("chunks", "journal"):
        (folder / name).mkdir()
    for file, value in {
        "CURRENT": {"generation": "1", "snapshot_sequence": 5},
        "meta.json": {"session_id": folder.name},
        "generations/1/manifest.json": {
            "projection_state": {"chunks": ["c" * 64]},
            "recovery_journal_segment": {"path": "journal/6.jsonl"},
        },
        "generations/1/projection-state.json": {"snapshot": {"latestTurn": ended}},
        f"chunks/{'c' * 64}.json": entries,
    }.items():
        (folder / file).write_text(json.dumps(value), encoding="utf-8")
    lines = [
        {"type": "projection_delta", "sequence": 5 + n, "payload": {"delta": [change]}}
        for n, change in enumerate(journal)
    ]
    (folder / "journal" / "6.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    return folder / "CURRENT"


def vibe_said(name: str, text: str, role: str = "user") -> dict:
    more = {"source": "turn_start"} if role == "user" else {"inputEntryId": "u"}
    return {
        "type": "message",
        "role": role,
        "id": name,
        "content": [{"type": "text", "text": text}],
        **more,
    }


def test_what_vibe_wrote_since_its_last_generation_is_in_the_journal(tmp_path):
    journal = [
        {"op": "append_entry", "entry": vibe_said("old", "of before the snapshot")},
        {"op": "append_entry", "entry": vibe_said("u2", "second")},
        {"op": "append_entry", "entry": vibe_said("a2", "Half", "assistant")},
        {
            "op": "replace_entry",
            "id": "a2",
            "entry": vibe_said("a2", "Half an answer", "assistant"),
        },
        {"op": "append_entry", "entry": vibe_said("u3", "taken back")},
        {"op": "remove_entry", "id": "u3"},
        {
            "op": "set_envelope",
            "state": {"latestTurn": {"status": "failed", "error": {"message": "400 refused"}}},
        },
    ]
    first = [vibe_said("u1", "first"), vibe_said("a1", "One.", "assistant")]
    file = vibe_session(tmp_path / "unified" / "s-1", first, journal, {"status": "completed"})
    turns = vibe.open_session(vibe.at(file)).turns()
    assert [(t.turn, t.user, t.assistant, t.status) for t in turns] == [
        ("u1", "first", "One.", "done"),
        ("u2", "second", "Half an answer\n\n400 refused", "failed"),
    ]
    # and it is looked at again when only that has grown
    (before,) = vibe.sessions(tmp_path, [])
    with (file.parent / "journal" / "6.jsonl").open("a") as out:
        out.write("{}\n")
    os.utime(file.parent / "journal" / "6.jsonl", (before.modified + 60, before.modified + 60))
    (after,) = vibe.sessions(tmp_path, [])
    assert after.size > before.size and after.modified > before.modified
