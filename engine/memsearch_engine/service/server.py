"""The server: accepts connections, and runs their requests in a thread pool.

The command is ``python -m memsearch_engine.service.server``. Each connection has a reading thread,
and a lock that prevents mixed answers. A second service of the same home exits at once, because the
lock file belongs to the first. Clients must run as the same user.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import logging.handlers
import os
import selectors
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from memsearch_engine import __version__
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home, lock
from memsearch_engine.core.local_socket import same_user
from memsearch_engine.service import protocol
from memsearch_engine.service.commands import RequestContext

if TYPE_CHECKING:
    from memsearch_engine.service.engine import Engine

log = logging.getLogger("memsearch.service")
#: Requests that do not postpone the exit.
_NO_USE = ("hello", "status", "shutdown")
_TICK_S = 1.0
_LOCK_S = 0.2  # hooks and clients test the lock for microseconds
_M_ARENA_MAX = -8  # of malloc.h
_MAX_REQUESTS = 256  # every screen has one open request; threads are created when needed


class ServiceServer:
    """Serves clients until it is idle for too long, is stopped, or its home is deleted.

    Args:
        idle_s: seconds without use after which the service exits.
    """

    def __init__(self, home: Home, engine: Engine, idle_s: float) -> None:
        self.home, self.engine, self.idle_s = home, engine, idle_s
        self.pool = ThreadPoolExecutor(_MAX_REQUESTS, "request")
        home.socket.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        old = os.umask(0o177)
        try:
            self.socket.bind(str(home.socket))
        finally:
            os.umask(old)
        self.socket.listen(64)
        self.socket.settimeout(_TICK_S)
        self._inode = home.socket.stat().st_ino
        self._wake, woken = socket.socketpair()
        self._calls = selectors.DefaultSelector()
        self._calls.register(self.socket, selectors.EVENT_READ)
        self._calls.register(woken, selectors.EVENT_READ)
        self._answering = 0
        self._answered = threading.Condition()

    def stop(self) -> None:
        """Accept no more clients, and end after the current requests. It is thread-safe."""
        self.engine.tasks.stop()
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def run(self) -> None:
        """Accept clients until the service must end."""
        while not self.engine.state.stopping.is_set():
            called = self._calls.select(_TICK_S)
            if self.engine.state.stopping.is_set() or (not called and self._should_exit()):
                break
            if not called:
                continue
            try:
                peer, _ = self.socket.accept()
            except TimeoutError:
                continue
            except OSError as error:  # no descriptor is free: the client is accepted later
                log.warning("a client could not be taken: %s", error)
                self.engine.state.stopping.wait(_TICK_S / 5)
                continue
            if not same_user(peer):
                peer.close()
                continue
            self.engine.state.activity.connected()
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()
        self.engine.tasks.stop()
        self.socket.close()
        with self._answered:
            self._answered.wait_for(lambda: not self._answering, _TICK_S)

    def _should_exit(self) -> bool:
        if not self.home.root.is_dir():
            log.info("the home folder is gone")
            return True
        try:
            if self.home.socket.stat().st_ino != self._inode:
                log.info("the socket belongs to another service")
                return True
        except OSError:
            log.info("the socket is gone")
            return True
        return self.engine.state.activity.is_over(self.idle_s) and self.engine.tasks.may_sleep()

    def _serve(self, peer: socket.socket) -> None:
        """Read the requests of one client. Each runs in the pool, so that it can be cancelled.

        A connection without any use within the idle limit is closed: it would postpone the exit.
        """
        peer.settimeout(self.idle_s)
        write_lock = threading.Lock()
        running: dict[int, threading.Event] = {}
        use = ""

        def send(message: protocol.Response) -> None:
            with write_lock, contextlib.suppress(OSError):
                peer.sendall(protocol.encode(message))

        try:
            with peer, peer.makefile("rb") as lines:
                while line := lines.readline(protocol.MAX_LINE):
                    try:
                        request = msgspec.json.decode(line, type=protocol.Request)
                    except msgspec.DecodeError as error:
                        send(protocol.Response(error=protocol.Error(protocol.PARSE, str(error))))
                        continue
                    if request.method not in _NO_USE:
                        use = request.method
                        peer.settimeout(None)
                        self.engine.state.activity.note(use)
                    if request.method == "cancel":
                        if event := running.get(int(request.params.get("id", -1))):
                            event.set()
                    elif request.id is not None:
                        cancelled = running[request.id] = threading.Event()
                        with self._answered:
                            self._answering += 1
                        self.pool.submit(self._answer, request, send, running, cancelled)
        except OSError:
            pass
        finally:
            for event in running.values():
                event.set()
            if use:
                self.engine.state.activity.note(use)
            self.engine.state.activity.disconnected()

    def _answer(
        self,
        request: protocol.Request,
        send: Any,
        running: dict[int, threading.Event],
        event: threading.Event,
    ) -> None:
        assert request.id is not None
        params = dict(request.params)

        def progress(state: dict[str, Any]) -> None:
            send(protocol.Response(id=None, method="progress", params={"id": request.id, **state}))

        try:
            wait_s = float(params.pop("deadline_s", 0) or 0)
            call = RequestContext(
                progress, event.is_set, time.monotonic() + wait_s if wait_s else 0.0
            )
            result = self._dispatch(request.method, call, params)
            send(protocol.Response(id=request.id, result=msgspec.Raw(msgspec.json.encode(result))))
        except MemsearchError as error:
            data = {"exit_code": error.exit_code, "hint": error.hint, "kind": type(error).__name__}
            send(
                protocol.Response(
                    id=request.id, error=protocol.Error(protocol.FAILED, str(error), data)
                )
            )
        except (TypeError, ValueError) as error:
            log.exception("bad call of %s", request.method)
            send(
                protocol.Response(id=request.id, error=protocol.Error(protocol.INVALID, str(error)))
            )
        except Exception as error:
            log.exception("%s failed", request.method)
            text = f"{type(error).__name__}: {error}"
            send(protocol.Response(id=request.id, error=protocol.Error(protocol.FAILED, text)))
        finally:
            if running.get(request.id) is event:  # a client may reuse an id
                running.pop(request.id, None)
            with self._answered:
                self._answering -= 1
                self._answered.notify_all()

    def _dispatch(self, method: str, call: RequestContext, params: dict[str, Any]) -> Any:
        if method == "hello":
            if protocol.newer(params, protocol.hello()):
                log.info("a newer client (%s) came: finishing", params.get("version"))
                self.stop()
            return protocol.hello()
        if method == "shutdown":
            self.stop()
            return {"stopping": True}
        if (handler := self.engine.handlers.get(method)) is None:
            raise MemsearchError(f"unknown method {method!r}")
        return handler(call, **params)


def main() -> int:
    """Run the service of the home that the environment names.

    Returns:
        The exit code.
    """
    os.umask(0o077)  # libraries also write here: logs, models
    home = Home.from_env().ensure()
    if home.log.is_symlink():
        # the log is appended to: a planted link would redirect the writes to another file
        home.log.unlink()
    handler = logging.handlers.RotatingFileHandler(
        home.log, maxBytes=2_000_000, backupCount=2, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger("memsearch").addHandler(handler)
    logging.getLogger("memsearch").setLevel(logging.INFO)
    os.environ.pop("MEMSEARCH_DIR", None)  # one service serves all projects
    _share_arenas()
    os.chdir(home.root)  # the current folder of the starting process may be removed
    if not _only_one(home):
        return 0
    log.info("service %s starts, pid %d", __version__, os.getpid())
    try:
        _run(home)
    except Exception:
        log.exception("the service can't go on")
        return 1
    log.info("service ends")
    return 0


def _share_arenas() -> None:
    """Let glibc use two arenas (mallopt(3)). With one per thread, freed memory stays in each."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _only_one(home: Home) -> bool:
    """Take the service lock of this home. The process holds it until it ends."""
    return lock(home.service_lock, wait_s=_LOCK_S) is not None


def _run(home: Home) -> None:
    home.ensure_socket_folder()
    home.settled = True
    from memsearch_engine.index import embed  # not before the lock, which clients look at

    embed.load_early(home)
    from memsearch_engine.service.engine import Engine  # while the model is loaded

    engine = Engine(home)
    server = ServiceServer(home, engine, engine.settings.service.idle_minutes * 60)
    state = {
        "pid": os.getpid(),
        "version": __version__,
        "started": time.time(),
        "socket": str(home.socket),
    }
    Home.put(home.service_pid, json.dumps(state).encode())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    try:
        server.run()
    finally:
        with contextlib.suppress(OSError):
            home.socket.unlink(missing_ok=True)
            home.service_pid.unlink(missing_ok=True)
        engine.close()


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)  # threads of gRPC and onnxruntime would delay the end for seconds
