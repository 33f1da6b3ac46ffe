"""Kills, crowds and vanished caches: the next command works and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading

import pytest
from memsearch_engine.service import launch

from tests.conftest import Box, until


def many(box: Box, days: int, per_day: int = 5) -> int:
    for n in range(days):
        day = f"2025-{n // 28 + 1:02d}-{n % 28 + 1:02d}"
        notes = "".join(
            f"### {h:02d}:00\n"
            f"- note {n}-{h}: tuned subsystem{n} with parameter{h}, measured {n * h} ms\n\n"
            for h in range(per_day)
        )
        box.write(day, f"# {day}\n\n{notes}")
    return days * per_day


def searchable(box: Box, words: str, seconds: float = 10) -> None:
    until(lambda: box.run("search", words, "--json").code == 0, seconds, f"{words!r} found")


@pytest.mark.slow
def test_five_searches_watch_index_and_edit_at_once(box):
    """On a home that nobody used yet: the first searches also make the collection."""
    box.fill()
    name = next(id_ for body, id_ in box.ids().items() if "Postgres" in body)
    watch = box.spawn("watch", "--json")
    searches = [box.spawn("search", "redis", "--json") for _ in range(5)]
    index = box.spawn("index", "--json")
    edit = box.spawn("edit", name, "--text", "- The staging database runs Postgres 17", "--json")
    try:
        for process in [*searches, index, edit]:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, (process.args, out, err)
            json.loads(out)
        searchable(box, "Postgres 17")
        assert watch.poll() is None
        assert len(box.processes()) == 1
    finally:
        watch.terminate()
        watch.communicate(timeout=20)


def test_eight_first_searches_in_eight_threads_of_one_new_project(box):
    box.fill()
    box.ready()
    gate, failed = threading.Barrier(8), []

    def search(connection: launch.Connection) -> None:
        gate.wait(10)
        try:
            connection.call(
                "search", dict, place=box.place(), query="redis", deadline_s=10, timeout_s=30
            )
        except Exception as error:
            failed.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=search, args=(box.connect(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []


@pytest.mark.slow
def test_first_index_says_what_it_did(box):
    """The command's own numbers, not those of a background run that came first."""
    box.fill()
    first = box.index()
    assert (first["files"], first["changed"], first["embedded"]) == (2, 2, 5), first


@pytest.mark.slow
def test_kill_while_a_search_runs_then_all_works(box):
    box.fill()
    box.index()
    for _ in range(2):
        running = [box.spawn("search", "redis", "--json") for _ in range(3)]
        until(box.processes, 10)
        for process in box.processes():
            process.kill()
        for process in running:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0 and json.loads(out)["hits"], (out, err)
    found = box.ok("search", "redis", "--json").json
    assert found["hits"] and found["reason"] == "", found
    again = box.index()
    assert again["entries"] == again["chunks"] == 5 and again["reason"] == ""


@pytest.mark.slow
def test_kill_at_arbitrary_moments_of_an_index_run(box):
    total = many(box, 40)
    dice = random.Random(7)
    killed = 0
    for _ in range(6):
        process = box.spawn("index", "--json")
        wait_until = dice.uniform(0.1, 2.5)
        threading.Event().wait(wait_until)  # the moment of the kill is what varies
        for service in box.processes():
            service.kill()
            killed += 1
        process.communicate(timeout=60)
        assert box.run("search", "subsystem7", "--json", "--no-wait").code == 0
    assert killed
    final = box.index()
    assert final["entries"] == final["chunks"] == total and final["failed"] == []
    again = box.index()
    assert again["embedded"] == 0 and again["changed"] == 0
    health = box.ok("health", "--json").json
    assert health["projects"][0]["vectors"] == total and health["problems"] == []
    for n in (0, 17, 39):
        hits = box.ok("search", f"subsystem{n}", "-j", "-k", "5").json
        assert all(f"subsystem{n} " in hit["content"] for hit in hits), n


@pytest.mark.slow
def test_kill_right_after_an_edit_loses_nothing(box):
    box.fill()
    box.index()
    for n in range(3):
        name = box.ok("add", f"survivor number{n}").out.strip()
        box.service().kill()
        assert f"survivor number{n}" in box.ok("expand", name).out
        searchable(box, f"number{n}")
        box.ready()


@pytest.mark.slow
def test_a_note_in_a_project_that_had_no_memory_yet_is_found_soon(box):
    """The service met the project before its memory folder was there."""
    assert box.run("search", "anything", "--json").code == 1
    box.ok("add", "Elasticsearch shards were rebalanced")
    searchable(box, "Elasticsearch", 5)


@pytest.mark.slow
def test_a_memory_folder_that_was_removed_and_made_again_is_watched(box):
    """As git does it when branches are changed."""
    box.fill()
    box.index()
    shutil.rmtree(box.memory)
    until(lambda: box.run("search", "redis", "--json").code == 1, 10, "removed notes are gone")
    box.write("2026-02-11", "### 10:00\n- kubernetes probes were relaxed\n")
    searchable(box, "kubernetes", 5)
    box.write("2026-02-12", "### 10:00\n- terraform state was moved\n")
    searchable(box, "terraform", 5)


@pytest.mark.slow
def test_an_atomic_save_and_a_rename_are_seen(box):
    box.fill()
    box.index()
    temporary = box.memory / ".2026-02-10.md.swp"
    temporary.write_text("### 10:00\n- grafana dashboards were split\n")
    os.replace(temporary, box.memory / "2026-02-10.md")
    searchable(box, "grafana", 5)
    (box.memory / "2026-02-09.md").rename(box.memory / "2026-03-09.md")
    until(
        lambda: (
            [h["day"] for h in box.run("search", "Redis TTL", "-j", "-k", "1").json]
            == ["2026-03-09"]
        ),
        5,
    )


@pytest.mark.parametrize("what", ["cache.db", pytest.param("index", marks=pytest.mark.slow)])
def test_caches_deleted_under_a_running_service(box, what):
    """DESIGN 3: both may be deleted at any moment."""
    box.fill()
    box.index()
    if what == "index":
        shutil.rmtree(box.home.index)
    else:
        for suffix in ("", "-wal", "-shm"):
            box.home.root.joinpath(what + suffix).unlink(missing_ok=True)
    running = [box.spawn("search", "redis", "--json") for _ in range(6)]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and json.loads(out)["hits"], (out, err)
    box.write("2026-02-11", "### 10:00\n- kubernetes probes were relaxed\n")
    box.index()
    assert box.ok("search", "kubernetes", "-j").json
    assert box.ok("stats", "--json").json["total_chunks"] == 6
    box.ok("service", "stop")
    healed = box.index()
    assert healed["chunks"] == 6 and healed["reason"] == ""
    assert box.ok("health", "--json").json["projects"][0]["vectors"] == 6
    found = box.ok("search", "redis", "--json").json
    assert found["mode"] == "hybrid" and found["reason"] == ""


@pytest.mark.slow
def test_caches_deleted_while_the_service_is_down(box):
    box.fill()
    box.index()
    box.ok("service", "stop")
    shutil.rmtree(box.home.index)
    box.home.cache_db.unlink()
    found = box.ok("search", "redis", "--no-wait", "--json").json
    assert found["mode"] == "lexical" and "Redis" in found["hits"][0]["content"] and found["reason"]
    box.index()
    assert box.ok("search", "redis", "--json").json["mode"] == "hybrid"


def test_no_wait_never_starts_a_service(box):
    box.fill()
    found = box.run("search", "redis", "--no-wait", "--json")
    assert found.code == 0 and found.json["mode"] == "lexical" and found.err.startswith("note:")
    assert box.processes() == []


@pytest.mark.slow
def test_a_damaged_registry_does_not_stop_search(box):
    box.fill()
    box.index()
    box.ok("service", "stop")
    for suffix in ("-wal", "-shm"):
        box.home.root.joinpath(f"state.db{suffix}").unlink(missing_ok=True)
    box.home.state_db.write_bytes(random.Random(1).randbytes(20_000))
    found = box.run("search", "redis", "--json")
    assert found.code == 0 and found.json["hits"] and "Traceback" not in found.err, found
    assert found.json["reason"] and found.err.startswith("note:"), found
    assert box.home.state_db.read_bytes()  # durable: not thrown away in passing
    shown = box.run("doctor")
    assert shown.code == 5 and "state.db" in shown.out and "Traceback" not in shown.err, shown
