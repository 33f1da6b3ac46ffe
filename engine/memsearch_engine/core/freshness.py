"""Stamps of files, which show whether they have changed.

Hooks compare the stamps of the files behind a prepared context. Standard library only.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memsearch_engine.core.home import Home


def stamp(path: str) -> list[int]:
    """Return change time, size and inode of a file or folder; [] where there is none.

    The inode's change time is used, because programs can set the modification time.
    """
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return []
    return [info.st_ctime_ns, info.st_size, info.st_ino]


def stamps(paths: Iterable[str]) -> dict[str, list[int]]:
    """Return path -> stamp for each path."""
    return {path: stamp(path) for path in paths}


def is_fresh(ready: dict[str, Any]) -> bool:
    """Return whether a prepared context is up to date. A context without stamps is not."""
    found, until = ready.get("stamps"), ready.get("until")
    if not isinstance(found, dict) or (until and time.strftime("%Y-%m-%d") > str(until)):
        return False
    return all(stamp(path) == seen for path, seen in found.items())


def changed(home: Home) -> None:
    """Make all prepared contexts stale, after a decision that changed no file of notes."""
    try:
        home.put(home.generation, b"")
    except OSError:
        pass
