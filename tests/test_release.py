"""The package: what the wheel holds, and that it works outside the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_generated_files_are_those_of_the_code():
    """Reference pages, the man page and completions."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/generate.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_release_script_builds_installs_and_runs_the_demo(tmp_path):
    """Version, changelog and tag fit only at a release; all else works at every commit."""
    script, dist = ROOT / "docs/development/release.py", tmp_path / "dist"
    done = subprocess.run(
        [sys.executable, str(script), "--wheel", "--python", sys.executable, "--keep", dist],
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert len(list(dist.iterdir())) == 2 and "works " in said, said
    unready = [line for line in said.splitlines() if line.startswith("not ready:")]
    assert not [line for line in unready if "wheel" in line or "exit" in line], said
