"""What a service does at its start is done once, and what can wait is done in small steps."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.core import freshness, wire
from memsearch_engine.core.home import Home
from memsearch_engine.index.catalog import RepositoryCheck
from memsearch_engine.index.vectors import matrix
from memsearch_engine.longterm import injected
from memsearch_engine.service import index_state, service_state, tasks
from memsearch_engine.service.commands import IndexJob, RequestContext
from memsearch_engine.service.indexing import Indexer
from memsearch_engine.service.service_state import Activity, ServiceState
from memsearch_engine.service.tasks import CaptureTask
from memsearch_engine.staleness.finding import CheckedNote, NoteStaleness

from tests.conftest import until


@pytest.fixture
def state(box) -> Iterator[ServiceState]:
    with contextlib.closing(ServiceState(Home(box.home.root).ensure())) as made:
        assert made.indexer.warmed.wait(60)
        yield made


def place(box) -> dict[str, str]:
    return {"root": str(box.project), "memory": str(box.memory), "common_dir": ""}


def test_the_actions_of_archived_turns_with_a_note_are_recorded_step_by_step(
    box, state, monkeypatch
):
    monkeypatch.setattr(tasks, "_AT_ONCE", 2)
    names = [f"turn{number}" for number in range(5)]
    notes = [
        f"### 10:0{n}\n<!-- session:s turn:{name} agent:codex -->\n- {name} made\n"
        for n, name in enumerate(names)
        if n != 3
    ]
    box.write("2026-03-01", "# 2026-03-01\n\n" + "\n".join(notes))
    call = RequestContext(lambda state: None, lambda: False)
    state.indexer.run(state.project_at(place(box), register=True), [], False, call)
    with contextlib.closing(Archive(state.home)) as archive:
        for name in names:
            call = ToolCall("Bash", f"make {name}", "done")
            archive.put(Turn("codex", "s", name, started="2026-03-01T10:00:00Z", tools=[call]))
    actions = ActionIndex(state.home)
    turns = [("codex", "s", name) for name in names]
    task, found = CaptureTask(state), []
    for _ in range(4):
        task.note_actions()
        found.append(sorted(name for *_, name in actions.names(turns)))
    assert found == [names[:2], names[:3], names[:3] + names[4:], names[:3] + names[4:]]
    assert len(actions.of_command([str(box.memory)], "make turn4")) == 1


def test_a_project_that_is_attached_while_it_is_indexed_is_read_once(box, state, monkeypatch):
    box.fill()
    indexer, enqueue = state.indexer, state.indexer.enqueue
    indexer.thread.close()  # the queue keeps its jobs

    def begun_meanwhile(job: IndexJob) -> None:
        enqueue(job)  # then `memsearch index` begins, which includes the queued work
        indexer.queued.discard(job.project.root)

    monkeypatch.setattr(indexer, "enqueue", begun_meanwhile)
    while not indexer.queue.empty():
        indexer.queue.get()
    state.project_at(place(box), register=True)
    assert indexer.queue.qsize() == 1


def test_a_context_that_hooks_may_print_is_not_prepared_again(box, state, monkeypatch):
    box.fill()
    project = state.project_at(place(box), register=True)
    made: list[str] = []
    prepare = service_state.prepare
    monkeypatch.setattr(
        service_state, "prepare", lambda *values: (made.append("x"), prepare(*values))[1]
    )

    def count() -> int:
        state.prepare_context(project.memory, project.id, if_stale=True)
        return len(made)

    assert [count(), count()] == [1, 1]
    box.write("2026-03-05", "### 10:00\n- The cache is shared now\n")
    assert [count(), count()] == [2, 2]
    state.home.context(project.memory).write_text("[]")
    assert [count(), count()] == [3, 3]


def test_contexts_are_prepared_anew_only_where_something_changed(box, state, monkeypatch):
    made: list[str] = []
    prepare = service_state.prepare

    def recorded(home, memory, identity):
        made.append(Path(memory).parts[-3])
        prepare(home, memory, identity)

    def prepared() -> list[str]:
        made.clear()
        running._prepare_contexts()
        return sorted(made)

    monkeypatch.setattr(service_state, "prepare", recorded)
    for name in ("gateway", "shop"):
        memory = box.root / name / ".memsearch" / "memory"
        box.write("2026-03-05", f"### 10:00\n- {name} is open\n", memory)
        where = {"root": str(box.root / name), "memory": str(memory), "common_dir": ""}
        state.project_at(where, register=True)
    running = tasks.BackgroundTasks(state)
    assert [prepared(), prepared()] == [["gateway", "shop"], []]
    running = tasks.BackgroundTasks(state)  # of the next service
    assert prepared() == []
    box.write("2026-03-05", "### 10:00\n- shop is closed now\n", memory)
    assert [prepared(), prepared()] == [["shop"], []]
    note = CheckedNote("an id", "a hash", [], NoteStaleness(unmerged="topic"))
    check = RepositoryCheck("a commit", time.time(), "")
    state.indexer.catalog.staleness.put(state.project_at(where).id, check, [note])
    assert [prepared(), prepared()] == [["shop"], []]
    freshness.changed(state.home)
    assert [prepared(), prepared()] == [["gateway", "shop"], []]
    monkeypatch.setattr(injected, "date", Tomorrow)
    assert [prepared(), prepared()] == [["gateway", "shop"], []]
    monkeypatch.setitem(wire.BUILD, "installed", 1)  # an update that keeps the version
    assert [prepared(), prepared()] == [["gateway", "shop"], []]


class Tomorrow(date):
    @classmethod
    def today(cls) -> date:
        return date.today() + timedelta(days=1)


def test_contexts_with_shared_notes_are_prepared_at_each_start(box, state, monkeypatch):
    """A commit of a shared note changes no file of notes."""
    box.write("2026-03-05", "### 10:00\n- shared\n", box.memory.parent / "shared" / "ann")
    project = state.project_at(place(box), register=True)
    state.prepare_context(project.memory, project.id)
    made: list[str] = []
    monkeypatch.setattr(service_state, "prepare", lambda *values: made.append("x"))
    running = tasks.BackgroundTasks(state)
    running._prepare_contexts()
    running._prepare_contexts()
    assert made == ["x"]


def test_a_context_that_could_not_be_prepared_is_prepared_later(box, state, monkeypatch):
    box.fill()
    project = state.project_at(place(box), register=True)
    state.prepare_context(project.memory, project.id)
    running = tasks.BackgroundTasks(state)

    def on_a_full_disk(*values: object) -> None:
        raise OSError(28, "No space left on device")

    box.write("2026-03-05", "### 10:00\n- The cache is shared now\n")
    with monkeypatch.context() as patch:
        patch.setattr(service_state, "prepare", on_a_full_disk)
        running._prepare_contexts()
    made: list[str] = []
    monkeypatch.setattr(service_state, "prepare", lambda *values: made.append("x"))
    running._prepare_contexts()
    assert made == ["x"]


def test_a_start_saves_the_vectors_of_a_large_project_for_the_next_one(box, monkeypatch):
    monkeypatch.setattr(matrix, "WORTH_A_FILE", 2)
    box.write("2026-03-01", "### 10:00\n- giraffes eat leaves\n\n### 11:00\n- zebras eat grass\n")
    call = RequestContext(lambda state: None, lambda: False)
    for _ in range(2):
        with contextlib.closing(ServiceState(Home(box.home.root).ensure())) as made:
            made.indexer.run(made.project_at(place(box), register=True), [], False, call)
    until(lambda: [*box.home.index.glob("*/*.matrix")])


@pytest.fixture
def damaged(box):
    """A catalog of one note, in which the pages of one index are empty."""
    box.write("2026-03-01", "### 10:00\n- giraffes eat leaves\n")
    call = RequestContext(lambda state: None, lambda: False)
    with contextlib.closing(ServiceState(Home(box.home.root).ensure())) as made:
        made.indexer.run(made.project_at(place(box), register=True), [], False, call)
    with contextlib.closing(sqlite3.connect(box.home.cache_db)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE name='entries_day'"
        (root,) = db.execute(query).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with open(box.home.cache_db, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(size))
    return box


def renewed(box, state: ServiceState) -> bool:
    notice = state.indexer.notice
    return any(copy.name in notice for copy in box.home.root.glob("cache.db.broken-*"))


def test_the_pages_of_the_catalog_are_checked_after_the_vectors_are_read(damaged, state):
    assert state.indexer.notice == ""
    running = tasks.BackgroundTasks(state)
    running.start()
    version = 0
    while not renewed(damaged, state):
        version = state.wait_for_change(version, 60, lambda: renewed(damaged, state))
    running.stop()


def test_the_pages_of_an_unchanged_catalog_are_checked_once_a_day(box, monkeypatch):
    home = Home(box.home.root).ensure()
    now, checks = [time.time()], []
    monkeypatch.setattr(index_state.time, "time", lambda: now[0])
    monkeypatch.setattr(Indexer, "renew_damaged_catalog", lambda self: checks.append(1))

    def count(*, is_checked: bool = True) -> int:
        checks.clear()
        with contextlib.closing(ServiceState(home)) as state:
            for _ in range(2 * is_checked):
                state.indexer.check_catalog()
        return len(checks)

    assert count(is_checked=False) == 0
    assert [count(), count()] == [1, 0]
    home.cache_db.touch()  # another program
    assert [count(), count()] == [1, 0]
    now[0] += 90_000
    assert [count(), count()] == [1, 0]
    now[0] -= 400_000  # the clock was wrong
    assert [count(), count()] == [1, 0]


def test_a_check_of_the_catalog_that_fails_is_no_check(box, monkeypatch):
    home, checks = Home(box.home.root).ensure(), []

    def check(self: Indexer) -> None:
        checks.append(1)
        if len(checks) == 1:
            raise MemoryError

    monkeypatch.setattr(Indexer, "renew_damaged_catalog", check)
    with contextlib.closing(ServiceState(home)) as state, pytest.raises(MemoryError):
        state.indexer.check_catalog()
    with contextlib.closing(ServiceState(home)) as state:
        state.indexer.check_catalog()
    assert len(checks) == 2


def test_what_can_wait_begins_after_the_first_requests(state, monkeypatch):
    state.activity = Activity(clock=lambda: 0.0)
    running, began = tasks.BackgroundTasks(state), time.monotonic()
    monkeypatch.setattr(tasks, "_START_S", math.inf)
    assert not running._has_calmed(began)
    monkeypatch.setattr(tasks, "_START_S", 0.0)  # a client that never rests
    assert running._has_calmed(began)


def test_an_index_run_that_meets_damage_builds_the_catalog_again(damaged, state):
    (damaged.memory / "2026-03-01.md").write_text("### 10:00\n- zebras eat grass\n")
    call = RequestContext(lambda state: None, lambda: False)
    result = state.indexer.run(state.project_at(place(damaged)), [], False, call)
    # the run that the new project begins may meet the damage first, and then has read the change
    assert (result.files, result.chunks) == (1, 1) and renewed(damaged, state)
    assert state.indexer.catalog.words.has("zebras")
    assert state.indexer.catalog.damage() is None
