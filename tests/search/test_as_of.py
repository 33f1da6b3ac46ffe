"""Searches and lists as of a day: what was edited, marked or deleted since is put back."""

from __future__ import annotations

from pathlib import Path

import pytest
from memsearch_engine import Memory, parse_query

from tests.conftest import Box


@pytest.fixture
def memory(box: Box) -> Memory:
    memory = Memory(box.project, home=box.home)
    memory.add("The gateway speaks HTTP/2", day="2026-02-01", time="10:00")
    memory.add("Redis TTL is 300 seconds", day="2026-02-02", time="10:00")
    memory.add("Deploys are on Tuesdays", day="2026-03-02", time="10:00")
    return memory


def by_text(memory: Memory) -> dict[str, str]:
    return {note.text: note.id for note in memory.entries()}


def texts(answer) -> list[str]:
    return [hit.text for hit in answer]


@pytest.mark.slow
@pytest.mark.parametrize("wait", [True, False])
def test_notes_are_found_as_of_a_day(memory, wait):
    ids = by_text(memory)
    memory.edit(ids["- Redis TTL is 300 seconds"], "- Redis TTL is 900 seconds")
    memory.delete(ids["- The gateway speaks HTTP/2"])
    memory.mark(ids["- Deploys are on Tuesdays"], "pin")
    if wait:
        memory.index()

    def found(query: str) -> list[str]:
        return texts(memory.search(query, wait=wait) if wait else memory.queries.lexical(query))

    assert found("redis ttl as-of:2026-02-10")[0] == "- Redis TTL is 300 seconds"
    assert found("gateway http as-of:2026-02-10")[0] == "- The gateway speaks HTTP/2"
    assert found("as-of:2026-02-28") == [
        "- Redis TTL is 300 seconds",
        "- The gateway speaks HTTP/2",
    ]
    assert found("as-of:2026-02-01") == ["- The gateway speaks HTTP/2"]
    assert found("deploys tuesdays as-of:2026-02") in (
        [],
        ["- Redis TTL is 300 seconds"],
        ["- Redis TTL is 300 seconds", "- The gateway speaks HTTP/2"],
    )
    assert "pin" not in memory.search("as-of:2026-03-02", wait=wait).hits[0].row.marks
    assert found("redis ttl")[0] == "- Redis TTL is 900 seconds" and not any(
        "gateway" in text for text in found("gateway")
    )
    assert any(
        "as of 2026-02-10" in reason
        for reason in memory.search("redis as-of:2026-02-10", wait=wait).hits[0].reasons
    )


def test_lists_as_of_a_day(box, memory):
    ids = by_text(memory)
    memory.delete(ids["- The gateway speaks HTTP/2"])
    memory.edit(ids["- Redis TTL is 300 seconds"], "- Redis TTL is 900 seconds")
    assert [note.text for note in memory.entries(as_of="2026-02-28")] == [
        "- Redis TTL is 300 seconds",
        "- The gateway speaks HTTP/2",
    ]
    listed = box.ok("entries", "--as-of", "2026-02", "--json").json["entries"]
    assert [entry["body"] for entry in listed] == [
        "- Redis TTL is 300 seconds",
        "- The gateway speaks HTTP/2",
    ]
    assert box.run("entries", "--as-of", "nonsense").code == 2


def test_a_note_that_was_taken_back_or_brought_back_then(memory):
    ids = by_text(memory)
    name = ids["- The gateway speaks HTTP/2"]
    memory.delete(name)
    memory.undo()  # it stands: nothing is to be put back
    assert [note.text for note in memory.entries(as_of="2026-02-01")] == [
        "- The gateway speaks HTTP/2"
    ]
    memory.edit(name, "- The gateway speaks HTTP/3")
    memory.edit(name, "- The gateway speaks HTTP/4")
    assert [note.text for note in memory.entries(as_of="2026-02-01")] == [
        "- The gateway speaks HTTP/2"
    ]
    change = memory.delete(name) and memory.history(name)[0]
    memory.restore(change.seq)
    assert [note.text for note in memory.entries(as_of="2026-02-01")] == [
        "- The gateway speaks HTTP/2"
    ]


def at(memory, *, days: float, changes: int = 1, undone: float | None = None) -> None:
    """Let the newest changes have been made, and taken back, some days ago."""
    import sqlite3
    import time

    with sqlite3.connect(memory.home.history_db) as db:
        newest = "seq IN (SELECT seq FROM changes ORDER BY seq DESC LIMIT ?)"
        db.execute(f"UPDATE changes SET at=? WHERE {newest}", (time.time() - days * 86400, changes))
        if undone is not None:
            db.execute(
                f"UPDATE changes SET undone_at=? WHERE {newest}",
                (time.time() - undone * 86400, changes),
            )
    db.close()


def days_ago(days: int) -> str:
    import datetime

    return (datetime.date.today() - datetime.timedelta(days=days)).isoformat()


def test_what_was_taken_back_later_was_there_as_of_then(memory):
    name = by_text(memory)["- Redis TTL is 300 seconds"]
    memory.edit(name, "- Redis TTL is 900 seconds")
    at(memory, days=5)
    memory.undo(name)
    assert "- Redis TTL is 900 seconds" in [note.text for note in memory.entries(as_of=days_ago(2))]
    assert "- Redis TTL is 300 seconds" in [note.text for note in memory.entries(as_of=days_ago(7))]


def test_it_is_said_where_the_history_begins_later(memory):
    name = by_text(memory)["- Redis TTL is 300 seconds"]
    memory.edit(name, "- Redis TTL is 600 seconds")
    at(memory, days=5, changes=4)
    memory._scope.journal.history.prune(max_days=1)
    memory.edit(name, "- Redis TTL is 900 seconds")
    (hit,) = [
        hit
        for hit in memory.queries.lexical(f"redis ttl as-of:{days_ago(7)}")
        if "Redis" in hit.text
    ]
    assert hit.text == "- Redis TTL is 600 seconds"
    assert hit.reasons[-2:] == [
        f"as of {days_ago(0)}",
        f"what was changed before {days_ago(0)} is forgotten",
    ]


def test_a_note_is_not_found_by_words_that_came_later(memory):
    name = by_text(memory)["- Redis TTL is 300 seconds"]
    memory.edit(name, "- The zebra crossing")
    assert "- Redis TTL is 300 seconds" not in texts(
        memory.queries.lexical("zebra as-of:2026-02-28")
    )


def test_two_projects_with_the_same_note(box, memory):
    other = Memory(box.other_project("twin"), home=box.home)
    box.write("2026-02-02", (box.memory / "2026-02-02.md").read_text(), Path(other.place.memory))
    other._scope.register()
    with_all = Memory(box.project, home=box.home, everything=True)
    name = by_text(memory)["- Redis TTL is 300 seconds"]
    memory.edit(name, "- Redis TTL is 900 seconds")
    found = [
        hit.text
        for hit in with_all.queries.lexical("redis ttl as-of:2026-02-28")
        if "Redis" in hit.text
    ]
    assert found.count("- Redis TTL is 300 seconds") == 2


@pytest.mark.slow
@pytest.mark.parametrize("day", ["9999", "0001-01-01", "9999-12-31"])
def test_days_that_no_clock_reaches(box, memory, day):
    assert box.run("search", f"redis as-of:{day}").code in (0, 1)
    assert box.run("entries", "--as-of", day).code in (0, 1)


def test_a_damaged_catalog_is_passed_over(memory):
    memory.index()
    memory.home.cache_db.write_bytes(b"no database at all" * 1000)
    assert "- Redis TTL is 300 seconds" in texts(
        Memory(memory.place.root, home=memory.home).queries.lexical("redis as-of:2026-02-28")
    )


@pytest.mark.slow
def test_an_agent_is_given_what_was_deleted_since(memory):
    from memsearch_tui.mcp_server import answers

    memory.delete(by_text(memory)["- The gateway speaks HTTP/2"])
    assert (
        "speaks HTTP/2" in answers.recall(memory, "gateway http as-of:2026-02-28", 5, 2000).memory
    )


def test_what_the_history_has_forgotten_is_as_it_is(memory):
    name = by_text(memory)["- Redis TTL is 300 seconds"]
    memory.edit(name, "- Redis TTL is 900 seconds")
    memory._scope.journal.history.prune(max_days=1e-9)
    assert "- Redis TTL is 900 seconds" in [
        note.text for note in memory.entries(as_of="2026-02-28")
    ]


@pytest.mark.parametrize(
    ("query", "as_of", "text"),
    [
        ("ttl as-of:2026-03-01", "2026-03-01", "ttl"),
        ("as-of:2026-03", "2026-03-31", ""),
        ("as-of:2025", "2025-12-31", ""),
        ("as-of:2026-03-01 as-of:2026-02-01", "2026-02-01", ""),
        ("as-of:soon", "", "as-of:soon"),
        ("as-of:", "", "as-of:"),
        ("-as-of:2026-03-01", "", "-as-of:2026-03-01"),
        ("as-was:2026-03-01", "", "as-was:2026-03-01"),
    ],
)
def test_the_filter(query, as_of, text):
    parsed = parse_query(query)
    assert (parsed.as_of, parsed.text) == (as_of, text)
    assert parsed.filter.as_of == as_of


def test_the_filter_narrows_together_with_others():
    parsed = parse_query("ttl after:2026-01-01 before:2026-02-01 as-of:2026-03-01")
    assert (parsed.filter.first_day, parsed.filter.last_day, parsed.as_of) == (
        "2026-01-01",
        "2026-02-01",
        "2026-03-01",
    )


def test_a_note_comes_as_high_as_its_words_then_were_worth(memory):
    memory.add("The ferry pier timetable is printed in Oslo", day="2026-02-03", time="10:00")
    name = memory.add("The harbour office sells ferry tickets", day="2026-02-04", time="10:00").id
    memory.edit(name, "- Ferry pier timetable, ferry pier timetable")
    assert "Ferry pier" in texts(memory.queries.lexical("ferry pier timetable"))[0]
    found = texts(memory.queries.lexical("ferry pier timetable as-of:2026-02-28"))
    assert found[:2] == [
        "- The ferry pier timetable is printed in Oslo",
        "- The harbour office sells ferry tickets",
    ]
