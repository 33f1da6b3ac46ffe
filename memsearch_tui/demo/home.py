"""The demo's home folder, as capture would have filled it, and the repository of its first project.

It has archived conversations, the capture, injection and cost records of the last weeks, and a
consolidation that is pending review.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from dulwich.repo import Repo
from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.capture import summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.extract import why_trivial
from memsearch_engine.capture.ledger import CaptureLedger, SeenTurn
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm import spend
from memsearch_engine.core.llm.reply import Reply, estimate
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.core.settings_schema import LlmSettings
from memsearch_engine.core.state import using
from memsearch_engine.injection import injection_log
from memsearch_engine.journal.merge import merge
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import review
from memsearch_engine.longterm.changes import Hunk
from memsearch_engine.longterm.facts import remember
from memsearch_engine.longterm.store import SCHEMA, SessionMemories, SessionMemory, id_of
from memsearch_engine.staleness.references import find

from memsearch_tui.demo.history import Demo, Story

#: story -> fact learned from its session
_LESSONS = {
    "atlas-pnpm": (
        "Always pnpm in atlas-web, never npm or Yarn: hoisting hid missing dependencies twice"
    ),
    "orders-money-cents": (
        "Money is integer cents (`amount_minor BIGINT`) with a currency code; floats were never an"
        " option"
    ),
    "atlas-tests-ids": "Tests select by role and name; `data-testid` only for charts and the map",
}


#: (prompt, story of the injected note); every second answer cites its note
_INJECTED = (
    ("raise catalog cache ttl", "orders-cache-ttl-1800"),
    ("add a dependency to atlas", "atlas-pnpm"),
    ("store the shipping fee", "orders-money-cents"),
)
_SHOWN_DAYS = 28
_ARCHIVED_DAYS = 14  # all conversations of the last days are archived
#: A story with a note that two machines changed: the text before, and the text of each machine.
_CONTESTED = (
    "orders-runbook-oncall",
    "Escalation after 20 minutes.",
    "Escalation after 15 minutes.",
    "Escalation after 20 minutes, at night after 10.",
)


def fill(root: Path, made: Demo, end: date) -> None:
    """Fill ``root/home`` with the data that a first look at the app needs."""
    home, projects = Home(root / "home").ensure(), made.projects
    _archive(home, made, end)
    _act(home, made, end)
    _weeks(home, made, end)
    _contest(home, made, end)
    with contextlib.closing(Registry(home)) as known:
        names = {name: known.at(locate(path, home)) for name, path in projects.items()}
    with contextlib.closing(Origin(home)) as origin:
        for project in names.values():
            origin.trust(project.memory)
    _learn(home, made, end, names)
    remember(home, "Answers in British English")


def _archive(home: Home, made: Demo, end: date) -> None:
    """Archive conversations as capture does; older ones of agents without sessions are lost."""
    with contextlib.closing(Archive(home)) as archive:
        for story in made.captured:
            has_session = story.agent == "claude-code"
            is_recent = story.tools or story.day < _ARCHIVED_DAYS
            if has_session or is_recent or story.id in _LESSONS:
                archive.put(_turn(story, made.projects[story.project], end))


def _act(home: Home, made: Demo, end: date) -> None:
    """Record what the agents did in each turn."""
    with contextlib.closing(ActionIndex(home)) as actions:
        for story in made.captured:
            folder = made.projects[story.project]
            turn = _turn(story, folder, end)
            for tool in turn.tools:
                path, _, said = tool.input.partition(": ")
                if said and tool.name.lower() in ("edit", "write", "apply_patch"):
                    # the story's edits as text
                    tool.input = json.dumps({"file_path": path})
            started = CapturePipeline.started(turn)
            actions.put(turn, locate(folder, home).memory, story.entry_id, started)


def _learn(home: Home, made: Demo, end: date, projects: dict[str, Project]) -> None:
    """Write what sessions taught, and propose it for the long-term memory."""
    today = datetime(end.year, end.month, end.day, tzinfo=UTC)
    hunks: list[Hunk] = []
    with using(home, SCHEMA) as db:
        for story in made.captured:
            if not (lesson := _LESSONS.get(story.id)):
                continue
            project, name = projects[story.project], id_of(story.agent, story.session_id)
            memory = SessionMemory(
                id=name,
                agent=story.agent,
                session=story.session_id,
                project=project.id,
                project_name=project.name,
                cwd=project.root,
                path="",
                watermark=(today - timedelta(days=story.day)).timestamp(),
                raw_memory=f"- (project) {lesson}",
                summary="\n".join(f"- {bullet}" for bullet in story.bullets),
                slug="",
                made=today.timestamp(),
            )
            SessionMemories.put(db, memory)
            heading = f"## Project {project.name} ({project.id[:8]})"
            line = f"- {lesson} [mem:{name}]"
            hunks += [
                Hunk(len(hunks) + n + 1, path, heading, [], [], [line], [name])
                for n, path in enumerate(("MEMORY.md", "memory_summary.md"))
            ]
    review.propose(home, review.Proposal(today.timestamp(), hunks, model="demo"))


def _contest(home: Home, made: Demo, end: date) -> None:
    """Write the state that sync leaves for a note that was changed in two places."""
    name, was, one, other = _CONTESTED
    story = next(story for story in made.captured if story.id == name)
    day = end - timedelta(days=story.day)
    path = Path(locate(made.projects[story.project], home).memory) / f"{day}.md"
    base = path.read_text(encoding="utf-8")
    ours, theirs = (base.replace(was, text, 1).encode() for text in (one, other))
    path.write_bytes(merge(base.encode(), ours, theirs, str(day)).data)


def _weeks(home: Home, made: Demo, end: date) -> None:
    """Write the last weeks for the activity page: captured turns, cost of summaries, injections."""
    turns, projects = made.captured, made.projects
    recent = [story for story in turns if story.day < _SHOWN_DAYS]
    ledger = CaptureLedger(home)
    for agent in dict.fromkeys(story.agent for story in turns):
        ledger.capturing(agent, _moment(end, _SHOWN_DAYS))
    ledger.note(
        SeenTurn(
            story.agent,
            story.session_id,
            story.turn,
            str(end - timedelta(days=story.day)),
            str(projects[story.project]),
            "trivial" if why else "captured",
            why,
            started=_moment(end, story.day, story.time),
        )
        for story in [*recent, *made.chatter]
        for why in [why_trivial(_turn(story, projects[story.project], end))]
    )
    ledger.close()
    for story in recent:
        text = "\n".join(story.bullets)
        cost = Reply(text, len(story.prompt + story.reply) // 3 + 700, len(text) // 3)
        spend.note(
            home,
            LlmSettings(),
            cost,
            purpose=summaries.PURPOSE,
            provider="native",
            model="claude-haiku-4-5",
            agent=story.agent,
            at=_moment(end, story.day, story.time),
        )
    by_id = {story.id: story for story in turns}
    for number, (prompt, name) in enumerate(_INJECTED):
        note = by_id[name]
        line = (
            f"- {end - timedelta(days=note.day)} {note.agent}:"
            f" {note.bullets[0]} [mem:{note.entry_id}]"
        )
        tokens, session = estimate(line), note.session_id[::-1]
        entry = injection_log.InjectedNote(
            entry=note.entry_id,
            tokens=tokens,
            confidence=0.9,
            why="words of the prompt",
            terms=prompt.split(),
            outcome="",
        )
        injection_log.record(
            home,
            "claude-code",
            session,
            "UserPromptSubmit",
            str(projects[note.project]),
            line,
            tokens,
            [entry],
            5.0,
            at=_moment(end, number, f"1{number}:24"),
        )
        if number % 2 == 0:
            injection_log.mark_cited(home, "claude-code", session, [note.entry_id])


def _moment(end: date, days: int, time: str = "00:00") -> float:
    """Return the seconds since 1970 of a time *days* before the end."""
    hour, minute = map(int, time.split(":"))
    return (
        datetime(end.year, end.month, end.day, hour, minute, tzinfo=UTC) - timedelta(days=days)
    ).timestamp()


def _turn(story: Story, project: Path, end: date) -> Turn:
    day = end - timedelta(days=story.day)
    return Turn(
        story.agent,
        story.session_id,
        story.turn,
        started=f"{day}T{story.time}:00Z",
        cwd=str(project),
        user=story.prompt,
        assistant=story.reply,
        tools=[ToolCall(tool.name, tool.input, tool.output) for tool in story.tools],
    )


_WHO = b"Demo <demo@example.org>"
_LINES = 30
#: days before the end -> moved files (from, to) and deleted files (from, '')
_LATER = {
    70: [("scripts/switch_color.sh", "")],
    40: [
        ("app/catalog/cache.py", "app/core/cache.py"),
        ("docs/webhooks.md", "docs/guides/webhooks.md"),
    ],
    12: [("app/payments/fx.py", ""), ("load/sale.js", "")],
}
#: Notes that a colleague shared with the team: days before the end -> (time, id, text)
_COLLEAGUE = "mara"
_SHARED = {
    33: [
        (
            "10:20",
            "5a11e0c3b7d2",
            (
                "- Feature flags go within 90 days of their full rollout; whoever added one opens"
                " the ticket.\n- A flag that guards money stays for a release longer."
            ),
        )
    ],
    21: [
        (
            "16:05",
            "77c2d9f01e4a",
            (
                "- The payment sandbox resets every Sunday at 02:00 UTC: tests that need a saved"
                " card make one first."
            ),
        )
    ],
}


def make_repository(project: Path, stories: Iterable[Story], end: date) -> None:
    """Write the repository.

    Args:
        project: its folder.
        stories: all stories; those of other projects are ignored.
        end: the last day of the year.
    """
    repo = Repo.init(str(project), default_branch=b"main")
    here = [story for story in stories if story.project == project.name]
    days: dict[int, list[tuple[str, str]]] = {}  # day -> (path, text)
    named: set[str] = set()
    for story in here:
        references = [reference for bullet in story.bullets for reference in find(bullet)]
        words = [
            reference.name for reference in references if reference.kind in ("symbol", "setting")
        ]
        for reference in references:
            path = reference.name
            if (
                reference.kind == "file"
                and "/" in path
                and path[0] != "/"
                and path[-1] != "/"
                and path not in named
            ):
                named.add(path)
                days.setdefault(story.day, []).append((path, _text(path, words)))
    for day, notes in _SHARED.items():
        when = end - timedelta(days=day)
        file = project / ".memsearch" / "shared" / _COLLEAGUE / f"{when}.md"
        days.setdefault(day, []).append(
            (os.fspath(file.relative_to(project)), _shared(when, notes))
        )
    for day in sorted({*days, *_LATER}, reverse=True):
        for path, text in days.get(day, []):
            _write(project / path, text)
        touched = [path for path, _ in days.get(day, [])]
        for old, new in _LATER.get(day, []):
            if old in named:
                touched += [old, new] if new else [old]
                _write(project / new, (project / old).read_text()) if new else None
                (project / old).unlink()
        _commit(repo, touched, datetime.combine(end - timedelta(days=day), time(8)))


def _shared(day: date, notes: list[tuple[str, str, str]]) -> str:
    marks = [("shared", day), ("review", day + timedelta(days=180))]
    lines = [f"# {day}", ""]
    for time_, name, text in notes:
        lines += [
            f"### {time_}",
            f"<!-- id:{name} -->",
            *(f"<!-- {mark}:{value} -->" for mark, value in marks),
            text,
            "",
        ]
    return "\n".join(lines)


def _text(path: str, words: list[str]) -> str:
    lines = [f"{word} = None" for word in words]
    return "\n".join([*lines, *(f"# {path}, line {number}" for number in range(_LINES)), ""])


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _commit(repo: Repo, paths: list[str], when: datetime) -> None:
    work = repo.get_worktree()
    work.stage([os.fspath(path) for path in paths])
    seconds = int(when.timestamp())
    work.commit(
        b"demo",
        committer=_WHO,
        author=_WHO,
        commit_timestamp=seconds,
        author_timestamp=seconds,
        commit_timezone=0,
        author_timezone=0,
        sign=False,
    )
