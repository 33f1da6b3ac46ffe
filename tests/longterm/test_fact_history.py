"""What the long-term memory said on a day, after it has come to say something else."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import date, timedelta

import pytest
from memsearch_engine import Memory
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import load
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import searchable

from tests.conftest import Box

OLD, NEW = (
    "- Payments retry five times [mem:11111111]",
    "- Payments retry never, they are queued [mem:22222222]",
)


def ago(days: int) -> str:
    return (date.today() - timedelta(days=days)).isoformat()


def says(box: Box, *bullets: str, days_ago: int = 0) -> None:
    """MEMORY.md as the owner accepted it so many days ago, arrived in the index."""
    box.home.longterm.mkdir(mode=0o700, exist_ok=True)
    path = box.home.longterm / "MEMORY.md"
    path.write_text("## Everywhere\n" + "".join(f"{bullet}\n" for bullet in bullets))
    os.utime(path, (time.time() - days_ago * 86400,) * 2)
    box.index()


def found(box: Box, query: str) -> list[str]:
    hits = box.run("search", query, "--json").json["hits"]
    return [hit["content"] for hit in hits]


def kept(box: Box) -> list[str]:
    db = sqlite3.connect(box.home.state_db)
    try:
        return [text for (text,) in db.execute("SELECT text FROM longterm_stood WHERE text<>''")]
    finally:
        db.close()


@pytest.mark.slow
def test_what_was_reworded_is_found_as_of_a_day(box: Box):
    box.fill()
    says(box, OLD, days_ago=9)
    assert any("five times" in text for text in found(box, f"payments retry as-of:{ago(5)}"))
    assert found(box, f"kind:memory payments retry as-of:{ago(12)}") == []
    says(box, NEW, days_ago=2)
    for days_ago, words in ((0, "queued"), (1, "queued"), (4, "five times")):
        then = found(box, f"kind:memory payments retry as-of:{ago(days_ago)}")
        assert len(then) == 1 and words in then[0], days_ago


@pytest.fixture
def project(box: Box) -> Project:
    box.fill()
    with Memory(box.project, home=box.home) as memory:
        memory.add("A note")
        return memory.project


def write(
    box: Box, project: Project, *bullets: str, days_ago: int = 0, forget: bool = False
) -> None:
    """The same without a service."""
    box.home.longterm.mkdir(mode=0o700, exist_ok=True)
    path = box.home.longterm / "MEMORY.md"
    path.write_text("## Everywhere\n" + "".join(f"{bullet}\n" for bullet in bullets))
    os.utime(path, (time.time() - days_ago * 86400,) * 2)
    searchable.write(box.home, project.id, Origin(box.home), project, load(box.home), forget=forget)


def yesterday(box: Box) -> tuple[set[str], set[str]]:
    """What was said at yesterday's end: what is said still, and what is not. By words."""
    with Memory(box.project, home=box.home) as memory:
        then = memory.queries.then(ago(1))
    gone = {
        entry.body
        for (path, _), entry in then.entries.items()
        if entry is not None and path.endswith("memory.md")
    }
    return {name for _, name in then.lasting}, gone


def test_what_was_reworded_since_is_put_back(box: Box, project: Project):
    write(box, project, OLD, days_ago=9)
    lasting, gone = yesterday(box)
    assert len(lasting) == 1 and gone == set()
    write(box, project, NEW)
    lasting, gone = yesterday(box)
    assert lasting == set() and [text.strip() for text in gone] == ["- Payments retry five times"]
    with Memory(box.project, home=box.home) as memory:
        hits = memory.queries.lexical(f"payments retry as-of:{ago(1)}").hits
    assert [(hit.row.kind, hit.text.strip()) for hit in hits] == [
        ("memory", "- Payments retry five times")
    ]
    assert "as of" in hits[0].reasons[-1]
    write(box, project, OLD, NEW)  # back again: not injected twice
    assert len(yesterday(box)[0]) + len(yesterday(box)[1]) == 1


def test_nothing_is_kept_of_what_was_forgotten(box: Box, project: Project):
    write(box, project, OLD, days_ago=9)
    write(box, project, NEW, days_ago=1)
    assert [text for text in kept(box) if "five times" in text]
    write(box, project, forget=True)
    assert kept(box) == [] and yesterday(box) == (set(), set())


def test_a_kill_between_the_record_and_the_page_loses_nothing(
    box: Box, project: Project, monkeypatch
):
    write(box, project, OLD, days_ago=9)
    with monkeypatch.context() as patched:
        patched.setattr(searchable, "put", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            write(box, project, NEW)
    assert yesterday(box)[1] != set()
    write(box, project, NEW)
    assert [text.strip() for text in yesterday(box)[1]] == ["- Payments retry five times"]
    assert len(kept(box)) == 1


def test_to_forget_is_to_forget_what_was_said_before(box: Box, project: Project):
    write(box, project, OLD, days_ago=9)
    write(box, project, NEW, days_ago=1)
    assert kept(box)
    box.ok("forget", "queued", "--yes")
    assert kept(box) == [] and yesterday(box) == (set(), set())


def test_what_has_gone_is_kept_as_long_as_the_journal_s_changes(box: Box, project: Project):
    box.ok("config", "set", "history.max_days", "3")
    write(box, project, OLD, days_ago=9)
    write(box, project, NEW, days_ago=5)  # the old words went then
    assert kept(box) == []
    write(box, project, OLD, days_ago=1)
    assert len(kept(box)) == 1


@pytest.mark.slow
def test_a_project_that_is_forgotten_leaves_nothing_of_it(box: Box, project: Project):
    write(box, project, OLD, days_ago=9)
    write(box, project, NEW)
    assert kept(box)
    with Memory(box.project, home=box.home) as memory:
        memory.forget_project(str(box.project))
    assert kept(box) == []
