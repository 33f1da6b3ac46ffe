"""A batch of captured turns: the same bytes as one by one, one scan of the folder, locked."""

from __future__ import annotations

import threading
from pathlib import Path

import filelock
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.targets import Appended, Skipped
from memsearch_engine.journal.turns import KnownTurns
from memsearch_engine.journal.write import Journal

Turn = tuple[str, str, str]  # day, session, turn
TURNS: list[Turn] = [
    ("2026-03-01", "a", "1"),
    ("2026-03-01", "a", "2"),
    ("2026-03-01", "b", "1"),
    ("2026-03-02", "b", "2"),
    ("2026-03-01", "a", "3"),
    ("2026-03-02", "b", "3"),
    ("2026-03-02", "b", "2"),  # again
    ("2026-03-03", "c", "a-turn-with-a-name-of-its-own"),
    ("2026-03-04", "d", "a-turn-with-a-name-of-its-own"),  # a fork
]


@pytest.fixture
def journal(tmp_path):
    made = Journal(Home(tmp_path / "home"))
    yield made
    made.close()


def folder(tmp_path: Path, name: str = "project") -> str:
    memory = tmp_path / name / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    return str(memory)


def append(journal: Journal, memory: str, turn: Turn) -> Appended:
    day, session, name = turn
    anchor = Anchor(session, name, "codex", "rollout", f"/gone/{session}.jsonl")
    return journal.append_turn(memory, day, "10:00", f"- said {name}", anchor)


def files(memory: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(memory).glob("*.md")}


@pytest.mark.parametrize(
    "before", [b"", b"# 2026-03-01\r\n\r\n## Session 09:00\r\n\r\n### 09:00\r\n"]
)
def test_a_batch_writes_what_single_turns_write(journal, tmp_path, before):
    one, all_ = folder(tmp_path, "one"), folder(tmp_path, "all")
    for memory in (one, all_):
        if before:
            (Path(memory) / "2026-03-01.md").write_bytes(before)
    single = [append(journal, one, turn) for turn in TURNS]
    with journal.batch():
        batch = [append(journal, all_, turn) for turn in TURNS]
    assert files(all_) == files(one)
    assert [done.skipped for done in batch] == [done.skipped for done in single]
    assert [number for number, done in enumerate(batch) if done.skipped] == [6, 8]
    assert batch[6].skipped is Skipped.THERE


def test_a_batch_scans_the_folder_once(journal, tmp_path, monkeypatch):
    scans: list[str] = []
    look = KnownTurns.look
    monkeypatch.setattr(
        KnownTurns, "look", lambda known: (scans.append(known._memory), look(known))[1]
    )
    one, other = folder(tmp_path, "one"), folder(tmp_path, "other")
    with journal.batch():
        for memory in (one, one, other, one):
            for turn in TURNS:
                append(journal, memory, turn)
    assert scans == [one, other, one]
    append(journal, one, TURNS[0])
    assert scans[3:] == [one]


def test_what_another_program_writes_meanwhile_stays_and_ends_the_session(journal, tmp_path):
    memory = folder(tmp_path)
    file = Path(memory) / "2026-03-01.md"
    with journal.batch():
        append(journal, memory, TURNS[0])
        file.write_text(f"{file.read_text()}\n## Notes\n\n### 11:00\n- mine\n")
        append(journal, memory, TURNS[1])
        file.unlink()
        append(journal, memory, TURNS[4])
    assert file.read_text().count("## Session") == 1 and "said 3" in file.read_text()


def locked_files(journal: Journal) -> int:
    found = 0
    for file in journal.home.locks.glob("*.lock"):
        try:
            with filelock.FileLock(file, timeout=0):
                pass
        except filelock.Timeout:
            found += 1
    return found


def test_another_process_waits_for_the_end_of_a_batch(journal, tmp_path):
    memory, done = folder(tmp_path), []

    def write() -> None:
        other = Journal(Home(tmp_path / "home"))
        done.append(append(other, memory, TURNS[0]))
        other.close()

    thread = threading.Thread(target=write)
    with journal.batch():
        append(journal, memory, TURNS[1])
        assert locked_files(journal) == 1
        thread.start()
        assert append(journal, memory, TURNS[0]).written and not done
    thread.join()
    assert [one.skipped for one in done] == [Skipped.THERE]
    assert files(memory)["2026-03-01.md"].count(b"said 1") == 1


def fail_in_batch(journal: Journal, memory: str) -> None:
    with journal.batch():
        append(journal, memory, TURNS[0])
        raise KeyboardInterrupt


def test_an_error_ends_a_batch_and_its_lock(journal, tmp_path):
    memory = folder(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        fail_in_batch(journal, memory)
    assert locked_files(journal) == 0
    assert append(journal, memory, TURNS[1]).written
