"""A child that kills itself with SIGKILL at the step that is named, so that every step is hit by
design and not by luck.

Steps are every open, rename, removal, link and database connection under a folder (by audit hook),
and every write and sync.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PRELUDE = """
import os, sys
import memsearch_engine.secrets.scan as scan, zstandard, filelock
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
    env = {**os.environ, "PYTHONPATH": os.getcwd(), **environment}
    return subprocess.run(
        [sys.executable, "-c", _PRELUDE + work, str(root), str(last)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def steps_of(done: subprocess.CompletedProcess[str]) -> int:
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])
