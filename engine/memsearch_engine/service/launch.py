"""Starts the resident process if it does not run, calls it, and ends it.

The process itself is ``server``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from memsearch_engine.core import wire
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home, is_free
from memsearch_engine.service import protocol
from memsearch_engine.service.connection import CONNECT_S, Connection, ServiceGone, ServiceHung

if TYPE_CHECKING:
    import psutil


_MODULE = "memsearch_engine.service.server"
_PAUSE_S = 0.02
_launched: set[int] = set()  # processes whose exit codes have not been read


def connect(home: Home, *, start: bool = True, wait_s: float = 10.0) -> Connection:
    """Connect to the service.

    Args:
        start: start the service if none runs.
        wait_s: seconds to wait for a service that starts.

    Raises:
        ServiceHung: a service listens but does not answer.
        Unreachable: no service runs, or it can't be started in time.
    """
    try:
        connection = Connection(home)
        if not protocol.newer(protocol.greeting(), connection.server):
            return connection
        with contextlib.suppress(Unreachable):  # 0.5.0 compares versions alone
            connection.call("shutdown", dict, timeout_s=CONNECT_S)
        connection.close()  # an older service exits now; the next one starts after it
    except ServiceHung:
        raise
    except Unreachable:
        if not start:
            raise
    process, was_killed = None, False
    end = time.monotonic() + wait_s
    while True:
        if process is None and is_free(home.service_lock):  # else one starts, or ends
            process = launch(home)
        try:
            return Connection(home)
        except ServiceHung:
            raise
        except Unreachable as error:
            code = None if process is None else _exit_code(process)
            if code and (code > 0 or was_killed):
                why = _last_words(home) if code > 0 else signal.strsignal(-code)
                raise Unreachable(
                    f"the service can't start: {why}",
                    f"see {home.log}, or `memsearch service logs`",
                ) from error
            if code is not None:  # it was killed, or another service had the lock and has ended
                process, was_killed = None, was_killed or code < 0
            if time.monotonic() > end:
                raise Unreachable(
                    f"the service did not start within {wait_s:.0f} s ({error})",
                    f"see {home.log}, or `memsearch service logs`",
                ) from error
        time.sleep(_PAUSE_S)  # before the socket file exists there is nothing to wait on


def _exit_code(process: int) -> int | None:
    """Return the exit code of a child process, or None while it runs."""
    try:
        ended, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:  # the program that embeds us ignores SIGCHLD
        _launched.discard(process)
        return None
    if not ended:
        return None
    _launched.discard(process)
    return os.waitstatus_to_exitcode(status)


def _last_words(home: Home) -> str:
    """Return the last line of the service's log, which says why it ended."""
    try:
        lines = home.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return f"{home.root} can't be used ({error.strerror})"
    if not lines or lines[-1][:1].isspace():  # the middle of a traceback: its end was not written
        flaw = "breaks off" if lines else "is empty"
        return f"its log {flaw}, as on a full disk (`df {home.root}` shows what is free)"
    return lines[-1]


def launch(home: Home) -> int:
    """Start the service detached, with stdio on /dev/null. A second service exits by itself.

    Returns:
        The id of the process, which runs until the service ends.

    Raises:
        Unreachable: the home can't be written, or the process can't be started.
    """
    try:
        home.ensure()
    except OSError as error:
        raise Unreachable(
            f"{home.root} can't be written: {error.strerror}",
            "set MEMSEARCH_HOME to a writable folder",
        ) from error
    if not os.access(home.run, os.W_OK):
        raise Unreachable(
            f"{home.root} can't be written", "set MEMSEARCH_HOME to a writable folder"
        )
    for ended in list(_launched):
        _exit_code(ended)
    try:
        process = wire.spawn_service(str(home.root))
    except OSError as error:
        raise Unreachable(f"the service can't be started: {error}") from error
    _launched.add(process)
    return process


def stop(home: Home, wait_s: float = 15.0) -> bool:
    """Ask the service to finish and wait until it has ended. Kill it if it does not answer.

    Args:
        wait_s: seconds to wait for its end.

    Returns:
        Whether a service was running.

    Raises:
        Unreachable: the service did not end in time.
    """
    try:
        connection = Connection(home)
        with contextlib.suppress(Unreachable):
            connection.call("shutdown", dict, timeout_s=CONNECT_S)
        connection.close()
    except ServiceHung:
        _end(home, signal.SIGKILL)
    except Unreachable:
        return _end_starting(home, wait_s)
    if _ended(home, wait_s):
        return True
    _end(home, signal.SIGKILL)
    if _ended(home, CONNECT_S * 2):
        return True
    raise Unreachable(f"the service did not stop within {wait_s:.0f} s", f"see {home.log}")


def _ended(home: Home, wait_s: float) -> bool:
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        if is_free(home.service_lock):
            return True
        time.sleep(0.05)  # a file lock has no wait with a time limit
    return False


def _end_starting(home: Home, wait_s: float) -> bool:
    """End a service that was started and does not listen yet.

    Returns:
        Whether there was one.
    """
    import psutil

    starting = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            own = process.cmdline()[-2:] == ["-m", _MODULE] and process.uids().real == os.getuid()
            if own and os.path.realpath(
                process.environ().get("MEMSEARCH_HOME", "")
            ) == os.path.realpath(home.root):
                process.terminate()
                starting.append(process)
    end = time.monotonic() + wait_s
    while (
        left := [process for process in starting if _is_alive(process)]
    ) and time.monotonic() < end:
        time.sleep(0.02)  # the end of another process's child can't be awaited
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return bool(starting)


def _is_alive(process: psutil.Process) -> bool:
    """Whether the process runs. A zombie has ended, but its parent has not yet read its status."""
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _is_service(process: psutil.Process) -> bool:
    return _MODULE in process.cmdline() and process.uids().real == os.getuid()


def _end(home: Home, number: int) -> None:
    """Send a signal to the process in the pid file, if that process is a service of this user."""
    import psutil

    try:
        pid = int(msgspec.json.decode(home.service_pid.read_bytes())["pid"])
        process = psutil.Process(pid)
        if _is_service(process):
            process.send_signal(number)
    except (OSError, ValueError, KeyError, TypeError, msgspec.DecodeError, psutil.Error):
        return


T = TypeVar("T")
_CALLS = 3


def call(
    home: Home,
    method: str,
    kind: type[T],
    *,
    start: bool = True,
    timeout_s: float = 30.0,
    progress: Callable[[dict[str, Any]], None] | None = None,
    **params: Any,
) -> T:
    """Call a method of the service. The call is repeated if the service ends meanwhile.

    Args:
        kind: the type that the answer is decoded as.
        start: start the service if none runs.
        timeout_s: seconds until the answer, and between two progress reports.
        progress: called with each progress report.
        params: the method's parameters.

    Raises:
        Unreachable: no service answers.
    """
    for attempt in range(_CALLS):
        with contextlib.closing(connect(home, start=start)) as connection:
            try:
                return connection.call(
                    method, kind, timeout_s=timeout_s, progress=progress, **params
                )
            except ServiceGone:
                if attempt == _CALLS - 1:
                    raise
    raise AssertionError("unreachable")
