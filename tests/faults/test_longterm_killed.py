"""The long-term pipeline killed with SIGKILL at every step that it takes on disk: the next run does
what is left, and nothing that the owner accepted is lost.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from memsearch_engine.longterm import review
from memsearch_engine.longterm.jobs import LEASE_S
from memsearch_engine.longterm.store import SessionMemories

from tests.faults.killing import child, steps_of
from tests.longterm.desk import Desk

_WORK = """
import json, dulwich.repo, dulwich.index
from pathlib import Path
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.longterm import pipeline, review
from memsearch_engine.core.settings_schema import (LlmSettings, LongtermSettings,
    PhaseModelSettings, Provider, Settings)
root = Path(_root)
mine = Provider(base_url=os.environ["MODEL"] + "/v1", api_key="k", model="m")
settings = Settings(
    llm=LlmSettings(providers={"mine": mine}),
    longterm=LongtermSettings(enabled=True, parallel=1, \
extract=PhaseModelSettings(provider="mine"),\
consolidate=PhaseModelSettings(provider="mine")),
)
begin()
pipeline.run(Home(root / "home"), settings, \
AgentFolders({"claude-code": [root / "claude" / "projects"]}))
review.decide(Home(root / "home"), "accepted")
end()
"""


def prepared(root: Path) -> Desk:
    desk = Desk(root)
    desk.teaches("pnpm", "(project) The shop uses pnpm")
    desk.session("We use pnpm")
    return desk


def killed_at(root: Path, last: int) -> None:
    desk = prepared(root)
    try:
        done = child(_WORK, root, last, MODEL=desk.model.url)
        assert done.returncode == -9, done.stderr
        desk._steps = None
        kept = desk.file("MEMORY.md")
        report = desk.run(
            clock=lambda: time.time() + LEASE_S + 1
        )  # the dead one's lease has to run out
        assert report.consolidated.state in ("review", "unchanged"), report
        assert len(SessionMemories(desk.home).all()) == 1
        if review.pending(desk.home):
            review.decide(desk.home, "accepted")
        assert (
            desk.file("MEMORY.md").count("uses pnpm")
            == desk.file("memory_summary.md").count("uses pnpm")
            == 1
        )
        assert all(line in desk.file("MEMORY.md") for line in kept.splitlines())
        assert desk.run().consolidated.state == "unchanged"
        assert not desk.home.longterm_staging.exists() and not list(
            desk.home.root.glob("longterm.git.new")
        )
    finally:
        desk.model.close()


def steps(root: Path) -> int:
    desk = prepared(root)
    try:
        return steps_of(child(_WORK, root, 0, MODEL=desk.model.url))
    finally:
        desk.model.close()


@pytest.mark.slow
def test_killed_at_some_steps_everything_is_made_up_for(tmp_path):
    total = steps(tmp_path / "counted")
    assert total > 50
    for last in range(3, total, total // 8):
        killed_at(tmp_path / str(last), last)


@pytest.mark.slow
def test_killed_at_each_third_step_everything_is_made_up_for(tmp_path):
    for last in range(1, steps(tmp_path / "counted"), 3):
        killed_at(tmp_path / str(last), last)
