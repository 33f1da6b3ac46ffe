"""OpenClaw's older sessions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from memsearch_engine.agents.openclaw.reader import Reader as Openclaw
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.core.home import AgentFolders

SAMPLES = Path(__file__).parent.parent / "samples"


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


def test_openclaw_s_words_at_another_try_are_not_the_person_s(tmp_path):
    retry = "Continue where you left off. The previous model attempt failed or timed out."
    again = "[Retry after the previous model attempt failed or timed out]\n\n"
    aborted = (
        "Note: The previous agent run was aborted by the user. Resume carefully or ask for "
        "clarification.\n\n"
    )
    said = [
        ("user", "deploy it"),
        ("assistant", ""),
        ("user", retry),
        ("assistant", "Deployed."),
        ("user", f"{again}test it"),
        ("assistant", "Tested."),
        ("user", f"{aborted}What does '{retry}' mean?"),
        ("user", f"[Fri 2026-11-20 10:00 UTC] {retry}"),
        ("assistant", "A retry."),
    ]
    events = [{"type": "session", "version": 3, "id": "s", "cwd": "/p"}]
    for number, (role, text) in enumerate(said):
        content = [{"type": "text", "text": text}] if text else []
        message = {"role": role, "content": content, "stopReason": "stop" if text else "error"}
        events.append({"type": "message", "id": f"e{number}", "message": message})
    folder = tmp_path / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / "s.trajectory.jsonl").write_text('{"type": "session.started"}\n')
    (folder / "s.trajectory-path.json").write_text("{}")
    (found,) = Openclaw().sessions(tmp_path, [])
    assert list(Openclaw().unknown_files(tmp_path)) == []
    session = locate.open_session(found)
    turns = session.turns()
    assert [turn.turn for turn in turns] == session.ids
    assert [(turn.user, turn.assistant) for turn in turns] == [
        ("deploy it", "Deployed."),
        ("test it", "Tested."),
        (f"What does '{retry}' mean?", "A retry."),
    ]
