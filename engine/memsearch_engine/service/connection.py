"""A client's connection to the resident process. ``launch`` starts the process, this file never."""

from __future__ import annotations

import contextlib
import itertools
import socket
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.local_socket import same_user
from memsearch_engine.service import protocol

T = TypeVar("T")
CONNECT_S = 1.0


class ServiceGone(Unreachable):
    """The service ended during a call. The call can be repeated: all methods are idempotent."""


class ServiceHung(Unreachable):
    """A service has the socket open but does not answer, for example because it is suspended."""


class RemoteError(MemsearchError):
    """An error that the service reported, with the exit code of the original error."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code


class Connection:
    """One open connection to the service. Not thread-safe.

    Args:
        timeout_s: seconds for connecting and for the greeting.

    Raises:
        Unreachable: no service of this user listens.
        ServiceHung: it does not answer.
    """

    def __init__(self, home: Home, timeout_s: float = CONNECT_S) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            home.check_socket_folder()
            self._socket.connect(str(home.socket))
            if not same_user(self._socket):
                raise PermissionError(1, "another user's process listens there")
        except OSError as error:
            self._socket.close()
            raise Unreachable(
                f"no service is listening on {home.socket}: {error.strerror or error}"
            ) from error
        self._lines = self._socket.makefile("rb")
        self._ids = itertools.count(1)
        try:
            self.server = self.call("hello", dict, timeout_s=timeout_s, **protocol.greeting())
        except ServiceGone:
            raise
        except Unreachable as error:
            self.close()
            raise ServiceHung(
                f"the service does not answer within {timeout_s:.0f} s",
                "`memsearch service stop` ends it; the next command starts another",
            ) from error

    def call(
        self,
        method: str,
        kind: type[T],
        *,
        timeout_s: float = 30.0,
        progress: Callable[[dict[str, Any]], None] | None = None,
        **params: Any,
    ) -> T:
        """Call a method and return its answer.

        Args:
            method: its name, one of ``engine.METHODS``.
            kind: the type that the answer is decoded as.
            timeout_s: seconds until the answer, and between two progress reports.
            progress: called with each progress report.
            params: the method's parameters.

        Raises:
            RemoteError: the service reported an error.
            ServiceGone: the service ended.
            Unreachable: the service did not answer in time.
        """
        number = next(self._ids)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.sendall(protocol.encode(protocol.Request(method, params, number)))
            while True:
                line = self._lines.readline(protocol.MAX_LINE)
                if not line:
                    raise ServiceGone("the service went away while it was asked")
                answer = msgspec.json.decode(line, type=protocol.Response)
                if answer.method == "progress":
                    if progress:
                        progress(answer.params)
                    continue
                if answer.id == number or answer.error:
                    break
        except ConnectionError as error:
            raise ServiceGone(f"the service went away while it was asked: {error}") from error
        except (OSError, msgspec.DecodeError) as error:
            raise Unreachable(f"the service did not answer: {error}") from error
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                self._socket.sendall(protocol.encode(protocol.Request("cancel", {"id": number})))
            raise
        if answer.error:
            data = answer.error.data
            raise RemoteError(
                answer.error.message, data.get("hint", ""), int(data.get("exit_code", 3))
            )
        return msgspec.json.decode(answer.result, type=kind)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._lines.close()
            self._socket.close()
