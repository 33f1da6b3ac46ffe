"""How every screen looks, at three sizes and in two themes. `pytest tests/tui/test_pictures.py
--snapshot-update` draws anew.

The world is small and fixed; where a screen shows the machine (process ids, memory), it is given
fixed facts.
"""

from __future__ import annotations

import time
from datetime import datetime

import msgspec
import pytest
import textual
from memsearch_engine import AgentFiles, Memory
from memsearch_engine.agents.agent_files import AgentFile, AgentFileSection
from memsearch_engine.capture.coverage import DayCoverage
from memsearch_engine.core.llm.spend import Spent
from memsearch_engine.injection.injection_log import InjectedNote, InjectionRecord
from memsearch_engine.journal.history import Change
from textual.widgets import Input

from memsearch_tui.app import MemsearchApp
from memsearch_tui.library import HeaderState, Item, Library, Related
from memsearch_tui.library.notes import RelatedNotes
from memsearch_tui.library.status import MemoryStatus
from memsearch_tui.review import ReviewItem
from memsearch_tui.screens.connect import ConnectedAgent

DRAWN_WITH = "8.2.8"  # another version draws frames and footers differently
pytestmark = pytest.mark.skipif(
    textual.__version__ != DRAWN_WITH, reason=f"the pictures were drawn by textual {DRAWN_WITH}"
)

HEALTH = {
    "second": {
        "name": "multilingual-e5-small",
        "asked": True,
        "vectors": 4,
        "advice": "",
        "fix": "",
    },
    "fingerprint": "all-minilm-l6-v2-d7668958",
    "index": "ready",
    "progress": {},
    "disk": {"index": 23_400_000, "catalog": 5_000_000},
    "projects": [
        {
            "name": "shop",
            "collection": "ms_shop_1f2e3d4c",
            "days": 2,
            "entries": 4,
            "vectors": 4,
            "chunks": 4,
            "distinct": 4,
            "memory": "shop/.memsearch/memory",
        }
    ],
    "problems": [{"what": "2026-02-07.md: permission denied", "fix": "memsearch index"}],
    "service": {"pid": 4711, "uptime_s": 620.0, "rss_mb": 301.0},
}
TOLD = [
    InjectionRecord(
        at=datetime(2026, 2, 9, 14, 31).timestamp(),
        agent="claude-code",
        session="0199a213-81c0-7a61",
        event="UserPromptSubmit",
        cwd="shop",
        text_id="1",
        tokens=126,
        text="- 2026-02-09 codex: Redis cache TTL was raised to 900 "
        "seconds (earlier, 2026-01-20: 300) [mem:3fa9c1d2b1c0]\n"
        "- 2026-02-07: The staging database runs Postgres 16 [mem:77aa01de55f0]",
        notes=[
            InjectedNote(entry=name, tokens=40, confidence=sure, why="", terms=[], outcome=outcome)
            for name, sure, outcome in (("3fa9c1d2b1c0", 0.92, "cited"), ("77aa01de55f0", 0.47, ""))
        ],
    ),
    InjectionRecord(
        at=datetime(2026, 2, 9, 14, 2).timestamp(),
        agent="codex",
        session="0199a213-81c0-7a61",
        event="SessionStart",
        cwd="shop",
        text_id="2",
        tokens=812,
        text="",
    ),
]
ACTIVITY = {
    "capturing": {"claude-code": 1.0},
    "percent": 97,
    "seen": 41,
    "trivial": 3,
    "alarms": [
        "codex: 2 turns are not in memory: capture has stopped (`memsearch plugins status codex`)"
    ],
    "days": [
        DayCoverage(24, 21, 3, agent="claude-code", day="2026-02-09", covered=24),
        DayCoverage(17, 15, agent="codex", day="2026-02-09", covered=15),
    ],
    "missed": [],
    "waiting": [{"event": "1795292537.json", "reason": "the transcript is not there"}],
    "set_aside": 0,
    "error": "",
    "summaries": {"done": 12, "waiting": 1},
    "failures": [
        {"entry_id": "3fa9c1d2b1c0", "tries": 2, "reason": "https://api.example.com answered 429"}
    ],
    "spend": [Spent("2026-02-09", "summarize", "native", "haiku", 12, 18400, 2100, 0.0, 1)],
    "injected": TOLD,
    "today_tokens": 20500,
    "daily_tokens": 200000,
    "provider": "native",
}
REVIEW = [
    ReviewItem(
        "longterm",
        "1/1",
        "~ The shop uses pnpm, never npm",
        [
            [("MEMORY.md", "strong"), ("  Project shop (6f00f29a)", "dim")],
            [],
            [("- The shop uses npm [mem:988264f9]", "bad")],
            [("+ The shop uses pnpm, never npm [mem:988264f9]", "good")],
            [],
            [("from ", "dim"), ("codex 0199a213-81c0 (shop)", "agent")],
        ],
        "accept",
        "reject",
        text="- The shop uses pnpm",
    ),
    ReviewItem(
        "held",
        "2",
        "2026-02-09  Read the vendor's changelog for 4.2",
        [[("took in content from outside", "warn")]],
        "release",
        "forget",
    ),
    ReviewItem(
        "repair",
        "3",
        "duplicate  The importer retries five times",
        [[("says nearly the same as another", "warn")]],
        "merge",
        "leave",
    ),
    ReviewItem(
        "secret", "4", "github-token  3 times", [[("github-token", "bad")]], "take out", "no secret"
    ),
]
RELATED = [
    Related(how, Item(name, "", day, time, agent, title, {}))
    for how, name, day, time, agent, title in (
        ("the first word", "1", "2026-01-20", "10:12", "codex", "Redis cache TTL is 300 seconds"),
        (
            "this note",
            "2",
            "2026-02-09",
            "14:45",
            "claude-code",
            "Redis TTL raised from 300 to 900 seconds",
        ),
        (
            "app/catalog/redis/cache_settings_of_all_shops.py",
            "3",
            "2026-02-07",
            "09:30",
            "opencode",
            "`cache_settings_of_all_shops.py` is read once at start",
        ),
    )
]
STANDING = HeaderState(
    {"claude-code": 1.0, "codex": 1.0},
    [],
    4,
    [("claude-code", 3, "2026-02-09 15:00"), ("codex", 1, "2026-02-08 09:00")],
    [Item("5", "p", "2026-02-08", "09:00", "codex", "Chose Postgres 16 for staging", {"pin": ""})],
    served=True,
    connected=["claude-code", "codex"],
)
CHANGES = [
    Change(
        "b2",
        "delete",
        "m",
        "2026-02-08.md",
        "2",
        "Chose MySQL",
        0,
        b"### 10:00\n- Chose MySQL\n",
        b"",
        "",
        "",
        at=1770600000.0,
        seq=2,
    ),
    Change(
        "b1",
        "edit",
        "m",
        "2026-02-09.md",
        "1",
        "Redis TTL raised from 300 to 900 seconds",
        0,
        b"- Redis TTL is 300 seconds\n- in staging\n",
        b"- Redis TTL is 900 seconds\n- in staging\n- since Monday\n",
        "",
        "",
        at=1770500000.0,
        seq=1,
    ),
]
AGENTS = [
    ConnectedAgent("claude-code", True, True, [], []),
    ConnectedAgent(
        "codex",
        True,
        False,
        [],
        [("~/.codex/hooks.json", "hooks"), ("~/.codex/config.toml", "trust for our hooks")],
    ),
    ConnectedAgent(
        "opencode", False, False, [], [("~/.config/opencode/plugins/memsearch.js", "plugin")]
    ),
]
NATIVE = [
    AgentFile(
        "/home/ana/.claude/projects/-home-ana-shop/memory/MEMORY.md",
        "auto memory",
        ["claude-code"],
        "agent",
        "project",
        "2026-02-09T10:00:00+00:00",
        900,
        sections=[
            AgentFileSection(
                "1", "- [Building](build.md): `make all`, never in parallel", ["Memory"], 2, 2
            ),
            AgentFileSection(
                "2",
                "- The catalog cache TTL is 300 seconds",
                ["Memory"],
                3,
                3,
                contradicted_by="3fa9c1d2b1c0",
                contradicted_why="2026-02-09: same subject: catalog, TTL; says “raised”",
            ),
            AgentFileSection(
                "3",
                "- Staging is rebuilt at night",
                ["Memory"],
                204,
                204,
                unread_by=["claude-code"],
            ),
        ],
    ),
    AgentFile(
        "/home/ana/.claude/projects/-home-ana-shop/memory/robots.md",
        "auto memory: Robots of the warehouse",
        ["claude-code"],
        "agent",
        "project",
        "2026-02-01T10:00:00+00:00",
        90,
        sections=[AgentFileSection("4", "Robots stop at red lines.", [], 5, 5)],
        orphaned=True,
    ),
    AgentFile(
        "/home/ana/shop/AGENTS.md",
        "instructions of the project",
        ["codex", "opencode", "pi", "copilot"],
        "person",
        "project",
        "2026-02-02T10:00:00+00:00",
        300,
        sections=[
            AgentFileSection(
                "5",
                "- Say please\n  and thank you",
                ["The shop", "Manners"],
                8,
                9,
                note="77aa01de55f0",
            )
        ],
    ),
]
#: name -> keys that lead there
SCREENS = {
    "entries": ["down"],
    "date": ["down", "g", *"2026-02-08"],
    "section": ["down", "enter"],
    "conversation": ["down", "enter", "enter"],
    "search": ["slash", *"redis"],
    "edit": ["down", "e"],
    "marks": ["down", "M"],
    "changes": ["U", "down"],
    "connect": ["c"],
    "related": ["down", "b"],
    "help": ["question_mark"],
    "projects": ["f2"],
    "health": ["f3"],
    "activity": ["f4"],
    "review": ["f5"],
    "native": ["f6", "down"],
}
SIZES = [(80, 24), (120, 40), (200, 60)]
#: The light one shows the same text as the dark one.
LOOKS = [
    pytest.param(
        size,
        f"memsearch-{theme}",
        id=f"{size[0]}x{size[1]}-memsearch-{theme}",
        marks=[pytest.mark.slow] if theme == "light" else [],
    )
    for size in SIZES
    for theme in ("dark", "light")
]


def groups(memory, secrets):
    """The groups of the review page; the first case has a note of the world."""
    name = next(note.id for note in memory.entries("2026-02-09") if "Redis" in note.title)
    cases = [msgspec.structs.replace(REVIEW[0], notes=(name,)), *REVIEW[1:]]
    for kind in dict.fromkeys(case.kind for case in cases):
        yield kind, [case for case in cases if case.kind == kind]


@pytest.mark.parametrize(("size", "theme"), LOOKS)
@pytest.mark.parametrize("name", SCREENS)
def test_screen(snap_compare, world, monkeypatch, name, size, theme):
    monkeypatch.setattr(Library, "today", lambda self: "2026-02-09")
    monkeypatch.setattr(MemoryStatus, "header", lambda self: STANDING)
    monkeypatch.setattr(MemoryStatus, "health", lambda self: HEALTH)
    monkeypatch.setattr(MemoryStatus, "activity", lambda self: ACTIVITY)
    monkeypatch.setattr(AgentFiles, "all", lambda self, compare=False: NATIVE)
    monkeypatch.setattr(
        "memsearch_tui.screens.agent_files.agent_file_path",
        lambda path, root: path.replace("/home/ana/shop/", "").replace("/home/ana", "~"),
    )
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(Memory, "history", lambda self, **of: CHANGES)
    monkeypatch.setattr("memsearch_tui.screens.connect.agents", lambda memory: AGENTS)
    monkeypatch.setattr(RelatedNotes, "of", lambda self, item, entry: (RELATED, ""))
    monkeypatch.setattr("memsearch_tui.screens.review.groups", groups)
    monkeypatch.setattr(
        "memsearch_tui.screens.browse.search.REST_S", 3600
    )  # words only: meaning would need the service

    async def done(pilot) -> None:
        for worker in list(pilot.app.workers):
            if worker.group != "search":
                await pilot.app.workers.wait_for_complete([worker])
        await pilot.pause()

    async def still(pilot) -> None:
        for box in pilot.app.screen.query(Input):
            box.cursor_blink = False
        await pilot.pause()
        while not pilot.app.screen.state.standing.served:
            await pilot.pause()
        await done(pilot)  # what a modal screen covers is not painted again
        for key in SCREENS[name]:
            await pilot.press(key)
        for box in pilot.app.screen.query(Input):
            box.cursor_blink = False
        await done(pilot)
        pilot.app.screen.query("Toast").remove()
        await pilot.pause()

    app: MemsearchApp = world.app()
    app.theme = theme
    assert snap_compare(app, terminal_size=size, run_before=still), (
        "if the new look is wanted: "
        f'pytest tests/tui/test_pictures.py -m "" -k {name} --snapshot-update'
    )
