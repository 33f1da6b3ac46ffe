"""A repository that the owner stands in is a stranger's: a file in it with a library's name is never run."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import until

PLANTED = ["msgspec.py", "numpy.py", "memsearch_engine/__init__.py", "dulwich/__init__.py", "sitecustomize.py"]


@pytest.mark.parametrize("by", ["command", "hook"])
def test_a_planted_module_is_not_imported(box, by):
    for name in PLANTED:
        path = box.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("import os, pathlib\npathlib.Path(os.environ['MEMSEARCH_HOME'], 'PWNED').touch()\n")
    subprocess.run(["git", "init", "-q"], cwd=box.project, check=True)
    (box.project / "a.py").write_text("")
    subprocess.run(["git", "add", "."], cwd=box.project, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"], cwd=box.project, check=True)
    if by == "hook":
        box.run("hook", "claude-code", "stop", stdin='{"session_id": "s", "cwd": "%s", "transcript_path": ""}' % box.project)
        until(lambda: box.run("status", "--json").json, 30, "the service that the hook started answers")
    else:
        box.ok("add", "The queue is `a.py`")
        box.ok("status")
        box.ok("verify")
    assert not (box.home.root / "PWNED").exists()
