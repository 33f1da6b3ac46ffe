"""The recorded samples, put where the agents keep their sessions, with their projects' folders made
real.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
_WAS = "/home/dev/proj"


def place_samples(user: Path, projects: Path) -> dict[str, Path]:
    """Fill a user's home. Returns the folder in which each agent keeps its sessions."""
    for name in ("cc1", "cc2", "cx1", "oc1", "claw1", "cc-tui"):
        (projects / name).mkdir(parents=True, exist_ok=True)
    claude = user / ".claude" / "projects" / "-home-dev-proj-cc1"
    codex = user / ".codex" / "sessions" / "2026" / "11" / "21"
    opencode = user / ".local" / "share" / "opencode"
    openclaw = user / ".openclaw" / "agents" / "main" / "agent"
    for folder in (claude, codex, opencode, openclaw):
        folder.mkdir(parents=True, exist_ok=True)
    for file in (SAMPLES / "claude-code").glob("*.jsonl"):
        text = file.read_text().replace(_WAS, str(projects))
        (claude / f"{_session(text, 'sessionId')}.jsonl").write_text(text)
    for file in (SAMPLES / "codex").glob("*.jsonl"):
        text = file.read_text().replace(_WAS, str(projects))
        (codex / f"rollout-2026-11-21T20-31-52-{_session(text, 'id')}.jsonl").write_text(text)
    shutil.copy(SAMPLES / "opencode" / "opencode.db", opencode / "opencode.db")
    shutil.copy(SAMPLES / "openclaw" / "openclaw-agent.sqlite", openclaw / "openclaw-agent.sqlite")
    with sqlite3.connect(opencode / "opencode.db") as db:
        db.execute("UPDATE session SET directory=replace(directory, ?, ?)", (_WAS, str(projects)))
        db.execute("UPDATE message SET data=replace(data, ?, ?)", (_WAS, str(projects)))
    with sqlite3.connect(openclaw / "openclaw-agent.sqlite") as db:
        db.execute(
            "UPDATE transcript_events SET event_json=replace(event_json, ?, ?)",
            (_WAS, str(projects)),
        )
    return {
        "claude-code": claude.parent,
        "codex": user / ".codex" / "sessions",
        "opencode": opencode,
        "openclaw": user / ".openclaw" / "agents",
    }


def _session(text: str, key: str) -> str:
    for quoted in (f'"{key}": "', f'"{key}":"'):
        if quoted in text:
            return text.split(quoted, 1)[1].split('"', 1)[0]
    raise AssertionError(f"no {key} in this sample")
