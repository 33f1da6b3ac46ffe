"""Newline-delimited JSON-RPC 2.0 on a Unix socket.

Requests: ``{"jsonrpc": "2.0", "id": 1, "method": "search", "params": {…}}``. A request may be
answered by any number of ``progress`` notifications before its result. ``cancel`` (a notification
with the request's id) stops long work. Every connection begins with ``hello``, which carries the
client's version: a service older than its client finishes what it does and exits, so that the next
call starts the new one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memsearch_engine import __version__

#: 2: ``search`` and ``trace`` take a typed ``request``; a client of protocol 1 sends ``query`` as text.
PROTOCOL = 2
#: The longest line that is read; an answer with thousands of hits fits, a runaway peer does not.
MAX_LINE = 64 * 1024 * 1024

PARSE, INVALID, FAILED = -32700, -32602, -32603


class Request(msgspec.Struct, omit_defaults=True):
    method: str
    params: dict[str, Any] = {}
    id: int | None = None
    jsonrpc: str = "2.0"


class Error(msgspec.Struct, omit_defaults=True):
    """``data`` carries ``exit_code`` and ``hint`` of a MemsearchError."""

    code: int
    message: str
    data: dict[str, Any] = {}


class Response(msgspec.Struct, omit_defaults=True):
    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Error | None = None
    method: str = ""
    params: dict[str, Any] = {}
    jsonrpc: str = "2.0"


def encode(message: Request | Response) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def hello() -> dict[str, Any]:
    return {"protocol": PROTOCOL, "version": __version__}


def newer(theirs: str, ours: str = __version__) -> bool:
    """Whether version *theirs* is newer than *ours* (numeric parts only)."""

    def parts(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())

    return parts(theirs) > parts(ours)
