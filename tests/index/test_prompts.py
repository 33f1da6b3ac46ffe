"""What users had asked is searched with the note of its turn, and is no part of it."""

from __future__ import annotations

import sqlite3

import pytest
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import asked_before

from tests.conftest import Box, until
from tests.evaluation.recall import chats
from tests.evaluation.recall.chats import Said

NOTE = """# 2026-11-20

## Session 10:00

### 10:00
<!-- agent:{agent} session:{session} turn:{turn} transcript:/gone.jsonl -->
- Raised `POOL_MAX` to 40 and restarted the workers
"""
PROMPT = (
    "people wait ages at the till when the shop is crowded, "
    "make that go away (token ghp_abcdefghijklmnopqrstuvwxyz0123456789)"
)


@pytest.mark.parametrize(
    ("note", "prompt", "before"),
    [
        ("- Raised the pool to 40", "the till is slow", "the till is slow"),
        (
            "- User asked: the till is slow on Mondays\n- Raised the pool",
            "the till is slow on Mondays",
            "",
        ),
        ("- Raised the pool", "yes", ""),
        (
            "- Raised the pool",
            "why?\n```\nTraceback (most recent call last)\n```\nfix the till",
            "why? fix the till",
        ),
        (
            "- Raised the pool",
            "my key is [REDACTED:github-pat:ab12] at the till",
            "my key is at the till",
        ),
        ("- Raised the pool", "till " + "crowd " * 200, "till " + ("crowd " * 49).strip()),
    ],
)
def test_what_of_a_prompt_is_embedded(note, prompt, before):
    assert asked_before(note, prompt) == before


def claude_says(box: Box) -> Said:
    said = Said(
        "claude-code",
        "5e551011-0000-4000-8000-00000000000a",
        "5e551011-0000-4000-8000-00000000000b",
        *_words(),
    )
    chats._WRITERS["claude-code"](
        box.user / ".claude" / "projects", box.project, said.session, [said]
    )
    return said


def _words():
    from datetime import UTC, datetime

    return datetime(2026, 11, 20, 10, tzinfo=UTC), PROMPT, "Raised POOL_MAX to 40."


def found(box: Box, query: str) -> list[dict]:
    return box.run("search", query, "--json", "--explain").json["hits"]


def catalog_rows(box: Box) -> list[tuple]:
    catalog = Catalog.open_readonly(box.home.cache_db)
    try:
        return catalog.database.query(
            "SELECT e.asked, c.embedded, c.text_hash, c.chunk_id FROM chunks c "
            "JOIN entries e ON e.id=c.entry"
        )
    finally:
        catalog.close()


@pytest.mark.slow
def test_a_note_is_found_by_the_words_of_its_prompt_which_are_no_part_of_it(box):
    said = claude_says(box)
    box.write("2026-11-20", NOTE.format(agent=said.agent, session=said.session, turn=said.turn))
    box.index()
    until(lambda: catalog_rows(box)[0][0], what="the prompt was found in the agent's session")
    hit = until(lambda: next(iter(found(box, "crowded shop")), None))
    assert (
        hit["asked"].startswith("people wait ages at the till") and "crowded" not in hit["content"]
    )
    assert "words of what was asked: " in "; ".join(hit["reasons"])
    (row,) = catalog_rows(box)
    assert "ghp_" not in row[0] and "REDACTED" not in row[0] and "till" not in row[1]
    assert "crowded" not in box.ok("expand", hit["entry_id"]).out
    assert found(box, '"shop is crowded"') == [] and found(
        box, "POOL_MAX -crowded"
    )  # phrases and exclusions ask the note
    assert "crowd" in box.ok("why-not", "crowded shop", hit["entry_id"], "--json").json["shared"]


@pytest.mark.slow
def test_the_old_vector_serves_until_the_new_one_is_made(box):
    said = Said(
        "claude-code",
        "5e551011-0000-4000-8000-00000000000a",
        "5e551011-0000-4000-8000-00000000000b",
        *_words(),
    )
    box.write("2026-11-20", NOTE.format(agent=said.agent, session=said.session, turn=said.turn))
    box.index()
    (before,) = until(
        lambda: [row for row in catalog_rows(box) if row[0] == ""],
        what="looked for, and not to be had",
    )
    claude_says(box)
    with sqlite3.connect(box.home.cache_db) as db:  # as a catalog of an earlier version has it
        db.execute("UPDATE entries SET asked=NULL")
    box.ok("service", "stop")
    hits = found(box, "POOL_MAX workers")
    assert hits and hits[0]["chunk_hash"] == before[3]
    box.index()
    (after,) = until(lambda: [row for row in catalog_rows(box) if row[0]])
    assert after[3] == before[3] and after[2] != before[2]  # the same chunk, another vector
    until(lambda: found(box, "customers queue at the cash desk")[0]["scores"].get("dense", 0) > 0.3)


@pytest.mark.slow
def test_a_deleted_notes_prompt_goes_with_it_and_the_setting_keeps_it_out(box):
    said = claude_says(box)
    box.ok("config", "set", "indexing.prompts", "off")
    box.write("2026-11-20", NOTE.format(agent=said.agent, session=said.session, turn=said.turn))
    box.index()
    assert [row[0] for row in catalog_rows(box)] == [None]
    box.ok("config", "set", "indexing.prompts", "on")
    box.ok("service", "stop")
    box.index()
    (with_it,) = until(lambda: [row for row in catalog_rows(box) if row[0]])
    box.ok("config", "set", "indexing.prompts", "off")
    box.ok("service", "stop")
    box.index()
    (without,) = until(lambda: [row for row in catalog_rows(box) if row[0] is None])
    assert without[2] != with_it[2]
    (entry,) = box.ok("entries", "--json").json["entries"]
    box.ok("delete", entry["entry_id"], "--yes")
    box.index()
    assert catalog_rows(box) == []


@pytest.mark.slow
def test_a_catalog_from_before_prompts_is_kept_and_gets_them(box):
    said = claude_says(box)
    box.write("2026-11-20", NOTE.format(agent=said.agent, session=said.session, turn=said.turn))
    box.index()
    until(lambda: catalog_rows(box)[0][0])
    box.ok("service", "stop")
    with sqlite3.connect(box.home.cache_db) as db:  # as version 0.4 made it
        db.executescript(
            "DROP INDEX entries_not_asked; ALTER TABLE entries DROP COLUMN asked; UPDATE chunks "
            "SET id=id+1000"
        )
    assert Catalog.open_readonly(box.home.cache_db) is None
    assert found(box, "POOL_MAX")
    until(lambda: any(hit["asked"] for hit in found(box, "crowded shop")))
    catalog = Catalog.open_readonly(box.home.cache_db)
    assert catalog.database.query("SELECT id > 1000 FROM chunks") == [(1,)]  # nothing was read anew
    catalog.close()
