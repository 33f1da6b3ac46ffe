"""Runs the server: over standard input and output for one agent's session, or over HTTP on this
machine with a token.

It answers messages that the SDK leaves unanswered or answers with a validator's dump. Over standard
input and output, it ends with its client. If a client is killed while another process holds the
pipe, the input is not closed; therefore the parent process is watched.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    jsonrpc_message_adapter,
)
from memsearch_engine import Home, Unreachable
from pydantic import ValidationError

from memsearch_tui.mcp_server.client_process import are_there
from memsearch_tui.mcp_server.memories import here
from memsearch_tui.mcp_server.server import build

_App = Callable[[Any, Any, Any], Awaitable[None]]


def over_stdio(chain: list[tuple[int, int]]) -> None:
    """Serve until standard input is closed or the client has ended.

    Args:
        chain: see ``client_process.parents``.
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
            tasks.start_soon(end_with_client, chain)
            await serve_stdio(server)
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
    """ASGI middleware that rejects requests without the token and invalid messages."""

    def __init__(self, app: _App, token: str) -> None:
        self._app, self._wanted = app, b"Bearer " + token.encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass a valid request with the token on to the app, and answer others with 401 or 400."""
        brought = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "lifespan" and not hmac.compare_digest(brought, self._wanted):
            text = b'{"error":"this server wants the token that `memsearch mcp --http` names"}'
            await _answer(send, 401, text, (b"www-authenticate", b"Bearer"))
            return
        if scope.get("method") == "POST":
            body, receive = await _read(receive)
            if refused := _refused(body.decode("utf-8", "replace")):
                await _answer(send, 400, refused.model_dump_json(by_alias=True).encode())
                return
        await self._app(scope, receive, send)


async def _answer(send: Any, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _read(receive: Any) -> tuple[bytes, Any]:
    """Return the body of a request, and a *receive* that gives it once more."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    body = b"".join(message.get("body", b"") for message in messages)

    async def again() -> Any:
        return messages.pop(0) if messages else await receive()

    return body, again


def _refused(text: str) -> JSONRPCError | None:
    """Return the answer to a text that is no message of the protocol, or None."""
    try:
        jsonrpc_message_adapter.validate_json(text if _has_valid_id(text) else "{}", by_name=False)
    except ValidationError as error:
        return refusal(error)
    return None


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


_TICK_S = 1.0


async def end_with_client(chain: list[tuple[int, int]]) -> None:
    """End this process when its client has ended, because reading standard input cannot be
    interrupted.

    Args:
        chain: see ``client_process.parents``.
    """
    while are_there(chain):
        await anyio.sleep(_TICK_S)
    os._exit(0)


class _Answering:
    """The messages of a stream; invalid messages are answered with an error."""

    def __init__(self, stream: Any, out: Any) -> None:
        self._stream, self._out = stream, out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Answering:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *how: Any) -> Any:
        return await self._stream.__aexit__(*how)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> Any:
        while isinstance(message := await self._stream.receive(), Exception):
            await self._out.send(SessionMessage(refusal(message)))
        return message


def refusal(error: Exception) -> JSONRPCError:
    """Return the answer to a text that is not JSON, or not a message of the protocol."""
    found = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    if not found or found[0]["type"] == "json_invalid":
        return JSONRPCError(
            jsonrpc="2.0",
            id=None,
            error=ErrorData(code=PARSE_ERROR, message="this is not JSON"),
        )
    names = [one["input"].get("id") for one in found if isinstance(one["input"], dict)]
    known = next(
        (name for name in names if isinstance(name, (int, str)) and not isinstance(name, bool)),
        None,
    )
    text = "this is no request: it needs jsonrpc, method and, where it wants an answer, id"
    return JSONRPCError(
        jsonrpc="2.0", id=known, error=ErrorData(code=INVALID_REQUEST, message=text)
    )


class _Lines:
    """The lines of a stream. A line with an ``id`` that is no id becomes an invalid message.

    The SDK would ignore such an id and take the line for a notification, which gets no answer.
    """

    def __init__(self, stream: anyio.AsyncFile[str]) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._stream:
            yield line if _has_valid_id(line) else "{}"


def _has_valid_id(line: str) -> bool:
    """Whether a line has an id that answers can name, no id, or is no JSON object."""
    try:
        message = json.loads(line) if '"id"' in line else None
    except (ValueError, RecursionError):
        return True
    if not isinstance(message, dict) or not {"method", "id"} <= message.keys():
        return True
    name, method = message["id"], message["method"]
    if name is None:  # some clients write it in notifications
        return str(method).startswith("notifications/")
    return isinstance(name, (int, str)) and not isinstance(name, bool)


def _standard_input() -> Any:
    """Return the lines of standard input, and take it from the programs that this one starts."""
    own = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return _Lines(anyio.wrap_file(open(own, encoding="utf-8", errors="replace")))


async def serve_stdio(server: Any) -> None:
    """Serve an ``MCPServer`` until standard input is closed."""
    inner = server._lowlevel_server
    async with stdio_server(_standard_input()) as (read, write):
        await inner.run(_Answering(read, write), write, inner.create_initialization_options())
