"""Damage and nonsense on disk: survived, and said."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from tests.conftest import Box, until

noise = random.Random(11).randbytes


def stopped(box: Box) -> Box:
    box.fill()
    box.index()
    box.ok("service", "stop")
    return box


def heals(box: Box, chunks: int = 5) -> None:
    state = box.index()
    assert state["chunks"] == chunks and state["reason"] == "", state
    found = box.ok("search", "redis ttl", "--json").json
    assert (
        found["mode"] == "hybrid"
        and found["reason"] == ""
        and "Redis" in found["hits"][0]["content"]
    ), found
    health = box.ok("health", "--json").json
    assert health["projects"][0]["vectors"] == chunks and health["problems"] == [], health


@pytest.mark.slow
def test_a_catalog_of_random_bytes(box):
    stopped(box).home.cache_db.write_bytes(noise(50_000))
    for args in (["search", "redis", "--no-wait", "--json"], ["entries"], ["days"], ["status"]):
        done = box.run(*args)
        assert done.code == 0 and "Traceback" not in done.err, (args, done)
    assert box.run("stats").code in (0, 3)
    heals(box)
    assert "set aside" in box.ok("health", "--json").json["notice"]
    assert "set aside" in box.log()


@pytest.mark.slow
def test_an_emptied_catalog(box):
    stopped(box).home.cache_db.write_bytes(b"")
    assert box.ok("search", "redis", "--no-wait", "-j").json
    heals(box)


@pytest.mark.slow
def test_a_catalog_with_damaged_pages(box):
    """The header is good, the rest is not: the likeliest damage of a crash or a full disk."""
    path = stopped(box).home.cache_db
    data = bytearray(path.read_bytes())
    assert len(data) > 8192
    for start in range(4096, len(data), 4096):
        data[start : start + 2048] = noise(2048)
    path.write_bytes(data)
    name = box.ok("entries", "--json").json["entries"][0]["entry_id"]
    for args in (
        ["search", "redis", "--no-wait", "--json"],
        ["expand", name],
        ["entries"],
        ["days"],
        ["status"],
    ):
        done = box.run(*args)
        assert done.code == 0 and "Traceback" not in done.err, (args, done)
    assert "Traceback" not in box.run("stats").err
    heals(box)


@pytest.mark.slow
def test_a_catalog_damaged_in_its_leaf_pages_only(box):
    """Damage that `quick_check` may not see at first: words answer from the files."""
    path = stopped(box).home.cache_db
    data = bytearray(path.read_bytes())
    data[-4096:] = noise(4096)
    path.write_bytes(data)
    done = box.run("search", "redis", "--no-wait", "--json")
    assert done.code == 0 and "Redis" in done.json["hits"][0]["content"], done
    heals(box)


@pytest.mark.slow
def test_vectors_of_random_bytes(box):
    stopped(box)
    (path,) = box.home.index.glob("*/vectors.db")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(noise(30_000))
    heals(box)


@pytest.mark.slow
def test_vectors_with_damaged_pages(box):
    stopped(box)
    (path,) = box.home.index.glob("*/vectors.db")
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 2048] = noise(2048)
    path.write_bytes(data)
    found = box.run("search", "redis ttl", "--json")
    assert found.code == 0 and "Redis" in found.json["hits"][0]["content"], found
    heals(box)


@pytest.mark.slow
def test_odd_files_in_the_memory_folder(box):
    box.fill()
    (box.memory / "folder.md").mkdir()
    (box.memory / "broken.md").symlink_to(box.memory / "nowhere.md")
    (box.memory / "loop.md").symlink_to("loop.md")
    box.write("2026-02-20", b"### 10:00\n- caf\xe9 \xff\xfe broken bytes and zanzibar\n")
    done = box.run("index", "--json")
    assert done.code == 5, done
    failed = {os.path.basename(item["path"]): item["reason"] for item in done.json["failed"]}
    assert failed.keys() == {"broken.md", "loop.md"}
    assert "broken.md" in done.err and "loop.md" in done.err
    assert "zanzibar" in box.ok("search", "zanzibar", "-j").json[0]["content"]
    for args in (["entries", "--json"], ["days", "--json"], ["show", "2026-02-20"], ["export"]):
        assert box.ok(*args).raw


@pytest.mark.slow
def test_a_file_name_that_is_not_utf8(box):
    box.fill()
    with open(os.fsencode(box.memory) + b"/2026-02-21 caf\xe9.md", "wb") as file:
        file.write(b"### 10:00\n- zanzibar\n")
    for args in (
        ["entries", "--json"],
        ["days", "--json"],
        ["search", "redis", "--no-wait", "--json"],
    ):
        done = box.run(*args)
        assert done.code == 0 and "Traceback" not in done.err and done.json, (args, done)
    done = box.run("index", "--json")
    assert done.code in (0, 5) and done.json["entries"] >= 5, done
    assert box.ok("search", "redis", "--json").json["hits"]


def without_rights() -> list[str]:
    """What runs a command as a user whom a file's mode binds: root is, without its capabilities.
    The test is skipped where they can't be given away.
    """
    if os.getuid() != 0:
        return []
    prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if (
        not shutil.which("setpriv")
        or subprocess.run([*prefix, "true"], capture_output=True).returncode
    ):
        pytest.skip("root can't give its capabilities away here")
    return prefix


@pytest.mark.slow
def test_an_unreadable_folder_and_file_as_a_user_without_rights(box):
    prefix = without_rights()

    def indexed(failed: set[str]) -> bool:
        """A pass may have begun before the notes were changed; then the next one reports it."""
        done = box.run("index", "--json", prefix=prefix)
        assert done.code == (5 if done.json["failed"] else 0) and done.json["removed"] == 0, done
        names = {os.path.basename(item["path"]) for item in done.json["failed"]}
        return names >= failed if failed else not names

    box.fill()
    deep = box.write("2026-02-11", "### 10:00\n- hidden treasure\n", box.memory / "deep")
    until(lambda: indexed(set()), 20, "all is read")
    deep.parent.chmod(0)
    (box.memory / "2026-02-09.md").chmod(0)
    box.write("2026-02-10", "### 10:00\n- still growing\n")
    try:
        until(lambda: indexed({"deep"}), 20, "the folder is named")
        for word in ("treasure", "growing"):  # what was known stays findable
            until(
                lambda word=word: box.run("search", word, "-j", prefix=prefix).json,
                20,
                f"{word} is found",
            )
        for args in (
            ["entries"],
            ["days"],
            ["search", "redis", "--no-wait"],
            ["show", "2026-02-09"],
        ):
            result = box.run(*args, prefix=prefix)
            assert "Traceback" not in result.err and (result.code == 0 or result.err.strip()), (
                args,
                result,
            )
    finally:
        deep.parent.chmod(0o755)
        (box.memory / "2026-02-09.md").chmod(0o644)
    until(lambda: indexed(set()), 20, "all is read again")


@pytest.mark.slow
def test_a_query_of_100_kb(box):
    box.fill()
    box.index()
    words = " ".join(f"w{n}x{n * 7}" for n in range(12_000))[:100_000]
    for query in (
        words,
        "a" * 100_000,
        "redis " * 16_000,
        '"' * 100_000,
        "-" * 100_000,
        "蓝绿" * 16_000,
        "(" * 100_000,
    ):
        for args in (["--json"], ["--json", "--no-wait"]):
            done = box.run("search", *args, "--", query, timeout=30)
            assert done.code in (0, 1) and "Traceback" not in done.err, (query[:20], done)
            assert done.json["schema_version"] == 1
    assert box.run("search", "--json", "--", "redis " * 16_000).json["hits"]


def test_a_query_that_was_cut_says_so(box):
    box.fill()
    done = box.run("search", "--no-wait", "--json", "--", "x " * 3000 + "redis")
    assert "cut" in done.err or "long" in done.err, done


@pytest.mark.slow
def test_a_line_of_10_mb_does_not_hide_the_other_notes(box):
    box.fill()
    box.write(
        "2026-02-12",
        "### 10:00\n- " + "lorem ipsum dolor " * 580_000 + "\n\n### 11:00\n- zanzibar after it\n",
    )
    box.run("service", "start")
    for args in (["entries", "--json"], ["days", "--json"]):
        assert box.run(*args, timeout=30).code == 0
    until(
        lambda: box.run("search", "zanzibar", "--json", "--no-wait", timeout=60).code == 0,
        60,
        "found by words",
    )
    found = box.run("search", "redis ttl", "-j", timeout=60)
    assert found.code == 0 and "Redis" in found.json[0]["content"]
    service = box.service()
    assert service.memory_info().rss < 1_500_000_000
    assert box.ok("service", "stop", timeout=60).code == 0  # in the middle of its embedding


@pytest.mark.slow
def test_a_thousand_days(box):
    for n in range(1000):
        box.write(
            f"{2020 + n // 336}-{n % 336 // 28 + 1:02d}-{n % 28 + 1:02d}",
            f"### 10:00\n- topic{n} went well\n",
        )
    first = box.index(timeout=300)
    assert first["entries"] == 1000 and first["failed"] == []
    again = box.index()
    assert again["changed"] == again["embedded"] == 0
    assert "topic777 " in box.ok("search", "topic777", "-j").json[0]["content"]
