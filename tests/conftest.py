"""An isolated home and project for every test, and no service left behind.

``box`` is one test's own home and project; ``shared_box`` is one per worker, for tests that only
read.
Nothing here replaces a part of the product: commands run as processes, the service is the real one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.journal.origin import Origin
from memsearch_engine.service import launch

# A shell without job control starts what runs in the background with SIGINT ignored, and it would
# be inherited by every program that a test starts: Ctrl+C would do nothing in any of them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests that ran the index in this process fork terminals and programs later: gRPC must not follow
# them there
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# tests that an agent runs are a person's all the same: what they write is no agent's word
for _agent in agent_registry.everyone():
    for _mark in _agent.shell_marks:
        os.environ.pop(_mark, None)
for _mark in ("AI_AGENT", "AGENT"):
    os.environ.pop(_mark, None)

# the time of one example depends on what else the machine does
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

DAYS = {
    "2026-02-09": """# 2026-02-09

## Session 14:30

### 14:30
<!-- agent:claude-code session:abc123 turn:t1 transcript:/nowhere/abc123.jsonl -->
- User asked about N+1 queries in order-service
- Agent used selectinload in get_orders()

### 14:45
<!-- agent:claude-code session:abc123 turn:t2 transcript:/nowhere/abc123.jsonl -->
- Redis cache TTL was raised to 900 seconds

## Notes

### 15:10
- The staging database runs Postgres 16
""",
    "2026-02-10": """# 2026-02-10

## Session 09:00

### 09:00
<!-- agent:codex session:def456 turn:u1 rollout:/nowhere/rollout.jsonl -->
- Fixed the flaky login test by waiting for the websocket handshake

### 09:20
<!-- agent:opencode session:ses_1 turn:msg_1 db:/nowhere/opencode.db -->
- 部署脚本改用了蓝绿发布
""",
}


def until(done: Callable[[], Any], seconds: float = 10.0, what: str = "") -> Any:
    """The first true value of *done*; fails the test where it comes neither in *seconds* nor, on a
    machine under load, in three times as long.
    """
    end = time.monotonic() + 3 * seconds
    rest = threading.Event()
    # what comes at once is seen at once; what takes long is not asked for all the time: that costs
    # it its CPU
    pause = 0.02
    while True:
        value = done()
        if value:
            return value
        if time.monotonic() > end:
            pytest.fail(f"not within {3 * seconds:.0f} s: {what or done}")
        rest.wait(pause)
        pause = min(1.4 * pause, 0.25)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker goes through whole modules, and takes over from a slower one at the end: what a
    module shares is built by one worker, where handing out tests one by one would have all of them
    build it.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


class Result:
    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.raw)  # raises where stdout is not pure data

    def __repr__(self) -> str:
        return f"<exit {self.code}\n--- stdout\n{self.out[:3000]}\n--- stderr\n{self.err[:3000]}>"


class Box:
    """One isolated home and project on disk."""

    def __init__(self, root: Path, home: Path | None = None) -> None:
        self.root = root
        self.user = root / "user"
        self.project = root / "project"
        self.memory = self.project / ".memsearch" / "memory"
        self.home = Home(home or root / "home")
        for folder in (self.user, self.project):
            folder.mkdir(parents=True, exist_ok=True)
        keep = ("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")
        self.env = {name: os.environ[name] for name in keep if name in os.environ}
        self.env |= {
            "HOME": str(self.user),
            "MEMSEARCH_HOME": str(self.home.root),
            "NO_COLOR": "1",
            "TERM": "xterm",
        }

    # -- notes

    def write(self, day: str, text: str | bytes, folder: Path | None = None) -> Path:
        folder = folder or self.memory
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (day if day.endswith(".md") else f"{day}.md")
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def fill(self) -> Box:
        for day, text in DAYS.items():
            self.write(day, text)
        self.own()
        return self

    def own(self) -> None:
        """Say that what stands in the project's memory folder is the owner's, as `memsearch trust
        release --here` does.
        """
        origin = Origin(self.home.ensure())
        origin.trust(str(self.memory))
        origin.close()

    def other_project(self, *parts: str) -> Path:
        folder = self.root.joinpath(*parts)
        (folder / ".memsearch" / "memory").mkdir(parents=True)
        return folder

    # -- commands

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        return [sys.executable, "-m", "memsearch_tui.cli.main", *args]

    def run(
        self,
        *args: str | bytes,
        stdin: str | bytes | None = None,
        cwd: Path | None = None,
        timeout: float = 90,
        env: dict[str, str] | None = None,
        prefix: list[str] | None = None,
    ) -> Result:
        return Result(
            subprocess.run(
                [*(prefix or []), *self.argv(*args)],
                cwd=cwd or self.project,
                env={**self.env, **(env or {})},
                input=stdin.encode() if isinstance(stdin, str) else stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                timeout=timeout,
            )
        )

    def spawn(self, *args: str, cwd: Path | None = None, **kwargs: Any) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        return subprocess.Popen(
            self.argv(*args), cwd=cwd or self.project, env=self.env, **{**options, **kwargs}
        )

    def ok(self, *args: str, **kwargs: Any) -> Result:
        result = self.run(*args, **kwargs)
        assert result.code == 0, result
        return result

    def ids(self) -> dict[str, str]:
        """body -> entry id"""
        return {
            entry["body"]: entry["entry_id"]
            for entry in self.ok("entries", "--json").json["entries"]
        }

    def index(self, *args: str, **kwargs: Any) -> dict[str, Any]:
        result = self.run("index", *args, "--json", **kwargs)
        assert result.code in (0, 5), result
        return result.json

    # -- the service

    def connect(self) -> launch.Connection:
        """A connection of this process; the service was started by a command, in this box's
        environment.
        """
        if not self.home.socket.exists():
            self.ok("service", "start")

        def connected() -> launch.Connection | None:
            try:
                return launch.connect(self.home, start=False)
            except Unreachable:  # it has its socket's name, and does not listen yet
                return None

        found: launch.Connection = until(connected, 10, "the service listens")
        return found

    def place(self, project: Path | None = None) -> dict[str, str]:
        root = os.path.realpath(project or self.project)
        return {
            "root": root,
            "memory": os.path.join(root, ".memsearch", "memory"),
            "common_dir": "",
        }

    def ready(self) -> None:
        """Return when the service runs and its index is open."""
        connection = self.connect()
        try:
            version = 0
            end = time.monotonic() + 60
            while (status := connection.call("status", dict))["index"] == "opening":
                assert time.monotonic() < end, status
                version = connection.call("wait", dict, deadline_s=5, version=version)["version"]
        finally:
            connection.close()

    def processes(self) -> list[psutil.Process]:
        return services(self.home)

    def service(self) -> psutil.Process:
        found = self.processes()
        assert len(found) == 1, found
        return found[0]

    def log(self) -> str:
        return self.home.log.read_text(errors="replace") if self.home.log.exists() else ""

    def clean(self) -> None:
        end_services(self.home)


def services(home: Home) -> list[psutil.Process]:
    """Every running service process of a home."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if "memsearch_engine.service.server" not in " ".join(process.cmdline()):
                continue
            if process.environ().get("MEMSEARCH_HOME") == str(home.root):
                found.append(process)
    return found


def end_services(home: Home) -> None:
    """Leave none running: one that a hook has just started does not answer yet, and can't be asked
    to stop.
    """
    with contextlib.suppress(Exception):
        launch.stop(home, 10)
    left = services(home)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, 10)


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the real home, whatever it calls."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMSEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MEMSEARCH_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.clean()


@pytest.fixture(scope="session")
def shared_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Filled, indexed and its service running; for tests that change nothing."""
    box = Box(tmp_path_factory.mktemp("shared")).fill()
    box.index()
    yield box
    box.clean()
