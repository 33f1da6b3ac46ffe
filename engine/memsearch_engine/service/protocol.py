"""Newline-delimited JSON-RPC 2.0 on a Unix socket.

A request looks like ``{"jsonrpc": "2.0", "id": 1, "method": "search", "params": {…}}``. Any number
of ``progress`` notifications may precede its result. The notification ``cancel`` with a request's
id stops that request. Every connection begins with ``hello``, which carries the client's version
and when it was installed. A service that is older than its client finishes its work and exits, so
that the next call starts the new one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memsearch_engine.core import wire

#: 2: ``search`` and ``trace`` take a typed ``request``. Clients of protocol 1 send ``query`` as
#: text.
PROTOCOL = 2
#: The longest line that is read, in bytes. An answer with thousands of hits fits.
MAX_LINE = 64 * 1024 * 1024

PARSE, INVALID, FAILED = -32700, -32602, -32603


class Request(msgspec.Struct, omit_defaults=True):
    """A request or notification of a client. A notification has no ``id``."""

    method: str
    params: dict[str, Any] = {}
    id: int | None = None
    jsonrpc: str = "2.0"


class Error(msgspec.Struct, omit_defaults=True):
    """An error. ``data`` contains ``exit_code`` and ``hint`` of a ``MemsearchError``."""

    code: int
    message: str
    data: dict[str, Any] = {}


class Response(msgspec.Struct, omit_defaults=True):
    """A result, an error, or (with ``method``) a notification of the service."""

    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Error | None = None
    method: str = ""
    params: dict[str, Any] = {}
    jsonrpc: str = "2.0"


def encode(message: Request | Response) -> bytes:
    """Encode a message as one line."""
    return msgspec.json.encode(message) + b"\n"


def hello() -> dict[str, Any]:
    """Return the answer to the ``hello`` request."""
    return {"protocol": PROTOCOL, **wire.BUILD}


def greeting() -> dict[str, Any]:
    """Return the parameters of the ``hello`` request.

    A client whose code was replaced asks for no newer service. After a downgrade it could start
    only the older one again, at each call.
    """
    return {"protocol": PROTOCOL, "version": "0"} if wire.is_replaced() else hello()


def newer(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the ``hello`` of *one* names a later version or installation than that of *other*."""

    def age(hello: dict[str, Any]) -> tuple[list[int], int]:
        parts = hello.get("version", "0").split(".")[:3]
        return [int(part) for part in parts if part.isdigit()], hello.get("installed", 0)

    return age(one) > age(other)
