"""Benchmarks run, at sizes whose figures say nothing: what cannot be re-run proves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SMALL = {
    "supersession.py": "--chunks 100",
    "app.py": "--days 20 --entries 200 --times 1 --queries 1 --idle 0.2",
    "staleness.py": "--files 60 --commits 30 --notes 20",
    "growth.py": "--sizes 20 60 --projects 2 --times 1 --real 20",
    "hook.py": "--times 1 --chunks 200",
    "index.py": "--chunks 120 --days 5 --times 1 --changes 1",
    "longterm.py": "--memories 20 --jobs 10",
    "mcp_servers.py": "--servers 2 --chunks 100",
    "prompts.py": "--voices data --noise 5",
    "quality.py": "--routine 10 --sample 10",
    "redaction.py": "",
    "second_model.py": "--chunks 150 --requests 3",
    "shape.py": "",
    "server.py": "--clients 2 --rows 30 --requests 6",
    "search.py": "--chunks 120 --times 1 --requests 2 --idle 0.2",
    "sync.py": "--chunks 60 --days 3 --times 1",
    "transcripts.py": "--mb 1 --turns 20",
    "turns.py": "--times 1",
}
PARTS = {"__init__.py", "common.py", "fill.py", "peer_driver.py"}


def test_every_benchmark_is_run_here():
    assert {file.name for file in (ROOT / "benchmarks").glob("*.py")} == set(SMALL) | PARTS


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs(name, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / name, *SMALL[name].split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0 and "FAILED" not in done.stdout, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) > 3
