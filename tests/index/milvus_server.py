"""A real Milvus server for tests: the one in PyPI's package ``milvus`` (2.3.5, x86-64 Linux).

The package is no dependency of the tests: it takes 81 MB, and 246 MB when its server was unpacked.
It is installed once into a folder of the environment that runs the tests, and unpacked there.
``.ci/run`` does so before the slow tests (``python -m tests.index.milvus_server``); so does the
first test that needs it. Tests are skipped where it has no wheel, or no registry answers.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
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
_ETCD = """
name: default
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""


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

    The package's own command is not used: it lets every server listen for etcd's peers on one port,
    and goes on when its server has died.

    Args:
        folder: for its data.
        token: of ``root``, where it wants one ('' where anybody may connect).
    """

    def __init__(self, folder: Path, *, token: str = "") -> None:
        self.folder, self.token = folder, token
        self.port = self._configure()
        self.uri = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def _configure(self) -> int:
        """Write its settings, each port a free one; return the port for clients."""
        template = (_FOLDER / "milvus" / "data" / "config.yaml.template").read_text()
        names = re.findall(r"{{ *(\w+_port)\b.*?}}", template)
        *ports, self._metrics, peer = free_ports(len(names) + 2)
        values: dict[str, str] = dict(zip(names, map(str, ports)))
        values["authorization_enabled"] = str(bool(self.token)).lower()
        for name in ("etcd_data_dir", "local_storage_dir", "rocksmq_data_dir", "system_log_path"):
            values[name] = str(self.folder / name)

        def value(match: re.Match[str]) -> str:
            return values.get(match[1], (match[2] or "").strip())

        text = re.sub(r"{{ *(\w+)(?:\(\w+\))? *(?::(.*?))?}}", value, template)
        etcd = self.folder / "etcd.yaml"
        etcd.write_text(_ETCD.format(client=values["etcd_port"], peer=peer))
        text = text.replace("\netcd:\n", f"\netcd:\n  config:\n    path: {etcd}\n", 1)
        (self.folder / "configs").mkdir()
        (self.folder / "configs" / "milvus.yaml").write_text(text)
        shutil.copy(_FOLDER / "milvus" / "data" / "glog.conf", self.folder / "configs")
        return int(values["proxy_port"])

    def start(self) -> None:
        """Start it unless it runs, and wait until it answers."""
        if self._process is not None:
            return
        binaries = _FOLDER / "bin"
        environment = {
            **os.environ,
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(self._metrics),
            "LD_LIBRARY_PATH": str(binaries),
        }
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [binaries / "milvus", "run", "standalone"],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
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
            except Exception:
                assert time.monotonic() < end, f"no answer in {_START_S} s: {self.log()}"
                time.sleep(0.2)

    def log(self) -> str:
        """The end of its log."""
        return (self.folder / "log").read_text(errors="replace")[-2_000:]

    def kill(self) -> None:
        """``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def running(folder: Path, *, token: str = "") -> Iterator[MilvusServer]:
    """A server for a fixture; skips the test where there is none to be had.

    One at a time on a machine: Milvus locks a file in /run.
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
