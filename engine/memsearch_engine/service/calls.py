"""Single calls of the service by its clients."""

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
_TYPED_REQUESTS = 2  # the first protocol with typed search requests


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
    """Call a method of the service. The call is repeated if the service ends meanwhile.

    Args:
        kind: the type that the answer is decoded as.
        start: start the service if none runs.
        timeout_s: seconds until the answer, and between two progress reports.
        progress: called with each progress report.
        request: a search request; it is encoded for the service's protocol version.
        params: the method's parameters.

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
    """Return the parameters for a search request: typed, or as text for protocol 1."""
    is_typed = connection.server.get("protocol", 1) >= _TYPED_REQUESTS
    return {"request": request} if is_typed else {"query": request.raw}
