"""Runs the server: over standard input and output for one agent's session, or over HTTP on this
machine with a token.
"""

from __future__ import annotations

import hmac
import os
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from memsearch_engine import Home, Unreachable

from memsearch_tui.mcp_server import stdio
from memsearch_tui.mcp_server.server import build, here

_App = Callable[[Any, Any, Any], Awaitable[None]]


def over_stdio(parent: int) -> None:
    """Serve until standard input is closed or the client has ended.

    Args:
        parent: id of the process that started this one.
    """
    server = build(here())

    async def serve() -> None:
        async def watch() -> None:
            """End the process: a reader of standard input cannot be interrupted."""
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for number in signals:
                    os._exit(128 + number)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            tasks.start_soon(stdio.end_with_client, parent)
            await stdio.serve(server)
            tasks.cancel_scope.cancel()

    anyio.run(serve)


TOKEN_FILE = "mcp.token"


def token(home: Home) -> str:
    """Return the token that clients need. It is created once, in a file that only its owner may
    read.
    """
    path = home.private(TOKEN_FILE)
    found = path.read_text(encoding="ascii").strip()
    if not found:
        found = secrets.token_urlsafe(32)
        path.write_text(f"{found}\n", encoding="ascii")
    return found


class Gate:
    """ASGI middleware that rejects requests without the token."""

    def __init__(self, app: _App, token: str) -> None:
        self._app, self._wanted = app, b"Bearer " + token.encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass a request with the token on to the app, and answer others with 401."""
        brought = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "lifespan" and not hmac.compare_digest(brought, self._wanted):
            body = b'{"error":"this server wants the token that `memsearch mcp --http` names"}'
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                (b"www-authenticate", b"Bearer"),
            ]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        await self._app(scope, receive, send)


def over_http(home: Home, port: int, folder: str, announce: Callable[[str], None]) -> None:
    """Serve Streamable HTTP on loopback until the process ends. Host and Origin are checked.

    Args:
        port: 0 for any free port.
        folder: the project of a client that names none.
        announce: called with the address once the server listens.

    Raises:
        Unreachable: the port is in use.
    """
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        raise Unreachable(
            f"port {port} can't be used: {error.strerror}", "name another one: --port 0 takes any"
        ) from error
    port = listening.getsockname()[1]
    names = [f"127.0.0.1:{port}", f"localhost:{port}"]
    checked = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )
    app = Gate(build(folder).streamable_http_app(transport_security=checked), token(home))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
    announce(f"http://127.0.0.1:{port}/mcp")
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listening]))
