"""What the owner decided about a note holds when its file is put back: it is shown, injected
nowhere, and asked about once.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.core.home import Home
from memsearch_engine.injection import session_start
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.model import Anchor, Entry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.targets import Target, target_of

DAY, OTHER = "2026-02-09", "2026-02-11"
TEXT = "the pool has ten connections"


@pytest.fixture
def memory(tmp_path) -> Memory:
    (tmp_path / "project").mkdir()
    made = Memory(str(tmp_path / "project"), home=Home(tmp_path / "home").ensure())
    anchor = Anchor("s1", "t1", "claude-code", "transcript", "/x.jsonl")
    made._scope.journal.append_turn(made.place.memory, DAY, "10:00", f"- {TEXT}", anchor)
    made._scope.journal.append_turn(
        made.place.memory,
        DAY,
        "11:00",
        "- another note",
        Anchor("s1", "t2", "claude-code", "transcript", "/x.jsonl"),
    )
    yield made
    made.close()


def file_of(memory: Memory, day: str = DAY) -> Path:
    return Path(memory.place.memory) / f"{day}.md"


def entry(memory: Memory, day: str = DAY) -> Entry:
    return next(entry for entry in read_day(file_of(memory, day)).entries if TEXT in entry.body)


def target(memory: Memory, day: str = DAY) -> Target:
    return target_of(str(file_of(memory, day)), entry(memory, day))


def injected(memory: Memory) -> str:
    origin = memory._scope.journal.origin
    return session_start.build(
        memory.home, memory.place.memory, 30, 2000, origin=origin, today=date(2026, 2, 12)
    ).text


def asked(memory: Memory) -> list[str]:
    return [f"{note.why}: {note.title}" for note in memory.trust.quarantined()]


def git(memory: Memory, *args: str) -> None:
    command = [
        "git",
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "-c",
        "commit.gpgsign=false",
        *args,
    ]
    subprocess.run(command, cwd=memory.place.root, check=True, capture_output=True)


def commit(memory: Memory) -> None:
    git(memory, "add", "-fA", ".")
    git(memory, "commit", "-qm", "notes")


def mark(name: str, value: str) -> Callable[[Memory], None]:
    return lambda memory: (
        memory._scope.journal.mark(memory.place.memory, target(memory), name, value) and None
    )


DECISIONS: dict[str, Callable[[Memory], object]] = {
    "quarantined": lambda memory: memory.trust.quarantine([target(memory)]),
    "superseded": mark("superseded-by", "0123456789ab"),
    "expired": mark("expires", "2026-02-01"),
    "unsure": mark("confidence", "low"),
    "edited": lambda memory: memory._scope.journal.edit(
        memory.place.memory, target(memory), "- it has twenty now"
    ),
    "deleted": lambda memory: memory._scope.journal.delete(memory.place.memory, [target(memory)]),
    "unpinned": lambda memory: memory._scope.journal.mark(
        memory.place.memory, target(memory), "pin", None
    ),
}


def by_hand(memory: Memory, decide: Callable[[Memory], object]) -> None:
    before = file_of(memory).read_bytes()
    decide(memory)
    file_of(memory).write_bytes(before)


def by_deleting_the_day(memory: Memory, decide: Callable[[Memory], object]) -> None:
    before = file_of(memory).read_bytes()
    decide(memory)
    file_of(memory).unlink()
    assert TEXT not in injected(memory) and not asked(memory)
    file_of(memory).write_bytes(before)


def by_revert(memory: Memory, decide: Callable[[Memory], object]) -> None:
    git(memory, "init", "-q")
    commit(memory)
    decide(memory)
    commit(memory)
    git(memory, "revert", "--no-edit", "HEAD")


def by_a_bad_merge(memory: Memory, decide: Callable[[Memory], object]) -> None:
    git(memory, "init", "-q", "-b", "main")
    commit(memory)
    git(memory, "checkout", "-qb", "old")
    file_of(memory, OTHER).write_text("# other\n")
    commit(memory)
    git(memory, "checkout", "-q", "main")
    decide(memory)
    commit(memory)
    git(memory, "merge", "--no-commit", "--no-ff", "old")
    git(memory, "checkout", "old", "--", ".")  # "theirs is right"
    git(memory, "commit", "-qm", "merged")


WAYS = [by_hand, by_revert, by_a_bad_merge, by_deleting_the_day]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("decision", DECISIONS)
def test_a_file_that_contradicts_a_decision_is_injected_nowhere_and_asked_about_once(
    memory, decision, way
):
    if decision == "unpinned":
        mark("pin", "")(memory)
    way(memory, DECISIONS[decision])
    assert TEXT in file_of(memory).read_text()
    assert TEXT not in injected(memory) and "another note" in injected(memory)
    assert asked(memory) == [f"contradicts: {TEXT}"]
    assert memory.trust.quarantined()[0].decision.startswith("you ")
    with closing(
        Origin(memory.home)
    ) as origin:  # a decision is a record of the home, not of a process
        assert origin.arrived(memory.place.memory, [entry(memory)], str(file_of(memory)))
    memory.trust.reject([target(memory)], leave=True)
    assert TEXT not in injected(memory) and not asked(memory)
    memory.trust.accept([target(memory)])
    assert TEXT in injected(memory) and not asked(memory)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_rejected_text_gives_way_to_the_decision_and_undo_asks_again(memory, decision):
    if decision == "unpinned":
        mark("pin", "")(memory)
    before = file_of(memory).read_bytes()
    DECISIONS[decision](memory)
    decided = file_of(memory).read_bytes()
    file_of(memory).write_bytes(before)
    done = memory.trust.reject([target(memory)])
    assert done == ["deleted" if decision == "deleted" else "put back"]
    assert file_of(memory).read_bytes() == decided and f"contradicts: {TEXT}" not in asked(memory)
    file_of(memory).write_bytes(before)  # and once more
    assert TEXT not in injected(memory) and not asked(memory)
    file_of(memory).write_bytes(decided)
    memory.undo()
    assert TEXT not in injected(memory) and asked(memory) == [f"contradicts: {TEXT}"]


def test_the_question_ends_when_the_file_agrees_again(memory):
    before = file_of(memory).read_bytes()
    DECISIONS["edited"](memory)
    decided = file_of(memory).read_bytes()
    file_of(memory).write_bytes(before)
    assert asked(memory)
    file_of(memory).write_bytes(decided)
    assert not asked(memory) and "it has twenty now" in injected(memory)


@pytest.mark.parametrize("decision", DECISIONS)
def test_undo_and_redo_are_decisions(memory, decision):
    if decision == "unpinned":
        mark("pin", "")(memory)
    before = file_of(memory).read_bytes()
    DECISIONS[decision](memory)
    decided = file_of(memory).read_bytes()
    memory.undo()
    assert file_of(memory).read_bytes() == before and TEXT in injected(memory) and not asked(memory)
    memory.redo()
    assert file_of(memory).read_bytes() == decided and f"contradicts: {TEXT}" not in asked(memory)
    file_of(memory).write_bytes(before)
    assert TEXT not in injected(memory) and asked(memory) == [f"contradicts: {TEXT}"]


def test_a_restored_text_is_the_decision(memory):
    DECISIONS["edited"](memory)
    later = file_of(memory).read_bytes()
    memory._scope.journal.restore(memory._scope.journal.history.recent()[0].seq)
    assert TEXT in injected(memory) and not asked(memory)
    file_of(memory).write_bytes(later)
    assert asked(memory) == ["contradicts: it has twenty now"]


@pytest.mark.parametrize("moved", [False, True])
def test_known_bytes_under_today_s_date_are_no_decision_of_today(memory, moved):
    raw = entry(memory).raw
    file_of(memory, OTHER).write_bytes(b"# today\n\n## Session 10:00\n\n" + raw + b"\n")
    if moved:
        file_of(memory).write_bytes(file_of(memory).read_bytes().replace(raw, b""))
    today = injected(memory).partition(OTHER)[2].partition(DAY)[0]
    assert TEXT not in today and (TEXT in injected(memory)) is not moved
    assert asked(memory) == [f"contradicts: {TEXT}"]
    assert memory.trust.quarantined()[0].day == OTHER
    memory.trust.accept([target(memory, OTHER)])
    assert not asked(memory) and TEXT in injected(memory).partition(OTHER)[2]


def test_the_text_that_capture_made_is_no_note_of_the_owner(memory):
    """What is known of a turn besides its entry: its body alone, at the top of a file."""
    file_of(memory, OTHER).write_text(f"- {TEXT}\n")
    assert TEXT not in injected(memory).partition(OTHER)[2].partition(DAY)[0]
    assert asked(memory) == [f"arrived: {TEXT}"]


def test_a_mark_on_what_contradicts_a_decision_does_not_let_it_in(memory):
    before = file_of(memory).read_bytes()
    DECISIONS["edited"](memory)
    file_of(memory).write_bytes(before)
    mark("pin", "")(memory)
    assert TEXT not in injected(memory) and asked(memory) == [f"contradicts: {TEXT}"]
    memory._scope.journal.edit(
        memory.place.memory, target(memory), f"- {TEXT}, again"
    )  # his word on what it says is one
    assert f"{TEXT}, again" in injected(memory) and not asked(memory)


def test_a_checkout_back_and_forth_asks_once(memory):
    git(memory, "init", "-q", "-b", "main")
    commit(memory)
    git(memory, "branch", "old")
    DECISIONS["edited"](memory)
    commit(memory)
    git(memory, "checkout", "-q", "old")
    assert asked(memory) == [f"contradicts: {TEXT}"] and "another note" in injected(memory)
    memory.trust.accept([target(memory)])
    for branch, text in (
        ("main", "it has twenty now"),
        ("old", TEXT),
        ("main", "it has twenty now"),
    ):
        git(memory, "checkout", "-q", branch)
        assert not asked(memory) and text in injected(memory)


def test_a_turn_that_grows_is_no_decision(memory):
    """An older branch has the turn as it was captured first: nobody decided against that."""
    before = file_of(memory).read_bytes()
    anchor = Anchor("s1", "t1", "claude-code", "transcript", "/x.jsonl")
    assert memory._scope.journal.refresh_turn(
        memory.place.memory, anchor, [], f"- {TEXT}\n- and it works", {}
    )
    assert "and it works" in injected(memory)
    file_of(memory).write_bytes(before)
    assert TEXT in injected(memory) and not asked(memory)


def test_a_deleted_note_that_is_written_anew_or_brought_back_is_fine(memory):
    DECISIONS["deleted"](memory)
    memory._scope.journal.add_note(memory.place.memory, DAY, "12:00", f"- {TEXT}")
    assert TEXT in injected(memory) and not asked(memory)


def test_a_home_of_before_knows_its_decisions_from_its_history(memory):
    before = file_of(memory).read_bytes()
    DECISIONS["quarantined"](memory)
    db = memory._scope.journal.origin._db()  # as a version before left it
    db.execute("DELETE FROM origin_states")
    db.execute("INSERT INTO origin_unread (memory) VALUES (?)", (memory.place.memory,))
    memory._scope.journal.origin._adopted.clear()
    assert asked(memory) == [f"suspect: {TEXT}"] and "another note" in injected(memory)
    file_of(memory).write_bytes(before)
    assert TEXT not in injected(memory) and asked(memory) == [f"contradicts: {TEXT}"]


def test_a_crash_between_the_file_and_the_record_loses_no_decision(memory, monkeypatch):
    before = file_of(memory).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(
            Origin, "decided", lambda *args, **kwargs: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            DECISIONS["edited"](memory)
    memory._scope.journal._settle_all()  # what the next change does
    file_of(memory).write_bytes(before)
    assert TEXT not in injected(memory) and asked(memory) == [f"contradicts: {TEXT}"]
