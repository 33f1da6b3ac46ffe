"""Turns that a person took back and sent anew: which turn was sent in their place."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.gemini.reader import Reader as Gemini
from memsearch_engine.agents.kilo.reader import Reader as Kilo
from memsearch_engine.agents.kimi.reader import Reader as Kimi
from memsearch_engine.agents.openclaw.reader import Reader as OpenClaw
from memsearch_engine.agents.pi.reader import Reader as Pi
from memsearch_engine.agents.qwen.reader import Reader as Qwen
from memsearch_engine.agents.transcripts import jsonl

from tests.transcripts.test_claude_turns import answer, line, user

claude_code = ClaudeCode()
codex = Codex()


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def of_claude(tmp_path, *rows, cache=None):
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return claude_code.open_session(claude_code.at(file), cache)


def replaced(session) -> dict[str, str]:
    """What was asked in turns that were replaced -> what was asked in their place."""
    turns = list(session.each())
    asked = {turn.turn: turn.user for turn in turns}
    found = {turn.user: asked[turn.replaced_by] for turn in turns if turn.replaced_by}
    assert found == {asked[older]: turn.user for turn in turns for older in turn.replaces}
    return found


def conversation(*said: tuple[int, str, int]) -> list[dict]:
    """A prompt and its answer each. *said*: the prompt's number (the answer has the next one),
    text, the line that it follows.
    """
    rows = [line(90, "system", "started", parentUuid=None)]
    for number, text, parent in said:
        rows += [
            user(number, text, parentUuid=uuid(parent)),
            answer(number + 1, "ok", parentUuid=uuid(number)),
        ]
    return rows


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([(1, "a", 90), (3, "b", 2), (5, "c", 4)], {}),
        ([(1, "a", 90), (3, "b", 2), (5, "B", 2)], {"b": "B"}),
        ([(1, "a", 90), (3, "b", 2), (5, "c", 4), (7, "B", 2), (9, "d", 8)], {"b": "B", "c": "B"}),
        ([(1, "a", 90), (3, "b", 2), (5, "B", 2), (7, "B2", 2)], {"b": "B", "B": "B2"}),
        ([(1, "a", 90), (3, "b", 2), (5, "A", 90)], {"a": "A", "b": "A"}),
        ([(1, "a", 90), (3, "b", 2), (5, "c", 77)], {}),  # nobody knows what it follows
        (
            [(1, "a", 90), (3, "b", 2), (5, "B", 2), (7, "c", 4)],
            {},
        ),  # two go on with one session: both are there
    ],
)
def test_claude_code_s_prompt_that_follows_an_earlier_line_replaces_what_came_after(
    tmp_path, said, expected
):
    assert replaced(of_claude(tmp_path, *conversation(*said))) == expected


def test_a_first_prompt_that_was_edited_replaces_all_turns(tmp_path):
    first, *rest = conversation((1, "a", 90), (3, "b", 2), (5, "A", 90), (7, "c", 6))[1:]
    rows = [{**first, "parentUuid": None}, *rest]
    rows[4] = {**rows[4], "parentUuid": None}
    assert replaced(of_claude(tmp_path, *rows)) == {"a": "A", "b": "A"}
    unlinked = [{**row, "parentUuid": None} for row in rows]  # nobody knows what they follow
    assert replaced(of_claude(tmp_path, *unlinked)) == {}


def test_an_edited_first_prompt_is_found_behind_a_hook_s_line_and_lines_without_an_id(tmp_path):
    rows = conversation((1, "a", 90), (3, "b", 2), (5, "A", 90))
    rows[5] = {**rows[5], "parentUuid": None}
    assert replaced(of_claude(tmp_path, *rows)) == {"a": "A", "b": "A"}
    rows.insert(5, {"type": "file-history-snapshot", "snapshot": {}})
    assert replaced(of_claude(tmp_path, *rows)) == {"a": "A", "b": "A"}


@pytest.mark.parametrize("parent", [None, uuid(21)])
@pytest.mark.parametrize("caveat", [False, True])
def test_a_local_command_before_an_edited_first_prompt_hides_nothing(tmp_path, parent, caveat):
    rows = conversation((1, "a", 90), (3, "b", 2))
    command = "<command-name>/model</command-name>"
    if caveat:
        text = "<local-command-caveat>It was run directly</local-command-caveat>"
        rows.append(user(19, text, isMeta=True, parentUuid=None))
    rows += [
        user(20, command, parentUuid=uuid(19) if caveat else None),
        user(21, "<local-command-stdout>Set</local-command-stdout>", parentUuid=uuid(20)),
        user(22, "A", parentUuid=parent),
    ]
    assert replaced(of_claude(tmp_path, *rows)) == {"a": "A", "b": "A"}


def test_only_what_a_person_typed_replaces_a_turn(tmp_path):
    rows = conversation((1, "a", 90), (3, "b", 2))
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
    for number, more in enumerate(
        ({"isMeta": True}, {"isSidechain": True}, {"isCompactSummary": True})
    ):
        rows.append(user(20 + number, "not the person's", parentUuid=uuid(2), **more))
    rows.append(user(30, result, parentUuid=uuid(2)))
    assert replaced(of_claude(tmp_path, *rows)) == {}


def test_a_rewind_is_found_also_by_an_index_that_is_read_on(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    rows = [
        line(80, "system", "x" * jsonl._HEAD),
        *conversation((1, "a", 90), (3, "b", 2), (5, "B", 2)),
    ]
    assert replaced(of_claude(tmp_path, *rows, cache=tmp_path / "cache")) == {"b": "B"}
    rows += conversation((7, "c", 6), (9, "C", 6))[1:]
    for _ in range(2):
        assert replaced(of_claude(tmp_path, *rows, cache=tmp_path / "cache")) == {
            "b": "B",
            "c": "C",
        }


def test_a_local_command_or_an_attachment_between_the_rewind_and_the_prompt_hides_nothing(tmp_path):
    model = "<command-name>/model</command-name>\n<command-args></command-args>"
    rows = conversation((1, "a", 90), (3, "b", 2))
    rows += [
        user(20, model, parentUuid=uuid(2)),
        user(21, "<local-command-stdout>Set</local-command-stdout>", parentUuid=uuid(20)),
        line(22, "attachment", "x", parentUuid=uuid(21)),
        *conversation((5, "B", 22))[1:],
    ]
    assert replaced(of_claude(tmp_path, *rows)) == {"b": "B"}


def test_a_file_that_a_rewind_wrote_again_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    file = tmp_path / "s" / "events.jsonl"
    file.parent.mkdir()

    def asked(*prompts: str) -> list[str]:
        data = {"sessionId": "s", "context": {}, "padding": "x" * jsonl._HEAD}
        rows = [{"type": "session.start", "parentId": None, "data": data}]
        for text in prompts:
            data = {"content": text, "messageId": text[:1]}
            rows.append({"type": "user.message", "timestamp": stamp(1), "data": data})
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))  # the same inode
        session = Copilot().open_session(Copilot().at(file), tmp_path / "cache")
        return [turn.user for turn in session.each()]

    for prompts in (["a", "b", "c"], ["a", "B" * 999], ["a", "B" * 999, "d"]):
        assert asked(*prompts) == prompts


@pytest.mark.parametrize("with_tasks", [True, False])
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["a", "b", 1, "B"], {"b": "B"}),
        (["a", "b", "c", 2, "B", "d"], {"b": "B", "c": "B"}),
        (["a", "b", 1, "B", 1, "B2"], {"b": "B", "B": "B2"}),
        (["a", "b", 1, "B", 2, "A"], {"b": "B", "a": "A", "B": "A"}),
        (["a", "b", 1, 1, "A"], {"a": "A", "b": "A"}),
        (["a", "b", 9, "A"], {"a": "A", "b": "A"}),
        (["a", "b", 1], {}),  # nothing was sent in its place yet
        (["a", 0, "b", "x", "c"], {}),
    ],
)
def test_codex_turns_that_were_rolled_back_are_replaced_by_the_next(
    tmp_path, said, expected, with_tasks
):
    events: list[dict] = [{"type": "task_complete"}]
    for number, what in enumerate(said):
        if isinstance(what, int) or what == "x":
            events.append({"type": "thread_rolled_back", "num_turns": what})
            continue
        events += [{"type": "task_started", "turn_id": f"turn-{number}"}] * with_tasks
        events += [
            {"type": "user_message", "message": what},
            {"type": "agent_message", "message": "ok"},
        ]
    file = tmp_path / "rollout-x-01920000-aaaa-7bbb-8ccc-00000000000a.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {
                    "timestamp": f"2026-11-20T10:00:{number:02d}Z",
                    "type": "event_msg",
                    "payload": payload,
                }
            )
            + "\n"
            for number, payload in enumerate(events)
        )
    )
    assert replaced(codex.open_session(codex.at(file))) == expected


def test_turns_that_codex_rolled_back_are_counted_once_by_an_index_that_is_read_on(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    file = tmp_path / "rollout-x.jsonl"
    rows: list[dict] = [{"type": "session_meta", "payload": {"id": "s", "x": "x" * jsonl._HEAD}}]
    for number, what in enumerate(["a", "b", "c", 1, "C"]):
        back = {"type": "thread_rolled_back", "num_turns": what}
        payload = {"type": "user_message", "message": what} if isinstance(what, str) else back
        rows.append({"timestamp": stamp(number), "type": "event_msg", "payload": payload})
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        session = codex.open_session(codex.at(file), tmp_path / "cache")
    assert replaced(session) == {"c": "C"}


#: Prompts, each after the prompt before it; ``("back", n)``: a rewind to before the n-th prompt.
_REWINDS = [
    (["a", "b", "c"], {}),
    (["a", "b", ("back", 1), "B"], {"b": "B"}),
    (["a", "b", "c", ("back", 1), "B", "d"], {"b": "B", "c": "B"}),
    (["a", "b", ("back", 1), "B", ("back", 1), "B2"], {"b": "B", "B": "B2"}),
    (["a", "b", ("back", 0), "A", "d"], {"a": "A", "b": "A"}),
    (["a", "b", ("back", 1)], {}),  # nothing was sent in its place yet
]


def stamp(number: int) -> str:
    return f"2026-11-20T10:00:{number:02}.000Z"


def of_pi(said) -> tuple[str, list[dict]]:
    rows: list[dict] = [
        {"type": "session", "version": 3, "id": "s", "timestamp": stamp(0), "cwd": "/proj"},
        {"type": "model_change", "id": "00000001", "parentId": None, "timestamp": stamp(0)},
    ]
    before: list[str | None] = []

    def add(kind: str, parent: str | None, **more) -> str:
        own = f"{len(rows):08x}"
        more |= {"id": own, "parentId": parent, "timestamp": stamp(len(rows))}
        rows.append({"type": kind, **more})
        return own

    leaf: str | None = "00000001"
    for what in said:
        if isinstance(what, tuple):
            back = before[what[1]]
            leaf = add("branch_summary", None if back == "00000001" else back, summary="left")
            continue
        before.append(leaf)
        leaf = add("message", leaf, message={"role": "user", "content": what})
        answered = {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}
        leaf = add("message", leaf, message=answered)
    return f"2026-11-20T10-00-00-000Z_{uuid(1)}.jsonl", rows


def of_qwen(said) -> tuple[str, list[dict]]:
    rows: list[dict] = []
    before: list[str | None] = []
    leaf: str | None = None

    def add(kind: str, parent: str | None, **more) -> str:
        own = uuid(len(rows) + 1)
        more |= {"uuid": own, "parentUuid": parent, "timestamp": stamp(len(rows))}
        rows.append({"type": kind, "sessionId": "s", "cwd": "/proj", **more})
        return own

    for what in said:
        if isinstance(what, tuple):
            leaf = add("system", before[what[1]], subtype="rewind", systemPayload={})
            leaf = add("system", leaf, subtype="session_model", systemPayload={})
            continue
        before.append(leaf)
        words = {"role": "user", "parts": [{"text": what}]}
        leaf = add("user", leaf, provenance="real_user", message=words)
        answered = {"role": "model", "parts": [{"text": "ok"}]}
        leaf = add("assistant", leaf, message=answered, usageMetadata={})
    return "s.jsonl", rows


def of_gemini(said) -> tuple[str, list[dict]]:
    rows: list[dict] = [{"sessionId": "s", "projectHash": "x", "startTime": stamp(0)}]
    asked: list[str] = []
    for what in said:
        if isinstance(what, tuple):
            rows.append({"$rewindTo": asked[what[1]]})
            continue
        asked.append(uuid(len(rows)))
        for name, kind, text in (
            (asked[-1], "user", what),
            (uuid(900 + len(rows)), "gemini", "ok"),
        ):
            row = {"id": name, "type": kind, "content": text, "timestamp": stamp(len(rows))}
            rows.append(row)
    return "session-2026-11-20T10-00-00000000.jsonl", rows


def of_kimi(said) -> tuple[str, list[dict]]:
    rows: list[dict] = [{"type": "metadata", "protocol_version": "1.5"}]
    path: list[str] = []
    for what in said:
        if isinstance(what, tuple):
            rows.append({"type": "context.undo", "count": len(path) - what[1]})
            del path[what[1] :]
            continue
        path.append(what)
        words = [{"type": "text", "text": what}]
        more = {"origin": {"kind": "user"}, "promptId": uuid(len(rows)), "time": 1795601880181}
        rows += [
            {"type": "turn.prompt", "input": words, **more},
            {"type": "turn.ended", "reason": "completed"},
        ]
    return "wire.jsonl", rows


def of_codex(said) -> tuple[str, list[dict]]:
    events: list[dict] = []
    path: list[str] = []
    for what in said:
        if isinstance(what, tuple):
            rolled_back = {"type": "thread_rolled_back", "num_turns": len(path) - what[1]}
            events.append(rolled_back)
            del path[what[1] :]
            continue
        path.append(what)
        events += [
            {"type": "task_started", "turn_id": uuid(len(events))},
            {"type": "user_message", "message": what},
            {"type": "task_complete", "last_agent_message": "ok"},
        ]
    rows = [
        {"timestamp": stamp(number), "type": "event_msg", "payload": payload}
        for number, payload in enumerate(events)
    ]
    meta = {"type": "session_meta", "payload": {"id": uuid(1), "cwd": "/proj"}}
    return f"rollout-x-{uuid(1)}.jsonl", [meta, *rows]


def of_openclaw(said) -> tuple[str, list[dict]]:
    rows: list[dict] = [
        {"type": "session", "version": 4, "id": "s", "timestamp": stamp(0), "cwd": "/proj"}
    ]
    before: list[str | None] = []

    def add(kind: str, parent: str | None, **more) -> str:
        own = uuid(len(rows) + 1)
        more |= {"id": own, "parentId": parent, "timestamp": stamp(len(rows))}
        rows.append({"type": kind, **more})
        return own

    leaf: str | None = None
    for what in said:
        if isinstance(what, tuple):
            add("leaf", leaf, targetId=before[what[1]])
            leaf = before[what[1]]
            continue
        before.append(leaf)
        leaf = add("message", leaf, message={"role": "user", "content": what})
        answered = {"role": "assistant", "content": "ok", "stopReason": "stop"}
        leaf = add("message", leaf, message=answered)
        rows.append({"type": "custom", "id": f"side-{len(rows)}", "appendMode": "side"})
        leaf = add("custom", leaf)
    return "s.jsonl", rows


def in_openclaw_s_database(folder: Path, rows: list[dict], session: str = "s") -> Path:
    """A copy of the recorded database with one more session."""
    samples = Path(__file__).parents[1] / "samples" / "openclaw"
    file = folder / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        shutil.copy(samples / file.name, file)
    with sqlite3.connect(file) as db:
        db.create_function("octet_length", 1, lambda text: len(text or ""), deterministic=True)
        db.execute("PRAGMA foreign_keys=OFF")
        key = db.execute("SELECT session_key FROM session_windows").fetchone()[0]
        windows = "INSERT INTO session_windows (session_id, session_key, created_at, updated_at)"
        db.execute(f"{windows} VALUES (?, ?, 9e12, 9e12)", (session, key))
        events = "INSERT INTO transcript_events (session_id, seq, event_json, created_at)"
        for seq, row in enumerate(rows):
            db.execute(f"{events} VALUES (?, ?, ?, 9000000000000)", (session, seq, json.dumps(row)))
    db.close()
    return file


@pytest.mark.parametrize(("said", "expected"), _REWINDS)
def test_a_rewind_in_openclaw_s_database_is_found(tmp_path, said, expected):
    reader = OpenClaw()
    file = in_openclaw_s_database(tmp_path, of_openclaw(said)[1])
    assert replaced(reader.open_session(reader.at(file, "s"))) == expected


def test_no_recorded_turn_of_openclaw_is_replaced():
    file = Path(__file__).parents[1] / "samples" / "openclaw" / "openclaw-agent.sqlite"
    reader, failed = OpenClaw(), []
    sessions = list(reader.sessions(file.parents[1], failed)) or [reader.at(file)]
    assert all(replaced(reader.open_session(where)) == {} for where in sessions)


@pytest.mark.parametrize(("said", "expected"), _REWINDS)
@pytest.mark.parametrize(
    ("reader", "written"),
    [
        (Pi(), of_pi),
        (Qwen(), of_qwen),
        (Gemini(), of_gemini),
        (OpenClaw(), of_openclaw),
        (Kimi(), of_kimi),
    ],
)
def test_turns_that_a_rewind_left_are_replaced_by_the_next(
    tmp_path, reader, written, said, expected
):
    name, rows = written(said)
    file = tmp_path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert replaced(reader.open_session(reader.at(file))) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["a", "b", ("back", 1)], ["b"]),
        (["a", "b", "c", ("back", 1)], ["b", "c"]),
        (["a", ("back", 0)], ["a"]),
        (["a", "b", ("back", 1), "B"], []),
        (["a", "b"], []),
    ],
)
@pytest.mark.parametrize(
    ("reader", "written"),
    [
        (Pi(), of_pi),
        (Qwen(), of_qwen),
        (Gemini(), of_gemini),
        (OpenClaw(), of_openclaw),
        (Kimi(), of_kimi),
        (codex, of_codex),
    ],
)
def test_turns_that_were_taken_back_are_known_although_nothing_follows(
    tmp_path, monkeypatch, reader, written, said, expected
):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    name, rows = written(said)
    file, cache = tmp_path / name, tmp_path / "cache"
    for end in range(1, len(rows) + 1):  # the index of turns is written on
        file.write_text("".join(json.dumps(row) + "\n" for row in rows[:end]))
        reader.open_session(reader.at(file), cache)
    session = reader.open_session(reader.at(file), cache)
    turns = list(session.each())
    assert [turn.user for turn in turns if turn.taken_back] == expected
    assert [turns[place].user for place in session.taken_back()] == expected
    assert not any(turn.taken_back and turn.replaced_by for turn in turns)


def test_a_turn_that_the_person_returned_to_is_not_taken_back(tmp_path):
    name, rows = of_pi(["a", "b", ("back", 1)])
    left, back = rows[-2:]
    file = tmp_path / name
    rows.append(back | {"id": "0000ffff", "parentId": left["id"]})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert Pi().open_session(Pi().at(file)).taken_back() == []


@pytest.mark.parametrize("said", [["a", "b", ("back", 1)], ["a", "b", ("back", 1), "B"]])
def test_turns_that_were_taken_back_are_known_in_openclaw_s_database(tmp_path, said):
    reader = OpenClaw()
    file = in_openclaw_s_database(tmp_path, of_openclaw(said)[1])
    session = reader.open_session(reader.at(file, "s"))
    assert session.taken_back() == ([1] if len(said) == 3 else [])


@pytest.mark.parametrize(
    ("revert", "kept"),
    [
        ("", 5),  # as Kilo wrote it
        ({"messageID": "msg_21235331700104sqcEAMnMIg7X"}, 0),
        # a part of an answer; a context compaction
        ({"messageID": "msg_2123536c3001HJGDmW4HCiP1Lk", "partID": "p"}, 1),
        ({"messageID": "msg_212354b33001QTMBRd6ZWeXdpJ"}, 3),
        ({"messageID": "unknown"}, 6),
        ({"messageID": 5}, 6),
        ([], 6),
        (None, 6),
    ],
)
def test_turns_that_kilo_s_undo_took_back_are_known(tmp_path, revert, kept):
    samples, file = Path(__file__).parents[1] / "samples", tmp_path / "kilo.db"
    shutil.copy(samples / "kilo" / "kilo.db", file)
    if revert != "":
        with sqlite3.connect(file) as db:
            db.execute("UPDATE session SET revert=?", (json.dumps(revert),))
        db.close()
    session = Kilo().open_session(Kilo().at(file, "ses_dedcad5bbffeMQAqLHRwyqGbfv"))
    assert session.taken_back() == list(range(kept, 6))
    assert [turn.taken_back for turn in session.each()] == [place >= kept for place in range(6)]
