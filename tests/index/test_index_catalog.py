"""The catalog: cached counts, damage, and who may read its tables."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import memsearch_engine
import pytest
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog, database, schema
from memsearch_engine.index.rows import CatalogBroken, Filter, decode_marks
from memsearch_engine.index.scan import scan

import memsearch_tui
from tests.review.test_outlines import at, index, text_of

ENTRY_COLUMNS = ("entry_id hash time agent session turn heading title anchors marks").split()


@pytest.mark.parametrize("writable", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_counts_are_cached_over_threads_and_dropped_after_a_change(box, writable):
    box.fill()
    box.index()
    box.ok("service", "stop")
    catalog = Catalog(box.home.cache_db, writable=writable)
    other = catalog if writable else Catalog(box.home.cache_db, writable=True)
    ((project,),) = catalog.database.query("SELECT DISTINCT project FROM files")
    asked: list[str] = []
    query = catalog.database.query
    catalog.database.query = lambda sql, values=(): (asked.append(sql), query(sql, values))[1]  # type: ignore[method-assign]
    try:
        with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:

            def sizes(*pools: ThreadPoolExecutor) -> set[int]:
                return {
                    pool.submit(catalog.statistics.distinct_chunks, project).result()
                    for pool in pools * 3
                }

            assert sizes(first) == {5} and sum("DISTINCT" in sql for sql in asked) == 1
            (path,) = [path for path in other.files.known(project) if "2026-02-09" in path]
            other.files.remove(project, path)
            asked.clear()
            assert sizes(second, first) == {
                2
            }  # one thread's connection is older than the change, one newer
            assert sum("DISTINCT" in sql for sql in asked) == 1
    finally:
        catalog.close()
        other.close()


def test_the_sizes_of_a_project_are_those_of_its_notes(tmp_path):
    catalog = Catalog(tmp_path / "cache.db", writable=True)
    with contextlib.closing(catalog), catalog.database.transaction() as db:
        notes = [("p", "2026-01-01", "turn", 2), ("p", "2026-01-01", "note", 1)]
        notes += [("p", "", "note", 1), ("p", "", "memory", 1), ("q", "2026-01-02", "turn", 1)]
        for row, (project, day, kind, chunks) in enumerate(notes):
            file = (row, project, str(row), day)
            db.execute(
                "INSERT INTO files (id, project, root, path, day, mtime_ns, size, hash, state, at)"
                " VALUES (?,?,'',?,?,0,0,'','fresh',0)",
                file,
            )
            values = dict.fromkeys(ENTRY_COLUMNS, "") | {"file": row, "project": project}
            values |= {"day": day, "kind": kind, "level": 3, "start_line": 1, "end_line": 1}
            marks = ",".join("?" * len(values))
            db.execute(
                f"INSERT INTO entries ({','.join(values)}) VALUES ({marks})", [*values.values()]
            )
            for part in range(chunks):
                db.execute(
                    "INSERT INTO chunks (entry, chunk_id, part, text_hash, start_line, end_line,"
                    " text, embedded) VALUES (?,?,?,'',1,1,'','')",
                    (row + 1, f"{project}{part}", part),
                )
        sizes = {"entries": 3, "days": 2, "chunks": 5}
        assert catalog.statistics.sizes("p") == sizes
        assert catalog.statistics.counts("p") == sizes | {"files": 4, "failed": 0, "distinct": 2}
        assert catalog.statistics.sizes("q") == {"entries": 1, "days": 1, "chunks": 1}


def test_a_few_notes_are_found_without_reading_all(tmp_path):
    memory, many = at(tmp_path / "project", tmp_path / "home"), 600
    for number in range(1, 21):
        text = text_of(f"{number}", [f"- note {n} of {number}" for n in range(many // 20)])
        day = Path(memory.place.memory) / f"2026-03-{number:02d}.md"
        day.write_text(text, encoding="utf-8")
    index(memory)
    catalog, project = memory._scope.catalog, memory.project.id
    assert catalog is not None and catalog.statistics.sizes(project)["entries"] == many
    steps: list[int] = []
    catalog.database._connection()[0].set_progress_handler(lambda: steps.append(1), many // 10)
    (note,) = memory.entries("2026-03-07", limit=1)
    for name in (note.id, note.id[:10]):
        assert catalog.find_entries(name, [project], 20) == [(note.path, note.id)]
        assert catalog.find_entries(name, ["other"], 20) == []
    assert catalog.staleness.stale(project) == []
    assert catalog.prompts.known(project, [note.id]) == {}
    assert len(steps) < 10
    memory.close()


@pytest.mark.slow
def test_a_catalog_that_is_deleted_under_a_reader_is_broken_and_nothing_worse(box):
    box.fill()
    box.index()
    box.ok("service", "stop")
    reader = Catalog(box.home.cache_db)
    try:
        for suffix in ("", "-wal", "-shm"):
            box.home.cache_db.with_name(f"cache.db{suffix}").unlink(missing_ok=True)
        with pytest.raises(CatalogBroken):
            reader.words.by_length()
    finally:
        reader.close()


def test_what_is_malformed_is_damage_whatever_bytes_it_quotes(tmp_path):
    path = tmp_path / "cache.db"
    Catalog(path, writable=True).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema=ON")
    db.execute(
        "UPDATE sqlite_master SET name=CAST(X'9c9cff' AS TEXT), sql='CREATE TABL' "
        "WHERE name='files'"
    )
    db.commit()
    db.close()
    with pytest.raises(CatalogBroken):
        Catalog(path)
    assert "set aside" in Catalog.open_or_rebuild(path)[1]


def test_nobody_outside_the_index_reads_the_catalogs_tables():
    engine = Path(memsearch_engine.__file__).parent
    faces = Path(memsearch_tui.__file__).parent
    files = [file for root in (engine, faces) for file in root.rglob("*.py")]
    outside = [file for file in files if engine / "index" not in file.parents]
    assert len(outside) > 100
    reads = re.compile(r"catalog\.(database|_)|FROM (entries|chunks|words|vocabulary)\b")
    assert [str(file) for file in outside if reads.search(file.read_text())] == []


@pytest.mark.parametrize("data", [b"{", b'"\xff"', b"[]", None, 5])
def test_a_value_that_is_none_is_damage(data):
    with pytest.raises(CatalogBroken):
        decode_marks(data)


def test_a_catalog_is_closed_when_the_query_of_another_thread_has_ended(tmp_path):
    """SQLite crashes if a connection is closed during a query."""
    catalog = Catalog(tmp_path / "cache.db", writable=True)
    is_asked, may_end = threading.Event(), threading.Event()

    def slow_query() -> list[tuple[object, ...]]:
        def made(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
            is_asked.set()  # between two steps of the query, when SQLite's own lock is free
            return (*row, may_end.wait(60))

        catalog.database._connection()[0].row_factory = made
        return catalog.database.query("SELECT 1")

    with ThreadPoolExecutor(2) as pool:
        asking = pool.submit(slow_query)
        assert is_asked.wait(60)
        closing = pool.submit(catalog.close)
        with pytest.raises(TimeoutError):
            closing.result(0.2)
        may_end.set()
        assert asking.result(60) == [(1, True)]
        closing.result(60)


def test_a_project_that_is_added_while_chunks_are_counted_is_no_error(tmp_path):
    text = "### 10:00\n- the same words twice\n"
    with contextlib.closing(Catalog(tmp_path / "cache.db", writable=True)) as catalog:

        def add(name: str) -> None:
            folders = [tmp_path / name / part for part in ("memory", "copy")]
            for folder in folders:
                folder.mkdir(parents=True)
                (folder / "2026-03-01.md").write_text(text, encoding="utf-8")
            scan(catalog, name, list(map(str, folders)), Settings(), memory=str(folders[0]))

        def query_later(sql: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
            if "WITH duplicates" in sql:
                catalog.database.query = query  # type: ignore[method-assign]
                add("later")
            return query(sql, values)

        add("first")
        query, catalog.database.query = catalog.database.query, query_later  # type: ignore[method-assign]
        assert catalog.statistics.distinct_chunks("first") == 1
        assert catalog.statistics.distinct_chunks("later") == 1
        sizes = catalog.statistics.sizes("first")
        catalog.files.remove("later", str(tmp_path / "later" / "copy" / "2026-03-01.md"))
        assert catalog.statistics.sizes("first") == sizes  # it has most of the files now
        assert catalog.statistics.distinct_chunks("later") == 1
        assert catalog.statistics.distinct_chunks("unknown") == 0


def test_a_small_project_gets_the_same_matches_and_counts_as_a_large_one(tmp_path, monkeypatch):
    names = [f"p{number}" for number in range(12)]
    catalog = Catalog(tmp_path / "cache.db", writable=True)
    with contextlib.closing(catalog):
        for number, name in enumerate(names):
            folder = tmp_path / name / "memory"
            folder.mkdir(parents=True)
            text = "".join(
                f"### 10:{at:02d}\n- {'cache ' * (at % 4)}of {name}, step {at // 2}\n"
                for at in range(number, 20)
            )
            (folder / "2026-03-01.md").write_text(text, encoding="utf-8")
            scan(catalog, name, [str(folder)], Settings(), memory=str(folder))
        for some in (names[:1], names[5:7], names):
            found = []
            for share in (0.0, 0.1, 1.0):
                monkeypatch.setattr(database, "_SMALL_SHARE", share)
                best = catalog.words.best('terms : "cach"', some, Filter(), 10)
                latest = catalog.words.latest('terms : "cach"', some, Filter(), 10, 2)
                found.append((best, latest, catalog.latest_texts(some[0], 3)))
            assert found[0] == found[1] == found[2] and all(found[0])
        few = {name: catalog.statistics.distinct_chunks(name) for name in names}
        sql = (
            "SELECT e.project, count(DISTINCT c.chunk_id) FROM chunks c"
            " JOIN entries e ON e.id=c.entry GROUP BY e.project"
        )
        assert few == dict(catalog.database.query(sql))


def test_whether_there_are_hidden_entries_is_read_from_an_index_of_them(tmp_path):
    path = tmp_path / "cache.db"
    for _ in range(2):
        with contextlib.closing(Catalog(path, writable=True)) as catalog:
            plan = catalog.database.query(
                f"EXPLAIN QUERY PLAN SELECT 1 FROM entries WHERE {schema.IS_HIDDEN} LIMIT 1"
            )
            assert "entries_hidden" in plan[0][3] and not catalog.words.has_hidden()
            with catalog.database.transaction() as db:  # as an earlier version leaves it
                db.execute("DROP INDEX entries_hidden")
