"""Capture killed with SIGKILL at every step that it takes on disk: nothing is lost, nothing is
doubled.

The next run finishes the work.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture import event_queue
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.write import Journal

from tests.faults.killing import child, steps_of
from tests.placing import place_samples

_WORK = """
from memsearch_engine.capture import event_queue
from memsearch_engine.core.home import Home
from memsearch_engine.journal.write import Journal
begin()
home = Home.from_env()
event_queue.work(home, Journal(home))
end()
"""
_IMPORT = """
from memsearch_engine.capture import backfill
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core.home import AgentFolders, Home
begin()
home, chosen = Home.from_env(), backfill.ImportSelection(("claude-code",))
pipeline = CapturePipeline(home)
backfill.run(pipeline, backfill.plan(home, pipeline, AgentFolders.from_env(), chosen), chosen)
end()
"""
_EVENT = (
    '{"agent": "claude-code", "event": "SessionEnd", "at": 1795292537.0, "cwd": "%s", '
    '"session_id": "11111111-1111-4111-8111-111111111111", "transcript_path": ""}'
)


class Desk:
    def __init__(self, root: Path) -> None:
        place_samples(root / "user", root / "projects")
        self.root, self.home = root, Home(root / "home")
        self.home.inbox.mkdir(parents=True)
        (self.home.inbox / "1.json").write_text(_EVENT % (root / "projects" / "cc1"))

    def child(self, last: int, work: str = _WORK) -> subprocess.CompletedProcess[str]:
        return child(
            work, self.root, last, HOME=str(self.root / "user"), MEMSEARCH_HOME=str(self.home.root)
        )

    def whole(self) -> None:
        """Both turns, once each, in a file that reads; kept as evidence; the inbox worked off."""
        (day,) = (self.root / "projects" / "cc1" / ".memsearch" / "memory").glob("*.md")
        entries = read_day(day).entries
        assert len(entries) == 2 and len({e.turn for e in entries}) == 2, day.read_text()
        assert day.read_text().count("### ") == 2 and day.read_text().count("## Session") == 1
        archive = Archive(self.home)
        assert all(archive.has(e.agent, e.session, e.turn) for e in entries)
        assert not list(self.home.inbox.glob("*.json"))


def steps(tmp_path: Path) -> int:
    desk = Desk(tmp_path / "counted")
    return steps_of(desk.child(0))


def killed_at(folder: Path, last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(folder)
    assert desk.child(last).returncode == -9
    monkeypatch.setenv("HOME", str(desk.root / "user"))
    monkeypatch.setenv("MEMSEARCH_HOME", str(desk.home.root))
    event_queue.work(desk.home, Journal(desk.home))
    desk.whole()


@pytest.mark.slow
def test_killed_at_some_steps_nothing_is_lost_or_doubled(tmp_path, monkeypatch):
    total = steps(tmp_path)
    assert total > 20
    for last in range(1, total, max(1, total // 8)):
        killed_at(tmp_path / str(last), last, monkeypatch)


@pytest.mark.slow
def test_killed_at_every_step_nothing_is_lost_or_doubled(tmp_path, monkeypatch):
    for last in range(1, steps(tmp_path)):
        killed_at(tmp_path / str(last), last, monkeypatch)


@pytest.mark.slow
def test_an_import_killed_at_some_steps_is_completed_by_the_next_one(tmp_path):
    """A killed import lacks the archived copy of one turn at most: its transcript still has it."""
    whole = Desk(tmp_path / "whole")
    total = steps_of(whole.child(0, _IMPORT))
    assert total > 100
    for last in range(1, total, total // 12):
        desk = Desk(tmp_path / str(last))
        assert desk.child(last, _IMPORT).returncode == -9
        assert desk.child(0, _IMPORT).returncode == 0
        found = notes(desk)
        assert sorted(found) == sorted(notes(whole))
        assert len(found) == len(set(found)) > 5
        archived = {turn for _, _, turn in Archive(desk.home).names()}
        assert len({turn for _, turn in found} - archived) <= 1


def notes(desk: Desk) -> list[tuple[str, str]]:
    """(folder, turn) of all notes."""
    return [
        (day.parent.relative_to(desk.root).as_posix(), entry.turn)
        for day in desk.root.glob("projects/*/.memsearch/memory/*.md")
        for entry in read_day(str(day)).entries
    ]
