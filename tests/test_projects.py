"""Which project a folder belongs to: one answer for hooks, commands and the service, whatever is
renamed, moved or linked.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from memsearch_engine.core import safe_files, state
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_location import find
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import locate

from tests.conftest import Box, until


def git(folder: Path, *args: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src" / "deep").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a").write_text("a")
    git(folder, "add", "a")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_every_folder_of_a_repository_has_one_memory(repo, tmp_path):
    home = Home(tmp_path / "home")
    for folder in (repo, repo / "src", repo / "src" / "deep", repo / "src" / "gone"):
        assert locate(folder, home).memory == str(repo / ".memsearch" / "memory")
    outside = tmp_path / "plain" / "inner"
    outside.mkdir(parents=True)
    assert locate(outside, home).root == str(outside)
    (tmp_path / "plain" / ".memsearch").mkdir()
    assert locate(outside, home).root == str(tmp_path / "plain")


def test_a_worktree_shares_the_memory_and_does_not_take_it_away(repo, tmp_path):
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    home = Home(tmp_path / "home")
    registry = Registry(home)
    here, there = (
        registry.at(locate(repo, home), register=True),
        registry.at(locate(tmp_path / "tree", home), register=True),
    )
    assert (
        here.memory == there.memory == str(repo / ".memsearch" / "memory")
        and here.collection == there.collection
    )
    registry.close()


def test_a_rename_or_a_clone_is_the_same_project(repo, tmp_path):
    home = Home(tmp_path / "home")
    registry = Registry(home)
    before = registry.at(locate(repo, home), register=True)
    moved = repo.rename(tmp_path / "other name")
    after = registry.at(locate(moved, home), register=True)
    assert (after.id, after.collection, after.slug) == (before.id, before.collection, before.slug)
    git(tmp_path, "clone", "-q", str(moved), str(tmp_path / "clone"))
    assert registry.at(locate(tmp_path / "clone", home), register=True).id != ""
    registry.close()


@pytest.mark.slow
def test_looking_something_up_makes_no_project(box: Box):
    def known() -> list[str]:
        return [
            project["root"] for project in box.ok("project", "--all", "--json").json["projects"]
        ]

    for command in (["search", "anything"], ["trace", "anything"], ["context"], ["status"]):
        box.run(*command)
    named = box.ok("project", "--json").json
    assert known() == []
    box.ok("add", "Deploys go out on Tuesdays")
    assert known() == [str(box.project)] and box.ok("project", "--json").json == named
    until(
        lambda: box.run("search", "when do deploys go out", "--json").json["hits"],
        30,
        "the first note",
    )  # the service has seen the folder


def test_memsearch_dir_decides_for_everybody(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSEARCH_DIR", str(tmp_path / "elsewhere"))
    assert locate(repo, Home(tmp_path / "home")).memory == str(tmp_path / "elsewhere" / "memory")
    assert find(str(repo), str(tmp_path / "home"))[1] == str(tmp_path / "elsewhere" / "memory")


def test_a_marker_of_somebody_else_gathers_nothing(tmp_path, monkeypatch):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / ".memsearch").mkdir()
    assert find(str(inner), str(tmp_path / "home"))[0] == str(tmp_path / "a")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert find(str(inner), str(tmp_path / "home"))[0] == str(inner)


def test_a_home_that_was_removed_under_a_running_service_is_not_made_again(tmp_path):
    home = Home(tmp_path / "home").ensure()
    home.settled = True
    shutil.rmtree(home.root)
    with pytest.raises(FileNotFoundError):
        home.ensure()
    with pytest.raises(Unreachable, match="can't be used"), state.using(home, ""):
        raise AssertionError("opened a database in a folder that is gone")
    assert not home.root.exists()


def test_a_project_s_settings_keep_their_mode_and_a_failed_write_leaves_nothing(box, monkeypatch):
    """`.memsearch.toml` is committed: a teammate has to be able to read it."""
    file = box.project / ".memsearch.toml"
    file.write_text("# ours\n")
    file.chmod(0o644)
    safe_files.put(str(file), b"# new\n")
    assert file.read_bytes() == b"# new\n" and stat.S_IMODE(file.stat().st_mode) == 0o644
    monkeypatch.setattr(
        os, "replace", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space"):
        safe_files.put(str(file), b"# newer\n")
    assert file.read_bytes() == b"# new\n" and [entry.name for entry in box.project.iterdir()] == [
        file.name
    ]
    monkeypatch.undo()
    outside = box.root / "outside.toml"
    outside.write_text("theirs")
    file.unlink()
    file.symlink_to(outside)
    with pytest.raises(OSError, match="leads out"):
        safe_files.put(str(file), b"# ours\n")
    assert outside.read_text() == "theirs"


def test_a_project_whose_path_is_not_utf_8_is_named_by_an_alias(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q")
    home = Home(tmp_path / "home")
    place = locate(folder / "src", home)
    for path in (place.root, place.memory, place.common_dir):
        path.encode()
    assert os.path.realpath(place.memory) == str(folder / ".memsearch" / "memory")
    assert "caf%xe9" in place.root
    assert locate(place.root, home) == locate(folder, home) == place
    project = Registry(home).at(place, register=True)
    assert Registry(home).at(place) == project


def test_files_of_an_alias_are_read_and_links_in_it_are_not_followed_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMSEARCH_HOME", raising=False)
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    (folder / ".memsearch").mkdir(parents=True)
    (folder / ".memsearch.toml").write_text("a = 1")
    place = locate(folder, Home.from_env())
    assert safe_files.read(place.settings_file) == b"a = 1"
    with safe_files.folder_of(os.path.join(place.memory, "x.md"), create=True) as (_, name):
        assert name == "x.md"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.md").write_text("x")
    (folder / ".memsearch" / "link").symlink_to(tmp_path / "out")
    with pytest.raises(OSError, match="leads out"):
        safe_files.read(f"{place.root}/.memsearch/link/x.md")


def test_people_read_the_name_of_a_project_not_its_slug(box):
    box.project = box.other_project("店舗 Ärzte")
    box.write("2026-02-09", "# 2026-02-09\n\n### 10:00\n- Deploys go out on Tuesdays\n")
    state = box.ok("status")
    assert "project   店舗 Ärzte" in state.out and "u5e97" not in state.out + state.err
    found = box.ok("status", "--json").json
    assert found["name"] == "店舗 Ärzte" and found["project"].startswith("u5e97")
    checked = box.run("doctor").out
    assert "project: 店舗 Ärzte at" in checked and "-u5e97" not in checked.partition("ms_")[0]
