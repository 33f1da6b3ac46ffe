"""What was not read of a transcript is shown before an import, and by doctor's ledger."""

from __future__ import annotations

import contextlib
import json

from memsearch_engine.capture import backfill
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.ledger import Ledger
from memsearch_engine.core.home import AgentFolders, Home


def test_damage_and_unknown_kinds_are_counted_by_agent(tmp_path):
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    row = {
        "type": "user",
        "uuid": "00000000-0000-4000-8000-000000000001",
        "sessionId": "s",
        "cwd": str(tmp_path),
        "timestamp": "2026-11-20T09:00:00Z",
        "message": {"content": "the request"},
    }
    new = json.dumps({"type": "of-a-new-kind"})
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text(f"{json.dumps(row)}\n{'{torn'}\n{new}\n")
    home = Home(tmp_path / "home")
    home.ensure()
    with contextlib.closing(CapturePipeline(home)) as pipeline:
        folders = AgentFolders({"claude-code": [tmp_path / "projects"]})
        made = backfill.plan(home, pipeline, folders, backfill.Choice(("claude-code",)))
    assert made.passed_over == {"claude-code": {"(not JSON)": 2, "of-a-new-kind": 2}}
    with contextlib.closing(Ledger(home)) as ledger:
        assert {kind for _, kind, _, _ in ledger.unknown()} == {"(not JSON)", "of-a-new-kind"}
