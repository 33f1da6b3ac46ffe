"""Codex's sessions: turns, sub-agents, outside content, versions."""

from __future__ import annotations

import json
from pathlib import Path

import zstandard
from memsearch_engine.actions import work
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.transcripts.model import Conversation

codex = Codex()

SAMPLES = Path(__file__).parent.parent / "samples"


def test_a_compressed_rollout_reads_like_the_plain_one(tmp_path):
    plain = next((SAMPLES / "codex").glob("01*.jsonl"))
    packed = tmp_path / "rollout-2026-11-21T20-31-52-01a1ffce-e968-7731-882d-a909fd6e2d46.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    one, other = (locate.open_session(locate.recognise(str(path))) for path in (plain, packed))
    assert one.turns() == other.turns() and other.turns(1, 2) == one.turns()[1:2]
    assert other.where.session == "01a1ffce-e968-7731-882d-a909fd6e2d46"


def rollout(tmp_path, *lines: dict, meta: dict | None = None) -> Conversation:
    file = tmp_path / "rollout-x.jsonl"
    first = {
        "type": "session_meta",
        "payload": {"id": "t", "cwd": "/p", "source": "cli", **(meta or {})},
    }
    file.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)))
    return codex.open_session(codex.at(file))


def event(kind: str, **payload) -> dict:
    return {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "event_msg",
        "payload": {"type": kind, **payload},
    }


def test_a_command_that_the_person_refused_has_failed(tmp_path):
    refused = "exec command rejected by user"
    head = "Wall time: 1 seconds\nProcess exited with code"
    printed = f"{head} 0\nOutput:\n{refused}", f"{head} 1\nOutput:\n{refused}"
    outputs = refused, *printed, *printed
    calls: list[dict] = []
    for number, output in enumerate(outputs):
        call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "rm x"}'}
        result = {"type": "function_call_output", "output": output}
        for payload in (call, result):
            calls.append({"type": "response_item", "payload": {**payload, "call_id": str(number)}})
    shown = [
        event(
            "item_completed",
            item={
                "type": "CommandExecution",
                "id": name,
                "aggregated_output": refused,
                "exit_code": code,
            },
        )
        for name, code in (("0", -1), ("3", 0), ("4", 2))
    ]
    (turn,) = rollout(tmp_path, event("user_message", message="go"), *calls, *shown).turns()
    assert [call.failed for call in turn.tools] == [True, False, True, False, True]
    assert [work.refusal(call) for call in turn.tools] == ["", None, None, None, None]


def test_codex_an_aborted_turn_is_interrupted_and_a_compaction_is_none(tmp_path):
    said = rollout(
        tmp_path,
        event("task_started", turn_id="a"),
        event("user_message", message="go"),
        event("agent_message", message="so far"),
        event("turn_aborted", turn_id="a", reason="interrupted"),
        event("task_started", turn_id="compact"),
        {"type": "compacted", "payload": {}},
        event("task_complete", turn_id="compact"),
        event("task_started", turn_id="b"),
        event("user_message", message="again"),
        event("user_message", message="and this"),
        event("agent_message", message="done"),
        event("task_complete", turn_id="b"),
    )
    assert said.ids == ["a", "b"]
    first, second = said.turns()
    assert (first.status, first.assistant) == ("interrupted", "so far")
    assert (second.user, second.status) == ("again\n\nand this", "done")


def test_codex_a_sub_agents_rollout_names_its_parent(tmp_path):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "mother"}}}
    assert rollout(tmp_path, meta={"source": source}).parent == "mother"
    assert (
        rollout(tmp_path, meta={"thread_source": "subagent", "parent_thread_id": "m2"}).parent
        == "m2"
    )
    assert rollout(tmp_path).parent == ""


def test_codex_web_search_and_mcp_are_outside_content(tmp_path):
    call = {
        "type": "response_item",
        "payload": {"type": "web_search_call", "id": "w", "action": {"query": "q"}},
    }
    said = rollout(
        tmp_path, event("task_started", turn_id="a"), event("user_message", message="look"), call
    )
    assert said.turns()[0].outside and said.turns()[0].tools[0].name == "web_search"


def test_codex_versions_without_turn_ids_still_have_turns(tmp_path):
    said = rollout(
        tmp_path,
        event("user_message", message="one"),
        event("agent_message", message="1"),
        {**event("user_message", message="two"), "timestamp": "2026-01-01T00:00:05Z"},
        event("agent_message", message="2"),
    )
    assert said.ids == ["t:2026-01-01T00:00:00Z", "t:2026-01-01T00:00:05Z"] and [
        t.user for t in said.turns()
    ] == [
        "one",
        "two",
    ]
    assert said.turns(1, 2)[0].assistant == "2"
