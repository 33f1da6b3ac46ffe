"""A child that kills itself with SIGKILL at the step that is named, so that every step is hit by
design and not by luck.

Steps are every open, rename, removal, link and database connection under a folder (by audit hook),
and every write and sync.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

#: Children are forked from a process that has imported what they work with. It has no thread and no
#: open database.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "dulwich.index",
        "dulwich.repo",
        "memsearch_engine.capture.backfill",
        "memsearch_engine.capture.event_queue",
        "memsearch_engine.journal.write",
        "memsearch_engine.longterm.pipeline",
        "memsearch_engine.longterm.review",
        "memsearch_engine.secrets.scan",
        "zstandard",
    ]
)
_LIMIT_S = 120
_PRELUDE = """
import os, sys
import memsearch_engine.secrets.scan as scan, zstandard
from memsearch_engine.core.home import Home
scan.redact("warm up", Home.from_env())  # imports are no steps of the work
_root, _last, _count = sys.argv[1], int(sys.argv[2]), 0
def _step():
    global _count
    _count += 1
    if _count == _last:
        os.kill(os.getpid(), 9)
def _hook(event, args):
    if event in ("os.rename", "os.remove", "os.truncate", "sqlite3.connect") or (
        event == "open" and isinstance(args[0], (str, bytes)) and str(args[0]).startswith(_root)
    ):
        _step()
def begin():
    for name in ("write", "fsync"):
        def wrapped(*args, real=getattr(os, name)):
            _step()
            return real(*args)
        setattr(os, name, wrapped)
    sys.addaudithook(_hook)
def end():
    print(_count)
"""


def child(work: str, root: Path, last: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run *work*, which calls ``begin()`` before what counts and ``end()`` after it. *last* 0:
    count, and live.
    """
    root.mkdir(parents=True, exist_ok=True)
    files = [Path(f"{root}.{name}") for name in ("out", "err")]
    process = _FORKS.Process(
        target=_run, args=(work, str(root), last, {**os.environ, **environment}, files)
    )
    process.start()
    process.join(_LIMIT_S)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f"not within {_LIMIT_S} s: {work}")
    return subprocess.CompletedProcess(
        work, process.exitcode or 0, *(file.read_text() for file in files)
    )


def _run(work: str, root: str, last: int, environment: dict[str, str], files: list[Path]) -> None:
    for number, file in enumerate(files, 1):
        with file.open("wb") as target:
            os.dup2(target.fileno(), number)
    os.environ.clear()
    os.environ |= environment
    sys.argv = ["", root, str(last)]
    exec(_PRELUDE + work, {"__name__": "__main__"})  # noqa: S102


def steps_of(done: subprocess.CompletedProcess[str]) -> int:
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])
