"""A turn that its person took back and sent anew is marked as superseded by the one in its place;
the owner's decision stays.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.capture import event_queue
from memsearch_engine.capture.backfill import ImportSelection, plan, run
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.coverage import reconcile
from memsearch_engine.core.home import AgentFolders, Home

from tests.transcripts.test_claude_turns import answer, user
from tests.transcripts.test_rewound import in_openclaw_s_database, of_codex, of_openclaw, uuid

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
SAID = [
    (1, "Which port?", 0),
    (3, "Use MySQL for orders", 2),
    (5, "Index them, too", 4),
    (7, "Use Postgres for orders", 2),
]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, folder in (
        ("HOME", "user"),
        ("CLAUDE_CONFIG_DIR", "claude"),
        ("MEMSEARCH_HOME", "home"),
    ):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    (tmp_path / "proj").mkdir()
    Home(tmp_path / "home").ensure()
    return tmp_path


def said(desk: Path, turns: int) -> Path:
    """The session after so many *turns*."""
    file = desk / "claude" / "projects" / "-proj" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    more = {"cwd": str(desk / "proj"), "sessionId": SESSION}
    with open(file, "w") as out:
        for number, text, parent in SAID[:turns]:
            asked = user(number, text, parentUuid=uuid(parent) if parent else None, **more)
            for row in (
                asked,
                answer(number + 1, f"Done: {text}.", parentUuid=uuid(number), **more),
            ):
                out.write(json.dumps(row) + "\n")
    return file


def captured(desk: Path, turns: int) -> None:
    file, at = said(desk, turns), time.time()
    event = {
        "agent": "claude-code",
        "event": "Stop",
        "session_id": SESSION,
        "transcript_path": str(file),
        "at": at,
        "cwd": str(desk / "proj"),
    }
    home = Home(desk / "home")
    home.inbox.mkdir(exist_ok=True)
    (home.inbox / f"{at:.6f}-1.json").write_text(json.dumps(event))
    assert not event_queue.work(home).waiting


def imported(desk: Path, turns: int) -> None:
    said(desk, turns)
    pipeline, choice = CapturePipeline(Home(desk / "home")), ImportSelection(("claude-code",))
    run(pipeline, plan(pipeline.home, pipeline, AgentFolders.from_env(), choice), choice)
    pipeline.close()


def marked(memory: Memory) -> dict[str, str]:
    """What was asked in superseded notes -> what was asked in the note that each names."""
    asked = {
        note.id: text
        for note in memory.entries()
        for _, text, _ in SAID
        if f"asked: {text}" in note.text
    }
    return {
        asked[note.id]: asked[note.marks["superseded-by"]]
        for note in memory.entries()
        if "superseded-by" in note.marks
    }


REWOUND = {text: SAID[3][1] for _, text, _ in SAID[1:3]}


@pytest.mark.parametrize("takes", [captured, imported])
@pytest.mark.parametrize(
    "before", [0, 2, 3]
)  # turns that are noted already when the person rewinds
def test_rewound_turns_are_marked_by_the_one_in_their_place(desk, takes, before):
    if before:
        takes(desk, before)
    takes(desk, 4)
    memory = Memory(desk / "proj")
    assert marked(memory) == REWOUND
    takes(desk, 4)
    assert marked(memory) == REWOUND and len(memory.entries()) == 4


@pytest.mark.parametrize("how", ["undone", "un-marked", "edited", "pinned"])
def test_a_note_about_which_the_owner_decided_stays_as_it_is(desk, how):
    captured(desk, 3)
    memory = Memory(desk / "proj")
    note = next(note for note in memory.entries() if "MySQL" in note.text)
    rest = {SAID[2][1]: SAID[3][1]}
    if how == "edited":
        memory.edit(note.id, note.text.replace("MySQL", "MariaDB"))
    elif how == "pinned":
        memory.mark(note.id, "pin")
    captured(desk, 4)
    if how == "undone":
        memory.undo(note.id)
    elif how == "un-marked":
        memory.mark(note.id, "superseded-by", None)
    captured(desk, 4)  # the newest turn is looked at again
    assert marked(memory) == rest


def in_copilot(desk: Path, prompts: list[str]) -> str:
    """Write a session of Copilot CLI, which writes its file again at a rewind."""
    file = desk / "copilot" / "session-state" / SESSION / "events.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    start = {"sessionId": SESSION, "copilotVersion": "1", "context": {"cwd": str(desk / "proj")}}
    events = [("session.start", 0, start)]
    for text in prompts:
        at = 2 * PROMPTS.index(text)
        events += [
            ("user.message", at, {"content": text, "messageId": f"message-{at}"}),
            ("assistant.message", at + 1, {"content": f"Done: {text}."}),
        ]
    file.write_text(
        "".join(
            json.dumps(
                {
                    "type": kind,
                    "timestamp": f"2026-11-20T10:00:{at:02}.000Z",
                    "parentId": None,
                    "data": data,
                }
            )
            + "\n"
            for kind, at, data in events
        )
    )
    return str(file)


def in_opencode(desk: Path, prompts: list[str]) -> str:
    """Write a session of OpenCode, which deletes messages at the prompt after a rewind."""
    file = desk / "data" / "opencode" / "opencode.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        shutil.copy(Path(__file__).parents[1] / "samples" / "opencode" / file.name, file)
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("DELETE FROM part")
        db.execute("DELETE FROM message")
        keep = db.execute("SELECT id FROM session LIMIT 1").fetchone()[0]
        db.execute("DELETE FROM session WHERE id<>? AND id<>?", (keep, SESSION))
        db.execute(
            "UPDATE session SET id=?, directory=?, parent_id=NULL, time_created=0",
            (SESSION, str(desk / "proj")),
        )
        for text in prompts:
            at = 1795000000000 + 2000 * PROMPTS.index(text)
            for name, when, data, part in (
                (f"msg_{at}", at, {"role": "user"}, text),
                (
                    f"msg_{at}_answer",
                    at + 1000,
                    {"role": "assistant", "parentID": f"msg_{at}", "finish": "stop"},
                    f"Done: {text}.",
                ),
            ):
                data["time"] = {"created": when, "completed": when}
                db.execute(
                    "INSERT INTO message (id, session_id, time_created, time_updated, data)"
                    " VALUES (?,?,?,?,?)",
                    (name, SESSION, when, when, json.dumps(data)),
                )
                db.execute(
                    "INSERT INTO part (id, message_id, session_id, time_created, time_updated,"
                    " data) VALUES (?,?,?,?,?,?)",
                    (
                        f"part_{name}",
                        name,
                        SESSION,
                        when,
                        when,
                        json.dumps({"type": "text", "text": part}),
                    ),
                )
    return str(file)


PROMPTS = [text for _, text, _ in SAID]


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        (PROMPTS[:3], [PROMPTS[0], PROMPTS[3]], REWOUND),
        (PROMPTS[:2], [PROMPTS[3]], dict.fromkeys(PROMPTS[:2], PROMPTS[3])),
        (PROMPTS[:2], PROMPTS[:3], {}),
        (PROMPTS[:3], PROMPTS[:1], {}),  # nothing was sent in their place yet
    ],
)
@pytest.mark.parametrize(("agent", "written"), [("copilot", in_copilot), ("opencode", in_opencode)])
@pytest.mark.parametrize("live", [True, False])
def test_turns_that_a_rewind_deleted_are_marked_by_the_one_in_their_place(
    desk, monkeypatch, agent, written, first, then, expected, live
):
    monkeypatch.setenv("COPILOT_HOME", str(desk / "copilot"))
    monkeypatch.setenv("XDG_DATA_HOME", str(desk / "data"))
    home = Home(desk / "home")
    for number, prompts in enumerate((first, then)):
        path = written(desk, prompts)
        if not live:
            pipeline, choice = CapturePipeline(home), ImportSelection((agent,))
            run(pipeline, plan(home, pipeline, AgentFolders.from_env(), choice), choice)
            pipeline.close()
            continue
        event = {"agent": agent, "event": "Stop", "session_id": SESSION, "at": time.time()}
        event |= {"transcript_path": path, "cwd": str(desk / "proj")}
        home.inbox.mkdir(exist_ok=True)
        (home.inbox / f"{number}-1.json").write_text(json.dumps(event))
        assert not event_queue.work(home).waiting
    assert marked(Memory(desk / "proj")) == expected


def test_a_rewind_into_a_new_session_marks_the_note_of_the_earlier_session(desk, monkeypatch):
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(desk / "claw"))
    said = ["Which database? Use MySQL for orders", "Index the orders, too"]
    for number, prompts in enumerate((said, [*said, ("back", 1), "Use no index for orders"])):
        rows = of_openclaw(prompts)[1]
        rows[0] |= {"id": f"rewound-{number}", "cwd": str(desk / "proj")}
        path = in_openclaw_s_database(desk / "claw", rows, f"rewound-{number}")
        event = {"agent": "openclaw", "event": "Stop", "session_id": f"rewound-{number}"}
        event |= {"transcript_path": str(path), "at": time.time(), "cwd": str(desk / "proj")}
        home = Home(desk / "home")
        home.inbox.mkdir(exist_ok=True)
        (home.inbox / f"{number}-1.json").write_text(json.dumps(event))
        assert not event_queue.work(home).waiting
    notes = Memory(desk / "proj").entries()
    assert len(notes) == 3
    superseded = [note.text for note in notes if "superseded-by" in note.marks]
    assert len(superseded) == 1 and "Index the orders, too" in superseded[0]


@pytest.mark.parametrize("noted", [True, False])
def test_a_turn_that_was_taken_back_is_not_injected_although_nothing_follows(
    desk, monkeypatch, noted
):
    monkeypatch.setenv("CODEX_HOME", str(desk / "codex"))
    name, rows = of_codex(["Which port?", "Use MySQL for orders", ("back", 1), "Use Postgres"])
    rows[0]["payload"]["cwd"] = str(desk / "proj")
    file = desk / "codex" / "sessions" / "2026" / "11" / "20" / name
    file.parent.mkdir(parents=True)
    back = next(n for n, row in enumerate(rows) if row["payload"].get("num_turns"))
    pipeline, memory = CapturePipeline(Home(desk / "home")), Memory(desk / "proj")
    pipeline.ledger.capturing("codex", 0.0)

    def reconciled(end: int) -> list[tuple[str, bool]]:
        """What was asked, and whether the note is not injected."""
        file.write_text("".join(json.dumps(row) + "\n" for row in rows[:end]))
        reconcile(pipeline, AgentFolders.from_env())
        notes = sorted(memory.entries(), key=lambda note: note.time)
        left = {"superseded-by", "confidence"}
        return [
            (note.title.removeprefix("User asked: "), bool(left & {*note.marks})) for note in notes
        ]

    with contextlib.closing(pipeline):
        asked = ["Which port?", "Use MySQL for orders", "Use Postgres"]
        if noted:
            assert reconciled(back) == [(asked[0], False), (asked[1], False)]
        assert reconciled(back + 1) == [(asked[0], False), (asked[1], True)]
        assert reconciled(len(rows)) == [(asked[0], False), (asked[1], True), (asked[2], False)]
        taken_back = next(note for note in memory.entries() if "confidence" in note.marks)
        assert "superseded-by" in taken_back.marks
        if noted:
            for _ in ("superseded-by", "confidence"):
                memory.undo()
            assert reconciled(len(rows))[1] == (asked[1], False)


@pytest.mark.parametrize("kept", [2, 1, 0])
@pytest.mark.parametrize(("agent", "written"), [("copilot", in_copilot), ("opencode", in_opencode)])
def test_turns_that_a_rewind_deletes_are_not_injected_although_nothing_follows(
    desk, monkeypatch, agent, written, kept
):
    """Copilot deletes the turns. OpenCode names the first one until the next prompt."""
    monkeypatch.setenv("COPILOT_HOME", str(desk / "copilot"))
    monkeypatch.setenv("XDG_DATA_HOME", str(desk / "data"))
    memory = Memory(desk / "proj")

    def low() -> list[str]:
        reconcile(pipeline, AgentFolders.from_env())
        notes = sorted(memory.entries(), key=lambda note: note.time)
        titles = [note.title for note in notes if note.marks.get("confidence") == "low"]
        return sorted(title.removeprefix("User asked: ") for title in titles)

    pipeline = CapturePipeline(Home(desk / "home"))
    with contextlib.closing(pipeline):
        pipeline.ledger.capturing(agent, 0.0)
        file = written(desk, PROMPTS[:3])
        assert low() == []
        if agent == "copilot":
            written(desk, PROMPTS[:kept])
        else:
            undo(file, PROMPTS[kept])
        assert low() == sorted(PROMPTS[kept:3])


def test_a_turn_that_redo_brings_back_is_injected_again(desk, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(desk / "data"))
    memory, pipeline = Memory(desk / "proj"), CapturePipeline(Home(desk / "home"))

    def low() -> set[str]:
        reconcile(pipeline, AgentFolders.from_env())
        return {note.id for note in memory.entries() if "confidence" in note.marks}

    with contextlib.closing(pipeline):
        pipeline.ledger.capturing("opencode", 0.0)
        file = in_opencode(desk, PROMPTS[:3])
        assert not low()
        before = [note.text for note in memory.entries()]
        for _ in range(2):
            undo(file, PROMPTS[1])
            taken_back = low()
            assert len(taken_back) == 2
            undo(file, "")
            assert not low()
        assert [note.text for note in memory.entries()] == before
        own = taken_back.pop()
        memory.mark(own, "confidence", "low")
        undo(file, "")
        assert low() == {own}


def undo(file: str, prompt: str) -> None:
    """What OpenCode writes at ``/undo``; without a prompt, at ``/redo``."""
    message = {"messageID": f"msg_{1795000000000 + 2000 * PROMPTS.index(prompt)}"} if prompt else {}
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        row = (json.dumps(message) if prompt else None, time.time_ns() // 1_000_000)
        db.execute("UPDATE session SET revert=?, time_updated=?", row)


def test_a_copilot_file_whose_beginning_is_lost_takes_nothing_back(desk, monkeypatch):
    monkeypatch.setenv("COPILOT_HOME", str(desk / "copilot"))
    with contextlib.closing(CapturePipeline(Home(desk / "home"))) as pipeline:
        pipeline.ledger.capturing("copilot", 0.0)
        file = Path(in_copilot(desk, PROMPTS[:3]))
        reconcile(pipeline, AgentFolders.from_env())
        file.write_text('{"type":"session.idle","parentId":null,"data":{}}\n')
        reconcile(pipeline, AgentFolders.from_env())
    assert not any("confidence" in note.marks for note in Memory(desk / "proj").entries())
