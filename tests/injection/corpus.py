"""A project in which something was decided, among ordinary turns: what recall is tested on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Box, Result, until
from tests.evaluation.recall import chats

DAY = "2026-02-{:02d}"
_ORDINARY = 48


def case(voice: str, name: str) -> dict:
    (found,) = (case for case in chats.voices((voice,))[0].cases if case["id"] == name)
    return found


def furnish(box: Box, *decided: dict, voice: str = "data") -> None:
    """Write ordinary turns of a voice over some days, and what was decided in these cases, each on
    a day of its own; what amends it, on a later one.
    """
    (spoken,) = chats.voices((voice,))
    turns, _ = chats.injected(spoken._replace(cases=[]), _ORDINARY)
    days: dict[str, list[str]] = {}
    for number, said in enumerate(turns):
        days.setdefault(DAY.format(1 + number % 8), []).append(
            entry(said.asked, said.answered, number)
        )
    for number, found in enumerate(decided):
        days.setdefault(DAY.format(12 + number), []).append(
            entry(found["asked"], found["answered"], 100 + number)
        )
        if found["amended"]:
            days.setdefault(DAY.format(20 + number), []).append(
                entry(**found["amended"], number=200 + number)
            )
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
    until(
        lambda: file.exists() and json.loads(file.read_text()).get("wait_ms") == wait_ms,
        20,
        "the prepared context",
    )


def prompt(
    box: Box, words: str, session: str, agent: str = "claude-code", **payload: Any
) -> Result:
    given = {
        "session_id": session,
        "prompt": words,
        "cwd": str(box.project),
        "hook_event_name": "UserPromptSubmit",
    }
    return box.ok("hook", agent, "UserPromptSubmit", stdin=json.dumps(given | payload))


def injected(result: Result) -> str:
    return result.json.get("hookSpecificOutput", {}).get("additionalContext", "")


Call = tuple[str, dict[str, Any], str, bool]
#: A session that met an error, a command that fails, and settled something about a file.
OLD, DAY_OF_WORK = "33333333-3333-4333-8333-333333333333", "2026-03-02"
MISSING = (
    'Traceback (most recent call last):\n  File "{}/app/db.py", line {}, in <module>\n'
    "ModuleNotFoundError: No module named 'psycopg2'\n"
)


def talked(
    box: Box,
    transcript: Path,
    number: int,
    asked: str,
    answered: str,
    calls: list[Call],
    day: str = "2026-03-02",
) -> None:
    """Append a turn of Claude Code's to a transcript, whose name is its session's.

    Args:
        calls: tool, its input, what it printed, whether it failed.
    """
    common = {
        "cwd": str(box.project),
        "sessionId": transcript.stem,
        "version": "2.1.330",
        "isSidechain": False,
    }
    lines: list[dict] = [
        {
            "type": "user",
            "uuid": f"u{number}",
            "promptId": f"p{number}",
            "promptSource": "typed",
            "message": {"role": "user", "content": asked},
        }
    ]
    for place, (tool, given, output, failed) in enumerate(calls):
        name = f"toolu_{number}_{place}"
        use = {"type": "tool_use", "id": name, "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": failed}
        lines += [
            {
                "type": "assistant",
                "uuid": f"a{name}",
                "message": {"role": "assistant", "id": f"m{name}", "content": [use]},
            },
            {
                "type": "user",
                "uuid": f"r{name}",
                "promptId": f"p{number}",
                "message": {"role": "user", "content": [result]},
                "toolUseResult": {},
            },
        ]
    answer = {
        "role": "assistant",
        "id": f"m{number}",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": answered}],
    }
    lines.append({"type": "assistant", "uuid": f"a{number}", "message": answer})
    transcript.parent.mkdir(parents=True, exist_ok=True)
    with transcript.open("a") as out:
        for place, line in enumerate(lines):
            out.write(
                json.dumps({**common, **line, "timestamp": f"{day}T10:{number:02d}:{place:02d}Z"})
                + "\n"
            )


def bash(command: str, output: str = "", failed: bool = False) -> Call:
    return "Bash", {"command": command}, output, failed


def edit(box: Box, path: str) -> Call:
    return (
        "Edit",
        {"file_path": str(box.project / path), "old_string": "a", "new_string": "b"},
        "ok",
        False,
    )


def work_was_done(box: Box) -> None:
    """Capture the session ``OLD``."""
    turns: list[tuple[str, str, list[Call]]] = [
        (
            "Make the tests run again",
            "The driver was missing: psycopg2 needs libpq, so we install psycopg2-binary instead.",
            [
                bash("pytest -q", MISSING.format("/x", 3), True),
                edit(box, "requirements.txt"),
                bash("uv sync", "done"),
                bash("pytest -q", "4 passed"),
            ],
        ),
        (
            "Migrate the tenants",
            "Migrations run for one tenant at a time.",
            [
                bash(
                    f"cd {box.project} && alembic upgrade head 2>&1 | tail -5",
                    "FAILED: Multiple head revisions are present for tenant",
                    True,
                ),
                bash("alembic -x tenant=acme upgrade head", "ok"),
            ],
        ),
        (
            "Speed up the catalog",
            (
                "`app/catalog/cache.py` must keep at most 500 entries, "
                "because the pods have 256 MB. Renamed a variable in `app/shop.py`."
            ),
            [
                edit(box, "app/catalog/cache.py"),
                edit(box, "app/shop.py"),
                bash("git status", "clean"),
            ],
        ),
    ]
    capture(box, OLD, turns)


def capture(
    box: Box, session: str, turns: list[tuple[str, str, list[Call]]], day: str = DAY_OF_WORK
) -> Path:
    transcript = box.user / ".claude" / "projects" / "-p" / f"{session}.jsonl"
    for number, (asked, answered, calls) in enumerate(turns):
        talked(box, transcript, number, asked, answered, calls, day)
    given = {"session_id": session, "transcript_path": str(transcript), "cwd": str(box.project)}
    box.ok("hook", "claude-code", "Stop", stdin=json.dumps(given))

    def noted() -> bool:
        box.ok("inbox", "--json")
        return sum(
            e["session"] == session
            for e in box.ok("entries", "-n", "200", "--json").json["entries"]
        ) == len(turns)

    until(noted, 30, "the session's notes")
    box.index()
    return transcript
