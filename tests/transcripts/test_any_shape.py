"""Readers of lines, records, rows, folders and documents of any shape."""

from __future__ import annotations

import json
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.cline.reader import Reader as Cline
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.gemini.reader import Reader as Gemini
from memsearch_engine.agents.kimi.reader import Reader as Kimi
from memsearch_engine.agents.openclaw.reader import Reader as Openclaw
from memsearch_engine.agents.opencode.reader import Reader as Opencode
from memsearch_engine.agents.pi.reader import Reader as Pi
from memsearch_engine.agents.qwen.reader import Reader as Qwen
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.vibe.reader import Reader as Vibe
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import AgentFolders

claude_code = ClaudeCode()
cline = Cline()
codex = Codex()
copilot = Copilot()
gemini = Gemini()
kimi = Kimi()
openclaw = Openclaw()
opencode = Opencode()
pi = Pi()
qwen = Qwen()
vibe = Vibe()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "message",
                    "content",
                    "text",
                    "id",
                    "input",
                    "item",
                    "payload",
                    "role",
                    "turn_id",
                    "call_id",
                    "arguments",
                    "output",
                    "name",
                    "error",
                    "source",
                    "state",
                    "time",
                    "parentID",
                    "provenance",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=14,
)


_KINDS = [
    "user",
    "assistant",
    "event_msg",
    "response_item",
    "session_meta",
    "turn_context",
    "message",
    "session",
    "task_started",
    "task_complete",
    "item_completed",
    "user_message",
    "function_call",
    "function_call_output",
    "tool",
    "text",
    3,
]


_OBJECT = st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS)},
    optional={
        "payload": st.fixed_dictionaries(
            {"type": st.sampled_from(_KINDS)},
            optional={
                "item": _JSON,
                "output": _JSON,
                "error": _JSON,
                "message": _JSON,
                "turn_id": _JSON,
            },
        )
        | _JSON,
        "message": _JSON,
        "timestamp": _JSON,
        "id": _JSON,
        "promptId": _JSON,
        "sessionId": _JSON,
        "cwd": _JSON,
    },
)


@settings(max_examples=400)
@given(lines=st.lists(_OBJECT | _JSON, max_size=8), cut=st.integers(0, 40))
@pytest.mark.slow
def test_no_shape_of_line_is_fatal(tmp_path_factory, lines, cut):
    data = "\n".join(json.dumps(line) for line in lines).encode()
    file = tmp_path_factory.mktemp("fuzz") / "rollout-f.jsonl"
    file.write_bytes(data[: len(data) - cut] if cut else data)
    for reader in (claude_code, codex, openclaw):
        conversation = reader.open_session(reader.at(file))
        turns = conversation.turns()
        assert len(turns) == len(conversation.ids)
        for turn in turns:
            assert all(
                isinstance(v, str)
                for v in (
                    turn.session,
                    turn.turn,
                    turn.user,
                    turn.assistant,
                    turn.cwd,
                    turn.started,
                )
            )
        assert list(conversation.each()) == turns


_WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "gemini",
        "info",
        "tool_result",
        "system",
        "ui_telemetry",
        "qwen-code.api_error",
        "real_user",
        "slash_command",
        "success",
        "shell_result",
        "run_shell_command",
        "<state_snapshot>x",
        "hello there",
        "subagent",
        "message",
        "toolResult",
        "session",
        "text",
        "toolCall",
        "error",
        "stop",
        "user.message",
        "assistant.message",
        "tool.execution_complete",
        "session.error",
        "session.start",
        "abort",
    ]
)


_PARTS = st.recursive(
    st.none() | st.integers() | _WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "parts",
                    "text",
                    "thought",
                    "functionCall",
                    "functionResponse",
                    "response",
                    "output",
                    "error",
                    "id",
                    "name",
                    "args",
                    "messages",
                    "content",
                    "uiEvent",
                    "event.name",
                    "prompt_id",
                    "hookContext",
                    "displayText",
                    "phase",
                    "rawCommand",
                    "sentToModel",
                    "status",
                    "resultDisplay",
                    "exitCode",
                    "fileDiff",
                    "result",
                    "role",
                    "toolCallId",
                    "arguments",
                    "stopReason",
                    "errorMessage",
                    "timestamp",
                    "type",
                    "messageId",
                    "toolRequests",
                    "delivery",
                    "source",
                    "context",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=14,
)


_RECORD = st.fixed_dictionaries(
    {},
    optional={
        "type": _WORDS | _PARTS,
        "subtype": _WORDS,
        "provenance": _WORDS,
        "uuid": _PARTS,
        "id": _PARTS,
        "sessionId": _PARTS,
        "kind": _WORDS,
        "timestamp": _PARTS,
        "message": _PARTS,
        "content": _PARTS,
        "displayContent": _PARTS,
        "toolCalls": _PARTS,
        "$set": _PARTS,
        "$rewindTo": _PARTS,
        "systemPayload": _PARTS,
        "toolCallResult": _PARTS,
        "usageMetadata": _PARTS,
        "cwd": _PARTS,
        "isSidechain": _PARTS,
        "data": _PARTS,
        "agentId": _PARTS,
    },
)


@settings(max_examples=400)
@given(lines=st.lists(_RECORD | _PARTS, max_size=8), cut=st.integers(0, 40))
@pytest.mark.slow
def test_no_shape_of_record_is_fatal(tmp_path_factory, lines, cut):
    data = "\n".join(json.dumps(line) for line in lines).encode()
    file = tmp_path_factory.mktemp("fuzz") / "session-f.jsonl"
    file.write_bytes(data[: len(data) - cut] if cut else data)
    for reader in (qwen, gemini):
        conversation = reader.open_session(reader.at(file))
        turns = conversation.turns()
        assert len(turns) == len(conversation.ids)
        for turn in turns:
            values = (
                turn.session,
                turn.turn,
                turn.user,
                turn.assistant,
                turn.cwd,
                turn.started,
                turn.ended,
            )
            assert all(isinstance(value, str) for value in values)
            assert all(
                isinstance(value, str)
                for tool in turn.tools
                for value in (tool.name, tool.input, tool.output)
            )
        assert list(conversation.each()) == turns


@settings(max_examples=150)
@given(
    messages=st.lists(
        st.tuples(
            st.sampled_from(["user", "assistant", None]),
            _JSON,
            st.lists(_OBJECT | _JSON, max_size=3),
        ),
        max_size=5,
    )
)
@pytest.mark.slow
def test_no_shape_of_row_is_fatal(tmp_path_factory, messages):
    path = tmp_path_factory.mktemp("fuzz") / "opencode.db"
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE session(id, parent_id, directory, version, time_created, time_updated);"
        "CREATE TABLE message(id, session_id, time_created, data); "
        "CREATE TABLE part(id, message_id, data);"
        "INSERT INTO session VALUES ('s', NULL, 3, x'00', 1, 1);"
    )
    for number, (role, data, parts) in enumerate(messages):
        value = {**(data if isinstance(data, dict) else {}), "role": role, "parentID": "m0"}
        db.execute(
            "INSERT INTO message VALUES (?,?,?,?)", (f"m{number}", "s", number, json.dumps(value))
        )
        for place, part in enumerate(parts):
            db.execute(
                "INSERT INTO part VALUES (?,?,?)",
                (f"{number}.{place}", f"m{number}", json.dumps(part)),
            )
    db.commit()
    conversation = opencode.open_session(opencode.at(path))
    assert len(conversation.turns()) == len(conversation.ids)


@settings(max_examples=300)
@given(path=st.text(max_size=60), session=st.text(max_size=40), turn=st.text(max_size=20))
@pytest.mark.slow
def test_no_anchor_leads_out_of_the_agents_folders(tmp_path_factory, path, session, turn):
    base = tmp_path_factory.mktemp("a")
    folders = AgentFolders({agent: [base / agent] for agent in agent_registry.names()})
    for agent in agent_registry.names():
        (base / agent).mkdir()
        assert locate.find_session(agent, session, path, folders) is None
        assert locate.find_session(agent, session, f"{base}/{agent}/../../{path}", folders) is None


_ODD = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.none(), max_size=2)
)


_PI_ROLE = st.sampled_from(["user", "assistant", "toolResult", "system"]) | _ODD


_PI_BLOCK = (
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["text", "toolCall", "image"]) | _ODD,
            "text": _ODD,
            "id": _ODD,
            "name": _ODD,
            "arguments": _ODD,
        }
    )
    | _ODD
)


_PI_LINE = st.fixed_dictionaries(
    {
        "type": st.just("message"),
        "id": _ODD,
        "timestamp": st.just("2026-11-25T09:30:00.000Z") | _ODD,
        "message": st.fixed_dictionaries(
            {
                "role": _PI_ROLE,
                "content": st.lists(_PI_BLOCK, max_size=3) | _ODD,
                "timestamp": _ODD,
                "stopReason": _ODD,
                "errorMessage": _ODD,
                "toolCallId": _ODD,
            }
        )
        | _ODD,
    }
)


_COPILOT_LINE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "user.message",
                "assistant.message",
                "tool.execution_start",
                "tool.execution_complete",
                "session.error",
                "abort",
                "session.start",
            ]
        )
        | _ODD,
        "timestamp": _ODD,
        "agentId": st.none() | _ODD,
        "data": st.dictionaries(
            st.sampled_from(
                [
                    "content",
                    "messageId",
                    "delivery",
                    "source",
                    "toolRequests",
                    "toolCallId",
                    "result",
                    "error",
                    "shellExecution",
                    "attachments",
                    "context",
                    "sessionId",
                    "mcpServerName",
                    "arguments",
                    "message",
                ]
            ),
            _ODD,
            max_size=6,
        )
        | _ODD,
    }
)


_KIMI_LINE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["turn.prompt", "context.append_message", "context.append_loop_event", "turn.ended"]
        )
        | _ODD,
        "time": _ODD,
        "promptId": _ODD,
        "input": st.lists(_PI_BLOCK, max_size=2) | _ODD,
        "reason": st.sampled_from(["completed", "failed"]) | _ODD,
        "error": _ODD,
        "origin": st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["user", "skill_activation"]) | _ODD,
                "trigger": st.just("user-slash") | _ODD,
                "skillName": _ODD,
                "skillArgs": _ODD,
                "inTurn": _ODD,
            }
        )
        | _ODD,
        "message": st.fixed_dictionaries(
            {
                "origin": st.just({"kind": "user", "inTurn": True}) | _ODD,
                "content": st.lists(_PI_BLOCK, max_size=2) | _ODD,
            }
        )
        | _ODD,
        "event": st.fixed_dictionaries(
            {
                "type": st.sampled_from(["content.part", "tool.call", "tool.result"]) | _ODD,
                "part": _PI_BLOCK,
                "name": _ODD,
                "args": _ODD,
                "toolCallId": _ODD,
                "result": st.fixed_dictionaries({"output": st.lists(_PI_BLOCK, max_size=2) | _ODD})
                | _ODD,
            }
        )
        | _ODD,
    }
)


_VIBE_ENTRY = (
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["message", "effect"]) | _ODD,
            "role": st.sampled_from(["user", "assistant", "tool"]) | _ODD,
            "id": _ODD,
            "createdAt": _ODD,
            "source": st.sampled_from(["turn_start", "turn_steer"]) | _ODD,
            "content": st.lists(_PI_BLOCK, max_size=2) | _ODD,
            "inputEntryId": _ODD,
            "detail": st.fixed_dictionaries(
                {
                    "kind": st.sampled_from(["tool", "subagent"]) | _ODD,
                    "toolName": _ODD,
                    "input": _ODD,
                    "childSessionId": _ODD,
                }
            )
            | _ODD,
            "state": st.fixed_dictionaries(
                {
                    "status": _ODD,
                    "output": st.fixed_dictionaries({"structured_content": _ODD, "content": _ODD})
                    | _ODD,
                }
            )
            | _ODD,
            "message_id": _ODD,
            "tool_calls": st.lists(_ODD, max_size=2) | _ODD,
            "tool_call_id": _ODD,
        }
    )
    | _ODD
)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    entries=st.lists(_VIBE_ENTRY, max_size=5),
    manifest=_ODD,
    state=_ODD,
    journal=st.lists(
        st.fixed_dictionaries(
            {
                "type": st.just("projection_delta"),
                "sequence": _ODD,
                "payload": st.fixed_dictionaries(
                    {
                        "delta": st.lists(
                            st.fixed_dictionaries(
                                {
                                    "op": st.sampled_from(
                                        [
                                            "append_entry",
                                            "replace_entry",
                                            "remove_entry",
                                            "set_envelope",
                                            "set_history_entries",
                                        ]
                                    ),
                                    "entry": _VIBE_ENTRY,
                                    "id": _ODD,
                                    "state": _ODD,
                                    "entries": st.lists(_VIBE_ENTRY, max_size=2) | _ODD,
                                }
                            )
                            | _ODD,
                            max_size=2,
                        )
                        | _ODD
                    }
                )
                | _ODD,
            }
        ),
        max_size=4,
    ),
)
def test_no_shape_of_a_folder_of_chunks_is_fatal(
    tmp_path_factory, entries, manifest, state, journal
):
    folder = tmp_path_factory.mktemp("fuzz") / "unified" / "s"
    generation = folder / "generations" / "1"
    generation.mkdir(parents=True)
    (folder / "chunks").mkdir()
    (folder / "journal").mkdir()
    chunk = "a" * 64
    made = {
        "projection_state": {"chunks": [chunk, "../../x", None]},
        "recovery_journal_segment": {"path": "../../journal/2.jsonl"},
    }
    for file, value in {
        folder / "CURRENT": {"generation": "1", "session_id": "s"},
        folder / "meta.json": state,
        generation / "manifest.json": manifest or made,
        generation / "projection-state.json": {"snapshot": state},
        folder / "chunks" / f"{chunk}.json": entries,
    }.items():
        file.write_text(json.dumps(value), encoding="utf-8")
    lines = "".join(json.dumps(line) + "\n" for line in journal)
    (folder / "journal" / "2.jsonl").write_text(lines, encoding="utf-8")
    old = folder / "messages.jsonl"
    old.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    for file in (folder / "CURRENT", old):
        conversation = vibe.open_session(vibe.at(file))
        assert len(conversation.turns()) == len(conversation.ids) and all(conversation.ids)


@settings(max_examples=300)
@given(lines=st.lists(_PI_LINE | _COPILOT_LINE | _KIMI_LINE, max_size=8))
@pytest.mark.slow
def test_no_value_of_an_event_is_fatal(tmp_path_factory, lines):
    file = tmp_path_factory.mktemp("fuzz") / "events.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    for reader in (pi, copilot, kimi):
        conversation = reader.open_session(reader.at(file))
        turns = conversation.turns()
        assert len(turns) == len(conversation.ids) and all(conversation.ids)
        assert list(conversation.each()) == turns


_CLINE_BLOCK = (
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["text", "tool_use", "tool_result"]) | _ODD,
            "text": _ODD,
            "id": _ODD,
            "name": _ODD,
            "input": _ODD | st.dictionaries(st.just("commands"), _ODD),
            "tool_use_id": _ODD,
            "content": _ODD,
        }
    )
    | _ODD
)


_CLINE_MESSAGE = (
    st.fixed_dictionaries(
        {
            "id": _ODD,
            "role": st.sampled_from(["user", "assistant"]) | _ODD,
            "ts": _ODD,
            "metadata": _ODD,
            "content": st.lists(_CLINE_BLOCK, max_size=3) | _ODD,
        }
    )
    | _ODD
)


@settings(max_examples=200)
@given(
    document=st.fixed_dictionaries(
        {"sessionId": _ODD, "origin": _ODD, "messages": st.lists(_CLINE_MESSAGE, max_size=5) | _ODD}
    )
    | _ODD,
    cut=st.integers(0, 9),
)
def test_no_shape_of_a_document_is_fatal(tmp_path_factory, document, cut):
    file = tmp_path_factory.mktemp("fuzz") / "s.messages.json"
    text = json.dumps(document)
    file.write_text(text[: len(text) - cut], encoding="utf-8")
    try:
        conversation = cline.open_session(cline.at(file))
    except OSError:  # cut: said to be no whole document, and read again another time
        assert cut
        return
    assert len(conversation.turns()) == len(conversation.ids) and all(conversation.ids)
