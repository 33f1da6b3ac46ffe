"""Requests to the running service with the standard library alone, for commands that print at once.

Every function returns None if the full client (``Memory``) has to do the request: there is no
service, it has another version, it reports an error, or its index is not ready. ``Memory`` then
starts the service, waits, or reports the error.
"""

from __future__ import annotations

import os
import time

from memsearch_engine.core import paths, wire

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WAIT_S = 4.0


def search(
    query: str,
    *,
    limit: int = 0,
    mode: str = "hybrid",
    fusion: str = "",
    everything: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> dict[str, Any] | None:
    """Search, and return the answer in the form of ``answer_view``.

    Args:
        limit: number of hits; 0 for the configured number.
        everything: search all projects.
        meanwhile: is called while the service searches.
    """
    if os.environ.get("MEMSEARCH_OFFLINE", "") not in ("", "0"):
        return None  # the settings decide whether the service may be asked
    params = {"query": query, "limit": limit, "mode": mode, "fusion": fusion}
    return _ask("search_view", meanwhile, everything=everything, **params)


def expand(
    name: str, *, lines: int | None = None, whole: bool = True, everything: bool = False
) -> dict[str, Any] | None:
    """Return the section behind a hit in the form of ``section_view``. It counts as a use.

    Args:
        lines: lines of the file to add before and after it.
        whole: return the whole section instead of only the chunk.
        everything: look in all projects at once.
    """
    return _ask("expand_view", None, name=name, lines=lines, whole=whole, everything=everything)


def transcript(
    name: str, *, turn: str = "", context: int = 0, full: bool = False, raw: bool = False
) -> dict[str, Any] | None:
    """Return the conversation behind a hit, with the keys of ``transcript --json``.

    It counts as a use.

    Args:
        turn: another turn of the session.
        context: turns to add before and after it.
        full: do not shorten texts.
        raw: do not remove secrets.
    """
    found = _ask("transcript_view", None, name=name, turn=turn, context=context, full=full, raw=raw)
    environment = wire.table((found or {}).pop("environment", None))
    if environment is None or any(
        os.environ.get(variable, "") != value for variable, value in environment.items()
    ):
        return None  # the agent's sessions may be elsewhere for this process
    return found


def _ask(
    method: str, meanwhile: Callable[[], object] | None, **params: object
) -> dict[str, Any] | None:
    end = time.monotonic() + _WAIT_S
    try:
        home = paths.home_root()
        params["place"] = wire.place_of(home)
        answer = wire.call(
            home,
            method,
            params,
            end,
            limit=wire.MAX_ANSWER,
            same_build=True,
            meanwhile=meanwhile,
        )
    except wire.NotRunning:
        if method == "search_view" and os.access(paths.run(home), os.W_OK):
            try:
                wire.start_service(home)  # it starts while ``Memory`` is imported
            except OSError:
                return None  # ``Memory`` says why it can't be started
        return None
    except (OSError, ValueError, RuntimeError):
        return None
    return answer if isinstance(answer, dict) else None
