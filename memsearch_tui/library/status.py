"""The state of the memory for the header, the rail, and the pages Activity and Health."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any

import memsearch_engine as engine
import msgspec

from memsearch_tui.library.rows import Item, ItemMaker

_PINNED = 20  # pinned notes in the rail


class HeaderState(msgspec.Struct, frozen=True):
    """The state of the memory that the header and the rail show.

    Attributes:
        capturing: agent -> seconds since 1970 from which its turns are captured.
        connected: agents that have our hooks installed and no problem with them.
        alarms: messages about agents whose turns do not arrive.
        waiting: number of cases in the review queue.
        agents: (agent, number of notes, newest day).
        pinned: the newest pinned notes.
        sync: when this machine last synced, as text; '' without sync.
        synced: whether the last sync succeeded.
        served: whether the service answered; without it, values that only the service knows are
            missing.
    """

    capturing: dict[str, float] = {}
    alarms: list[str] = []
    waiting: int = 0
    agents: list[tuple[str, int, str]] = []
    pinned: list[Item] = []
    sync: str = ""
    synced: bool = True
    served: bool = False
    connected: list[str] = []


class MemoryStatus:
    """Reads the state of capture, service, sync and costs. Each read may take seconds."""

    def __init__(self, memory: engine.Memory, items: ItemMaker) -> None:
        self._memory, self._items = memory, items

    def header(self, *, start: bool = False) -> HeaderState:
        """Return the state for the header and the rail.

        Args:
            start: start the service if it does not run; otherwise values that only the service
                knows are left out.
        """
        memory = self._memory
        agents, pinned = [], []
        with contextlib.suppress(engine.MemsearchError):
            agents = memory.files.agents()
            pinned = [self._items.of_index(row) for row in memory.files.marked("pin", _PINNED)]
        try:
            known = memory.capture.standing(start=start)
        except engine.MemsearchError:
            return HeaderState(agents=agents, pinned=pinned)
        sync, synced = self.sync()
        return HeaderState(
            known.capturing,
            known.alarms,
            known.waiting,
            agents,
            pinned,
            sync,
            synced,
            served=True,
            connected=self._connected(),
        )

    def _connected(self) -> list[str]:
        """Return the agents whose hooks are installed and work.

        The screen for connecting agents and the doctor use the same data.
        """
        plugins, found = self._memory.plugins, []
        for name in engine.agents_live():
            with contextlib.suppress(engine.MemsearchError, OSError):
                state = plugins.status(name)
                if state.installed and not state.problems:
                    found.append(name)
        return found

    def sync(self) -> tuple[str, bool]:
        """Return when this machine last synced, and whether sync needs no decision."""
        try:
            if not self._memory.config.value("sync.remote"):
                return "", True
            state = self._memory.sync.state(elsewhere=False)
        except engine.MemsearchError:
            return "", True
        last = state.last
        at = datetime.fromtimestamp(state.worked).strftime("%Y-%m-%d %H:%M") if state.worked else ""
        return at or "not yet", not (last and (last.problems or last.error))

    def activity(self) -> dict[str, Any]:
        """Return the data of the activity page. ``error`` says why data are missing."""
        capture, injection = self._memory.capture, self._memory.injection
        state: dict[str, Any] = {
            "capturing": {},
            "percent": 100,
            "seen": 0,
            "trivial": 0,
            "days": [],
            "alarms": [],
            "waiting": [],
            "set_aside": 0,
            "missed": [],
            "skipped": [],
            "error": "",
            "summaries": {},
            "failures": [],
            "spend": [],
            "injected": [],
            "today_tokens": 0,
            "daily_tokens": 0,
            "provider": "extractive",
        }
        try:
            settings = self._memory.settings.capture
            state["daily_tokens"] = settings.daily_tokens
            state["provider"] = settings.summarize.provider
            state["summaries"], state["failures"] = capture.summaries(), capture.failures()
            state["spend"], state["today_tokens"] = capture.spent(), capture.spent_today()
            state["injected"] = injection.log()
            queue = capture.inbox()
            state["waiting"] = msgspec.to_builtins([*queue.waiting, *queue.set_aside])
            state["set_aside"] = len(queue.set_aside)
            state["missed"] = capture.missed(["failed", "homeless", "new"])
            state["skipped"] = capture.missed(["trivial"])
            covered = capture.coverage()
            for name in ("percent", "seen", "trivial", "days", "alarms"):
                state[name] = getattr(covered, name)
            state["capturing"] = covered.agents
        except engine.MemsearchError as error:
            state["error"] = str(error)
        return state

    def health(self) -> dict[str, Any]:
        """Return the data of the health page: the service's state, or why there is none."""
        service = self._memory.service
        try:
            state: dict[str, Any] = msgspec.to_builtins(service.health())
            state["service"] = msgspec.to_builtins(service.status())
            state["sync"] = msgspec.to_builtins(self._memory.sync.state())
            state["connected"] = self._connected()
            return state
        except engine.MemsearchError as error:
            return {"error": str(error), "hint": error.hint}
