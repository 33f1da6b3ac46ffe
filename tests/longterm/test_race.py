"""Many processes at once, each with the whole pipeline: every session is read once, and one of them
consolidates.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from memsearch_engine.longterm import review
from memsearch_engine.longterm.store import SessionMemories

_WORK = """
import os, sys
from pathlib import Path
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.longterm import pipeline
from memsearch_engine.core.settings_schema import (LlmSettings, LongtermSettings,
    PhaseModelSettings, Provider, Settings)
import msgspec
root = Path(sys.argv[1])
mine = Provider(base_url=sys.argv[2] + "/v1", api_key="k", model="m")
longterm = LongtermSettings(enabled=True, parallel=2, \
extract=PhaseModelSettings(provider="mine"),\
consolidate=PhaseModelSettings(provider="mine"))
sys.stdin.readline()
report = pipeline.run(Home(root / "home"), \
Settings(llm=LlmSettings(providers={"mine": mine}), longterm=longterm),
                      AgentFolders({"claude-code": \
[root / "claude" / "projects"]}), background=True)
print(msgspec.json.encode(report).decode())
"""


@pytest.mark.slow
def test_ten_processes_read_each_session_once_and_consolidate_once(desk):
    for n in range(6):
        desk.teaches(f"word{n}", f"(project) Fact number {n}")
        desk.session(f"We use word{n}")
    desk.scope()
    argv = [sys.executable, "-c", _WORK, str(desk.root), desk.model.url]
    runners = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    for runner in runners:
        runner.stdin.write("go\n")
        runner.stdin.flush()
    reports = [json.loads(runner.communicate(timeout=120)[0]) for runner in runners]
    assert sum(report["extracted"]["succeeded"] for report in reports) == 6
    assert all(report["extracted"]["failed"] == [] for report in reports)
    extracted = [
        r for r in desk.model.requests if "finished session of a coding agent" in json.dumps(r)
    ]
    assert len(extracted) == 6 and len(SessionMemories(desk.home).all()) == 6
    states = [report["consolidated"]["state"] for report in reports]
    assert states.count("review") == 1 and set(states) <= {"review", "skipped", "unchanged"}, states
    assert review.pending(desk.home)
