"""Capture killed with SIGKILL at every step that it takes on disk: nothing is lost, nothing is doubled.

The child counts its own steps (every open, rename, removal and database connection, by audit hook, and every write and sync)
and kills itself at the one it was told; the next run finishes the work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from memsearch_engine.capture import worker
from memsearch_engine.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.write import Journal
from memsearch_engine.transcripts.evidence import Archive

from tests.placing import place_samples

_CHILD = """
import os, sys
from memsearch_engine.capture import worker
from memsearch_engine.home import Home
from memsearch_engine.journal.write import Journal
import memsearch_engine.secrets.scan as scan, zstandard, filelock
scan.redact("warm up")  # imports are no steps of the work
last, count = int(sys.argv[1]), 0
def step():
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), 9)
def hook(event, args):
    if event in ("os.rename", "os.remove", "os.truncate", "sqlite3.connect") or (
        event == "open" and isinstance(args[0], (str, bytes)) and str(args[0]).startswith(os.environ["ROOT"])
    ):
        step()
for name in ("write", "fsync"):
    def wrapped(*args, real=getattr(os, name)):
        step()
        return real(*args)
    setattr(os, name, wrapped)
sys.addaudithook(hook)
home = Home.from_env()
worker.work(home, Journal(home))
print(count)
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

    def child(self, last: int) -> subprocess.CompletedProcess:
        env = {
            **os.environ,
            "HOME": str(self.root / "user"),
            "MEMSEARCH_HOME": str(self.home.root),
            "ROOT": str(self.root),
        }
        return subprocess.run([sys.executable, "-c", _CHILD, str(last)], env=env, capture_output=True, text=True)

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
    return int(desk.child(0).stdout)


def killed_at(folder: Path, last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(folder)
    assert desk.child(last).returncode == -9
    monkeypatch.setenv("HOME", str(desk.root / "user"))
    monkeypatch.setenv("MEMSEARCH_HOME", str(desk.home.root))
    worker.work(desk.home, Journal(desk.home))
    desk.whole()


def test_killed_at_some_steps_nothing_is_lost_or_doubled(tmp_path, monkeypatch):
    total = steps(tmp_path)
    assert total > 20
    for last in range(1, total, max(1, total // 8)):
        killed_at(tmp_path / str(last), last, monkeypatch)


@pytest.mark.slow
def test_killed_at_every_step_nothing_is_lost_or_doubled(tmp_path, monkeypatch):
    for last in range(1, steps(tmp_path)):
        killed_at(tmp_path / str(last), last, monkeypatch)
