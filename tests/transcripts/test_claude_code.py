"""Claude Code's sessions. The expected turns were written by reading the samples, not from the reader's output."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.errors import NotFound, UsageError
from memsearch_engine.home import AgentFolders
from memsearch_engine.transcripts import claude_code
from memsearch_engine.transcripts.locate import open_anchor, open_file, transcript_path

SAMPLES = Path(__file__).parent.parent / "samples" / "claude-code"


def turns(name):
    return claude_code.read(next(SAMPLES.glob(f"{name}*.jsonl"))).turns


def test_tool_call_then_resumed_session():
    first, second = turns("01")
    assert first.turn == "373eb335-80c9-41b2-b9b4-a0fca5e44ea6" and first.status == "done"
    assert first.session == "11111111-1111-4111-8111-111111111111"
    assert first.user.startswith("Please run a command for me")
    assert first.assistant == "The command printed hello-from-tool."
    assert [(t.name, t.input, t.output) for t in first.tools] == [
        ("Bash", "echo hello-from-tool && ls", "hello-from-tool\nCLAUDE.md\nREADME.md")
    ]
    assert second.user == "second question in the same session: what did you do before?" and not second.tools


def test_list_content_compaction_and_local_commands_give_the_four_real_turns():
    found = turns("02")
    assert [t.user.split(" [[")[0] for t in found] == [
        "first turn: my favourite colour is teal",
        "second turn",
        "third turn: unicode 日本語テスト — naïve café 🎉 \\u0000 end",
        "what is left after compaction?",
    ]
    assert found[1].assistant == "Let me run it.\n\nIt printed two." and found[1].tools[0].output == "two"


def test_a_notification_is_no_turn_and_thinking_is_no_answer():
    assert [t.assistant for t in turns("06")][0].startswith("The sub agent is done.")
    assert len(turns("06")) == 1
    assert turns("05")[0].assistant == "Thought and answered."


def test_api_errors_fail_and_old_files_read():
    (failed,) = turns("07")
    assert failed.status == "failed" and "400" in failed.assistant
    (old,) = turns("08")
    assert old.assistant == "done." and old.tools[0].output == "old-cc"


def test_every_sample_has_no_unknown_records():
    for file in SAMPLES.glob("*.jsonl"):
        assert claude_code.read(file).unknown == {}, file.name


def test_a_half_written_last_line_waits_and_rubbish_is_counted(tmp_path):
    data = next(SAMPLES.glob("01*.jsonl")).read_bytes()
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"not json\n[1]\n" + data + b'{"type": "user", "message": {"content": "half')
    transcript = claude_code.read(file)
    assert len(transcript.turns) == 2 and transcript.unknown == {"(not JSON)": 1}


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_shape_of_line_is_fatal(tmp_path_factory, data):
    json_value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["type", "message", "content", "text", "id", "input", "name", "promptId", "tool_use_id"]), inner, max_size=5
        ),
        max_leaves=12,
    )  # fmt: skip
    lines = data.draw(st.lists(st.fixed_dictionaries({"type": st.sampled_from(["user", "assistant", "system", "x", 3]),
                                                      "message": json_value, "timestamp": json_value}), max_size=6))  # fmt: skip
    file = tmp_path_factory.mktemp("fuzz") / "f.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert claude_code.read(file).turns is not None


def test_an_anchor_leads_only_to_where_the_agent_keeps_its_sessions(tmp_path):
    base = tmp_path / "claude" / "projects"
    (base / "-p").mkdir(parents=True)
    folders = AgentFolders(base, tmp_path, tmp_path, tmp_path)
    session = base / "-p" / "11111111-1111-4111-8111-111111111111.jsonl"
    session.write_bytes(next(SAMPLES.glob("01*.jsonl")).read_bytes())
    outside = tmp_path / "secret.jsonl"
    outside.write_bytes(session.read_bytes())
    os.symlink(outside, base / "-p" / "planted.jsonl")
    stem = session.stem
    assert transcript_path("claude-code", stem, str(session), folders) == session
    assert transcript_path("claude-code", stem, "/moved/home/projects/-p/x.jsonl", folders) == session
    assert transcript_path("claude-code", "nothere", str(outside), folders) is None
    assert transcript_path("claude-code", "planted", str(base / "-p" / "planted.jsonl"), folders) is None
    assert transcript_path("claude-code", "../../../etc/passwd", "", folders) is None
    assert transcript_path("claude-code", "*", "", folders) is None
    found = open_anchor("claude-code", stem, "66e44fe8-becd-431c-94cf-ecb13d4593b2", str(session), folders)
    assert found.index == 1 and found.turns[1].user.startswith("second question")
    with pytest.raises(NotFound):
        open_anchor("claude-code", "gone", "t", "", folders)
    with pytest.raises(UsageError):
        open_file(Path("/etc/passwd"))
