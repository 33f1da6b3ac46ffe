"""Gemini's sessions: compression, refusals, its folder."""

from __future__ import annotations

import json

from memsearch_engine.agents.gemini.reader import Reader as Gemini
from memsearch_engine.capture.extract import is_trivial

gemini = Gemini()


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


def test_words_that_gemini_s_client_puts_around_a_hint_or_sends_itself_are_no_prompt(tmp_path):
    def steered(words: str) -> dict[str, str]:
        text = (
            f"User steering update:\n<user_input>\n{words}\n</user_input>\nInternal instruction: x"
        )
        return {"text": text}

    final = "You have one final chance to complete the task with a short grace period. You MUST"
    answer = {"functionResponse": {"id": "c", "response": {}}}
    prompts = [
        [{"text": "one"}],
        [steered("use tabs"), answer],
        [{"text": f"You have exceeded the time limit. {final}"}],
        [{"text": f"You have exceeded the maximum number of turns. {final}"}],
        [steered("and test it")],
    ]
    lines: list[dict] = [{"sessionId": "s", "kind": "main"}]
    for number, content in enumerate(prompts):
        said = {"id": f"g{number}", "timestamp": "t", "type": "gemini", "content": f"{number}."}
        lines.append({"id": f"u{number}", "timestamp": "t", "type": "user", "content": content})
        lines.append(said)
    file = tmp_path / "session-s.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    session = gemini.open_session(gemini.at(file))
    assert (session.ids, session.unknown) == (["u0", "u4"], {})
    assert [(turn.user, turn.assistant) for turn in session.turns()] == [
        ("one\n\nuse tabs", "0.\n\n1.\n\n2.\n\n3."),
        ("and test it", "4."),
    ]
