"""Writes the demo's year to disk. Deterministic: the same end day gives the same bytes."""

from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.parse import turn_id
from memsearch_engine.journal.text import escape_line

_HERE = Path(__file__).parent
#: Turns that read content from outside the machine.
_OUTSIDE = ("orders-otel", "atlas-map-blurry")
ROUTINE = 700  # routine turns of the sample year
_LONG = "orders-api"  # the project with a long newest session
_NAMESPACE = uuid.UUID("6f2a1c9e-3a55-4b7e-9d6b-2f7f3a1d8e10")


class ToolUse(msgspec.Struct):
    """A tool call of a story: its name, input and output."""

    name: str
    input: str
    output: str


class Story(msgspec.Struct):
    """A turn of the sample year. ``day`` counts back from the end of the year."""

    id: str
    project: str
    agent: str
    day: int
    time: str
    session: str
    prompt: str
    bullets: list[str]
    reply: str
    tools: list[ToolUse] = []

    @property
    def turn(self) -> str:
        """The id of the turn."""
        return str(uuid.uuid5(_NAMESPACE, self.id))

    @property
    def session_id(self) -> str:
        """The id of its session."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.project}/{self.session}"))

    @property
    def entry_id(self) -> str:
        """The id of its entry."""
        return turn_id(self.agent, self.session_id, self.turn)


class Demo(msgspec.Struct):
    """What was written.

    Attributes:
        root: the folder of the demo.
        projects: project roots by name.
        entries: number of entries.
        captured: the turns with an entry.
        chatter: the turns without one.
    """

    root: Path
    projects: dict[str, Path]
    entries: int
    captured: list[Story]
    chatter: list[Story]


def stories() -> list[Story]:
    """Return the hand-written turns."""
    lines = (_HERE / "stories.jsonl").read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Story) for line in lines if line.strip()]


def fillers(count: int = ROUTINE, seed: int = 7) -> list[Story]:
    """Return routine turns: small requests on ordinary modules, spread over working days.

    The request of a turn is the one at the place of its first action.

    Args:
        count: number of turns.
        seed: seed of the random choice.
    """
    parts = json.loads((_HERE / "fillers.json").read_text(encoding="utf-8"))
    chance = random.Random(seed)
    found = []
    for number in range(count):
        project = chance.choices(list(parts), weights=[4, 3, 3])[0]
        kinds = parts[project]
        agent = chance.choices(
            ["claude-code", "codex", "opencode", "openclaw"], weights=[4, 3, 2, 1]
        )[0]
        day = chance.randrange(365)
        if day % 7 in (5, 6) and chance.random() < 0.8:
            day = max(0, day - 3)

        def draw(name: str, kinds: dict[str, list[str]] = kinds) -> tuple[str, str, int]:
            """Return a sentence, a module and a number for it."""
            return (
                chance.choice(kinds[name]),
                chance.choice(kinds["modules"]),
                chance.randrange(3, 90),
            )

        time = f"{chance.randrange(8, 19):02d}:{chance.randrange(60):02d}"
        draw("requests")  # not used; without it later turns of a seed would be other ones
        actions = [draw("actions") for _ in range(chance.randrange(1, 4))]
        (first, module, _), followup, _ = actions[0], draw("followups"), draw("actions")
        done = [text.format(module=of, n=count) for text, of, count in actions]
        found.append(
            Story(
                id=f"filler-{number}",
                project=project,
                agent=agent,
                day=day,
                time=time,
                session=f"routine-{project}-{agent}-{day}",
                prompt=kinds["requests"][kinds["actions"].index(first)].format(module=module),
                bullets=[*done, followup[0].format(module=followup[1], n=followup[2])],
                reply=" ".join(done),
            )
        )
    return found


_INSTRUCTIONS = """\
# orders-api

Read this first:

- Run `make check` before a push; migrations are reviewed by two people
- Never log card data, not even in tests

## Production

- Production runs Postgres 14.11 on managed hosting; `docker-compose.yml` is pinned to \
`postgres:14-alpine` to match
- Application logs are kept 14 days in Loki (`retention_period: 336h`), then dropped
"""
_KEPT = {
    "MEMORY.md": """\
- [How the owner works](owner.md): small commits, British spelling
- Outgoing merchant webhooks: 5 attempts with exponential backoff, `WEBHOOK_MAX_ATTEMPTS=5`
- `make seed` needs Redis running, and says nothing when it is not
""",
    "owner.md": """\
---
name: owner
description: How the owner works
type: user
---
Small commits with a reason each. British spelling in everything that a merchant reads.
""",
    "flaky-tests.md": """\
---
name: flaky-tests
description: Tests that fail now and then
type: project
---
`test_refund_race` fails about once in forty runs where the machine has one core.
""",
}


def build(root: Path, end: date, routine: int = ROUTINE) -> Demo:
    """Write the year that ends on *end*: ``projects/<name>`` and the agents' own session files.

    Args:
        root: the folder to write to.
        routine: number of routine turns.
    """
    captured = sorted(
        [*stories(), *fillers(routine)], key=lambda s: (-s.day, s.time, s.session, s.id)
    )
    agents = root / "agents"
    projects = {
        name: root / "projects" / name
        for name in dict.fromkeys(story.project for story in captured)
    }
    days: dict[Path, list[tuple[Story, Anchor]]] = {}
    sessions: dict[Path, list[tuple[Story, Path]]] = {}
    for story in captured:
        project = projects[story.project]
        when = end - timedelta(days=story.day)
        anchor, transcript = _anchor(story, agents, project, when)
        days.setdefault(project / ".memsearch" / "memory" / f"{when.isoformat()}.md", []).append(
            (story, anchor)
        )
        if story.agent == "claude-code":
            sessions.setdefault(transcript, []).append((story, project))
    newest = list(
        dict.fromkeys(path for path in sessions if sessions[path][0][0].project == _LONG)
    )[-1]
    chatter = _chatter(sessions[newest][0][0])
    sessions[newest] = [*((turn, sessions[newest][0][1]) for turn in chatter), *sessions[newest]]
    for path, turns in days.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_day(path.stem, turns), encoding="utf-8")
    for path, written in sessions.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as out:
            for story, project in written:
                out.writelines(
                    f"{json.dumps(line, ensure_ascii=False)}\n"
                    for line in _claude(story, project, end)
                )
    _write_agent_files(agents, projects["orders-api"])
    return Demo(root, projects, len(captured), captured, chatter)


def _chatter(story: Story) -> list[Story]:
    """Return earlier turns of a story's session that led to no note, because real conversations are
    long.
    """
    said = json.loads((_HERE / "chatter.json").read_text(encoding="utf-8"))
    hour, minute = map(int, story.time.split(":"))
    found = []
    for number, (asked, answered) in enumerate(said):
        at = max(0, hour * 60 + minute - 4 * (len(said) - number))
        turn = msgspec.structs.replace(
            story,
            id=f"{story.id}-before-{number}",
            time=f"{at // 60:02d}:{at % 60:02d}",
            prompt=asked,
            reply=answered,
            tools=[],
        )
        found.append(turn)
    return found


def _write_agent_files(agents: Path, project: Path) -> None:
    """Write Claude Code's agent files: project instructions and its auto memory, partly
    outdated.
    """
    (project / "CLAUDE.md").write_text(_INSTRUCTIONS, encoding="utf-8")
    folder = agents / "claude" / "projects" / str(project).replace("/", "-") / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _KEPT.items():
        (folder / name).write_text(text, encoding="utf-8")


def _anchor(story: Story, agents: Path, project: Path, when: date) -> tuple[Anchor, Path]:
    session = story.session_id
    if story.agent == "claude-code":
        kind, path = (
            "transcript",
            agents / "claude" / "projects" / str(project).replace("/", "-") / f"{session}.jsonl",
        )
    elif story.agent == "codex":
        folder = agents / "codex" / "sessions" / when.strftime("%Y/%m/%d")
        kind, path = "rollout", folder / f"rollout-{when.isoformat()}T09-00-00-{session}.jsonl"
    elif story.agent == "opencode":
        kind, path = "db", agents / "opencode" / "opencode.db"
    else:
        kind, path = "db", agents / "openclaw" / "main" / "agent" / "openclaw-agent.sqlite"
    return Anchor(session, story.turn, story.agent, kind, str(path)), path


def _day(day: str, turns: list[tuple[Story, Anchor]]) -> str:
    lines = [f"# {day}", ""]
    last = ""
    for story, anchor in turns:
        if story.session_id != last:
            lines += [f"## Session {story.time}", ""]
            last = story.session_id
        marks = ["<!-- trust:outside -->"] if story.id in _OUTSIDE else []
        lines += [
            f"### {story.time}",
            anchor.render(),
            *marks,
            *(f"- {escape_line(b)}" for b in story.bullets),
            "",
        ]
    return "\n".join(lines)


def _claude(story: Story, project: Path, end: date) -> list[dict[str, Any]]:
    """Return a turn in the format of Claude Code 2.1: one line for each content block."""
    hour, minute = map(int, story.time.split(":"))
    start = datetime(end.year, end.month, end.day, hour, minute, tzinfo=UTC) - timedelta(
        days=story.day
    )
    lines: list[dict[str, Any]] = []
    parent: str | None = None

    def add(kind: str, message: dict[str, Any], **more: object) -> None:
        nonlocal parent
        name = str(uuid.uuid5(_NAMESPACE, f"{story.id}/{len(lines)}"))
        stamp = (start + timedelta(seconds=7 * len(lines))).isoformat().replace("+00:00", "Z")
        common = {
            "cwd": str(project),
            "sessionId": story.session_id,
            "version": "2.1.330",
            "gitBranch": "main",
            "isSidechain": False,
            "userType": "external",
        }
        line = {
            "type": kind,
            "uuid": name,
            "parentUuid": parent,
            "timestamp": stamp,
            **common,
            "message": message,
        }
        lines.append({**line, **more})
        parent = name

    add(
        "user", {"role": "user", "content": story.prompt}, promptId=story.turn, promptSource="typed"
    )
    for number, tool in enumerate(story.tools):
        use = f"toolu_{story.turn[:8]}{number}"
        content = {
            "type": "tool_use",
            "id": use,
            "name": tool.name,
            "input": {"command": tool.input},
        }
        add(
            "assistant",
            {"role": "assistant", "id": f"msg_{story.id}_{number}", "content": [content]},
        )
        result = {"type": "tool_result", "tool_use_id": use, "content": tool.output}
        add("user", {"role": "user", "content": [result]}, promptId=story.turn)
    text = {"type": "text", "text": story.reply}
    add(
        "assistant",
        {
            "role": "assistant",
            "id": f"msg_{story.id}_end",
            "content": [text],
            "stop_reason": "end_turn",
        },
    )
    return lines
