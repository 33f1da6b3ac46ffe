"""A prompt that is only a picture or a file begins a turn in every agent that writes lines of JSON,
and an unknown tagged block around a prompt is counted.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.gemini.reader import Reader as Gemini
from memsearch_engine.agents.openclaw.reader import Reader as Openclaw
from memsearch_engine.agents.pi.reader import Reader as Pi
from memsearch_engine.agents.qwen.reader import Reader as Qwen

codex = Codex()
copilot = Copilot()
gemini = Gemini()
openclaw = Openclaw()
pi = Pi()
qwen = Qwen()

WHEN = "2026-11-20T10:00:00.000Z"
PICTURE = {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}
INLINE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}}
PAPER = {"fileData": {"mimeType": "application/pdf", "fileUri": "file:///a.pdf"}}


def event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": WHEN, "type": "event_msg", "payload": payload}


def item(kind: str, *content: dict[str, Any]) -> dict[str, Any]:
    return event(type="item_completed", item={"type": kind, "content": content})


def of_codex(prompt: dict[str, Any]) -> list[dict[str, Any]]:
    meta = {"timestamp": WHEN, "type": "session_meta", "payload": {"id": "s"}}
    return [
        meta,
        event(type="task_started", turn_id="t"),
        prompt,
        event(type="task_complete", turn_id="t"),
    ]


def of_flat_codex(*content: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "s", "timestamp": WHEN}, {"type": "message", "role": "user", "content": content}]


def of_gemini(*content: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"sessionId": "s", "projectHash": "h"},
        {"id": "u", "timestamp": WHEN, "type": "user", "content": content},
    ]


def of_qwen(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "user",
            "uuid": "u",
            "parentUuid": None,
            "sessionId": "s",
            "provenance": "real_user",
            "message": {"role": "user", "parts": parts},
        }
    ]


def of_pi(*content: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "session", "version": 3, "id": "s", "cwd": "/p"},
        {
            "type": "message",
            "id": "u",
            "timestamp": WHEN,
            "message": {"role": "user", "content": content},
        },
    ]


def of_copilot(text: str) -> list[dict[str, Any]]:
    return [
        {
            "type": "user.message",
            "timestamp": WHEN,
            "parentId": None,
            "data": {"messageId": "u", "content": text},
        }
    ]


@pytest.mark.parametrize(
    ("reader", "rows", "words"),
    [
        (
            codex,
            of_codex(event(type="user_message", message="", images=["data:image/png;base64,x"])),
            "[image]",
        ),
        (
            codex,
            of_codex(event(type="user_message", message="", images=[], local_images=["/a.png"])),
            "[image]",
        ),
        (
            codex,
            of_codex(item("UserMessage", {"type": "local_image", "path": "/a.png"})),
            "[image]",
        ),
        (
            codex,
            of_flat_codex({"type": "input_image", "image_url": "data:image/png;base64,x"}),
            "[image]",
        ),
        (gemini, of_gemini(INLINE, PAPER), "[image] [document]"),
        (qwen, of_qwen(INLINE), "[image]"),
        (pi, of_pi(PICTURE), "[image]"),
        (openclaw, of_pi(PICTURE), "[image]"),
    ],
)
def test_a_prompt_without_words_begins_a_turn(tmp_path, reader, rows, words):
    assert [turn.user for turn in read(tmp_path, reader, rows).turns()] == [words]


def test_a_picture_that_a_tool_gave_begins_none(tmp_path):
    answer = {"functionResponse": {"id": "c", "response": {}}}
    assert not read(tmp_path, gemini, of_gemini(answer, INLINE)).ids
    result = {"type": "toolResult", "toolCallId": "c", "content": []}
    assert not read(tmp_path, openclaw, of_pi(result, PICTURE)).ids


TAGGED = "<new-context>\nalways use --force\n</new-context>\nRound half-even"


@pytest.mark.parametrize(
    ("reader", "rows"),
    [
        (codex, of_codex(event(type="user_message", message=TAGGED))),
        (codex, of_codex(item("UserMessage", {"type": "text", "text": TAGGED}))),
        (codex, of_flat_codex({"type": "input_text", "text": TAGGED})),
        (gemini, of_gemini({"text": TAGGED})),
        (qwen, of_qwen({"text": TAGGED})),
        (copilot, of_copilot(TAGGED)),
        (pi, of_pi({"type": "text", "text": TAGGED})),
        (openclaw, of_pi({"type": "text", "text": TAGGED})),
    ],
)
def test_an_unknown_tagged_block_is_counted(tmp_path, reader, rows):
    assert read(tmp_path, reader, rows).unknown == {"(prompt with <new-context>)": 1}


@pytest.mark.parametrize(
    ("reader", "rows"),
    [
        (
            gemini,
            of_gemini(
                {"text": "<hook_context>force</hook_context>"},
                {"text": "Round"},
                {"text": "\n<system_note>\nUse the tool 'x'.\n</system_note>\n"},
            ),
        ),
        (qwen, of_qwen({"text": "<system-reminder>Plan mode.</system-reminder>\n\nRound"})),
        (
            qwen,
            of_qwen(
                {"text": "Round"},
                {
                    "text": "<qwen:user-prompt-submit-context>\nx\n"
                    "</qwen:user-prompt-submit-context>"
                },
            ),
        ),
    ],
)
def test_blocks_of_the_client_are_no_words_of_the_person(tmp_path, reader, rows):
    found = read(tmp_path, reader, rows)
    assert ([turn.user for turn in found.turns()], found.unknown) == (["Round"], {})


def read(tmp_path, reader, rows):
    file = tmp_path / "rollout-s.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return reader.open_session(reader.at(file))
