"""The processes between this one and the client that started it.

They are looked up before the slow imports of the server: a client that ends meanwhile is missed
otherwise.
"""

from __future__ import annotations

import contextlib
import os

import psutil

#: Programs that only start another one: if the parent is one of these, the client is its parent.
_STARTERS = {"sh", "bash", "dash", "zsh", "fish", "env", "uv", "uvx", "pipx", "nice", "timeout"}
_MOST_STARTERS = 4


def parents() -> list[tuple[int, int]]:
    """Return (process, parent) from this process up to the client."""
    found = [(os.getpid(), os.getppid())]
    with contextlib.suppress(psutil.Error):
        process = psutil.Process().parent()
        while process and process.name() in _STARTERS and len(found) <= _MOST_STARTERS:
            found.append((process.pid, process.ppid()))
            process = process.parent()
    return found


def are_there(chain: list[tuple[int, int]]) -> bool:
    """Return whether each process of *chain* still has the same parent; an orphaned process gets
    another one.
    """
    try:
        return os.getppid() == chain[0][1] and all(
            psutil.Process(pid).ppid() == parent for pid, parent in chain[1:]
        )
    except psutil.Error:
        return False
