"""OpenClaw's older sessions."""

from __future__ import annotations

import shutil
from pathlib import Path

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
