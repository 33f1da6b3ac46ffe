"""Questions to the running service with the standard library alone, for commands that print the
answer at once.

Every function returns None where the full client (``Memory``) has to ask: no service, one of
another version, an error, an index that is not ready. ``Memory`` then starts the service, waits, or
reports the error.
"""

from __future__ import annotations

import os
import time

from memsearch_engine.core import paths, wire

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import Any

_WAIT_S = 4.0


def search(
    query: str, *, limit: int = 0, mode: str = "hybrid", fusion: str = "", everything: bool = False
) -> dict[str, Any] | None:
    """Search; the answer as ``answer_view`` builds it.

    Args:
        limit: how many hits; 0: as the settings say.
        everything: in all projects.
    """
    if os.environ.get("MEMSEARCH_OFFLINE", "") not in ("", "0"):
        return None  # the settings decide whether the service may be asked
    return _ask(
        "search_view", query=query, limit=limit, mode=mode, fusion=fusion, everything=everything
    )


def expand(
    name: str, *, lines: int | None = None, whole: bool = True, everything: bool = False
) -> dict[str, Any] | None:
    """The section behind a hit, as ``section_view`` builds it. Counts as a use.

    Args:
        lines: lines of the file before and after it.
        whole: the whole section, or the lines of the chunk alone.
        everything: look in all projects at once.
    """
    return _ask("expand_view", name=name, lines=lines, whole=whole, everything=everything)


def transcript(
    name: str, *, turn: str = "", context: int = 0, full: bool = False, raw: bool = False
) -> dict[str, Any] | None:
    """The conversation behind a hit, with the keys of ``transcript --json``. Counts as a use.

    Args:
        turn: another turn of the session. context: turns on both sides.
        full: whole texts. raw: with the secrets in it.
    """
    found = _ask("transcript_view", name=name, turn=turn, context=context, full=full, raw=raw)
    environment = wire.table((found or {}).pop("environment", None))
    if environment is None or any(
        os.environ.get(variable, "") != value for variable, value in environment.items()
    ):
        return None  # the agent's sessions may be elsewhere for this process
    return found


def _ask(method: str, **params: object) -> dict[str, Any] | None:
    end = time.monotonic() + _WAIT_S
    try:
        home = paths.home_root()
        params["place"] = wire.place_of(home)
        answer = wire.call(home, method, params, end, limit=wire.MAX_ANSWER, same_version=True)
    except (wire.NotRunning, OSError, ValueError, RuntimeError):
        return None
    return answer if isinstance(answer, dict) else None
