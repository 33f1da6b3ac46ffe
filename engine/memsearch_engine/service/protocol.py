"""Newline-delimited JSON-RPC 2.0 on a Unix socket.

Requests: ``{"jsonrpc": "2.0", "id": 1, "method": "search", "params": {…}}``. A request may be answered by any number of
``progress`` notifications before its result. ``cancel`` (a notification with the request's id) stops long work.
Every connection begins with ``hello``, which carries the client's version: a service older than its client finishes what
it does and exits, so that the next call starts the new one.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import Any

import msgspec

from memsearch_engine import __version__

PROTOCOL = 1
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


def same_user(peer: socket.socket) -> bool:
    """Whether the process on the other end runs as this user. Both ends ask: who makes the socket first may be anybody."""
    if hasattr(socket, "SO_PEERCRED"):
        packed = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return struct.unpack("3i", packed)[1] == os.getuid()
    with contextlib.suppress(OSError):  # macOS: SOL_LOCAL 0, LOCAL_PEERCRED 1 (sys/un.h), struct xucred of 76 bytes
        return struct.unpack_from("2I", peer.getsockopt(0, 1, 76))[1] == os.getuid()
    return True  # the folder is 0700 and the socket 0600 all the same
