"""What the index thread knows of projects that it has not read to the end."""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from memsearch_engine import Memory
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.catalog.words import WordIndex
from memsearch_engine.service import indexing, tasks
from memsearch_engine.service.commands import IndexJob, RequestContext
from memsearch_engine.service.engine import Engine
from memsearch_engine.service.index_thread import IndexThread
from memsearch_engine.service.indexing import Indexer

from tests.conftest import until


def behind(box, *, read: bool = False, forget: bool = False) -> bool:
    """Whether an indexer that was just opened is behind with the box's project; after having it
    read, or what is indexed of it dropped.
    """
    home = Home(box.home.root)
    with contextlib.closing(Registry(home)) as registry:
        project = registry.at(locate(str(box.project), home), register=True)
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        try:
            if read:
                job = IndexJob(project, [])
                indexer.enqueue(job)
                assert job.was_read.wait(60)
            if forget:
                indexer.thread.forget(project)
            return indexer.is_behind([project])
        finally:
            indexer.close()


@pytest.mark.slow
def test_a_service_killed_while_it_read_the_notes_first_is_known_to_be_behind(box):
    box.fill()
    Catalog(box.home.cache_db, writable=True).close()  # as a kill leaves it: made, and nothing read
    assert behind(box)
    assert not behind(box, read=True)
    assert not behind(box)  # one that was read once serves from the start


@pytest.mark.slow
def test_a_catalog_from_before_that_was_counted_has_read_what_it_holds(box):
    box.fill()
    assert not behind(box, read=True)
    catalog = Catalog(box.home.cache_db, writable=True)
    with catalog.database.transaction() as db:
        db.execute("DROP TABLE taken_in")
    catalog.close()
    assert not behind(box)


def test_an_index_that_is_being_built_anew_is_behind(box):
    box.fill()
    assert behind(box, read=True, forget=True)
    assert behind(box)  # also where the service is killed meanwhile


def test_the_catalog_forgets_which_chunks_were_written_once_they_are_compared(box):
    box.fill()
    home = Home(box.home.root)
    with contextlib.closing(Registry(home)) as registry:
        project = registry.at(locate(str(box.project), home), register=True)
        with contextlib.closing(Indexer(home, registry, threading.Event(), lambda: None)) as made:
            for _ in range(2):  # the second one begins after the first has been finished
                job = IndexJob(project, [])
                made.enqueue(job)
                assert job.was_read.wait(60)
            base = made.catalog.database
            assert base.written_since(project.id, 0) is None
            assert base.written_since(project.id, base.version()) == set()


def segments(box) -> int:
    """The number of segments of the word index (``words_idx`` of FTS5)."""
    with contextlib.closing(sqlite3.connect(box.home.cache_db)) as db:
        return db.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()[0]


def test_the_word_index_is_one_segment_after_the_first_reading_and_once_a_day(box):
    for day in range(1, 4):
        box.write(f"2026-03-0{day}", f"# 2026-03-0{day}\n\n### 10:00\n- Deploy number {day}\n")
    assert not behind(box, read=True)
    assert segments(box) == 1
    box.write("2026-03-04", "# 2026-03-04\n\n### 10:00\n- Deploys are frozen over Easter\n")
    assert not behind(box, read=True)
    assert segments(box) == 2
    home = Home(box.home.root)
    with contextlib.closing(Registry(home)) as registry:
        project = registry.at(locate(str(box.project), home), register=True)
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        try:
            assert indexer.ready.wait(60)
            job = IndexJob(project, [])
            indexer.enqueue(job)
            assert job.was_read.wait(60)
            stamp = indexer.spaces.serving.folder / "pruned"
            stamp.touch()
            os.utime(stamp, (0, 0))  # a day has passed
            indexer.thread._prune()
        finally:
            indexer.close()
    assert segments(box) == 1


@pytest.mark.parametrize("is_full", [False, True])
def test_the_word_index_is_merged_once_after_the_first_reading_of_several_projects(
    box, monkeypatch, is_full
):
    merged = []

    def optimize(words: WordIndex) -> None:
        merged.append(words)
        if is_full:
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(WordIndex, "optimize", optimize)
    queued = threading.Event()
    monkeypatch.setattr(IndexThread, "_warm", lambda _: queued.wait(60))
    home, jobs = Home(box.home.root), []
    with contextlib.closing(Registry(home)) as registry:
        for number in range(4):
            folder = box.project.parent / f"project-{number}" / ".memsearch" / "memory"
            folder.mkdir(parents=True)
            (folder / "2026-03-01.md").write_text("### 10:00\n- Deploys are frozen\n")
            project = registry.at(locate(str(folder.parent.parent), home), register=True)
            jobs.append(IndexJob(project, []))
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        try:
            for job in jobs:
                indexer.enqueue(job)
            queued.set()
            assert all(job.done.wait(60) for job in jobs)
        finally:
            indexer.close()
    assert len(merged) == 1 and [job.error for job in jobs] == [None] * 4


def test_damaged_vectors_do_not_end_the_index_thread(box):
    home = Home(box.home.root).ensure()
    with contextlib.closing(Registry(home)) as registry:
        project = registry.at(locate(str(box.project), home), register=True)

        def indexer():
            return contextlib.closing(Indexer(home, registry, threading.Event(), lambda: None))

        with indexer() as first:
            assert first.warmed.wait(60)
            file = first.spaces.serving.folder / "vectors.db"
        with contextlib.closing(sqlite3.connect(file)) as db, db:
            db.executemany(
                "INSERT INTO stored (collection, chunk_id, scalars, text_hash) VALUES (?,?,'','')",
                [(project.collection, f"chunk {number:05}") for number in range(5000)],
            )
        data = bytearray(file.read_bytes())
        while (at := data.find(b"chunk 02500")) >= 0:
            page = at - at % 4096
            data[page : page + 4096] = bytes(4096)
        file.write_bytes(data)
        with indexer() as second:
            assert second.warmed.wait(60)


def test_housekeeping_waits_for_what_the_first_search_needs(box, monkeypatch):
    box.write("2026-03-01", "### 10:00\n- Deploys are frozen\n")
    go_on, ticks, is_reconciled = threading.Event(), queue.Queue(), threading.Event()
    monkeypatch.setattr(IndexThread, "_warm", lambda _: go_on.wait(60))
    monkeypatch.setattr(tasks, "_TICK_S", 0.01)
    monkeypatch.setattr(tasks.CaptureTask, "drain", lambda _: ticks.put(is_reconciled.is_set()))
    monkeypatch.setattr(tasks.CaptureTask, "reconcile", lambda _: is_reconciled.set())
    with contextlib.closing(Engine(Home(box.home.root).ensure())) as engine:
        engine.indexer.ready.wait(60)
        assert [ticks.get(timeout=60) for _ in range(5)] == [False] * 5
        go_on.set()
        assert is_reconciled.wait(60)


@pytest.mark.slow
def test_what_was_written_while_no_service_ran_is_found_by_the_first_search(box):
    box.write("2026-03-01", "# 2026-03-01\n\n### 10:00\n- Deploys go out on Tuesdays\n")
    box.write("2026-03-02", "# 2026-03-02\n\n### 10:00\n- Deploys are announced by mail\n")
    box.write("2026-02-27", "# 2026-02-27\n\n### 10:00\n- Deploys take ten minutes\n")
    box.index()
    box.ok("service", "stop")
    box.write("2026-03-01", "# 2026-03-01\n\n### 10:00\n- Deploys go out on Thursdays\n")
    (box.memory / "2026-03-02.md").unlink()
    box.write("2026-03-03", "# 2026-03-03\n\n### 10:00\n- Deploys are frozen over Easter\n")
    new = {"- Deploys go out on Thursdays", "- Deploys are frozen over Easter"}
    answer = box.ok("search", "when do deploys go out", "--json").json
    said = {hit["content"].splitlines()[-1] for hit in answer["hits"]}
    assert said == {*new, "- Deploys take ten minutes"}, answer[
        "mode"
    ]  # by words where reading took longer than a search may wait


def test_a_first_search_waits_no_longer_than_a_moment_for_files_to_be_read(box, monkeypatch):
    box.fill()
    assert not behind(box, read=True)
    monkeypatch.setattr(indexing, "_CATCH_UP_S", 0.05)
    box.write("2026-03-03", "# 2026-03-03\n\n### 10:00\n- Deploys are frozen over Easter\n")
    home, let = Home(box.home.root), threading.Event()

    def held(self, job):
        let.wait(60)
        raise Unreachable("held")

    monkeypatch.setattr(IndexThread, "read_files", held)
    with contextlib.closing(Registry(home)) as registry:
        project = registry.at(locate(str(box.project), home), register=True)
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        call = RequestContext(lambda state: None, lambda: False)
        try:
            assert indexer.ready.wait(60)
            assert not indexer.catch_up([project], call)
            (box.memory / "2026-03-03.md").unlink()
            assert indexer.catch_up([project], call)  # nothing has changed
        finally:
            let.set()
            indexer.close()


@pytest.mark.slow
def test_a_search_after_a_finished_edit_or_delete_finds_what_it_wrote(box, monkeypatch):
    box.fill()
    box.ok("config", "set", "watch.debounce_ms", "10000")  # the watch does not report it before
    box.index()
    box.ready()
    monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
    with Memory(box.project) as memory, contextlib.closing(box.connect()) as connection:

        def found() -> list[str]:
            request = {"query": "vestibule", "place": box.place()}
            answer = connection.call("search_view", dict, deadline_s=30, **request)
            assert answer["mode"] == "hybrid"
            return [hit["content"].splitlines()[-1] for hit in answer["hits"] if "vest" in str(hit)]

        assert not found()
        note = memory.add("The vestibule has two doors")
        assert found() == ["- The vestibule has two doors"]
        note = memory.edit(note.id, "- The vestibule has a curtain")
        assert found() == ["- The vestibule has a curtain"]
        memory.delete(note.id)
        assert not found()
        memory.undo()
        assert found() == ["- The vestibule has a curtain"]


def test_many_projects_are_checked_in_turn(box, monkeypatch):
    home, checked = Home(box.home.root).ensure(), []
    with contextlib.closing(Registry(home)) as registry:
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        with contextlib.closing(indexer):
            many = 2 * indexing._CHECKED_AT_ONCE + 5
            for number in range(many):
                root = str(box.root / f"p{number}")
                indexer.known[root] = Project(f"id{number}", "", "", root, f"{root}/memory")
            monkeypatch.setattr(
                indexer._sources, "has_changed", lambda project, _: checked.append(project.root)
            )
            used = str(box.root / "p40")
            indexer.attach(indexer.known[used])
            for _ in range(4):
                before = len(checked)
                indexer.look_at_sources()
                indexer.check_disk()  # takes turns of its own
                assert used in checked[before:]  # those that were used last, each time
                assert len(checked) - before <= indexing._CHECKED_AT_ONCE
            assert set(checked) == indexer.known.keys() == indexer._absent.keys()
            checked.clear()
            for root in list(indexer.known)[3:]:
                del indexer.known[root]
            indexer.look_at_sources()
            assert sorted(checked) == sorted(indexer.known)  # a few are all checked each time


def test_nobody_waits_for_the_close_of_a_catalog_that_was_deleted(box):
    home = Home(box.home.root).ensure()
    with contextlib.closing(Registry(home)) as registry:
        indexer = Indexer(home, registry, threading.Event(), lambda: None)
        with contextlib.closing(indexer), ThreadPoolExecutor(1) as pool:
            assert indexer.warmed.wait(60)
            old = indexer.catalog
            with old.database._connection()[1]:  # as during a query
                home.cache_db.unlink()
                renewing = pool.submit(indexer.renew_catalog)
                until(lambda: indexer.catalog is not old)
                assert indexer.lock.acquire(timeout=60)
                indexer.lock.release()
            assert renewing.result(60)
