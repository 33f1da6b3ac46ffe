"""What pi puts before the user's words."""

from __future__ import annotations

import json

from memsearch_engine.agents.pi.reader import Reader as Pi

pi = Pi()


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
    injected = {"type": "text", "text": '<memsearch-memory id="1">\nnote\n</memsearch-memory>'}
    result["message"]["content"].append(injected)
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
