"""What a remote may do to the clone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.sync import clone

from tests.conftest import until


@pytest.mark.parametrize("files", [1, 300], ids=["one large object", "a large pack"])
def test_a_fetch_stores_no_more_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    remote = tmp_path / "remote"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(remote)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(remote)], check=True)
    for number in range(files):
        (remote / f"{number}.md").write_bytes(os.urandom(3_000_000 // files))
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    ours = clone.Clone(Home(tmp_path / "home").ensure())
    monkeypatch.setattr(clone, "_MAX_PACK", 1_000_000)
    with pytest.raises(clone.Away, match="more than 0 MB at once"):
        ours.fetch(str(remote))
    stored = [file.stat().st_size for file in ours.path.rglob("*") if file.is_file()]
    assert sum(stored) < 1_000_000
    monkeypatch.setattr(clone, "_MAX_PACK", 10_000_000)
    assert ours.fetch(str(remote))
    ours.close()


def test_no_program_is_left_of_a_remote_that_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh, pid = tmp_path / "ssh", tmp_path / "pid"
    ssh.write_text(f"#!/bin/sh\necho $$ > {pid}.new\nmv {pid}.new {pid}\nexec sleep 600\n")
    ssh.chmod(0o700)
    monkeypatch.setenv("GIT_SSH", str(ssh))
    monkeypatch.setattr(clone, "_TIMEOUT_S", 1.0)
    ours = clone.Clone(Home(tmp_path / "home").ensure())
    until(lambda: _is_away(ours) and pid.exists())
    until(lambda: not _runs(int(pid.read_text())))


def _is_away(ours: clone.Clone) -> bool:
    with pytest.raises(clone.Away, match="did not answer"):
        ours.fetch("me@host:memory.git")
    return True


def _runs(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip()[:1] not in ("", "Z")


def test_a_lock_that_a_killed_git_left_is_damage(tmp_path: Path) -> None:
    remote = tmp_path / "remote"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(remote)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(remote)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    ours = clone.Clone(Home(tmp_path / "home").ensure())
    lock = ours._made() / "refs" / "remotes" / "origin" / "main.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with pytest.raises(clone.Away, match="File exists") as raised:
        ours.fetch(str(remote))
    assert ours.is_damaged(raised.value)
    ours.remove()
    assert ours.fetch(str(remote)) and not ours.is_damaged(raised.value)
    ours.close()


@pytest.mark.parametrize(
    "text",
    [
        "git fetch: error: unable to write file {0}/objects/1f/2a: No space left on device",
        "git fetch: error: unable to write file {0}/objects/1f/2a: Disk quota exceeded",
        "git fetch: error: cannot open '{0}/FETCH_HEAD': Permission denied",
        "git ls-remote: fatal: '{0}-old' does not appear to be a git repository",
    ],
)
def test_a_full_disk_a_permission_and_another_folder_are_no_damage(
    tmp_path: Path, text: str
) -> None:
    ours = clone.Clone(Home(tmp_path / "home").ensure())
    assert not ours.is_damaged(clone.Away(text.format(ours._made())))
    ours.close()


def test_no_other_user_can_read_the_clone_of_a_remote_that_was_never_met(tmp_path: Path) -> None:
    home = Home(tmp_path / "home").ensure()
    ours = clone.Clone(home)
    with pytest.raises(clone.Away):
        ours.fetch(str(tmp_path / "nowhere"))
    assert not ours.ref() and ours.is_there and not home.exposed()
    ours.close()
