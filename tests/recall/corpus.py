"""A project in which something was decided, among ordinary turns: what recall is tested on."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Box, Result, until
from tests.evaluation.recall import chats

DAY = "2026-02-{:02d}"
_ORDINARY = 48


def case(voice: str, name: str) -> dict:
    (found,) = (case for case in chats.voices((voice,))[0].cases if case["id"] == name)
    return found


def furnish(box: Box, *decided: dict, voice: str = "data") -> None:
    """Write ordinary turns of a voice over some days, and what was decided in these cases, each on a day of its own; what amends it, on
    a later one."""
    (spoken,) = chats.voices((voice,))
    turns, _ = chats.told(spoken._replace(cases=[]), _ORDINARY)
    days: dict[str, list[str]] = {}
    for number, said in enumerate(turns):
        days.setdefault(DAY.format(1 + number % 8), []).append(entry(said.asked, said.answered, number))
    for number, found in enumerate(decided):
        days.setdefault(DAY.format(12 + number), []).append(entry(found["asked"], found["answered"], 100 + number))
        if found["amended"]:
            days.setdefault(DAY.format(20 + number), []).append(entry(**found["amended"], number=200 + number))
    for day, entries in days.items():
        box.write(day, f"# {day}\n\n" + "\n".join(entries))
    box.own()
    box.index()


def entry(asked: str, answered: str, number: int) -> str:
    hour, minute = 8 + number % 10, number % 60
    return f"### {hour:02d}:{minute:02d}\n- User asked: {asked}\n- {answered}\n"


def prepared(box: Box, wait_ms: int = 3000) -> None:
    """Wait until the service has made ready what hooks read."""
    file = box.home.context(str(box.memory))
    until(lambda: file.exists() and json.loads(file.read_text()).get("wait_ms") == wait_ms, 20, "the prepared context")


def prompt(box: Box, words: str, session: str, agent: str = "claude-code", **payload: Any) -> Result:
    given = {"session_id": session, "prompt": words, "cwd": str(box.project), "hook_event_name": "UserPromptSubmit"}
    return box.ok("hook", agent, "UserPromptSubmit", stdin=json.dumps(given | payload))


def told(result: Result) -> str:
    return result.json.get("hookSpecificOutput", {}).get("additionalContext", "")
