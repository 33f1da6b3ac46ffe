"""`memsearch sync` as people meet it: two homes, two clones of one project, the real program, the
real git.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from memsearch_engine.service import launch

from tests.conftest import Box, until
from tests.sync.machines import bare, tree


def git(*words: str, cwd: Path | None = None) -> None:
    subprocess.run(
        ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *words],
        cwd=cwd,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[tuple[Box, Box]]:
    source = tmp_path / "shop"
    git("init", "-q", "-b", "main", str(source))
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=source)
    made = []
    for name in ("one", "two"):
        box = Box(tmp_path / name)
        box.project.rmdir()
        git("clone", "-q", str(source), str(box.project))
        git("remote", "set-url", "origin", "https://git.example.org/shop.git", cwd=box.project)
        made.append(box)
    bare(tmp_path / "remote.git")
    yield made[0], made[1]
    for box in made:
        launch.stop(box.home)


@pytest.mark.slow
def test_two_machines_find_each_other_by_their_project_not_by_its_path(
    boxes: tuple[Box, Box], tmp_path: Path
):
    one, two = boxes
    one.ok("add", "Staging runs Postgres 16")
    two.ok("add", "The queue is Redis")
    assert one.run("sync").code == 2 and "sync add" in one.run("sync").err
    assert one.run("sync", "status").code == 0
    remote = str(tmp_path / "remote.git")
    assert "1 sent" in one.ok("sync", "add", remote, "--yes").out
    done = two.ok("sync", "add", remote, "--yes", "--json").json
    assert (done["received"], done["sent"]) == (1, 1)
    assert one.ok("sync", "--json").json["received"] == 1
    assert "nothing new" in one.ok("sync").out
    for box in boxes:
        assert box.ok("search", "postgres", "--mode", "lexical", "--json").json["hits"]
        assert box.ok("search", "redis", "--mode", "lexical", "--json").json["hits"]
        assert not box.run("trust", "review", "--json").json["held"]  # the owner's own
    assert one.ok("sync", "status", "--json").json["elsewhere"] == []
    checks = {check["what"]: check for check in one.run("doctor", "--json").json["checks"]}
    assert checks["sync"]["ok"] and checks["home"]["ok"], checks["home"]
    assert "is no longer used" in one.ok("sync", "remove").err
    assert one.run("sync").code == 2 and len(one.ok("entries", "--json").json["entries"]) == 2


@pytest.mark.parametrize(
    ("remote", "code", "says"),
    [
        ("ext::sh -c touch% owned", 2, "no remote"),
        ("--upload-pack=touch owned", 2, "No such option"),
        ("ftp://example.org/x.git", 2, "only ssh, https"),
        ("nowhere.git", 3, "git init --bare"),
    ],
)
def test_what_is_no_remote_is_said_and_nothing_is_run(box: Box, remote: str, code: int, says: str):
    done = box.run("sync", "add", f"./{remote}" if code == 3 else remote, "--yes")
    assert done.code == code and says in done.err
    assert (
        not (box.project / "owned").exists()
        and box.ok("sync", "status", "--json").json["remote"] == ""
    )


def test_a_repository_of_something_else_is_refused_before_anything_is_sent(
    boxes: tuple[Box, Box], tmp_path: Path
):
    one, _ = boxes
    one.ok("add", "A note")
    done = one.run("sync", "add", str(tmp_path / "shop"), "--yes")
    assert done.code == 3 and "something else" in done.err
    assert one.ok("sync", "status", "--json").json["remote"] == ""


def test_a_cloned_project_can_t_name_a_remote(box: Box, tmp_path: Path):
    bare(tmp_path / "theirs.git")
    (box.project / ".memsearch.toml").write_text(f'[sync]\nremote = "{tmp_path}/theirs.git"\n')
    box.ok("add", "A note")
    assert box.run("sync").code == 2
    assert not subprocess.run(
        ["git", "-C", str(tmp_path / "theirs.git"), "branch"], capture_output=True, check=True
    ).stdout


def test_offline_nothing_is_asked(box: Box):
    done = box.run(
        "sync", "add", "git@git.example.org:me/memory.git", "--yes", env={"MEMSEARCH_OFFLINE": "1"}
    )
    assert done.code == 3 and "offline" in done.err


@pytest.mark.slow
def test_a_folder_without_git_is_attached_by_its_owner(tmp_path: Path):
    remote = str(bare(tmp_path / "remote.git"))
    one, two = Box(tmp_path / "one"), Box(tmp_path / "two")
    one.ok("add", "From the first")
    one.ok("sync", "add", remote, "--yes")
    two.ok("add", "From the second")
    assert "sync attach" in two.ok("sync", "add", remote, "--yes").out
    (other,) = two.ok("sync", "status", "--json").json["elsewhere"]
    assert other["name"] == "project" and other["files"] == 1
    assert "sync attach" in two.ok("sync", "status").out
    two.ok("sync", "attach", other["id"][:8], str(two.project))
    two.ok("sync")
    one.ok("sync")
    assert (
        len(two.ok("entries", "--json").json["entries"])
        == len(one.ok("entries", "--json").json["entries"])
        == 2
    )
    for box in (one, two):
        launch.stop(box.home)


@pytest.mark.slow
def test_an_encrypted_remote_is_begun_with_a_key_and_joined_with_its_copy(
    boxes: tuple[Box, Box], tmp_path: Path
):
    one, two = boxes
    remote = tmp_path / "remote.git"
    one.ok("add", "The lighthouse keeper's word")
    said = one.ok("sync", "add", str(remote), "--encrypt", "--yes").err
    key = one.home.root / "sync.key"
    assert str(key) in said and "back it up" in said
    assert not any(b"lighthouse" in data for data in tree(remote).values())
    refused = two.run("sync", "add", str(remote), "--yes")
    assert refused.code == 3 and "copy sync.key" in refused.err
    assert two.ok("sync", "status", "--json").json["remote"] == ""
    (two.home.root / "sync.key").write_bytes(key.read_bytes())
    assert "1 received" in two.ok("sync", "add", str(remote), "--yes").out
    two.ok("add", "From the second")
    two.ok("sync")
    assert "1 received" in one.ok("sync").out
    assert not any(b"From the second" in data for data in tree(remote).values())


@pytest.mark.slow
def test_a_scrub_takes_the_secret_out_of_the_remote_and_says_what_its_history_holds(
    boxes: tuple[Box, Box], tmp_path: Path
):
    one, two = boxes
    remote = tmp_path / "remote.git"
    one.ok("add", "The word for the vault is plum-tree-77")
    for box in (one, two):
        box.ok("sync", "add", str(remote), "--yes")
    assert any(b"plum-tree-77" in data for data in tree(remote).values())
    said = one.ok("secrets", "scrub", "--text", "plum-tree-77", "--yes").err
    assert "no longer has it in its present content" in said and "sync rewrite" in said
    assert not any(b"plum-tree-77" in data for data in tree(remote).values())
    history = ["git", "-C", str(remote), "log", "-p", "--all"]
    assert b"plum-tree-77" in subprocess.run(history, capture_output=True, check=True).stdout
    one.ok("sync", "rewrite", "--yes")
    assert b"plum-tree-77" not in subprocess.run(history, capture_output=True, check=True).stdout
    two.ok("add", "Written meanwhile")
    stopped = two.run("sync")
    assert stopped.code == 3 and "--rejoin" in stopped.err
    assert two.run("sync", "status").code == 5
    two.ok("sync", "--rejoin")
    one.ok("sync")
    for box in boxes:
        text = "".join(path.read_text() for path in box.memory.glob("*.md"))
        assert "plum-tree-77" not in text and "Written meanwhile" in text and "REDACTED" in text
    assert not any(
        b"plum-tree-77" in path.read_bytes()
        for path in (one.home.root / "sync").rglob("*")
        if path.is_file()
    )


@pytest.mark.slow
def test_the_service_meets_the_others_by_itself_and_before_it_sleeps(
    boxes: tuple[Box, Box], tmp_path: Path
):
    one, two = boxes
    remote = tmp_path / "remote.git"
    for box in boxes:
        box.ok("add", f"First of {box.root.name}")
        box.ok("sync", "add", str(remote), "--yes")
    one.ok("config", "set", "sync.every_minutes", "0.01")
    one.ok("service", "start")
    two.ok("add", "From the second, while the first one's service runs")
    two.ok("sync")
    until(
        lambda: "while the first" in "".join(p.read_text() for p in one.memory.glob("*.md")),
        60,
        "the note to arrive",
    )
    one.ok("service", "stop")
    two.ok("config", "set", "service.idle_minutes", "0.02")
    two.ok("config", "set", "sync.every_minutes", "600")
    two.ok("add", "The last word")
    two.ok("service", "start")
    pid = two.ok("service", "status", "--json").json["pid"]
    until(
        lambda: any(b"The last word" in data for data in tree(remote).values()),
        60,
        "the last word to be sent",
    )
    until(lambda: not psutil.pid_exists(pid), 60, "the service to sleep")
