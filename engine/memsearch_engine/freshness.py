"""Whether a prepared context still is what its sources say: stamps of files, which hooks compare. Standard library only."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memsearch_engine.home import Home


def stamp(path: str) -> list[int]:
    """What differs once a file or folder was changed by whatever program; [] where there is none. The time of the inode's change, not of the
    content's: programs may set that one."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return []
    return [info.st_ctime_ns, info.st_size, info.st_ino]


def stamps(paths: Iterable[str]) -> dict[str, list[int]]:
    return {path: stamp(path) for path in paths}


def holds(ready: dict[str, Any]) -> bool:
    """Whether a prepared context is up to date. One that says nothing of its sources is not."""
    found, until = ready.get("stamps"), ready.get("until")
    if not isinstance(found, dict) or (until and time.strftime("%Y-%m-%d") > str(until)):
        return False
    return all(stamp(path) == seen for path, seen in found.items())


def changed(home: Home) -> None:
    """Make the prepared contexts of all projects stale: a decision was recorded that changes no file of notes."""
    try:
        home.put(home.generation, b"")
    except OSError:
        pass
