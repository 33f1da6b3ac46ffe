"""The long-term memory without its models: ``python benchmarks/longterm.py [--memories 4096]``.

Prints, as medians of a few runs:

1. jobs claimed and finished a second, one process, beside bare SQLite transactions on the same
  disk;
2. writing the evidence of so many memories, anew and unchanged;
3. the diff against the baseline, after nothing and after one memory changed, beside ``git
  status`` on the same files;
4. the peak of resident memory of all of it.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memsearch_engine.core.home import Home
from memsearch_engine.longterm import workspace
from memsearch_engine.longterm.jobs import Claim, Jobs
from memsearch_engine.longterm.store import SessionMemory

_TIMES = 5


def median(work: Callable[[], object], times: int = _TIMES) -> float:
    """Milliseconds."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took)


def memories(count: int) -> list[SessionMemory]:
    made = []
    for n in range(count):
        text = "\n".join(
            f"- (project) Fact {n}.{m}: the importer writes to bucket {n * m} and retries {m} times"
            for m in range(8)
        )
        made.append(
            SessionMemory(
                id=f"{n:08x}",
                agent="codex",
                session=f"s{n}",
                project=f"{n % 20:032x}",
                project_name=f"p{n % 20}",
                cwd="/p",
                path="/x",
                watermark=1.7e9 + n,
                raw_memory=text,
                summary=text,
                slug=f"subject_{n}",
                made=1.7e9,
            )
        )
    return made


def jobs_per_second(home: Home, count: int) -> tuple[float, float]:
    jobs = Jobs(home)
    begun = time.perf_counter()
    for n in range(count):
        claim = jobs.claim("extract", f"codex/{n}", 1.0, cap=4)
        assert isinstance(claim, Claim) and jobs.succeed(claim, "kept")
    ours = count / (time.perf_counter() - begun)
    db = sqlite3.connect(home.root / "bare.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v)")
    begun = time.perf_counter()
    for n in range(2 * count):
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT OR REPLACE INTO t VALUES (?, 1)", (str(n),))
        db.execute("COMMIT")
    return ours, count / (time.perf_counter() - begun)


def git_status(folder: Path, repository: Path) -> Callable[[], object]:
    git = shutil.which("git")
    if git is None:
        return lambda: None
    base = [
        git,
        f"--git-dir={repository}",
        f"--work-tree={folder}",
        "-c",
        "user.name=b",
        "-c",
        "user.email=b@example.com",
    ]
    for argv in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "baseline"]):
        subprocess.run([*base, *argv], cwd=folder, check=True, capture_output=True)
    return lambda: subprocess.run(
        [*base, "status", "--porcelain"], cwd=folder, check=True, capture_output=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=4096)
    parser.add_argument("--jobs", type=int, default=500)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="memsearch-longterm-"))
    try:
        home = Home(root / "home").ensure()
        home.longterm.mkdir()
        ours, bare = jobs_per_second(home, options.jobs)
        print(
            f"jobs claimed and finished a second     {ours:8.0f}   "
            f"bare SQLite, two transactions each {bare:8.0f}"
        )
        made = memories(options.memories)
        first = median(lambda: workspace.write_inputs(home, home.longterm, made), 1)
        again = median(lambda: workspace.write_inputs(home, home.longterm, made), 3)
        print(
            f"evidence of {options.memories} memories            "
            f"{first:8.0f} ms anew, {again:.0f} ms unchanged"
        )
        baseline = workspace.Baseline(home)
        texts = {
            name: workspace.read(home.longterm, name) for name in workspace.files(home.longterm)
        }
        committed = median(lambda: baseline.commit(texts), 1)
        print(f"making it the baseline                 {committed:8.0f} ms")
        status = git_status(home.longterm, root / "bare.git")
        clean = median(lambda: baseline.diff(home.longterm), 3)
        print(
            f"diff, nothing changed                  {clean:8.0f} "
            f"ms   git status {median(status, 3):8.0f} ms"
        )
        workspace.write(
            home, home.longterm, f"{workspace.SUMMARIES}/{made[0].stem}.md", "changed\n"
        )
        changed = median(lambda: baseline.diff(home.longterm), 3)
        print(
            f"diff, one memory changed               {changed:8.0f} "
            f"ms   git status {median(status, 3):8.0f} ms"
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            1024 if sys.platform == "linux" else 1024**2
        )
        print(f"peak resident memory                   {peak:8.0f} MB")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
