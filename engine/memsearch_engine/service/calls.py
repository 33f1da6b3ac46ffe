"""Calls of the service by its clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from memsearch_engine.core.home import Home
from memsearch_engine.service.connection import Connection, ServiceGone
from memsearch_engine.service.launch import connect

if TYPE_CHECKING:
    from memsearch_engine.search.request import SearchRequest

T = TypeVar("T")
_CALLS = 3
_TYPED_REQUESTS = 2  # the first protocol that takes them


def call(
    home: Home,
    method: str,
    kind: type[T],
    *,
    start: bool = True,
    timeout_s: float = 30.0,
    progress: Callable[[dict[str, Any]], None] | None = None,
    request: SearchRequest | None = None,
    **params: Any,
) -> T:
    """One call to the service; again where it ended meanwhile (a restart, an update, a kill).

    Args:
        start: start the service where none runs.
        request: what a search asks for; it is sent as the service's protocol can read it.

    Raises:
        Unreachable: no service answers.
    """
    for attempt in range(_CALLS):
        connection = connect(home, start=start)
        try:
            typed = sent(request, connection) if request is not None else {}
            return connection.call(
                method, kind, timeout_s=timeout_s, progress=progress, **params, **typed
            )
        except ServiceGone:
            if attempt == _CALLS - 1:
                raise
        finally:
            connection.close()
    raise AssertionError("unreachable")


def sent(request: SearchRequest, connection: Connection) -> dict[str, Any]:
    """The parameters that carry a request: typed, or as text to a service of protocol 1."""
    is_typed = connection.server.get("protocol", 1) >= _TYPED_REQUESTS
    return {"request": request} if is_typed else {"query": request.raw}
