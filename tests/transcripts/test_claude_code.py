"""Claude Code's sessions beyond the samples, and where anchors may lead."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.transcripts.locate import find_session, open_anchor, open_file
from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.home import AgentFolders

claude_code = ClaudeCode()

SAMPLES = Path(__file__).parent.parent / "samples" / "claude-code"


def read(path):
    return claude_code.open_session(claude_code.at(path))


def test_a_half_written_last_line_waits_and_rubbish_is_counted(tmp_path):
    data = next(SAMPLES.glob("01*.jsonl")).read_bytes()
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"not json\n[1]\n" + data + b'{"type": "user", "message": {"content": "half')
    session = read(file)
    assert len(session.turns()) == 2 and session.unknown["(not JSON)"] == 2


@settings(max_examples=300)
@given(data=st.data())
@pytest.mark.slow
def test_no_shape_of_line_is_fatal(tmp_path_factory, data):
    json_value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
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
                        "name",
                        "promptId",
                        "tool_use_id",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
    lines = data.draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(["user", "assistant", "system", "x", 3]),
                    "message": json_value,
                    "timestamp": json_value,
                }
            ),
            max_size=6,
        )
    )
    file = tmp_path_factory.mktemp("fuzz") / "f.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert len(read(file).turns()) == len(read(file).ids)


def test_an_anchor_leads_only_to_where_the_agent_keeps_its_sessions(tmp_path):
    base = tmp_path / "claude" / "projects"
    (base / "-p").mkdir(parents=True)
    folders = AgentFolders({"claude-code": [base]})
    session = base / "-p" / "11111111-1111-4111-8111-111111111111.jsonl"
    session.write_bytes(next(SAMPLES.glob("01*.jsonl")).read_bytes())
    outside = tmp_path / "secret.jsonl"
    outside.write_bytes(session.read_bytes())
    os.symlink(outside, base / "-p" / "planted.jsonl")
    stem = session.stem

    def path(name, anchor):
        found = find_session("claude-code", name, anchor, folders)
        return found and found.path

    assert path(stem, str(session)) == str(session)
    assert path(stem, "/moved/home/projects/-p/x.jsonl") == str(session)
    assert path("nothere", str(outside)) is None
    assert path("planted", str(base / "-p" / "planted.jsonl")) is None
    assert path("../../../etc/passwd", "") is None and path("*", "") is None
    found = open_anchor(
        "claude-code", stem, "66e44fe8-becd-431c-94cf-ecb13d4593b2", str(session), folders
    )
    assert (found.index, found.first, found.total) == (1, 0, 2) and found.turns[1].user.startswith(
        "second question"
    )
    near = open_anchor("claude-code", stem, "66e44fe8", str(session), folders, context=0)
    assert (near.index, near.first, len(near.turns)) == (0, 1, 1)
    with pytest.raises(NotFound):
        open_anchor("claude-code", "gone", "t", "", folders)
    with pytest.raises(NotFound):
        open_anchor("claude-code", stem, "no-such-turn", str(session), folders)
    with pytest.raises(UsageError):
        open_file("/etc/passwd")


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


def test_lines_that_the_client_keeps_beside_the_conversation_are_known(tmp_path):
    kinds = "progress ai-title pr-link agent-color worktree-state content-replacement tag".split()
    rows = [{"type": kind, "sessionId": "s"} for kind in kinds]
    noted = "<user-memory-input>always use tabs</user-memory-input>"
    rows.append({"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": noted}})
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    session = read(file)
    assert ([turn.user for turn in session.turns()], session.unknown) == (["#always use tabs"], {})
