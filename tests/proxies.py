"""A proxy on loopback that speaks HTTP, CONNECT and SOCKS 5, notes what it is asked for, and passes
all of it to one server.
"""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import threading
from typing import Any

import pytest

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "grpc_proxy", "no_grpc_proxy")


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine that runs the tests; whatever is set meanwhile goes afterwards."""
    for name in (*VARIABLES, *(name.upper() for name in VARIABLES)):
        monkeypatch.setenv(name, "")  # so that it is noted as to be restored
        monkeypatch.delenv(name)


class Proxy:
    """
    Attributes:
        asked: what it was asked for: ``POST http://host/path``, ``CONNECT host:port``, ``SOCKS
            host:port``.
        headers: of the requests that came over HTTP, in lower case.
    """

    def __init__(self, port: int = 9) -> None:
        """
        Args:
            port: of the server on loopback that everything is passed to.
        """
        self.asked: list[str] = []
        self.headers: list[str] = []
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    first = self.rfile.read(1)
                    if first == b"\x05":
                        begin = proxy._socks(self)
                    elif first:
                        begin = proxy._http(self, first)
                    else:
                        return
                    with socket.create_connection(("127.0.0.1", port), timeout=10) as server:
                        server.sendall(begin)
                        back = threading.Thread(
                            target=_pipe, args=(server.recv, self.connection), daemon=True
                        )
                        back.start()
                        _pipe(self.rfile.read1, server)
                        back.join(10)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def _socks(self, client: Any) -> bytes:
        client.rfile.read(client.rfile.read(1)[0])
        client.wfile.write(b"\x05\x00")
        kind = client.rfile.read(4)[3]
        size = {1: 4, 4: 16}.get(kind) or client.rfile.read(1)[0]
        host, port = client.rfile.read(size), int.from_bytes(client.rfile.read(2), "big")
        name = (
            host.decode()
            if kind == 3
            else socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, host)
        )
        self.asked.append(f"SOCKS {name}:{port}")
        client.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
        return b""

    def _http(self, client: Any, first: bytes) -> bytes:
        head = first + client.rfile.readline()
        while not head.endswith(b"\r\n\r\n"):
            head += client.rfile.readline()
        self.asked.append(head.split(b" HTTP")[0].decode())
        self.headers.append(head.decode().lower())
        if head.startswith(b"CONNECT"):
            client.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            return b""
        return re.sub(rb"^(\w+) http://[^/ ]+", rb"\1 ", head)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _pipe(read: Any, to: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := read(65_536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
