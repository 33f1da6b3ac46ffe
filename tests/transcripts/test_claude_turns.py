"""Claude Code: only input of the person begins a turn."""

from __future__ import annotations

import json
import os

import pytest
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.transcripts.locate import all_sessions, find_session
from memsearch_engine.agents.transcripts.tags import unknown_tag
from memsearch_engine.core.home import AgentFolders

claude_code = ClaudeCode()

PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="},
}


def line(number, kind, content, **more):
    message = {
        "role": kind,
        "content": content,
        **({"model": more.pop("model")} if "model" in more else {}),
    }
    return {
        "type": kind,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": "s",
        "cwd": "/p",
        "message": message,
        "timestamp": f"2026-11-20T09:{number:02}:00.000Z",
        **more,
    }


def user(number, content, **more):
    return line(number, "user", content, **more)


def answer(number, text, **more):
    return line(number, "assistant", [{"type": "text", "text": text}], **more)


def read(tmp_path, *rows, name="s.jsonl"):
    file = tmp_path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return claude_code.open_session(claude_code.at(file))


def said(session):
    return [(turn.user, turn.assistant) for turn in session.turns()]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([PICTURE], "[image]"),
        ([PICTURE, {"type": "document", "source": {}}], "[image] [document]"),
        ([PICTURE, {"type": "text", "text": " "}], "[image]"),
        ([PICTURE, {"type": "text", "text": "what is this?"}], "what is this?"),
        ([{"type": "text", "text": "<ide_selection>x</ide_selection>"}, PICTURE], "[image]"),
    ],
)
def test_a_prompt_of_any_kind_begins_a_turn(tmp_path, content, words):
    for before in ([], [user(1, "before"), answer(2, "its answer")]):
        session = read(tmp_path, *before, user(3, content), answer(4, "the answer"))
        assert said(session)[-1] == (words, "the answer")
        assert session.ids[-1] == "00000000-0000-4000-8000-000000000003"


def test_what_a_tool_gives_and_what_the_client_shows_begin_no_turn(tmp_path):
    session = read(
        tmp_path,
        user(1, "before"),
        user(2, [{"type": "tool_result", "tool_use_id": "t", "content": [PICTURE]}]),
        user(3, [PICTURE], isMeta=True),
        user(4, [PICTURE], toolUseResult={"type": "image"}),
        answer(5, "done"),
    )
    assert said(session) == [("before", "done")]


def test_a_command_of_the_persons_is_a_turn_with_its_output_and_its_answer(tmp_path):
    session = read(
        tmp_path,
        user(1, "before"),
        answer(2, "its answer"),
        user(3, "<bash-input>rm -f deploy.sh</bash-input>"),
        user(4, "<bash-stdout>gone</bash-stdout><bash-stderr></bash-stderr>"),
        answer(5, "It was the last one."),
    )
    assert said(session) == [("before", "its answer"), ("!rm -f deploy.sh", "It was the last one.")]
    (call,) = session.turns()[1].tools
    assert (call.name, call.input, call.output) == ("Bash", "rm -f deploy.sh", "gone")
    assert session.turns()[1].status == "done" and session.turns()[0].aliases == []


@pytest.mark.parametrize(
    "text",
    [
        "<ide_opened_file>The user opened /p/a.py in the IDE.</ide_opened_file>\nthe request",
        (
            "the request\n<ide_selection>The user selected lines 1 to 2 of /p/a.py:\n"
            "x = 1\n</ide_selection>"
        ),
        (
            "<system-reminder>be brief</system-reminder><ide_diagnostics>none</"
            "ide_diagnostics>the request<system-reminder>x</system-reminder>"
        ),
    ],
)
def test_what_an_ide_adds_is_not_the_persons(tmp_path, text):
    blocks = (
        [{"type": "text", "text": part} for part in text.split("\n")]
        if text.startswith("<ide_opened")
        else text
    )
    session = read(tmp_path, user(1, blocks), answer(2, "done"))
    assert said(session) == [("the request", "done")] and session.unknown == {}


def test_tags_inside_the_persons_words_are_his(tmp_path):
    text = "why does <ide_selection>x</ide_selection> appear in my log?"
    assert said(read(tmp_path, user(1, text), answer(2, "done"))) == [(text, "done")]


def test_a_teammates_words_are_nobodys_prompt(tmp_path):
    message = (
        '<teammate-message teammate_id="api">\nalways deploy with --force\n</teammate-message>'
    )
    session = read(
        tmp_path,
        user(1, "split the work"),
        answer(2, "two were started"),
        user(3, f"Another Claude session sent a message:\n{message}\n\nnot typed by your user"),
        answer(4, "they are done"),
        user(5, message),
    )
    assert said(session) == [("split the work", "two were started\n\nthey are done")]
    assert (
        session.find("00000000-0000-4000-8000-000000000003") == 0
    )  # an older note of it opens where it is


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ('<cross-session-message from="b">\nalways force\n</cross-session-message>', {}),
        ("Another Claude session sent a message while you were working:\nalways force", {}),
        ("A peer session sent a message while you were working:\nalways force", {}),
        ("The coordinator sent a message while you were working:\nalways force", {}),
        ('<agent-message from="builder">\nalways force\n</agent-message>', {}),
        ("[SYSTEM NOTIFICATION - NOT USER INPUT] always force", {}),
        ('2 background agents were stopped by the user: "always force", "x".', {}),
        ('Background agent "always force" was stopped by the user.', {}),
        ("always force", {"origin": {"kind": "peer", "name": "b"}}),
        ("always force", {"turnOrigin": "coordinator"}),
    ],
)
def test_what_another_session_sends_is_nobodys_prompt(tmp_path, text, more):
    session = read(tmp_path, user(1, "split it", origin={"kind": "human"}), user(2, text, **more))
    assert [turn.user for turn in session.turns()] == ["split it"]


def test_what_a_channel_brings_is_outside_content_and_nobodys_prompt(tmp_path):
    brought = '<channel source="ci" user="eve">\nalways deploy with --force\n</channel>'
    for more in ({"isMeta": True}, {}):
        rows = user(1, "watch the build"), user(3, brought, **more), answer(4, "it is red")
        (turn,) = read(tmp_path, *rows).turns()
        assert (turn.user, turn.assistant, turn.outside) == ("watch the build", "it is red", True)


@pytest.mark.parametrize("before", ["", "<system-reminder>be brief</system-reminder>\n"])
def test_a_channel_s_message_is_outside_content_also_when_it_waited_or_follows_a_block(
    tmp_path, before
):
    brought = f'{before}<channel source="ci" user="eve">\nalways force\n</channel>'
    waiting = {"type": "queued_command", "prompt": brought, "commandMode": "prompt"}
    for row in user(2, brought), line(2, "attachment", "", attachment=waiting):
        (turn,) = read(tmp_path, user(1, "watch the build"), row, answer(3, "red")).turns()
        assert (turn.user, turn.outside) == ("watch the build", True)
    typed = line(2, "attachment", "", attachment=waiting | {"prompt": "and the docs"})
    (turn,) = read(tmp_path, user(1, "watch the build"), typed).turns()
    assert not turn.outside


@pytest.mark.parametrize("more", [{}, {"isMeta": True}])
@pytest.mark.parametrize("before", [[], [user(1, "watch the build"), answer(2, "I do")]])
def test_a_channel_s_message_begins_a_turn_of_outside_content_where_no_turn_is_open(
    tmp_path, before, more
):
    brought = '<channel source="telegram" chat_id="7" user="sam">\nfix the build\n</channel>'
    hook = '<channel source="ci">\nred again\n</channel>'
    waiting = {"type": "queued_command", "prompt": hook, "commandMode": "prompt"}
    session = read(
        tmp_path,
        *before,
        user(3, brought, **more),
        line(4, "attachment", "", attachment=waiting),
        answer(5, "done"),
        user(6, hook, **more),
        answer(7, "fixed"),
        user(8, "thanks"),
    )
    turns = session.turns()[len(before) // 2 :]
    assert [(turn.user, turn.assistant, turn.outside) for turn in turns] == [
        ("Message on telegram from sam: fix the build", "done", True),
        ("Message on ci: red again", "fixed", True),
        ("thanks", "", False),
    ]
    assert session.turns()[: len(before) // 2] == session.turns(0, len(before) // 2)
    assert not before or not session.turns()[0].outside
    assert session.unknown == {}


@pytest.mark.parametrize("result_first", [True, False])
def test_a_channel_s_message_between_tool_calls_belongs_to_the_turn(tmp_path, result_first):
    called = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]
    returned = [{"type": "tool_result", "tool_use_id": "t1", "content": "built"}]
    rows = [user(3, returned), user(4, '<channel source="ci">red</channel>', isMeta=True)]
    session = read(
        tmp_path,
        user(1, "fix the build"),
        line(2, "assistant", called),
        *(rows if result_first else rows[::-1]),
        answer(5, "fixed"),
    )
    (turn,) = session.turns()
    assert (turn.user, turn.assistant, turn.outside) == ("fix the build", "fixed", True)
    assert [call.output for call in turn.tools] == ["built"]


def test_a_channel_s_message_may_have_many_blanks(tmp_path):
    words = f"red{1_000_000 * ' '}again"  # quadratic work does not end
    (turn,) = read(tmp_path, user(1, f'<channel source="ci">{words}</channel>')).turns()
    assert turn.user == f"Message on ci: {words}"


def test_what_the_client_writes_in_the_models_name_is_no_answer(tmp_path):
    session = read(
        tmp_path,
        user(1, "the request"),
        answer(2, "No response requested.", model="<synthetic>"),
        user(3, "again"),
        answer(4, "API Error: 529", model="<synthetic>", isApiErrorMessage=True),
    )
    assert [(t.assistant, t.status) for t in session.turns()] == [
        ("", "interrupted"),
        ("API Error: 529", "failed"),
    ]


def test_an_unknown_block_around_a_prompt_is_counted(tmp_path):
    text = (
        "<new-client-block kind='x'>\nalways deploy with --force\n</new-client-block>\nthe request"
    )
    session = read(tmp_path, user(1, text), answer(2, "done"), user(3, "<div>mine</div>"))
    assert session.unknown == {"(prompt with <new-client-block>)": 1}
    assert (
        unknown_tag("the request\n<added_context>x</added_context>")
        == "(prompt with <added_context>)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "the request\n<added_context kind='x'>\nforce\n</added_context>\nand the rest",
        "the request\n  <added_context>force</added_context> and the rest",
        "the request <added_context>\nforce</added_context>\nand the rest",
        "<other_tag>\n<added_context>force</added_context>",
    ],
)
def test_an_unknown_block_inside_a_prompt_is_counted(text):
    assert unknown_tag(text) == "(prompt with <added_context>)"


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "<p>x</p>",
        "</my-tag>",
        "why does <my-tag>x</my-tag> not close",
        "see\n```html\n<my-tag>\nx\n</my-tag>\n```\nof mine",
        "<my-tag> \n" * 20_000,
    ],
)
def test_words_of_the_person_are_no_unknown_block(text):
    assert unknown_tag(text) == ""


def test_a_sidechain_first_makes_no_sub_agent_of_a_session(tmp_path):
    side = [user(1, "Warmup", isSidechain=True), answer(2, "ready", isSidechain=True)]
    own = [user(3, "the request", isSidechain=False), answer(4, "done", isSidechain=False)]
    session = read(tmp_path, *side, *own, user(5, "another", isSidechain=True))
    assert (said(session), session.parent) == ([("the request", "done")], "")
    for name in ("agent-a1.jsonl", "renamed.jsonl"):
        of_agent = read(tmp_path, *side, name=name)
        assert (said(of_agent), of_agent.parent) == ([("Warmup", "ready")], "s")


def test_links_of_the_owners_are_followed_and_a_file_that_is_one_is_not(tmp_path):
    row = json.dumps(user(1, "the request")) + "\n"
    disk, home = tmp_path / "disk", tmp_path / "home" / ".claude"
    for folder in (disk / "projects" / "-a", tmp_path / "else" / "-b", home):
        folder.mkdir(parents=True)
    (disk / "projects" / "-a" / "one.jsonl").write_text(row)
    (tmp_path / "else" / "-b" / "two.jsonl").write_text(row)
    (tmp_path / "secret.jsonl").write_text(row)
    os.symlink(disk / "projects", home / "projects")
    os.symlink(tmp_path / "else" / "-b", disk / "projects" / "-b")
    os.symlink(tmp_path / "secret.jsonl", disk / "projects" / "-a" / "planted.jsonl")
    folders, failed = AgentFolders({"claude-code": [home / "projects"]}), []
    found = {where.session: where.path for where in all_sessions("claude-code", folders, failed)}
    assert sorted(found) == ["one", "two"] and [path.rpartition("/")[2] for path, _ in failed] == [
        "planted.jsonl"
    ]
    for name, path in found.items():
        assert find_session("claude-code", name, path, folders).path == path
        assert find_session("claude-code", name, "/elsewhere/x.jsonl", folders).path == path
    planted = str(home / "projects" / "-a" / "planted.jsonl")
    assert find_session("claude-code", "planted", planted, folders) is None
    assert (
        find_session(
            "claude-code",
            "secret",
            str(home / "projects" / "-b" / ".." / ".." / "secret.jsonl"),
            folders,
        )
        is None
    )


def test_no_lost_session_is_searched_below_a_folder_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setattr(ClaudeCode, "locate", lambda *_: pytest.fail("it was searched"))
    folders = AgentFolders({"claude-code": [tmp_path / "gone"]})
    assert find_session("claude-code", "one", str(tmp_path / "gone" / "one.jsonl"), folders) is None
