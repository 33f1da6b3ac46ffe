"""What the long-term memory learned arrives: it is searched, opened and injected, in its own
project, until it is forgotten.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import locate
from memsearch_engine.core.state import using
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import pages, searchable
from memsearch_engine.longterm.store import SCHEMA, SessionMemories, SessionMemory
from memsearch_engine.service import tasks as service
from memsearch_engine.service.commands import RequestContext
from memsearch_engine.service.engine import Engine

from tests.conftest import Box, until


def identity(home: Home, folder: Path) -> str:
    registry = Registry(home)
    try:
        return registry.at(locate(folder, home)).id
    finally:
        registry.close()


def hits(box: Box, query: str, cwd: Path | None = None, *more: str) -> list[str]:
    done = box.run("search", query, "--json", *more, cwd=cwd or box.project)
    return [hit["content"] for hit in json.loads(done.out)["hits"]]


def found(box: Box, query: str, words: str, cwd: Path | None = None) -> None:
    until(
        lambda: any(words in text for text in hits(box, query, cwd)), 30, f"{words!r} to be found"
    )


def accepted(box: Box, everywhere: str, sections: dict[Path, str]) -> None:
    """MEMORY.md as the owner has accepted it."""
    parts = [f"## Everywhere\n- {everywhere} [mem:11111111]\n"]
    parts += [
        f"## Project {folder.name} ({identity(box.home, folder)[:8]})\n### Places\n- {text}\n"
        for folder, text in sections.items()
    ]
    box.home.longterm.mkdir(mode=0o700, exist_ok=True)
    (box.home.longterm / "MEMORY.md").write_text("\n".join(parts))


@pytest.fixture
def other(box: Box) -> Path:
    box.fill()
    folder = box.other_project("other")
    box.ok("add", "A note there", cwd=folder)
    return folder


@pytest.mark.slow
def test_a_remembered_fact_is_found_opened_and_its_words_are_known(box: Box, other: Path):
    box.ok("remember", "Staging's Postgres answers on port 6543")
    box.ok("remember", "--global", "The owner wants British spelling")
    found(box, "kind:fact port 6543", "6543")
    (name,) = {
        hit["entry_id"] for hit in box.ok("search", "kind:fact 6543", "--json").json["hits"][:1]
    }
    assert "answers on port 6543" in box.ok("expand", name).out
    assert box.ok("search", "6543", "--json").json["absent"] == []
    found(box, "British spelling", "British", other)
    assert not any(
        "6543" in text for text in hits(box, "port 6543 staging", other)
    )  # another project's
    assert (
        len([text for text in hits(box, "British spelling", None, "--all") if "British" in text])
        == 1
    )


@pytest.mark.slow
def test_what_was_accepted_is_found_where_it_belongs_with_no_citation_in_it(box: Box, other: Path):
    box.index()
    accepted(
        box,
        "Reviews are done on Fridays",
        {box.project: "The seeds lie in ops/seeds", other: "The kiosk runs Alpine"},
    )
    found(box, "kind:memory seeds", "ops/seeds")
    found(box, "kind:memory Fridays", "Fridays")
    assert not any("Alpine" in text for text in hits(box, "kiosk Alpine"))
    found(box, "kind:memory kiosk", "Alpine", other)
    assert all(
        "[mem:" not in text and "### Places" not in text
        for text in hits(box, "kind:memory seeds Fridays")
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", ["MEMORY.md", "PROJECT.md"])
def test_what_changes_between_the_first_reading_and_the_first_look_is_not_missed(
    box: Box, monkeypatch, page: str
):
    monkeypatch.setattr(service, "_TICK_S", 2.0)
    monkeypatch.setattr(service, "_SOURCES_S", 0.0)
    box.fill()
    engine = Engine(box.home.ensure())
    try:
        engine.handlers["index"](RequestContext(lambda state: None, lambda: False), box.place())
        project = engine.state.project_at(box.place())
        again = threading.Event()
        monkeypatch.setattr(
            engine.indexer, "refresh", lambda which: again.set() if which.id == project.id else None
        )
        if page == "MEMORY.md":
            accepted(box, "Reviews are done on Fridays", {})
        else:
            Path(pages.path_of(engine.settings, project, "project")).write_text(
                "- Releases are cut on Mondays\n"
            )
        assert again.wait(30)
    finally:
        engine.close()


@pytest.mark.slow
def test_recaps_of_weighed_sessions_are_found_in_their_project_alone(box: Box, other: Path):
    def kept(name: str, folder: Path, selected: float, forgotten: float = 0.0) -> None:
        memory = SessionMemory(
            id=name,
            agent="codex",
            session=name,
            project=identity(box.home, folder),
            project_name=folder.name,
            cwd="",
            path="",
            watermark=1.0,
            raw_memory="x",
            summary=f"- Moved the queue of {name}",
            slug="queue",
            made=1.0,
            forgotten=forgotten,
        )
        with using(box.home, SCHEMA) as db:
            SessionMemories.put(db, memory)
            db.execute(
                "UPDATE longterm_memories SET selected=?, forgotten=? WHERE id=?",
                (selected, forgotten, name),
            )

    for name, folder, selected, forgotten in (
        ("aaaaaaaa", box.project, 1.0, 0.0),
        ("bbbbbbbb", box.project, 0.0, 0.0),
        ("cccccccc", box.project, 1.0, 2.0),
        ("dddddddd", other, 1.0, 0.0),
    ):
        kept(name, folder, selected, forgotten)
    box.index()
    assert [text.splitlines()[-1] for text in hits(box, "kind:summary queue")] == [
        "- Moved the queue of aaaaaaaa"
    ]


@pytest.mark.slow
def test_what_is_forgotten_is_gone_from_the_files_at_once_and_from_searches(box: Box, other: Path):
    box.ok("remember", "Staging's Postgres answers on port 6543")
    found(box, "kind:fact 6543", "6543")
    box.ok("service", "stop")
    box.ok("forget", "6543", "--yes")
    assert not any("6543" in path.read_text() for path in box.home.longterm_search.rglob("*.md"))
    until(lambda: not hits(box, "kind:fact 6543"), 30, "it to be gone")
    box.ok("longterm", "restore", "1")
    assert any("6543" in path.read_text() for path in box.home.longterm_search.rglob("*.md"))


@pytest.mark.slow
def test_it_is_no_note_that_could_be_edited_marked_or_deleted(box: Box, other: Path):
    box.ok("remember", "Staging's Postgres answers on port 6543")
    found(box, "kind:fact 6543", "6543")
    name = box.ok("search", "kind:fact 6543", "--json").json["hits"][0]["entry_id"]
    before = {path: path.read_bytes() for path in box.home.longterm_search.rglob("*.md")}
    for argv in (["delete", name, "--yes"], ["pin", name], ["expire", name, "2030-01-01"]):
        refused = box.run(*argv)
        assert refused.code == 2 and "long-term memory" in refused.err
    assert {path: path.read_bytes() for path in box.home.longterm_search.rglob("*.md")} == before


def test_what_a_line_says_becomes_no_heading_and_no_other_entry(tmp_path: Path):
    home = Home(tmp_path / "home").ensure()
    home.longterm.mkdir(mode=0o700)
    (home.longterm / "MEMORY.md").write_text(
        "## Everywhere\n- one\n  ## Project x\n  <!-- id:aaaaaaaaaaaa -->\n- two\n"
    )
    origin = Origin(home)
    folder = searchable.write(home, "0" * 32, origin)
    origin.close()
    from memsearch_engine.journal.files import read_day

    entries = read_day(folder / "memory.md").entries
    assert [entry.body.splitlines()[0] for entry in entries] == [
        "- one",
        "- two",
    ] and "aaaaaaaaaaaa" not in {e.id for e in entries}
    before = (folder / "memory.md").stat().st_ino
    searchable.write(home, "0" * 32, Origin(home))
    assert (
        folder / "memory.md"
    ).stat().st_ino == before  # nothing has changed: it is not written anew


@pytest.mark.slow
def test_a_forgotten_project_takes_its_files_with_it(box: Box, other: Path):
    box.ok("remember", "--global", "The owner wants British spelling")
    found(box, "British spelling", "British", other)
    folder = searchable.folder(box.home, identity(box.home, other))
    assert folder.is_dir()
    with Memory(str(box.project), home=box.home) as memory:
        memory.forget_project(str(other))
    assert not folder.exists()
