"""Readers under bad conditions: files that grow, are cut, replaced, hostile or huge; databases that
are being written.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.cline.reader import Reader as Cline
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.kilo.reader import Reader as Kilo
from memsearch_engine.agents.kimi.reader import Reader as Kimi
from memsearch_engine.agents.openclaw.reader import Reader as Openclaw
from memsearch_engine.agents.opencode.reader import Reader as Opencode
from memsearch_engine.agents.pi.reader import Reader as Pi
from memsearch_engine.agents.transcripts import jsonl, locate
from memsearch_engine.agents.transcripts.model import Session
from memsearch_engine.agents.vibe.reader import Reader as Vibe
from memsearch_engine.core.errors import UsageError

claude_code = ClaudeCode()
cline = Cline()
codex = Codex()
copilot = Copilot()
kilo = Kilo()
kimi = Kimi()
openclaw = Openclaw()
opencode = Opencode()
pi = Pi()
vibe = Vibe()


SAMPLES = Path(__file__).parent.parent / "samples"


def claude_turn(number: int, size: int = 10) -> str:
    """Two lines as Claude Code writes them: a request and its answer."""
    common = {"sessionId": "s", "cwd": "/p", "timestamp": f"2026-01-01T00:{number % 60:02d}:00Z"}
    ask = {
        "type": "user",
        "promptId": f"turn-{number}",
        "promptSource": "typed",
        "message": {"content": f"question {number}"},
    }
    answer = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": f"answer {number} " + "x" * size}]},
    }
    return "".join(json.dumps({**line, **common}) + "\n" for line in (ask, answer))


def codex_turn(number: int) -> str:
    payloads = [
        {"type": "task_started", "turn_id": f"turn-{number}"},
        {
            "type": "item_completed",
            "turn_id": f"turn-{number}",
            "item": {
                "type": "UserMessage",
                "content": [{"type": "text", "text": f"question {number}"}],
            },
        },
        {
            "type": "item_completed",
            "turn_id": f"turn-{number}",
            "item": {"type": "AgentMessage", "content": [{"type": "Text", "text": "answer"}]},
        },
        {"type": "task_complete", "turn_id": f"turn-{number}"},
    ]
    stamp = "2026-01-01T00:00:00Z"
    return "".join(
        json.dumps({"timestamp": stamp, "type": "event_msg", "payload": p}) + "\n" for p in payloads
    )


META = (
    json.dumps(
        {
            "timestamp": "2026-01-01T00:00:00Z",
            "type": "session_meta",
            "payload": {"id": "thread-1", "cwd": "/p", "source": "cli"},
        }
    )
    + "\n"
)


@pytest.mark.parametrize(
    ("reader", "head", "turn"), [(claude_code, "", claude_turn), (codex, META, codex_turn)]
)
def test_a_file_that_grows_is_read_on_from_where_it_was(tmp_path, monkeypatch, reader, head, turn):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "rollout-s.jsonl"
    file.write_text(head + "".join(turn(n) for n in range(50)))
    assert len(reader.open_session(reader.at(file), cache).ids) == 50
    read_from = []
    lines = jsonl.lines

    def watched(path, start=0, stop=None, skipped=None):
        read_from.append(start)
        return lines(path, start, stop, skipped)

    monkeypatch.setattr(jsonl, "lines", watched)
    with file.open("a") as out:
        out.write(turn(50) + turn(51))
    grown = reader.open_session(reader.at(file), cache)
    assert grown.ids == [f"turn-{n}" for n in range(52)]
    assert len(read_from) == 1 and read_from[0] > file.stat().st_size * 0.9
    assert grown.turns(51)[0].user == "question 51" and grown.turns(51)[0].status == "done"
    assert [t.user for t in grown.turns()] == [f"question {n}" for n in range(52)]
    again = reader.open_session(reader.at(file), cache)
    assert again.ids == grown.ids and again.session == grown.session and len(read_from) == 4


def test_a_file_that_was_replaced_or_cut_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    file.write_text("".join(claude_turn(n) for n in range(20)))
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 20
    file.write_text("".join(claude_turn(n) for n in range(3)))
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 3
    other = tmp_path / "other"
    other.write_text("".join(claude_turn(n) for n in range(100, 140)))
    os.replace(other, file)
    assert claude_code.open_session(claude_code.at(file), cache).ids[0] == "turn-100"
    for index in cache.iterdir():
        index.write_bytes(b'{"layout": 1, "ids": 7}')
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 40


def test_turns_that_an_older_version_found_are_searched_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    file.write_text("".join(claude_turn(n) for n in range(3)))
    ids = claude_code.open_session(claude_code.at(file), cache).ids
    (index,) = cache.iterdir()
    older = json.loads(index.read_bytes()) | {"layout": 6, "ids": ["x"], "starts": [0]}
    index.write_text(json.dumps(older))
    assert claude_code.open_session(claude_code.at(file), cache).ids == ids


def test_a_turn_whose_answer_comes_later_is_seen_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_WORTH_AN_INDEX", 1)
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    ask, answer = claude_turn(1).splitlines(keepends=True)
    file.write_text(claude_turn(0) + ask)
    assert claude_code.open_session(claude_code.at(file), cache).turns()[-1].status == "interrupted"
    file.write_text(claude_turn(0) + ask + answer + '{"type": "user", "mess')
    assert claude_code.open_session(claude_code.at(file), cache).turns()[-1].status == "done"


@pytest.mark.slow
def test_one_turn_of_a_million_lines_is_opened_without_reading_them_again(tmp_path, monkeypatch):
    cache, file = tmp_path / "offsets", tmp_path / "s.jsonl"
    noise = json.dumps({"type": "attachment", "attachment": "x" * 20}) + "\n"
    with file.open("w") as out:
        for number in range(200):
            out.write(claude_turn(number) + noise * 5000)
    assert len(claude_code.open_session(claude_code.at(file), cache).ids) == 200
    read = []
    lines = jsonl.lines
    monkeypatch.setattr(jsonl, "lines", lambda *args: read.append(args) or lines(*args))
    conversation = claude_code.open_session(claude_code.at(file), cache)
    (turn,) = conversation.turns(150, 151)
    assert turn.user == "question 150"
    ((_, start, stop),) = read
    assert stop - start < file.stat().st_size / 100


_WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
db.execute("PRAGMA journal_mode=WAL")
print("ready", flush=True)
count = 0
for line in sys.stdin:  # one write per word of the test, \
inside a transaction that stays open meanwhile
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE session SET time_updated = time_updated + 1")
    print("writing", flush=True)
    sys.stdin.readline()
    db.execute("COMMIT")
    print("written", flush=True)
"""


def test_a_database_is_read_while_its_agent_writes_and_never_blocks_it(tmp_path):
    path = tmp_path / "opencode.db"
    shutil.copy(SAMPLES / "opencode" / "opencode.db", path)
    agent = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdin and agent.stdout

    def tell(word: str) -> str:
        agent.stdin.write(word + "\n")
        agent.stdin.flush()
        return agent.stdout.readline().strip()

    try:
        assert agent.stdout.readline().strip() == "ready"
        for _ in range(3):
            assert tell("begin") == "writing"
            found = list(opencode.sessions(tmp_path, []))
            assert len(found) == 10 and opencode.open_session(found[0]).turns()
            assert (
                tell("commit") == "written"
            )  # its lock timeout is zero: any lock of ours would have failed it
    finally:
        agent.kill()
        agent.communicate()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(
    ("reader", "name"), [(opencode, "opencode.db"), (openclaw, "openclaw-agent.sqlite")]
)
def test_a_damaged_or_foreign_database_is_an_error_that_says_so(tmp_path, reader, name):
    whole = (SAMPLES / reader.agent / name).read_bytes()

    def turns_in(path):
        where = reader.at(path, "x" if reader is opencode else "s0")
        if where is None:
            raise OSError("can't be read: no session")
        return reader.open_session(where).turns()

    for data in (
        b"",
        b"not a database at all" * 100,
        whole[: len(whole) // 2],
        whole[:4096] + b"\0" * 40_000,
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(OSError, match=r"read|no such"):
            turns_in(path)
    other = tmp_path / ("foreign" + Path(name).suffix)
    sqlite3.connect(other).execute("CREATE TABLE t(a)").connection.commit()
    with pytest.raises(OSError, match="no such table"):
        reader.at(other, "x")


CLAW = (
    json.dumps(
        {
            "type": "message",
            "id": "m1",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello there"}]},
        }
    )
    + "\n"
)


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        (codex_turn(1), "codex"),
        (CLAW, "openclaw"),
        (claude_turn(1), "claude-code"),
        ("not json\n\n" + codex_turn(1), "codex"),
    ],
)
def test_a_transcript_without_its_first_line_is_known_by_what_it_holds(tmp_path, text, agent):
    file = tmp_path / "copied.jsonl"
    file.write_text(text)
    assert locate.recognise(str(file)).agent == agent
    assert len(locate.open_file(str(file)).turns) == 1


def test_a_file_of_nobodys_is_refused_so_that_its_reader_looks_elsewhere(tmp_path):
    file = tmp_path / "other.jsonl"
    file.write_text('{"a": 1}\nnothing\n' * 100)
    with pytest.raises(UsageError, match="no transcript"):
        locate.recognise(str(file))


def test_two_sessions_of_one_name_are_distinguished_by_their_files(tmp_path):
    for folder, cwd in (("--a--", "/a"), ("--b--", "/b")):
        file = tmp_path / "sessions" / folder / f"2026-11-25T09-30-0{len(cwd)}-000Z_work.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text(
            json.dumps({"type": "session", "version": 3, "id": "work", "cwd": cwd}) + "\n"
        )
    assert {one.session for one in pi.sessions(tmp_path, [])} == {"work"} and len(
        list(pi.sessions(tmp_path, []))
    ) == 2
    assert pi.locate(tmp_path, "work") and pi.locate(tmp_path, "w*rk") is None


def test_a_pipe_among_sessions_hangs_nobody(tmp_path):
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(OSError, match="not a regular file"):
        copilot.open_session(Session("copilot", "s", str(tmp_path / "events.jsonl"), "transcript"))
    (tmp_path / "sessions" / "--p--").mkdir(parents=True)
    os.mkfifo(tmp_path / "x.jsonl")
    os.mkfifo(tmp_path / "sessions" / "--p--" / "2026-11-25T09-30-00-000Z_s.jsonl")
    (found,) = pi.sessions(tmp_path, [])
    with pytest.raises(OSError, match="not a regular file"):
        pi.open_session(found)


def test_a_session_is_found_by_its_whole_name_alone(tmp_path):
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    for name in ("work", "a_work"):
        line = {"type": "session", "version": 3, "id": name, "cwd": "/p"}
        (folder / f"2026-11-25T09-30-0{len(name)}-000Z_{name}.jsonl").write_text(
            json.dumps(line) + "\n"
        )
    assert pi.locate(tmp_path, "work").path.endswith("Z_work.jsonl")


def test_a_parent_is_listed_before_its_forks():
    """A turn is its first session's: the copies are known by then."""
    for reader, place, first, second in (
        (kimi, "kimi", "session_303d451e", "session_2e2de91b"),
        (kimi, "kimi", "session_6324fd77", "session_be3ca2ae"),
        (cline, "cline", "1795600997242_a9mrw", "1795601919484_7lagv"),
        (vibe, "vibe", "e2771703", "5fa1739c"),
    ):
        names = [f"{one.session} {one.path}" for one in reader.sessions(SAMPLES / place, [])]
        order = [
            next(n for n, name in enumerate(names) if part in name) for part in (first, second)
        ]
        assert order == sorted(order), names


def test_a_time_that_is_none_ends_no_listing(tmp_path):
    shutil.copy(SAMPLES / "kilo" / "kilo.db", tmp_path / "kilo.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "kilo.db")) as db, db:
        db.execute("UPDATE session SET time_updated='abc' WHERE id=(SELECT min(id) FROM session)")
    assert len(list(kilo.sessions(tmp_path, []))) == 10


def test_a_servers_tool_is_known_by_its_shape_and_ours_by_its_whole_name():
    from memsearch_engine.agents.transcripts.model import is_servers_tool

    assert all(
        map(
            is_servers_tool,
            (
                "mem_recall",
                "memory_search_nodes",
                "memsearch_evil_recall",
                "memsearch__fetch",
                "jira__issue",
            ),
        )
    )
    assert not any(map(is_servers_tool, ("bash", "memsearch_recall", "memsearch__open")))
    assert not is_servers_tool("apply_patch", {"apply_patch"})
