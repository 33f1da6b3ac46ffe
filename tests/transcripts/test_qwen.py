"""Qwen's sessions: skills, commands, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from memsearch_engine.agents.qwen.reader import Reader as Qwen
from memsearch_engine.agents.transcripts.model import Turn

qwen = Qwen()


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
