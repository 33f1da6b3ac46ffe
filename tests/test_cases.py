"""Inputs beside this repository, each with a ``run.sh`` that exits 0 where all is right; skipped
where they are not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "cases"
_CASES = sorted(path.parent.name for path in _FOLDER.glob("*/run.sh"))


@pytest.mark.slow
@pytest.mark.flaky(
    reruns=1
)  # the cases wait a fixed time for a screen, which a busy machine exceeds
@pytest.mark.skipif(not _CASES, reason="the cases are not on this machine")
@pytest.mark.parametrize("name", _CASES)
def test_case(name, tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(_FOLDER / name / "run.sh")],
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
