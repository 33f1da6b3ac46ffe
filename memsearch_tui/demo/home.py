"""What the product would have made of the year in its own home: kept conversations, and a consolidation that waits for review."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from memsearch_engine.actions.index import Actions
from memsearch_engine.agents import registry
from memsearch_engine.capture.keep import Keeper
from memsearch_engine.capture.ledger import Ledger
from memsearch_engine.home import Home
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import review
from memsearch_engine.longterm.facts import remember
from memsearch_engine.longterm.store import SCHEMA, SessionMemory, Store, id_of
from memsearch_engine.projects import locate
from memsearch_engine.registry import Registry
from memsearch_engine.state import using
from memsearch_engine.transcripts.evidence import Archive
from memsearch_engine.transcripts.model import ToolCall, Turn

from memsearch_tui.demo.history import Story

#: story -> what its session taught
_LESSONS = {
    "atlas-pnpm": "Always pnpm in atlas-web, never npm or Yarn: hoisting hid missing dependencies twice",
    "orders-money-cents": "Money is integer cents (`amount_minor BIGINT`) with a currency code; floats were never an option",
    "atlas-tests-ids": "Tests select by role and name; `data-testid` only for charts and the map",
}


def fill(root: Path, told: list[Story], projects: dict[str, Path], end: date) -> None:
    """Fill ``root/home`` as far as a first look at the app needs it."""
    home = Home(root / "home").ensure()
    archive = Archive(home)
    for story in told:
        if story.agent != "claude-code" and (story.id in _LESSONS or story.tools):
            archive.put(_turn(story, projects[story.project], end))
    archive.close()
    actions = Actions(home)
    for story in told:
        folder = projects[story.project]
        turn = _turn(story, folder, end)
        for tool in turn.tools:
            path, _, said = tool.input.partition(": ")
            if said and tool.name.lower() in ("edit", "write", "apply_patch"):  # what the story's edits say in words
                tool.input = json.dumps({"file_path": path})
        actions.put(turn, locate(folder, home).memory, story.entry_id, Keeper.started(turn))
    actions.close()
    ledger = Ledger(home)
    for agent in registry.live():
        ledger.capturing(agent, datetime(end.year, end.month, end.day, tzinfo=UTC).timestamp())
    known = Registry(home)
    names = {name: known.at(locate(path, home)) for name, path in projects.items()}
    known.close()
    origin = Origin(home)
    for project in names.values():
        origin.trust(project.memory)
    origin.close()
    learned = datetime(end.year, end.month, end.day, tzinfo=UTC).timestamp()
    hunks: list[review.Hunk] = []
    with using(home, SCHEMA) as db:
        for story in told:
            if lesson := _LESSONS.get(story.id):
                project = names[story.project]
                name = id_of(story.agent, story.session_id)
                when = datetime(end.year, end.month, end.day, tzinfo=UTC) - timedelta(days=story.day)
                memory = SessionMemory(
                    id=name, agent=story.agent, session=story.session_id, project=project.id, project_name=project.name,
                    cwd=project.root, path="", watermark=when.timestamp(), raw_memory=f"- (project) {lesson}",
                    summary="\n".join(f"- {bullet}" for bullet in story.bullets), slug="", made=learned,
                )  # fmt: skip
                Store.put(db, memory)
                heading, line = f"## Project {project.name} ({project.id[:8]})", f"- {lesson} [mem:{name}]"
                hunks += [
                    review.Hunk(len(hunks) + n + 1, path, heading, [], [], [line], [name])
                    for n, path in enumerate(("MEMORY.md", "memory_summary.md"))
                ]
    review.propose(home, review.Proposal(learned, hunks, model="demo"))
    remember(home, "Answers in British English")


def _turn(story: Story, project: Path, end: date) -> Turn:
    day = end - timedelta(days=story.day)
    return Turn(
        story.agent, story.session_id, story.turn, started=f"{day}T{story.time}:00Z", cwd=str(project), user=story.prompt,
        assistant=story.reply, tools=[ToolCall(tool.name, tool.input, tool.output) for tool in story.tools],
    )  # fmt: skip
