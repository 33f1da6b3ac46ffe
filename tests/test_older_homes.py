"""A home that an earlier version made goes on: caches of other layouts are built again or moved,
nothing is embedded twice.
"""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from memsearch_engine.index.vectors import database
from memsearch_engine.longterm.review import Hunk, Proposal, pending, propose


def age(box) -> None:
    """Turn the databases of a home back into their first layouts."""
    with sqlite3.connect(box.home.cache_db) as db:
        db.execute("PRAGMA user_version=2")
    db.close()
    (vectors,) = box.home.index.glob("*/vectors.db")
    with sqlite3.connect(vectors) as db:
        db.executescript(
            "ALTER TABLE vectors RENAME TO rows;"
            "CREATE TABLE vectors (text_hash TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;"
            "INSERT INTO vectors SELECT * FROM rows; DROP TABLE rows; PRAGMA user_version=0;"
        )
    db.close()
    with sqlite3.connect(box.home.state_db) as db:
        db.executescript(
            "CREATE TABLE longterm_proposals (id INTEGER "
            "PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, state TEXT NOT NULL,"
            " body BLOB NOT NULL);"
            "INSERT INTO longterm_proposals (at, state, body) VALUES (1, 'decided', '{}');"
        )
    db.close()


@pytest.mark.slow
def test_a_home_of_the_first_layouts_goes_on(box):
    box.fill()
    box.index()
    box.ok("service", "stop")
    age(box)
    state = box.index()
    assert state["embedded"] == 0 and state["chunks"] == 5 and state["reason"] == ""
    assert "this version" in box.ok("health", "--json").json["notice"]
    assert (
        list(box.home.root.glob("cache.db.broken*")) == []
    )  # a copy of all notes that nobody would remove
    found = box.ok("search", "redis ttl", "--json").json
    assert found["mode"] == "hybrid" and "Redis" in found["hits"][0]["content"]
    assert pending(box.home) is None
    hunk = Hunk(1, "MEMORY.md", "## Everywhere", [], [], ["- x"], [])
    assert propose(box.home, Proposal(1.0, [hunk])) > 0 and pending(box.home) is not None
    done = box.ok("secrets", "scrub", "--text", "900 seconds", "--yes")
    assert "0 left" in done.out


@pytest.mark.slow
def test_a_catalog_that_was_set_aside_is_scrubbed_with_the_caches(box):
    box.fill()
    box.index()
    box.ok("service", "stop")
    copy = box.home.root / "cache.db.broken-1700000000"
    copy.write_bytes(box.home.cache_db.read_bytes())
    assert b"900 seconds" in copy.read_bytes()
    done = box.ok("secrets", "scrub", "--text", "900 seconds", "--yes")
    assert "0 left" in done.out and not copy.exists()


@pytest.mark.slow
def test_a_home_with_milvus_lite_goes_on_without_it(box):
    box.fill()
    box.index()
    box.ok("service", "stop")
    box.ok("config", "set", "milvus.lite", "true")
    (vectors,) = box.home.index.glob("*/vectors.db")
    with contextlib.closing(sqlite3.connect(vectors)) as db, db:
        db.execute(
            "INSERT INTO stored (collection, chunk_id, scalars) VALUES ('', 'left out ms_x', 'yes')"
        )
    folder = vectors.with_name("milvus.db")
    (folder / "collections").mkdir(parents=True)
    state = box.index()
    assert state["embedded"] == 0 and state["chunks"] == 5 and state["reason"] == ""
    found = box.ok("search", "redis ttl", "--json").json
    assert found["mode"] == "hybrid" and "Redis" in found["hits"][0]["content"]
    assert not folder.exists()


@pytest.mark.slow
def test_a_disk_that_is_full_while_vectors_move_loses_none(box, monkeypatch):
    box.fill()
    box.index()
    box.ok("service", "stop")
    age(box)
    (vectors,) = box.home.index.glob("*/vectors.db")
    before = vectors.read_bytes()

    def full(path):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(database, "_connect", full)
    with pytest.raises(sqlite3.OperationalError):
        database.VectorDatabase(vectors)
    assert vectors.read_bytes() == before
