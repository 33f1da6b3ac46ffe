"""Newline-delimited JSON-RPC 2.0 on a Unix socket.

A request looks like ``{"jsonrpc": "2.0", "id": 1, "method": "search", "params": {…}}``. Any number
of ``progress`` notifications may precede its result. The notification ``cancel`` with a request's
id stops that request. Every connection begins with ``hello``, which carries the client's version. A
service that is older than its client finishes its work and exits, so that the next call starts the
new version.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memsearch_engine import __version__

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
    """Return the parameters of the ``hello`` request."""
    return {"protocol": PROTOCOL, "version": __version__}


def newer(theirs: str, ours: str = __version__) -> bool:
    """Whether version *theirs* is newer than *ours* (numeric parts only)."""

    def parts(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())

    return parts(theirs) > parts(ours)
