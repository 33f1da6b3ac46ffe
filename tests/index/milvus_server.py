"""A real Milvus server for tests: the one in PyPI's package ``milvus`` (2.3.5, x86-64 Linux).

The package is no dependency of the tests: it takes 81 MB, and 246 MB when its server was unpacked.
It is installed once into a folder of the environment that runs the tests, and unpacked there.
``.ci/run`` does so before the slow tests (``python -m tests.index.milvus_server``); so does the
first test that needs it. Tests are skipped where it has no wheel, or no registry answers.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

VERSION = "2.3.5"
HAS_WHEEL = sys.platform == "linux" and platform.machine() == "x86_64"
_FOLDER = Path(sys.prefix) / "share" / f"milvus-{VERSION}"
_START_S = 120
#: Ports that a server listens on, by milvus-server's option.
_PORTS = (
    "--proxy-port",
    "--proxy-internal-port",
    "--etcd-port",
    "--root-coord-port",
    "--query-coord-port",
    "--query-node-port",
    "--index-coord-port",
    "--index-node-port",
    "--data-coord-port",
    "--data-node-port",
)


def install() -> str:
    """Install the package, unless it is there; return why it can't be ('' where it can)."""
    if not HAS_WHEEL:
        return f"milvus=={VERSION} has a wheel for x86-64 Linux alone"
    if (_FOLDER / "bin").is_dir():
        return ""
    aside = _FOLDER.with_name(f"{_FOLDER.name}.{os.getpid()}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--only-binary", ":all:", "--target", str(aside), f"milvus=={VERSION}"),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        shutil.rmtree(aside, ignore_errors=True)
        return f"milvus=={VERSION} can't be installed: {done.stderr.strip()[-200:]}"
    code = "import milvus, sys; milvus._initialize_data_files(sys.argv[1])"
    environment = {**os.environ, "PYTHONPATH": str(aside)}
    subprocess.run([sys.executable, "-c", code, str(aside)], env=environment, check=True)
    if not _FOLDER.exists():
        aside.rename(_FOLDER)
    shutil.rmtree(aside, ignore_errors=True)
    return ""


class MilvusServer:
    """One server with its data in a folder. ``uri`` stays the same over a restart.

    Args:
        folder: for its data.
        token: of ``root``, where it wants one ('' where anybody may connect).
    """

    def __init__(self, folder: Path, *, token: str = "") -> None:
        self.folder, self.token = folder, token
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bin").symlink_to(_FOLDER / "bin")  # else each server unpacks 246 MB of its own
        self._ports = dict(zip(_PORTS, free_ports(len(_PORTS))))
        self.port = self._ports["--proxy-port"]
        self.uri = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [f"{name}={port}" for name, port in self._ports.items()]
        if self.token:
            options.append("--authorization-enabled=true")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", "import milvus; milvus.main()"),
                *(f"--data={self.folder}", *options),
            ],
            env={**os.environ, "PYTHONPATH": str(_FOLDER)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait()

    def _wait(self) -> None:
        from pymilvus import MilvusClient

        end = time.monotonic() + _START_S
        while True:
            assert self._process is not None and self._process.poll() is None, self.log()
            try:
                client = MilvusClient(uri=self.uri, token=self.token, timeout=3, dedicated=True)
                client.list_collections(timeout=3)
                client.close()
                return
            except Exception:  # noqa: BLE001 - whatever it raises while it starts
                assert time.monotonic() < end, f"no answer in {_START_S} s: {self.log()}"
                time.sleep(0.2)

    def log(self) -> str:
        """The end of its log."""
        files = sorted(self.folder.glob("logs/*"), key=lambda file: file.stat().st_mtime)
        return files[-1].read_text(errors="replace")[-2_000:] if files else ""

    def kill(self) -> None:
        """``kill -9`` to it and to what it started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        until_closed(self.port)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until_closed(port: int) -> None:
    """Wait until nobody listens on a port."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.05)


def running(folder: Path, *, token: str = "") -> Iterator[MilvusServer]:
    """A server for a fixture; skips the test where there is none to be had.

    One at a time on a machine: all of them listen for etcd's peers on port 2380.
    """
    lock = FileLock(Path(tempfile.gettempdir()) / "memsearch-test-milvus.lock")
    with lock:
        if reason := install():
            pytest.skip(reason)
        server = MilvusServer(folder, token=token)
        try:
            yield server
        finally:
            server.kill()


if __name__ == "__main__":
    print(install() or f"milvus {VERSION} is in {_FOLDER}")
