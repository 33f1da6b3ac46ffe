"""Requests to the running service with the standard library alone: hooks and hot commands use it.

The service's own client (``service.connection``) has progress, cancellation and typed answers; this
one sends a request and reads its result. It starts nothing.
"""

from __future__ import annotations

import os
import sys
import time

import memsearch_engine
from memsearch_engine.core import agent_registry, paths
from memsearch_engine.core import quick_json as json

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Any

#: Bytes of the longest answer that a hook reads, and that a command reads.
MAX_HOOK_ANSWER, MAX_ANSWER = 1 << 20, 64 << 20
#: Beginnings of variables that mark a session of an agent, besides each agent's own: a service that
#: outlives the session must not inherit them.
_SESSION_MARKS = ("PLUGIN_", "AI_AGENT", "MEMSEARCH_DIR")
#: Idle threads of OpenBLAS wait actively for 2**N clock cycles after a product (its default: up to
#: 28, about 0.1 s). On two cores, they take the core that the rest of the search and the client
#: need. Source: thread_timeout in OpenBLAS, driver/others/blas_server.c.
_SHORT_SPIN = "OPENBLAS_THREAD_TIMEOUT", "4"
_CHUNK = 1 << 16
_MIN_WAIT_S = 0.001
_HELLO, _REQUEST = 0, 1  # ids


def _installed_at() -> int:
    try:
        return os.stat(memsearch_engine.__file__).st_mtime_ns
    except OSError:  # it is being replaced
        return 0


#: Which code this is. An update from a checkout keeps the version, but is installed later.
BUILD = {"version": memsearch_engine.__version__, "installed": _installed_at()}


def is_replaced() -> bool:
    """Return whether other code was installed in the place of this code since its import."""
    return _installed_at() != BUILD["installed"]


class NotRunning(Exception):
    """No service listens."""


def place_of(home: str, cwd: str = "") -> dict[str, str]:
    """Where the project of a folder (the current one by default) lies, as the service takes it.

    Raises:
        OSError: the current folder is gone.
    """
    from memsearch_engine.core.project_location import find

    return dict(zip(("root", "memory", "common_dir"), find(cwd or os.getcwd(), home)))


def call(
    home: str,
    method: str,
    params: dict[str, Any],
    end: float,
    *,
    limit: int = MAX_HOOK_ANSWER,
    same_build: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Any:
    """Call a method of the running service and return its result.

    Args:
        home: ``MEMSEARCH_HOME``.
        end: when the answer is no longer wanted (``time.monotonic``).
        limit: bytes of the longest answer that is read.
        same_build: refuse the answer of a service of another version or installation.
        meanwhile: is called between the request and its answer.

    Raises:
        NotRunning: no service listens.
        OSError: it does not answer in time, or another user listens.
        ValueError: it answers with an error, or with something else than JSON.
    """
    import _socket

    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _connect(peer, home, end)
        params = {**params, "deadline_s": _left(end)}
        # an older service ends when it learns of a newer client; the next event starts a new one
        calls = [("hello", BUILD), (method, params)]
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": name, "params": values}) + "\n"
            for number, (name, values) in enumerate(calls)
        ]
        peer.sendall("".join(lines).encode())
        if meanwhile is not None:
            meanwhile()
        return _result(peer, end, limit, same_build)
    finally:
        peer.close()


def _connect(peer: _socket.socket, home: str, end: float) -> None:
    """Connect to the service. Raises NotRunning, and PermissionError if another user listens."""
    from memsearch_engine.core.local_socket import same_user

    try:
        paths.check_socket_folder(home)
        peer.settimeout(_left(end))
        peer.connect(paths.socket(home))
    except OSError as error:
        raise NotRunning(str(error)) from error
    if not same_user(peer):
        raise PermissionError(1, "another user's process listens there")


def start_service(home: str) -> None:
    """Start the service if its lock is free, unless ``MEMSEARCH_NO_SERVICE`` is set."""
    if not os.environ.get("MEMSEARCH_NO_SERVICE") and paths.is_free(paths.service_lock(home)):
        spawn_service(home)


def spawn_service(home: str) -> int:
    """Start the service detached, with stdio on /dev/null. It inherits no open files.

    The variables of an agent's session are left out, because the service outlives the session.

    Returns:
        The id of the process.

    Raises:
        OSError: the process can't be started.
    """
    marks = (
        *_SESSION_MARKS,
        *(mark for agent in agent_registry.everyone() for mark in agent.session_marks),
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(marks)}
    # this process ignores Python's variables, so the service must not use them either
    if sys.flags.ignore_environment:
        environment = {
            name: value for name, value in environment.items() if not name.startswith("PYTHON")
        }
    environment["MEMSEARCH_HOME"] = home
    environment.setdefault(*_SHORT_SPIN)
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return os.posix_spawn(
            sys.executable,
            # -P: the current folder may be a stranger's repository
            [sys.executable, "-P", "-m", "memsearch_engine.service.server"],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)],
            setsid=True,
        )
    finally:
        os.close(null)


def table(value: object) -> dict[str, Any] | None:
    """*value* where it is a dictionary, else None."""
    return value if isinstance(value, dict) else None


def _result(peer: _socket.socket, end: float, limit: int, same_build: bool) -> Any:
    """The result of the request. Answers come in any order."""
    wanted = {_HELLO, _REQUEST} if same_build else {_REQUEST}
    result, rest, read = None, b"", 0
    while wanted:
        peer.settimeout(_left(end))
        chunk = peer.recv(_CHUNK)
        read += len(chunk)
        if not chunk or read > limit:
            raise ValueError("no whole answer")
        if b"\n" not in chunk:
            rest += chunk
            continue
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            answer = json.loads(line)
            if not isinstance(answer, dict) or answer.get("id") not in wanted:
                continue
            if answer.get("error"):
                raise ValueError(str(answer["error"]))
            wanted.remove(answer["id"])
            if answer["id"] == _REQUEST:
                result = answer.get("result")
            elif any(answer["result"].get(key) != value for key, value in BUILD.items()):
                raise ValueError("a service of another version or installation")
    return result


def _left(end: float) -> float:
    return max(_MIN_WAIT_S, end - time.monotonic())
