"""Which turns a memory folder has: notes of memsearch that name a session and no turn."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.capture.capture_pipeline import noted_at
from memsearch_engine.core.home import Home
from memsearch_engine.journal import turns, write
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.turns import KnownTurns
from memsearch_engine.journal.write import Journal

_NOTE = """# {day}

## Session {time}

### {time}
<!-- session:s1 rollout:/home/u/.codex/sessions/rollout-s1.jsonl -->
- User asked why the importer loses rows of customers.csv
- Codex changed read_rows() in importer.py so that a row with a quote is read
"""
ASKED = "Why does the importer lose rows of customers.csv?"
ANSWERED = "read_rows() in importer.py split at quotes. A row with a quote is read now."


def known(folder: Path, turn: Turn) -> bool:
    anchor = Anchor(turn.session, turn.turn, turn.agent)
    text = f"{turn.user}\n{turn.assistant}"
    return KnownTurns(str(folder)).has(anchor, (), noted_at(turn), text=text)


def turn(
    user: str = ASKED, answer: str = ANSWERED, session: str = "s1", ended: str = "10:00"
) -> Turn:
    stamp = f"2026-11-20T{ended}:30Z"
    return Turn("codex", session, "t" * 36, stamp, stamp, user=user, assistant=answer)


@pytest.mark.parametrize(
    ("day", "time"),
    [
        ("2026-11-20", "10:00"),
        ("2026-11-20", "10:01"),  # its script ended in the next minute
        ("2026-11-20", "20:00"),
        ("2026-11-20", "15:31"),
        ("2026-11-19", "23:00"),
        ("2026-11-21", "00:01"),
    ],
)
def test_a_note_of_memsearch_is_its_turn_s_in_any_time_zone(tmp_path, day, time):
    (tmp_path / f"{day}.md").write_text(_NOTE.format(day=day, time=time))
    assert known(tmp_path, turn())
    assert not known(tmp_path, turn(session="s2"))
    other = turn("Which port does the proxy use?", "8443, set in proxy.toml.", ended="11:00")
    assert known(tmp_path, other) == (f"{day} {time}" in noted_at(other))


def test_a_later_turn_on_the_same_subject_is_not_the_one_that_was_noted(tmp_path):
    (tmp_path / "2026-11-20.md").write_text(_NOTE.format(day="2026-11-20", time="20:00"))
    assert not known(tmp_path, turn(ended="10:12"))


def test_a_note_that_is_appended_later_is_compared_too(tmp_path):
    file = tmp_path / "2026-11-20.md"
    file.write_text("# 2026-11-20\n")
    known_turns = KnownTurns(str(tmp_path))
    asked = turn()
    anchor, text = Anchor(asked.session, asked.turn, asked.agent), f"{ASKED}\n{ANSWERED}"
    assert not known_turns.has(anchor, (), noted_at(asked), text=text)
    with open(file, "a") as out:
        out.write(_NOTE.format(day="2026-11-20", time="20:00"))
    assert known_turns.has(anchor, (), noted_at(asked), text=text)


_ANCHORS = [
    "session:s turn:{turn} transcript:/home/u/.claude/projects/-p/s.jsonl",
    "session:s turn:{turn} transcript:/home/u/.claude/projects/-p/s.jsonl agent:kimi",
    "session:s turn:{turn} rollout:/home/u/a-\u2010b.jsonl",
    "session:s turn:{turn} db:/home/u/my notes/x.db agent:opencode",
    "session:s  turn:{turn}",
    "agent:codex turn:{turn} session:s",
    "session:s turn:{turn} transcript:/p/turn:other session:t",
    "session:s\x1cturn:{turn} transcript:/p turn:other",
    "session:s turn:{turn} turn:other transcript:/p",
    "session:sé turn:{turn} transcript:/p",
    "see session:s turn:{turn} transcript:/p",
]


@pytest.mark.parametrize("turn", ["t1", "t" * 36])
@pytest.mark.parametrize("anchor", _ANCHORS)
def test_an_anchor_is_read_alike_in_a_file_of_captured_turns(monkeypatch, anchor, turn):
    data = f"# day\n\n### 10:00\n<!-- {anchor.format(turn=turn)} -->\n- text\n".encode()
    found = turns._scan(data, 0, "2026-11-20")
    monkeypatch.setattr(turns, "_captured", lambda text: None)
    assert found == turns._scan(data, 0, "2026-11-20")


_ENTRY = "\n### 10:0{n}\n<!-- session:s turn:{turn} {path}{agent} -->{end}- text\n"
_CODEX = "rollout:/home/u/.codex/sessions/rollout-s.jsonl"


@pytest.mark.parametrize("turn", ["t{n}", "t" * 30 + "{n}"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("more", "at_once"),
    [
        ("", True),
        ("## Session 10:00\n\n### 10:00\nwritten by hand\n```\n# code\n```\n", True),
        ("### a\n### b\n<!-- session:s turn:u1 db:/x agent:opencode -->\n", True),
        ("### b\n<!-- id:abc -->\n<!-- session:s turn:u2 db:/x agent:opencode -->\n", False),
        ("### b\n\n<!-- session:s turn:u3 db:/x agent:opencode --> \n", False),
        ("text\n<!-- session:s turn:u4 db:/x agent:opencode -->\n", False),
        ("### b\n<!-- session:s turn:u5 db:/x y agent:opencode -->\n", False),
        ("### 14:07\n<!-- session:s9 rollout:/x/rollout-s.jsonl agent:codex -->\nwords\n", False),
        ("the cookie session:s turn:u6 expires, <!-- session:s -->\n", True),
        ("### end\n<!-- session:s turn:u7 db:/x agent:opencode -->", False),
    ],
)
def test_a_file_of_captured_turns_is_read_at_once_with_the_same_result(
    monkeypatch, turn, end, more, at_once
):
    agents = ["", " agent:codex", " agent:opencode"]
    data = "# 2026-11-20\n" + "".join(
        _ENTRY.format(n=n, turn=turn.format(n=n), path=_CODEX, agent=agent, end=end)
        for n, agent in enumerate(agents * 2)
    )
    data = (data + more).encode()
    assert (turns._captured(data.decode("latin-1")) is not None) is at_once
    found = turns._scan(data, 0, "2026-11-20")
    monkeypatch.setattr(turns, "_captured", lambda text: None)
    assert found == turns._scan(data, 0, "2026-11-20") and len(found[0]) > 5


def test_near_a_day_only_changed_files_are_read_and_others_if_files_came_or_went(
    tmp_path, monkeypatch
):
    read_each, paths = turns.safe_files.read_each, []

    def noted(files):
        for path, data in read_each(files):
            paths.append(Path(path).stem)
            yield path, data

    monkeypatch.setattr(turns.safe_files, "read_each", noted)

    def block(number: int) -> bytes:
        return f"### 10:00\n<!-- session:s turn:t{number} transcript:/p -->\n- x\n".encode()

    def append(day: str, number: int) -> None:
        with open(tmp_path / f"{day}.md", "ab") as out:
            out.write(block(number))

    def has(number: int, day: str = "2026-11-20") -> bool:
        return known.has(Anchor("s", f"t{number}", "claude-code"), day=day)

    known = turns.KnownTurns(str(tmp_path))
    for number, day in enumerate(["2026-11-01", "2026-11-18", "2026-11-22"]):
        append(day, number)
    assert has(0) and has(1) and has(2) and not has(3)
    assert sorted(paths) == ["2026-11-01", "2026-11-18", "2026-11-22"]
    append("2026-11-18", 3)
    append("2026-11-22", 4)
    assert has(3) and has(4)
    append("2026-11-01", 5)
    assert not has(5) and has(5, "2026-11-02") and has(5)
    append("2026-11-20", 6)  # a new file
    assert has(6)
    (tmp_path / "other").write_bytes(block(7))
    (tmp_path / "other").rename(tmp_path / "2026-11-01.md")
    assert has(7) and not has(0)
    (tmp_path / "2026-11-18.md").unlink()
    assert not has(1)
    paths.clear()
    append("2026-11-20", 8)
    known.wrote(str(tmp_path / "2026-11-20.md"), block(8))
    assert has(8) and not paths
    append("2026-11-20", 9)
    append("2026-11-20", 10)
    known.wrote(str(tmp_path / "2026-11-20.md"), block(10))  # another process wrote the one before
    assert has(9) and has(10) and paths == ["2026-11-20"]


def test_a_copy_with_another_day_is_found_where_another_process_wrote_its_turn(tmp_path):
    """Codex may give the turns that a fork repeats the time of the fork."""
    turn_id, far = "t" * 36, tmp_path / "2026-10-01.md"

    def write(turn: str) -> None:
        with open(far, "a") as out:
            out.write(f"### 10:00\n<!-- session:s turn:{turn} rollout:/p agent:codex -->\n- x\n")

    def has(session: str, turn: str, *times: str) -> bool:
        return known.has(Anchor(session, turn, "codex"), times=times, day="2026-11-20")

    write(turn_id)
    known = KnownTurns(str(tmp_path))
    assert has("fork", turn_id)
    assert not has("fork", "u" * 36)
    write("u" * 36)
    assert has("another fork", "u" * 36)
    assert not known.has(Anchor("planned", "v" * 36, "codex"))  # an import plans, later it writes
    write("v" * 36)
    assert has("planned", "v" * 36)
    with open(far, "a") as out:  # memsearch's note of a turn that ended on a later day
        out.write("### 12:00\n<!-- session:long rollout:/p agent:codex -->\n- x\n")
    assert not has("long", "first") and has("long", "second", "2026-10-01 12:00")
    assert not has("long", "third", "999-10-01 12:00")  # of a damaged transcript


def test_a_turn_is_appended_alike_whether_its_file_was_just_written_or_is_read(tmp_path):
    """One journal knows the end of the file that it wrote; a new one parses the file."""
    bodies = ["- one", "- ```\n- two", "- three\n```", "- four <!-- open", "- five"]
    foreign = {4: b"\n## Notes\n\n### 12:00\n- by hand\n", 9: b"tail", 12: b"\n```\ncode\n"}
    written = []
    for number in range(2):
        home = Home(tmp_path / f"home{number}").ensure()
        memory = tmp_path / f"project{number}" / ".memsearch" / "memory"
        memory.mkdir(parents=True)
        journal = Journal(home)
        for n in range(20):
            session = f"s{n // 3 % 2}"
            anchor = Anchor(session, f"turn-{n}", "claude-code", "transcript", "/gone.jsonl")
            journal = Journal(home) if number else journal
            journal.append_turn(str(memory), "2026-11-20", "10:00", bodies[n % 5], anchor)
            if n in foreign:
                with open(memory / "2026-11-20.md", "ab") as out:
                    out.write(foreign[n])
        written.append((memory / "2026-11-20.md").read_bytes())
    assert written[0] == written[1] and written[0].count(b"## Session") > 5


def test_a_turn_that_another_thread_appends_to_another_folder_meanwhile_is_no_obstacle(
    tmp_path, monkeypatch
):
    """The service captures in two threads: events at a request, and missed turns."""
    journal, at = Journal(Home(tmp_path / "home").ensure()), write.DayFile.at

    def append(project: str, number: int) -> bool:
        memory = tmp_path / project / ".memsearch" / "memory"
        memory.mkdir(parents=True, exist_ok=True)
        anchor = Anchor(project, f"turn-{number}", "claude-code", "transcript", "/gone.jsonl")
        return journal.append_turn(str(memory), "2026-11-20", "10:00", "- x", anchor).written

    def meanwhile(path: str) -> object:
        monkeypatch.setattr(write.DayFile, "at", at)
        thread = threading.Thread(target=append, args=("other", 0))
        thread.start()
        thread.join()
        return at(path)

    assert append("own", 0)
    monkeypatch.setattr(write.DayFile, "at", meanwhile)
    day = tmp_path / "own" / ".memsearch" / "memory" / "2026-11-20.md"
    assert journal._end(str(day), "2026-11-20")[1] == "own"
