"""A repository that the owner stands in may be a stranger's: a file in it with a library's name is
never run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Box, until

PLANTED = (
    "msgspec.py",
    "numpy.py",
    "memsearch_engine/__init__.py",
    "dulwich/__init__.py",
    "sitecustomize.py",
)
MEMSEARCH = Path(sys.executable).with_name("memsearch")


def run(box: Box, *args: str) -> subprocess.CompletedProcess[str]:
    """The installed command, as a user and an agent's hook call it."""
    return subprocess.run(
        [MEMSEARCH, *args], cwd=box.project, env=box.env, capture_output=True, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("by", ["command", "hook"])
def test_a_planted_module_is_not_imported(box, by):
    ran = box.user / "ran"
    for name in PLANTED:
        path = box.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(ran)!r}, 'w').close()\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=box.project, check=True)
    try:
        if by == "hook":
            start = (
                "from memsearch_engine.core import paths, wire; "
                "wire.start_service(paths.home_root())"
            )
            subprocess.run(
                [sys.executable, "-P", "-c", start], cwd=box.project, env=box.env, check=True
            )
            until(
                lambda: run(box, "service", "status").returncode == 0,
                30,
                "the service that the hook started answers",
            )
        else:
            assert run(box, "add", "The queue is in `memsearch_engine/__init__.py`").returncode == 0
            assert run(box, "index").returncode == 0
            assert "nothing that the notes name is gone" in run(box, "verify").stderr
    finally:
        run(box, "service", "stop")
    assert not ran.exists()
