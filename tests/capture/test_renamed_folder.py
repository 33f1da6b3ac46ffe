"""A session's folder that is renamed between the hook and the service's work is found again."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from memsearch_engine.capture import event_queue, hook
from memsearch_engine.capture.capture_pipeline import home_of
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import locate

from tests.capture.test_rewound_notes import SESSION, desk, said

__all__ = ["desk"]


def finished(desk: Path, cwd: Path) -> Home:
    """A home whose queue has the event of a turn that has just ended in *cwd*."""
    payload = {"session_id": SESSION, "transcript_path": str(said(desk, 1)), "cwd": str(cwd)}
    home = Home(desk / "home")
    hook._queue_event(str(home.root), "claude-code", "Stop", payload, time.monotonic())
    return home


@pytest.mark.parametrize("below", ["", "src"])
def test_turns_of_a_folder_that_was_renamed_since_go_to_its_new_name(desk, below):
    (desk / "proj" / "src").mkdir()
    home = finished(desk, desk / "proj" / below)
    (desk / "proj").rename(desk / "shop")
    (desk / "other").mkdir()
    done = event_queue.work(home)
    assert done.captured == 1
    assert done.memories == [str(desk / "shop" / ".memsearch" / "memory")]
    assert not (desk / "proj").exists()


def test_a_folder_that_was_deleted_is_not_taken_for_another(desk):
    home = finished(desk, desk / "proj")
    (desk / "proj").rmdir()
    (desk / "other" / "proj").mkdir(parents=True)
    (desk / "file").write_text("x")
    (desk / "link").symlink_to("other")
    done = event_queue.work(home)
    assert not done.memories
    assert not list(desk.rglob("*.md"))


def test_a_folder_with_the_same_inode_and_another_time_is_another_folder(desk):
    """As where a new folder gets the inode of the deleted one."""
    home = finished(desk, desk / "proj")
    (desk / "proj").rename(desk / "other")
    os.utime(desk / "other", ns=(0, 1))
    assert not event_queue.work(home).memories
    assert not list(desk.rglob("*.md"))


def test_turns_of_a_project_that_moved_to_another_parent_go_to_it(desk):
    """It is known there by its first commit."""
    old, new = desk / "proj", desk / "deep" / "er" / "shop"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(old)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    home = finished(desk, old)
    registry = Registry(home)
    before = registry.at(locate(str(old), home), register=True)
    new.parent.mkdir(parents=True)
    old.rename(new)
    assert home_of(str(old), home) == ""  # nothing says yet where it is
    assert registry.at(locate(str(new), home), register=True).id == before.id
    done = event_queue.work(home)
    assert done.memories == [str(new / ".memsearch" / "memory")]
    assert home_of(str(old / "src"), home) == done.memories[0]
    registry.close()
    assert not old.exists()
