"""Readers under bad conditions: files that grow, are cut, replaced, hostile or huge; databases that
are being written.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.cline.reader import Reader as Cline
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.gemini.reader import Reader as Gemini
from memsearch_engine.agents.kilo.reader import Reader as Kilo
from memsearch_engine.agents.kimi.reader import Reader as Kimi
from memsearch_engine.agents.openclaw.reader import Reader as Openclaw
from memsearch_engine.agents.opencode.reader import Reader as Opencode
from memsearch_engine.agents.pi.reader import Reader as Pi
from memsearch_engine.agents.qwen.reader import Reader as Qwen
from memsearch_engine.agents.transcripts import jsonl, locate
from memsearch_engine.agents.transcripts.model import Conversation, Session, Turn
from memsearch_engine.agents.vibe.reader import Reader as Vibe
from memsearch_engine.capture.extract import is_trivial
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import AgentFolders

claude_code = ClaudeCode()
cline = Cline()
codex = Codex()
copilot = Copilot()
gemini = Gemini()
kilo = Kilo()
kimi = Kimi()
openclaw = Openclaw()
opencode = Opencode()
pi = Pi()
qwen = Qwen()
vibe = Vibe()

SAMPLES = Path(__file__).parent.parent / "samples"


def claude_turn(number: int, size: int = 10) -> str:
    """Two lines as Claude Code writes them: a request and its answer."""
    common = {"sessionId": "s", "cwd": "/p", "timestamp": f"2026-01-01T00:{number % 60:02d}:00Z"}
    ask = {
        "type": "user",
        "promptId": f"turn-{number}",
        "promptSource": "typed",
        "message": {"content": f"question {number}"},
    }
    answer = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": f"answer {number} " + "x" * size}]},
    }
    return "".join(json.dumps({**line, **common}) + "\n" for line in (ask, answer))


def codex_turn(number: int) -> str:
    payloads = [
        {"type": "task_started", "turn_id": f"turn-{number}"},
        {
            "type": "item_completed",
            "turn_id": f"turn-{number}",
            "item": {
                "type": "UserMessage",
                "content": [{"type": "text", "text": f"question {number}"}],
            },
        },
        {
            "type": "item_completed",
            "turn_id": f"turn-{number}",
            "item": {"type": "AgentMessage", "content": [{"type": "Text", "text": "answer"}]},
        },
        {"type": "task_complete", "turn_id": f"turn-{number}"},
    ]
    stamp = "2026-01-01T00:00:00Z"
    return "".join(
        json.dumps({"timestamp": stamp, "type": "event_msg", "payload": p}) + "\n" for p in payloads
    )


META = (
    json.dumps(
        {
            "timestamp": "2026-01-01T00:00:00Z",
            "type": "session_meta",
            "payload": {"id": "thread-1", "cwd": "/p", "source": "cli"},
        }
    )
    + "\n"
)


# -- the offset index


@pytest.mark.parametrize(
    ("reader", "head", "turn"), [(claude_code, "", claude_turn), (codex, META, codex_turn)]
)
def test_a_file_that_grows_is_read_on_from_where_it_was(tmp_path, monkeypatch, reader, head, turn):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "rollout-s.jsonl"
    file.write_text(head + "".join(turn(n) for n in range(50)))
    assert len(reader.open_session(reader.at(file), cache).ids) == 50
    read_from = []
    lines = jsonl.lines

    def watched(path, start=0, stop=None, skipped=None):
        read_from.append(start)
        return lines(path, start, stop, skipped)

    monkeypatch.setattr(jsonl, "lines", watched)
    with file.open("a") as out:
        out.write(turn(50) + turn(51))
    grown = reader.open_session(reader.at(file), cache)
    assert grown.ids == [f"turn-{n}" for n in range(52)]
    assert len(read_from) == 1 and read_from[0] > file.stat().st_size * 0.9
    assert grown.turns(51)[0].user == "question 51" and grown.turns(51)[0].status == "done"
    assert [t.user for t in grown.turns()] == [f"question {n}" for n in range(52)]
    again = reader.open_session(reader.at(file), cache)
    assert again.ids == grown.ids and again.session == grown.session and len(read_from) == 4


def test_a_file_that_was_replaced_or_cut_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    file.write_text("".join(claude_turn(n) for n in range(20)))
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 20
    file.write_text("".join(claude_turn(n) for n in range(3)))
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 3
    other = tmp_path / "other"
    other.write_text("".join(claude_turn(n) for n in range(100, 140)))
    os.replace(other, file)
    assert claude_code.open_session(claude_code.at(file), cache).ids[0] == "turn-100"
    for index in cache.iterdir():
        index.write_bytes(b'{"layout": 1, "ids": 7}')
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 40


def test_a_turn_whose_answer_comes_later_is_seen_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    ask, answer = claude_turn(1).splitlines(keepends=True)
    file.write_text(claude_turn(0) + ask)
    assert claude_code.open_session(claude_code.at(file), cache).turns()[-1].status == "interrupted"
    file.write_text(claude_turn(0) + ask + answer + '{"type": "user", "mess')
    assert claude_code.open_session(claude_code.at(file), cache).turns()[-1].status == "done"


@pytest.mark.slow
def test_one_turn_of_a_million_lines_is_opened_without_reading_them_again(tmp_path, monkeypatch):
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    noise = json.dumps({"type": "attachment", "attachment": "x" * 20}) + "\n"
    with file.open("w") as out:
        for number in range(200):
            out.write(claude_turn(number) + noise * 5000)
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 200
    read = []
    lines = jsonl.lines
    monkeypatch.setattr(jsonl, "lines", lambda *args: read.append(args) or lines(*args))
    conversation = claude_code.open_session(claude_code.at(file), cache)
    (turn,) = conversation.turns(150, 151)
    assert turn.user == "question 150"
    ((_, start, stop),) = read
    assert stop - start < file.stat().st_size / 100


def test_a_compressed_rollout_reads_like_the_plain_one(tmp_path):
    plain = next((SAMPLES / "codex").glob("01*.jsonl"))
    packed = tmp_path / "rollout-2026-11-21T20-31-52-01a1ffce-e968-7731-882d-a909fd6e2d46.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    one, other = (locate.open_session(locate.recognise(str(path))) for path in (plain, packed))
    assert one.turns() == other.turns() and other.turns(1, 2) == one.turns()[1:2]
    assert other.where.session == "01a1ffce-e968-7731-882d-a909fd6e2d46"


# -- what the samples don't show


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


def test_claude_interrupts_shell_mode_and_commands(tmp_path):
    def line(content, **more):
        return (
            json.dumps(
                {
                    "type": "user",
                    "sessionId": "s",
                    "promptId": "p",
                    "message": {"content": content},
                    **more,
                }
            )
            + "\n"
        )

    file = tmp_path / "s.jsonl"
    file.write_text(
        line("first", promptSource="typed")
        + line([{"type": "text", "text": "[Request interrupted by user]"}])
        + line("<bash-input>ls</bash-input>", promptId="b")
        + line("<bash-stdout>x</bash-stdout>", promptId="b")
        + line("<command-name>/model</command-name>")
        + line("<local-command-stdout>set</local-command-stdout>")
        + line("<task-notification>done</task-notification>", promptSource="system")
        + line("summary of all", isCompactSummary=True)
        + line("caveat", isMeta=True)
        + line("side", isSidechain=True)
        + line("second", promptSource="typed", promptId="q")
    )
    assert [
        (t.turn, t.user, t.status) for t in claude_code.open_session(claude_code.at(file)).turns()
    ] == [
        ("p", "first", "interrupted"),
        ("b", "!ls", "done"),
        ("q", "second", "interrupted"),
    ]


def test_openclaw_older_sessions_are_lines(tmp_path):
    base = tmp_path / "agents"
    (base / "main" / "sessions").mkdir(parents=True)
    shutil.copy(
        next((SAMPLES / "openclaw").glob("claw-s1*.jsonl")),
        base / "main" / "sessions" / "claw-s1.jsonl",
    )
    (found,) = locate.all_sessions("openclaw", AgentFolders({"openclaw": [base]}))
    assert (found.session, found.kind) == ("claw-s1", "transcript")
    assert len(locate.open_session(found).turns()) == 2


# -- databases in use

_WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
db.execute("PRAGMA journal_mode=WAL")
print("ready", flush=True)
count = 0
for line in sys.stdin:  # one write per word of the test, \
inside a transaction that stays open meanwhile
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE session SET time_updated = time_updated + 1")
    print("writing", flush=True)
    sys.stdin.readline()
    db.execute("COMMIT")
    print("written", flush=True)
"""


def test_a_database_is_read_while_its_agent_writes_and_never_blocks_it(tmp_path):
    path = tmp_path / "opencode.db"
    shutil.copy(SAMPLES / "opencode" / "opencode.db", path)
    agent = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdin and agent.stdout

    def tell(word: str) -> str:
        agent.stdin.write(word + "\n")
        agent.stdin.flush()
        return agent.stdout.readline().strip()

    try:
        assert agent.stdout.readline().strip() == "ready"
        for _ in range(3):
            assert tell("begin") == "writing"
            found = list(opencode.sessions(tmp_path, []))
            assert len(found) == 10 and opencode.open_session(found[0]).turns()
            assert (
                tell("commit") == "written"
            )  # its lock timeout is zero: any lock of ours would have failed it
    finally:
        agent.kill()
        agent.communicate()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_opencode_s_command_that_ended_badly_has_failed_although_it_is_completed(tmp_path):
    path = tmp_path / "opencode.db"
    shutil.copy(SAMPLES / "opencode" / "opencode.db", path)
    query = (
        "SELECT id, session_id, data FROM part WHERE json_extract(data, "
        "'$.tool')='bash' AND json_extract(data, '$.state.status')='completed'"
    )
    with contextlib.closing(sqlite3.connect(path)) as db:
        name, session, data = db.execute(query).fetchone()

        def failed(exit_code: int) -> bool:
            part = json.loads(data)
            part["state"]["metadata"]["exit"] = exit_code
            db.execute("UPDATE part SET data=? WHERE id=?", (json.dumps(part), name))
            db.commit()
            turns = opencode.open_session(opencode.at(path, session)).turns()
            command = part["state"]["input"]["command"]
            return next(
                tool.failed for turn in turns for tool in turn.tools if tool.input == command
            )

        assert (failed(0), failed(2)) == (False, True)


@pytest.mark.parametrize(
    ("reader", "name"), [(opencode, "opencode.db"), (openclaw, "openclaw-agent.sqlite")]
)
def test_a_damaged_or_foreign_database_is_an_error_that_says_so(tmp_path, reader, name):
    whole = (SAMPLES / reader.agent / name).read_bytes()

    def turns_in(path):
        where = reader.at(path, "x" if reader is opencode else "s0")
        if where is None:
            raise OSError("can't be read: no session")
        return reader.open_session(where).turns()

    for data in (
        b"",
        b"not a database at all" * 100,
        whole[: len(whole) // 2],
        whole[:4096] + b"\0" * 40_000,
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(OSError, match=r"read|no such"):
            turns_in(path)
    other = tmp_path / ("foreign" + Path(name).suffix)
    sqlite3.connect(other).execute("CREATE TABLE t(a)").connection.commit()
    with pytest.raises(OSError, match="no such table"):
        reader.at(other, "x")


# -- anything at all

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


def test_a_reminder_before_the_users_words_does_not_take_them_away(tmp_path):
    reminder = "<system-reminder>\nToday is Monday.\n</system-reminder>\n"
    contents = [
        f"{reminder}{reminder}Pin foo below 2.0",
        [{"type": "text", "text": reminder}, {"type": "text", "text": "Rename the loader"}],
        reminder,  # nobody spoke
    ]
    lines = []
    for number, content in enumerate(contents):
        common = {
            "sessionId": "s",
            "uuid": f"u{number}",
            "timestamp": f"2026-01-01T00:00:{number:02d}Z",
        }
        lines.append({**common, "type": "user", "message": {"content": content}})
        lines.append(
            {
                **common,
                "type": "assistant",
                "message": {"content": [{"type": "text", "text": f"done {number}"}]},
            }
        )
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    turns = claude_code.open_session(claude_code.at(file)).turns()
    assert [turn.user.strip() for turn in turns] == ["Pin foo below 2.0", "Rename the loader"]
    assert "done 0" in turns[0].assistant


CLAW = (
    json.dumps(
        {
            "type": "message",
            "id": "m1",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello there"}]},
        }
    )
    + "\n"
)


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        (codex_turn(1), "codex"),
        (CLAW, "openclaw"),
        (claude_turn(1), "claude-code"),
        ("not json\n\n" + codex_turn(1), "codex"),
    ],
)
def test_a_transcript_without_its_first_line_is_known_by_what_it_holds(tmp_path, text, agent):
    file = tmp_path / "copied.jsonl"
    file.write_text(text)
    assert locate.recognise(str(file)).agent == agent
    assert len(locate.open_file(str(file)).turns) == 1


def test_a_file_of_nobodys_is_refused_so_that_its_reader_looks_elsewhere(tmp_path):
    file = tmp_path / "other.jsonl"
    file.write_text('{"a": 1}\nnothing\n' * 100)
    with pytest.raises(UsageError, match="no transcript"):
        locate.recognise(str(file))


def qwen_line(kind: str, at: int, **more: object) -> dict:
    common = {
        "uuid": f"{kind}{at}",
        "sessionId": "s",
        "timestamp": f"2026-11-25T03:00:{at:02d}Z",
        "type": kind,
        "cwd": "/p",
        "version": "0.24.4",
    }
    return {**common, **({"provenance": "real_user"} if kind == "user" else {}), **more}


def qwen_turns(tmp_path: Path, *lines: dict) -> list[Turn]:
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    conversation = qwen.open_session(qwen.at(file))
    turns = conversation.turns()
    assert (
        list(conversation.each())
        == turns
        == [conversation.turns(n, n + 1)[0] for n in range(len(conversation.ids))]
    )
    return turns


def qwen_said(role: str, *texts: str) -> dict:
    return {"message": {"role": role, "parts": [{"text": text} for text in texts]}}


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        ("", "/tidy"),
        ("\n\n/tidy the parser\n\n<skill-args>the parser</skill-args>\n", "/tidy the parser"),
    ],
)
def test_a_skill_of_qwen_without_a_terminal_is_its_call_and_not_its_text(
    tmp_path, arguments, typed
):
    text = (
        "Base directory for this skill: /p/.qwen/skills/tidy\n"
        "Important: ALWAYS resolve absolute paths from this base directory when working with "
        f"skills.\n\nTidy up.\n{arguments}"
    )
    (turn,) = qwen_turns(
        tmp_path,
        qwen_line("user", 1, **qwen_said("user", text)),
        qwen_line("assistant", 2, **qwen_said("model", "It is tidy."), usageMetadata={}),
    )
    assert turn.user == typed and turn.assistant == "It is tidy."


def test_qwen_s_commands_are_the_persons_words_and_nobody_elses(tmp_path):
    def called(at: int, phase: str, **more: object) -> dict:
        payload = {"phase": phase, "rawCommand": "/review the importer", **more}
        return qwen_line("system", at, subtype="slash_command", systemPayload=payload)

    answered = {"usageMetadata": {}}
    first, second, third = qwen_turns(
        tmp_path,
        called(1, "invocation", sentToModel=True),
        called(2, "result"),
        qwen_line("user", 3, **qwen_said("user", "You are a reviewer.")),
        qwen_line("assistant", 4, **qwen_said("model", "Reviewed."), **answered),
        qwen_line(
            "user",
            5,
            **qwen_said(
                "user", "one", "two", "\n--- Content from referenced files ---", "the file"
            ),
        ),
        qwen_line("assistant", 6, **qwen_said("model", "Both."), **answered),
        qwen_line(
            "system",
            7,
            subtype="slash_command",
            systemPayload={"phase": "invocation", "rawCommand": "/rewind", "sentToModel": False},
        ),
        qwen_line("user", 8, **qwen_said("user", "what I really typed")),
    )
    assert (first.user, first.turn) == ("/review the importer", "user3")
    assert second.user == "one\ntwo" and third.user == "what I really typed"


def test_a_refusal_that_was_tried_again_and_answered_is_none(tmp_path):
    def event(at: int, name: str, **more: str) -> dict:
        return qwen_line(
            "system",
            at,
            subtype="ui_telemetry",
            systemPayload={"uiEvent": {"event.name": f"qwen-code.{name}", **more}},
        )

    refused = event(2, "api_error", error_message="429 later")
    asked = qwen_line("user", 1, **qwen_said("user", "please"))
    (turn,) = qwen_turns(
        tmp_path,
        asked,
        refused,
        event(3, "api_response"),
        qwen_line("assistant", 4, **qwen_said("model", "Fine.")),
    )
    assert (turn.status, turn.assistant) == ("done", "Fine.")
    (turn,) = qwen_turns(tmp_path, asked, refused)
    assert (turn.status, turn.assistant) == ("failed", "429 later")


def test_what_our_own_hook_says_does_not_take_a_refusal_back(tmp_path):
    file = tmp_path / "session-s.jsonl"
    lines: list[dict] = [
        {"sessionId": "s", "kind": "main"},
        {"id": "u", "timestamp": "t", "type": "user", "content": [{"text": "please"}]},
        {"$set": {"messages": []}},
    ]
    for said, status in (
        ("[memsearch] Memory available", "failed"),
        ("Request cancelled.", "interrupted"),
    ):
        info = {"id": "i", "timestamp": "t", "type": "info", "content": said}
        file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, info]))
        (turn,) = gemini.open_session(gemini.at(file)).turns()
        assert turn.status == status


def test_a_compression_asked_for_as_a_prompt_is_nothing_to_remember(tmp_path):
    file = tmp_path / "session-s.jsonl"
    lines: list[dict] = [
        {"sessionId": "s", "kind": "main"},
        {"id": "u", "timestamp": "t", "type": "user", "content": [{"text": "/compress"}]},
        {
            "id": "g",
            "timestamp": "t",
            "type": "gemini",
            "content": "<state_snapshot>We talked.</state_snapshot>",
        },
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (turn,) = gemini.open_session(gemini.at(file)).turns()
    assert is_trivial(turn)


def test_gemini_s_folder_is_read_with_care(tmp_path):
    chats = tmp_path / "tmp" / "p" / "chats"
    chats.mkdir(parents=True)
    file = chats / "session-2026-11-25T03-00-aaaaaaaa.jsonl"
    lines = [
        {"sessionId": "../../x", "kind": "main"},
        {"id": "u", "timestamp": "t", "type": "user", "content": [{"text": "look around"}]},
        {
            "id": "g",
            "timestamp": "t",
            "type": "gemini",
            "content": "",
            "toolCalls": [{"name": "invoke_agent"}, {"name": "invoke_agent"}],
        },
        {"id": "g", "timestamp": "t", "type": "gemini", "content": "Done."},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for named, root in (
        ("/home/ana/p\n", "/home/ana/p"),
        ("not/absolute", ""),
        ("/a\0b", ""),
        ("/" + "x" * 9000, ""),
    ):
        (chats.parent / ".project_root").write_text(named)
        (turn,) = gemini.open_session(gemini.at(file)).turns()
        assert turn.cwd == root
    assert turn.assistant == "Done." and len(turn.tools) == 2 and turn.outside


def pi_line(number: int, role: str, text: str, typed: float = 0.0, **more: object) -> dict:
    at = f"2026-11-25T09:30:{number:02d}.000Z"
    content = [{"type": "text", "text": text}] if text else []
    message = {
        "role": role,
        "content": content,
        "timestamp": (1795599000 + (typed or number)) * 1000,
        **more,
    }
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": None,
        "timestamp": at,
        "message": message,
    }


def test_what_pi_puts_before_the_words_is_not_the_persons(tmp_path):
    file = tmp_path / "2026-11-25T09-30-00-000Z_s.jsonl"
    skill = (
        '<skill name="tidy" location="/s/SKILL.md">\n'
        "References are relative to /s.\n\nBODY\n</skill>"
    )
    call = {"type": "toolCall", "id": "c", "name": "edit", "arguments": {"path": "a", "edits": []}}
    lines = [
        {
            "type": "session",
            "version": 3,
            "id": "s",
            "timestamp": "2026-11-25T09:30:00.000Z",
            "cwd": "/p",
        },
        pi_line(1, "user", skill),
        pi_line(2, "assistant", "Tidied.", stopReason="stop"),
        pi_line(3, "user", f"{skill}\n\nthe parser"),
        pi_line(4, "assistant", "cut", stopReason="length"),
        pi_line(5, "user", '<file name="/p/a.md">\nA\n</file>\n<file name="/p/b.png"></file>\n'),
        pi_line(6, "assistant", "", stopReason="aborted"),
        pi_line(7, "user", "edit it"),
        pi_line(8, "assistant", "", stopReason="toolUse") | {"x": 1},
    ]
    lines[-1]["message"]["content"] = [{"type": "thinking", "thinking": "hm"}, call]
    # it was killed there, resumed, and answered: nothing was typed ahead
    result = pi_line(9, "toolResult", "done", toolCallId="c", isError=False)
    told = {"type": "text", "text": '<memsearch-memory id="1">\nnote\n</memsearch-memory>'}
    result["message"]["content"].append(told)
    lines += [
        result,
        pi_line(20, "user", "go on"),
        pi_line(21, "assistant", "", stopReason="error", errorMessage="500"),
    ]
    retried = pi_line(22, "assistant", "It went on.", stopReason="stop")
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, retried]))
    turns = pi.open_session(pi.at(file)).turns()
    assert [(t.user, t.status, t.assistant) for t in turns] == [
        ("/skill:tidy", "done", "Tidied."),
        ("/skill:tidy the parser", "done", "cut"),
        ("@/p/a.md @/p/b.png", "interrupted", ""),
        ("edit it", "interrupted", ""),
        ("go on", "done", "It went on."),
    ]
    (tool,) = turns[3].tools
    assert (tool.name, tool.input, tool.output) == ("edit", '{"path":"a","edits":[]}', "done")
    assert {t.cwd for t in turns} == {"/p"} and turns[0].turn == "00000001-20261125093001000"
    conversation = pi.open_session(pi.at(file))
    assert conversation.find("00000001") == 0  # as a hook would name it


def test_two_sessions_of_one_name_are_told_apart_by_their_files(tmp_path):
    for folder, cwd in (("--a--", "/a"), ("--b--", "/b")):
        file = tmp_path / "sessions" / folder / f"2026-11-25T09-30-0{len(cwd)}-000Z_work.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text(
            json.dumps({"type": "session", "version": 3, "id": "work", "cwd": cwd}) + "\n"
        )
    assert {one.session for one in pi.sessions(tmp_path, [])} == {"work"} and len(
        list(pi.sessions(tmp_path, []))
    ) == 2
    assert pi.locate(tmp_path, "work") and pi.locate(tmp_path, "w*rk") is None


def test_copilots_turns_end_as_they_ended(tmp_path):
    def event(kind: str, agent: str = "", **data: object) -> dict:
        line = {
            "type": kind,
            "data": data,
            "id": "e",
            "timestamp": "2026-11-25T09:30:00.000Z",
            "parentId": None,
        }
        return {**line, "agentId": agent} if agent else line

    def asks(name: str, text: str, **more: object) -> dict:
        return event("user.message", content=text, messageId=name, delivery="idle", **more)

    call = {"toolCallId": "c", "name": "bash", "arguments": {"command": "false"}}
    events = [
        event("session.start", sessionId="s", context={"cwd": "/p"}),
        asks("1", "one"),
        event("session.error", message="500"),
        event("assistant.message", content="Answered."),
        asks("2", "two"),
        event("assistant.message", content="Said.", toolRequests=[]),
        event("session.error", message="400 no"),
        asks("3", "three"),
        event("assistant.message", content="", toolRequests=[call]),
        event(
            "tool.execution_complete",
            toolCallId="c",
            success=True,
            shellExecution={"exitCode": 1},
            result={"content": "nothing\n<shellId: 0 completed with exit code 1>"},
        ),
        asks("4", "four"),
        event("tool.execution_start", "a-1", toolName="web_fetch", arguments={"url": "https://x"}),
        event("user.message", "a-1", content="child", messageId="c1"),
        event("assistant.message", content="Fetched."),
        asks("5", "<system_notification>", source="system"),
        asks("6", "a helper says", source="agent-s"),
    ]
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in events))
    turns = copilot.open_session(copilot.at(file)).turns()
    assert [(t.turn, t.status, t.assistant, t.outside) for t in turns] == [
        ("1", "done", "Answered.", False),
        ("2", "failed", "Said.\n\n400 no", False),
        ("3", "interrupted", "", False),
        ("4", "done", "Fetched.", True),
    ]
    assert turns[2].tools[0].failed and turns[2].tools[0].output == "nothing"
    assert copilot.locate(tmp_path, "..") is None and copilot.locate(tmp_path, "") is None


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


def test_a_pipe_among_sessions_hangs_nobody(tmp_path):
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(OSError, match="not a regular file"):
        copilot.open_session(Session("copilot", "s", str(tmp_path / "events.jsonl"), "transcript"))
    (tmp_path / "sessions" / "--p--").mkdir(parents=True)
    os.mkfifo(tmp_path / "x.jsonl")
    os.mkfifo(tmp_path / "sessions" / "--p--" / "2026-11-25T09-30-00-000Z_s.jsonl")
    (found,) = pi.sessions(tmp_path, [])
    with pytest.raises(OSError, match="not a regular file"):
        pi.open_session(found)


def test_a_session_is_found_by_its_whole_name_alone(tmp_path):
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    for name in ("work", "a_work"):
        line = {"type": "session", "version": 3, "id": name, "cwd": "/p"}
        (folder / f"2026-11-25T09-30-0{len(name)}-000Z_{name}.jsonl").write_text(
            json.dumps(line) + "\n"
        )
    assert pi.locate(tmp_path, "work").path.endswith("Z_work.jsonl")


def test_what_a_server_of_copilots_brings_in_is_from_outside(tmp_path):
    def turns_with(**data: object) -> list[Turn]:
        asked = {"type": "user.message", "data": {"content": "look", "messageId": "m"}}
        started = {
            "type": "tool.execution_start",
            "data": {"toolName": "tracker-issue", "toolCallId": "c", **data},
        }
        file = tmp_path / "events.jsonl"
        file.write_text(json.dumps(asked) + "\n" + json.dumps(started) + "\n")
        return copilot.open_session(copilot.at(file)).turns()

    assert turns_with(mcpServerName="tracker")[0].outside
    assert not turns_with(mcpServerName="memsearch")[0].outside and not turns_with()[0].outside
    image = {
        "type": "user.message",
        "data": {"content": "", "messageId": "n", "attachments": [{"displayName": "a.png"}]},
    }
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(image) + "\n")
    (turn,) = copilot.open_session(copilot.at(file)).turns()
    assert turn.user == "a.png"


def test_half_a_pair_spoils_no_document(tmp_path):
    """Programs in JavaScript cut strings in UTF-16 units."""
    file = tmp_path / "s.messages.json"
    message = {
        "id": "a",
        "role": "user",
        "content": [{"type": "text", "text": '<user_input mode="act">cut: @ and on</user_input>'}],
    }
    text = (
        json.dumps({"sessionId": "s", "messages": [message]})
        .replace("@", "\\ud83d")
        .replace('"id"', '"big": 1' + "0" * 400 + ', "id"')
    )
    file.write_text(text, encoding="utf-8")
    (turn,) = cline.open_session(cline.at(file)).turns()
    assert turn.user == "cut: \ufffd and on"
    file.write_text('{"messages": [tru', encoding="utf-8")
    with pytest.raises(OSError, match="not a whole document"):
        cline.open_session(cline.at(file))


def test_clines_own_tags_are_not_the_persons_words(tmp_path):
    notice = (
        "<mode_notice>The user switched from plan mode to "
        "act mode before sending this message.</mode_notice>\n"
    )
    said = {
        f'{notice}<user_input mode="act">now write it</user_input>': "now write it",
        (
            '<user_input mode="act"><user_command '
            'slash="team">count whales</user_command></user_input>'
        ): "/team count whales",
        '<user_input mode="act">what does </user_input> mean?</user_input>': (
            "what does </user_input> mean?"
        ),
        "typed plainly": "typed plainly",
    }
    beside = {"type": "text", "text": '<user_input mode="act">rm -rf</user_input>'}
    messages = [
        {"id": f"u{n}", "role": "user", "content": [{"type": "text", "text": text}, beside]}
        for n, text in enumerate(said)
    ]
    messages.append(
        {
            "id": "i",
            "role": "user",
            "content": [
                {"type": "text", "text": '<user_input mode="act"></user_input>'},
                {"type": "image"},
            ],
        }
    )
    result = {"type": "tool_result", "tool_use_id": "c", "content": "out"}
    commands = {"commands": [{"command": "curl", "args": ["http://example.org/x"]}]}
    messages.append(
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "run_commands", "input": commands}],
        }
    )
    messages.append({"role": "user", "content": [result, {"type": "text", "text": "machine text"}]})
    file = tmp_path / "s.messages.json"
    file.write_text(json.dumps({"sessionId": "s", "messages": messages}), encoding="utf-8")
    turns = cline.open_session(cline.at(file)).turns()
    assert [turn.user for turn in turns] == [*said.values(), "[image]"]
    (tool,) = turns[-1].tools
    assert (tool.input, tool.output) == ("curl http://example.org/x", "out") and turns[-1].outside


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


def test_a_parent_is_listed_before_its_forks():
    """A turn is its first session's: the copies are known by then."""
    for reader, place, first, second in (
        (kimi, "kimi", "session_303d451e", "session_2e2de91b"),
        (kimi, "kimi", "session_6324fd77", "session_be3ca2ae"),
        (cline, "cline", "1795600997242_a9mrw", "1795601919484_7lagv"),
        (vibe, "vibe", "e2771703", "5fa1739c"),
    ):
        names = [f"{one.session} {one.path}" for one in reader.sessions(SAMPLES / place, [])]
        order = [
            next(n for n, name in enumerate(names) if part in name) for part in (first, second)
        ]
        assert order == sorted(order), names


def test_a_time_that_is_none_ends_no_listing(tmp_path):
    shutil.copy(SAMPLES / "kilo" / "kilo.db", tmp_path / "kilo.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "kilo.db")) as db, db:
        db.execute("UPDATE session SET time_updated='abc' WHERE id=(SELECT min(id) FROM session)")
    assert len(list(kilo.sessions(tmp_path, []))) == 10


def test_a_servers_tool_is_known_by_its_shape_and_ours_by_its_whole_name():
    from memsearch_engine.agents.transcripts.model import is_servers_tool

    assert all(
        map(
            is_servers_tool,
            (
                "mem_recall",
                "memory_search_nodes",
                "memsearch_evil_recall",
                "memsearch__fetch",
                "jira__issue",
            ),
        )
    )
    assert not any(map(is_servers_tool, ("bash", "memsearch_recall", "memsearch__open")))
    assert not is_servers_tool("apply_patch", {"apply_patch"})


def test_what_a_server_of_clines_brings_in_is_from_outside(tmp_path):
    def outside(tool: str) -> bool:
        messages = [
            {"id": "u", "role": "user", "content": "look"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": tool}]},
        ]
        file = tmp_path / "s.messages.json"
        file.write_text(json.dumps({"sessionId": "s", "messages": messages}), encoding="utf-8")
        return cline.open_session(cline.at(file)).turns()[0].outside

    assert (
        outside("tracker__issue") and not outside("memsearch__recall") and not outside("read_files")
    )


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


def test_copilots_sessions_are_listed_by_when_they_began(tmp_path):
    for name, began in (
        ("a-fork", "2026-11-25T10:00:00Z"),
        ("z-parent", "2026-11-25T09:00:00Z"),
        ("m-last", "2026-11-26T09:00:00Z"),
    ):
        (tmp_path / name).mkdir()
        line = {"type": "session.start", "data": {"sessionId": name, "startTime": began}}
        (tmp_path / name / "events.jsonl").write_text(json.dumps(line) + "\n")
    assert [one.session for one in copilot.sessions(tmp_path, [])] == [
        "z-parent",
        "a-fork",
        "m-last",
    ]
