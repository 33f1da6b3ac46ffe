"""The transport over standard input and output.

It answers messages that the SDK leaves unanswered, and ends the server with its client. If a client
is killed while another process holds the pipe, the input is not closed; therefore the parent
process is watched.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import anyio
import psutil
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

_TICK_S = 1.0
#: Programs that only start another one: if the parent is one of these, the client is its parent.
_STARTERS = {"sh", "bash", "dash", "zsh", "fish", "env", "uv", "uvx", "pipx", "nice", "timeout"}
_MOST_STARTERS = 4


def parents() -> list[tuple[int, int]]:
    """Return (process, parent) from this process up to the client."""
    found: list[tuple[int, int]] = []
    try:
        process: psutil.Process | None = psutil.Process()
        while process is not None and len(found) <= _MOST_STARTERS:
            found.append((process.pid, process.ppid()))
            process = process.parent()
            if process is None or process.name() not in _STARTERS:
                break
    except psutil.Error:
        pass
    return found


def are_there(chain: list[tuple[int, int]]) -> bool:
    """Return whether each process of *chain* still has the same parent; an orphaned process gets
    another one.
    """
    try:
        return os.getppid() == chain[0][1] and all(
            psutil.Process(pid).ppid() == parent for pid, parent in chain[1:]
        )
    except psutil.Error:
        return False


async def end_with_client(parent: int) -> None:
    """End this process when its client has ended, because reading standard input cannot be
    interrupted.
    """
    chain = (
        [(os.getpid(), parent), *parents()[1:]]
        if os.getppid() == parent
        else [(os.getpid(), parent)]
    )
    while chain and are_there(chain):
        await anyio.sleep(_TICK_S)
    if chain:
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
    """Return the answer to a line that is not JSON, or not a message of the protocol."""
    found = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    if not found or found[0]["type"] == "json_invalid":
        return JSONRPCError(
            jsonrpc="2.0",
            id=None,
            error=ErrorData(code=PARSE_ERROR, message="this line is not JSON"),
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


async def serve(server: Any) -> None:
    """Serve an ``MCPServer`` until standard input is closed."""
    inner = server._lowlevel_server
    async with stdio_server() as (read, write):
        await inner.run(_Answering(read, write), write, inner.create_initialization_options())
