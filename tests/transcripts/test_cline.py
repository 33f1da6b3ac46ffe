"""Cline's sessions: tags, outside content, damaged characters."""

from __future__ import annotations

import json

import pytest
from memsearch_engine.agents.cline.reader import Reader as Cline

cline = Cline()


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
                {"type": "file", "path": "/p/a.pdf", "content": "x"},
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
    assert [turn.user for turn in turns] == [*said.values(), "[image] [document]"]
    (tool,) = turns[-1].tools
    assert (tool.input, tool.output) == ("curl http://example.org/x", "out") and turns[-1].outside


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
