"""Copilot's sessions: how turns end, outside content, the order of the list."""

from __future__ import annotations

import json

from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.transcripts.model import Turn

copilot = Copilot()


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


def test_copilot_a_command_that_the_person_ran_is_a_turn(tmp_path):
    def event(kind: str, **data: object) -> dict:
        return {"type": kind, "data": data, "timestamp": "2026-11-25T09:30:00.000Z"}

    def runs(name: str, command: str, code: int) -> list[dict]:
        given = {"command": command, "description": f"Execute shell command: {command}"}
        shell = {"exitCode": code}
        return [
            event("tool.user_requested", toolCallId=name, toolName="local_shell", arguments=given),
            event(
                "tool.execution_complete",
                toolCallId=name,
                isUserRequested=True,
                success=True,
                shellExecution=shell,
                result={"content": f"ran {command}"},
            ),
        ]

    events = [
        event("user.message", content="one", messageId="m1"),
        event("assistant.turn_start", turnId="0"),
        *runs("c1", "git log", 0),
        event("assistant.message", content="Answered."),
        event("assistant.turn_end", turnId="0"),
        *runs("c2", "make", 2),
        *runs("c3", "ls", 0),
        event("user.message", content="two", messageId="m2"),
        event("session.resume"),  # the client was killed
        *runs("c4", "pwd", 0)[:1],
    ]
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in events))
    said = copilot.open_session(copilot.at(file))
    assert said.ids == ["m1", "c2", "c3", "m2", "c4"]
    turns = said.turns()
    assert [(turn.turn, turn.user, turn.status) for turn in turns] == [
        ("m1", "one\n\n!git log", "done"),
        ("c2", "!make", "done"),
        ("c3", "!ls", "done"),
        ("m2", "two", "interrupted"),
        ("c4", "!pwd", "interrupted"),
    ]
    calls = [(call.input, call.output, call.failed) for turn in turns for call in turn.tools]
    assert calls == [
        ("git log", "ran git log", False),
        ("make", "ran make", True),
        ("ls", "ran ls", False),
        ("pwd", "", False),
    ]
    assert said.turns(1, 3) == turns[1:3]


def test_copilot_s_sessions_of_2025_are_files(tmp_path):
    head = {"type": "session.start", "data": {"sessionId": "s1", "context": {"cwd": "/p"}}}
    asked = {"type": "user.message", "data": {"content": "go"}, "timestamp": "2025-12-01T09:00:00Z"}
    (tmp_path / "s1.jsonl").write_text(json.dumps(head) + "\n" + json.dumps(asked) + "\n")
    (found,) = copilot.sessions(tmp_path, [])
    (turn,) = copilot.open_session(found).turns()
    assert (turn.session, turn.user, turn.cwd) == ("s1", "go", "/p")
    assert copilot.locate(tmp_path, "s1") is not None
