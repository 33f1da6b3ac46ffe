"""The service ends when nobody uses it, whatever it does by itself meanwhile; `service status` says
what keeps it up.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable

import pytest
from dulwich.repo import Repo
from memsearch_engine.core.home import Home
from memsearch_engine.search.supersession import notes
from memsearch_engine.service import (
    index_state,
    index_thread,
    indexing,
    launch,
    protocol,
    repository_checks,
    tasks,
)
from memsearch_engine.service.engine import Engine
from memsearch_engine.service.server import ServiceServer
from memsearch_engine.service.service_state import Activity

from tests.conftest import DAYS, Box, until


class Clock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Running:
    """A service in this process, its idle clock in the test's hand."""

    def __init__(self, home: Home, idle_s: float = 900.0) -> None:
        home.ensure_socket_folder()
        self.engine, self.clock = Engine(home), Clock()
        self.engine.state.activity = Activity(self.clock)
        self.server = ServiceServer(home, self.engine, idle_s)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()

    def goes(self) -> bool:
        self.thread.join(30)
        return not self.thread.is_alive()

    def close(self) -> None:
        self.server.stop()
        self.thread.join(30)
        self.engine.close()


@pytest.fixture
def run(box: Box):
    running: list[Running] = []

    def start(idle_s: float = 900.0) -> Running:
        running.append(Running(box.home.ensure(), idle_s))
        return running[-1]

    yield start
    for each in running:
        each.close()


def repeats(caplog: pytest.LogCaptureFixture, *texts: str) -> Callable[[], bool]:
    return lambda: all(
        sum(text in record.getMessage() for record in caplog.records) > 1 for text in texts
    )


@pytest.mark.slow
def test_what_it_does_by_itself_and_repeats_in_vain_does_not_keep_it_up(
    box, run, monkeypatch, caplog
):
    caplog.set_level(logging.INFO, "memsearch.service")
    for module, name, value in (
        (repository_checks, "_TICK_S", 0.05),
        (repository_checks, "_FIRST_S", 0.0),
        (repository_checks, "_MOVED_S", 0.0),
        (repository_checks, "_NOTED_S", 0.01),
        (index_state, "FIRST_PAUSE_S", 0.1),
        (index_thread, "_RETRY_S", 0.1),
        (indexing, "_MAX_PAUSE_S", 0.1),
        (indexing, "_ABSENT_S", 0.1),
        (tasks, "_TICK_S", 0.05),
        (tasks, "_RECONCILE_S", 0.1),
        (tasks, "_SOURCES_S", 0.1),
        (tasks, "_SUMMARIES_S", 0.1),
        (tasks, "_LONGTERM_S", 0.1),
        (tasks, "_SYNC_S", 0.1),
    ):
        monkeypatch.setattr(module, name, value)

    def fails(what: str) -> Callable[..., None]:
        def task(*args: object, **kwargs: object) -> None:
            raise OSError(f"{what} fails")

        return task

    box.fill()
    Repo.init(str(box.project)).close()  # without a commit
    box.home.config.write_text(
        '[embedding]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "k"\n'
        '[sync]\nremote = "/nowhere/at/all"\nevery_minutes = 1\n'
    )
    monkeypatch.setattr(tasks.summaries, "work", fails("summary"))
    monkeypatch.setattr(tasks.CaptureTask, "_asks_models", lambda self: True)
    monkeypatch.setattr(tasks.pipeline, "due", fails("long-term run"))
    monkeypatch.setattr(tasks, "reconcile", fails("reconciling"))
    monkeypatch.setattr(tasks.sync_state, "due", lambda *args: True)
    service = run()
    service.engine.state.project_at(box.place())
    all_tasks = (
        "compared with it has no commit yet",
        "summaries",
        "long-term memory",
        "housekeeping",
        "sync",
    )
    until(repeats(caplog, *all_tasks), 30, "every task fails and is repeated")
    assert service.engine.state.activity.uses == 0 and service.thread.is_alive()
    service.clock.now = 901.0
    assert service.goes()


def test_a_comparison_that_fails_is_repeated_later_and_later():
    pauses = [repository_checks._LastComparison(0.0, (), failures).pause_s for failures in range(9)]
    assert pauses == sorted(pauses) and pauses[:3] == [300, 600, 1200] and pauses[-1] < 6 * 3600


def test_clients_and_hooks_are_uses_and_looking_at_the_status_is_none(box, run):
    box.fill()
    service = run()
    activity = service.engine.state.activity
    with_client = launch.connect(box.home, start=False)
    asking = launch.connect(box.home, start=False)
    assert asking.call("status", dict)["kept_up_by"] == ["1 connected client"]
    assert activity.uses == 0
    with_client.call("health", dict)
    assert asking.call("status", dict)["last_use"] == "health"
    service.clock.now = 2000.0
    assert not activity.is_over(900)  # who is connected may ask
    with_client.close()
    until(lambda: activity.clients == 1, what="it is gone")
    assert asking.call("status", dict)["idle_s"] == 0.0  # since it went
    service.clock.now = 2901.0
    asking.close()
    assert service.goes()


def test_a_connection_that_never_asks_for_anything_does_not_keep_it_up(box, run):
    service = run(idle_s=0.5)
    with contextlib.ExitStack() as open_all:
        for line in (b"", b"\n", protocol.encode(protocol.Request("hello", protocol.hello(), 1))):
            client = open_all.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.connect(str(box.home.socket))
            client.sendall(line)
        service.clock.now = 1.0
        assert service.goes()


def test_a_run_that_was_asked_for_keeps_it_up_and_one_of_its_own_does_not(box, run, monkeypatch):
    goes_on, began = threading.Event(), threading.Event()

    def slow(*args: object, **kwargs: object) -> dict[str, int]:
        began.set()
        goes_on.wait(60)
        return {}

    monkeypatch.setattr(tasks.pipeline, "run", slow)
    engine = run().engine
    try:
        engine.tasks.longterm.start_run(background=True)
        assert began.wait(30) and engine.tasks.may_sleep()
        assert engine.own_work[-1:] == ["a long-term run"]
        engine.tasks.longterm.was_asked = True
        assert (
            not engine.tasks.may_sleep()
            and "a long-term run that was asked for" in engine.kept_up_by
        )
    finally:
        goes_on.set()


def test_the_last_round_of_sync_is_made_once_after_the_last_use(box, run, monkeypatch):
    rounds: list[str] = []
    engine = run().engine
    settings = engine.settings
    settings.sync.remote, settings.sync.every_minutes = "/nowhere", 600

    def meet(self, where) -> None:
        rounds.append(where.remote)
        self._bump()  # what it brought is a change, too
        raise OSError("no network")

    monkeypatch.setattr(tasks.SyncTask, "sync", meet)
    assert not engine.tasks.may_sleep()
    until(engine.tasks.may_sleep, what="the round has failed")
    assert len(rounds) == 1 and engine.tasks.may_sleep()
    engine.state.activity.note("search")
    assert not engine.tasks.may_sleep()
    until(engine.tasks.may_sleep, what="the second round has failed")


def test_what_nobody_waits_for_rests_more_than_it_works_and_is_in_the_status(box, run, monkeypatch):
    stepped, goes_on, nice = threading.Event(), threading.Event(), []

    def step(self, catalog, space) -> None:
        nice.append(threading.current_thread().name)
        stepped.set()
        goes_on.wait(60)
        self._waiting.clear()

    monkeypatch.setattr(notes.Comparer, "step", step)
    box.fill()
    engine = run().engine
    try:
        engine.state.project_at(box.place())
        assert stepped.wait(60)
        (work,) = [work for work in engine.own_work if "with each other" in work]
        assert "project" in work and nice == ["rest_0"] and index_thread.REST >= 3
    finally:
        goes_on.set()


def test_service_status_says_when_it_ends(box):
    box.write("2026-02-09", DAYS["2026-02-09"])
    box.ok("service", "start")
    said = box.ok("service", "status").out
    assert "last used" in said and "ends after 15 minutes without use" in said
    state = box.ok("service", "status", "--json").json
    assert state["idle_limit_s"] == 900 and state["kept_up_by"] == []
