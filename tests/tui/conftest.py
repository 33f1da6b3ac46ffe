"""A small, fixed world for the app: two days, a real Claude Code transcript, no service unless a
test starts one.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.core.home import Home
from memsearch_engine.journal.disk import locked
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.write import Journal
from memsearch_engine.service import launch
from textual.pilot import Pilot

from memsearch_tui.app import MemsearchApp
from memsearch_tui.aside import OURS, WorkingScreen
from memsearch_tui.library import Library
from memsearch_tui.screens.browse.screen import BrowseScreen

SESSION = "11111111-1111-4111-8111-111111111111"


def _line(kind: str, turn: str, content, **more) -> str:
    message = {"role": kind, "content": content}
    record = {
        "type": kind,
        "sessionId": SESSION,
        "timestamp": "2026-02-09T14:30:00Z",
        "cwd": "/p",
        "message": message,
    }
    return json.dumps({**record, "promptId": turn, **more}) + "\n"


class Held:
    """Another program that holds the lock of a day's file until it is let go."""

    now = 0  # how many files are held

    def __init__(self, world: World, path: Path) -> None:
        self._begun, self._free = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(world.home, str(path)))
        self._thread.start()
        assert self._begun.wait(10)
        Held.now += 1

    def _hold(self, home: Home, path: str) -> None:
        with locked(home, path):
            self._begun.set()
            self._free.wait(60)

    def let_go(self) -> None:
        self._free.set()
        self._thread.join()
        Held.now -= 1


async def until(pilot: Pilot, holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until *holds* returns a true value."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s"
        await pilot.pause(0.01)


_pause = Pilot.pause


async def _work_is_done(pilot: Pilot) -> None:
    """Wait until the screen that shows running work is gone: it comes up wherever the machine is
    slow, and takes the keys. It stays where the test itself holds what the work waits for.
    """
    while isinstance(screen := pilot.app.screen, WorkingScreen) and not Held.now:
        await asyncio.wait([screen._future])
        await _pause(pilot)


@pytest.fixture(autouse=True)
def notes_are_read(monkeypatch):
    """A key has done what it does when its work is done and the note that it leads to is read: both
    are done in threads, which Textual's pilot does not know.
    """

    async def rest(pilot: Pilot) -> None:
        await _work_is_done(pilot)
        if isinstance(screen := pilot.app.screen, BrowseScreen):
            await screen.settled()
            await asyncio.to_thread(OURS.finish)
            await _pause(pilot)
            await _work_is_done(pilot)

    def then_rest(name: str) -> None:
        original = getattr(Pilot, name)

        async def waits(self: Pilot, *args, **kwargs):
            result = await original(self, *args, **kwargs)
            await rest(self)
            return result

        monkeypatch.setattr(Pilot, name, waits)

    async def press(self: Pilot, *keys: str) -> None:
        for key in keys:
            await pressed(self, key)
            await _work_is_done(self)
        await rest(self)

    pressed = Pilot.press
    monkeypatch.setattr(Pilot, "press", press)
    for name in ("pause", "click"):
        then_rest(name)
    yield
    Held.now = 0


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Home, project and transcripts on disk; ends the service that a test may have started."""
    home = Home(tmp_path / "home").ensure()
    project = tmp_path / "shop"
    (project / ".memsearch" / "memory").mkdir(parents=True)
    claude = tmp_path / "claude"
    transcript = claude / "projects" / "-shop" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    with transcript.open("w") as out:
        for turn, question, answer in (
            ("t1", "why is the cart slow", "N+1 queries; fixed with selectinload."),
            ("t2", "raise the redis ttl", "TTL is 900 s now."),
        ):
            out.write(_line("user", turn, question, promptSource="typed"))
            out.write(_line("assistant", turn, [{"type": "text", "text": answer}]))
    monkeypatch.setenv("MEMSEARCH_HOME", str(home.root))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMSEARCH_DIR", raising=False)
    monkeypatch.chdir(project)
    memory = str(project / ".memsearch" / "memory")
    journal = Journal(home)

    def put(day: str, time: str, turn: str, text: str) -> None:
        anchor = Anchor(SESSION, turn, "claude-code", "transcript", str(transcript))
        journal.append_turn(memory, day, time, text, anchor)

    put("2026-02-08", "09:00", "t0", "- Chose Postgres 16 for staging")
    put("2026-02-09", "14:30", "t1", "- Cart was slow: N+1 queries, fixed with `selectinload`")
    put("2026-02-09", "14:45", "t2", "- Redis TTL raised from 300 to 900 seconds")
    put("2026-02-09", "15:00", "t3", "- 缓存中间件测试通过")
    journal.history.close()
    yield World(home, project, Path(memory))
    launch.stop(home)


class World:
    def __init__(self, home: Home, project: Path, memory: Path) -> None:
        self.home, self.project, self.memory = home, project, memory

    def app(self, **kwargs) -> MemsearchApp:
        return MemsearchApp(
            Library(Memory(str(self.project), home=self.home)),
            theme="memsearch-dark",
            live=False,
            **kwargs,
        )

    def day(self, day: str = "2026-02-09") -> Path:
        return self.memory / f"{day}.md"
