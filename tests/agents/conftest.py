"""The real agents, installed from npm once and driven headless against a model on loopback.

``MEMSEARCH_TEST_CLIENTS`` names the folder that they are installed in (default: below the user's
cache); a client that is not there and can't be installed skips its tests. Nothing of the user's own
configuration is read: every test has its own home.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from filelock import FileLock

from tests.conftest import Box, Result, until
from tests.mock_model import MockModel

PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "opencode": "opencode-ai@1.18.33",
    "openclaw": "openclaw@2026.9.6",
    "qwen": "@qwen-code/qwen-code@0.24.4",
    "gemini": "@google/gemini-cli@0.61.0",
    "copilot": "@github/copilot@1.0.102",
    "pi": "@earendil-works/pi-coding-agent@1.5.2",
    "node24": (
        f"node-{sys.platform}-"
        f"{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}@24.21.0"
    ),
}
_NEWER_NODE = ("openclaw", "qwen", "pi")
#: A client whose package can't be installed whole everywhere: what its bundled program needs of
#: others', and that program.
_BUNDLED = {
    "pi": (
        ("jiti@2.7.0", "typebox@1.3.27", "@silvia-odwyer/photon-node@0.3.4"),
        "dist/bundle/cli.js",
    )
}
_BINARIES = {"node24": "node"}  # where it is not named like its folder
_TOKEN = "gateway-token"
_PI = {
    "defaultProvider": "mock",
    "defaultModel": "mock-model",
    "retry": {"enabled": False},
    "compaction": {"enabled": True, "reserveTokens": 1000, "keepRecentTokens": 10},
}
_FIRST = Path(os.path.expanduser("~"))  # before any test moves HOME


def program(name: str) -> Path:
    """Where a client is, which is installed when it is first asked for: once, by one worker. Skips
    where it can't be.
    """
    base = Path(
        os.environ.get("MEMSEARCH_TEST_CLIENTS") or _FIRST / ".cache" / "memsearch-test-clients"
    )
    base.mkdir(parents=True, exist_ok=True)
    with FileLock(base / f"{name}.lock"):
        return _installed(name, base)


def _installed(name: str, base: Path) -> Path:
    own = f"{name}-bundled" if name in _BUNDLED else _BINARIES.get(name, name)
    found = base / name / "node_modules" / ".bin" / own
    if found.exists():
        return found
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("npm is not here: the real clients can't be installed")
    (base / name).mkdir(parents=True, exist_ok=True)
    (base / name / "package.json").write_text('{"name": "clients", "private": true}')
    env = {**os.environ, "HOME": str(_FIRST)}
    if name in _NEWER_NODE:  # install scripts ask for the node that they run on
        env["PATH"] = f"{node().parent}:{env['PATH']}"
    if name in _BUNDLED:
        _unpack(npm, base / name, name, found, env)
    wanted = _BUNDLED[name][0] if name in _BUNDLED else (PACKAGES[name],)
    done = subprocess.run(
        [npm, "install", *wanted, "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=base / name,
        capture_output=True,
        text=True,
        timeout=900,
        env=env,
    )
    if not found.exists():
        pytest.skip(f"{PACKAGES[name]} could not be installed: {done.stderr[-300:]}")
    return found


def _unpack(npm: str, folder: Path, name: str, program: Path, env: dict[str, str]) -> None:
    """A package as it is, without what it asks for, and a program that runs its bundle."""
    packed = subprocess.run(
        [npm, "pack", PACKAGES[name], "--silent"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
    )
    if packed.returncode:
        pytest.skip(f"{PACKAGES[name]} could not be fetched: {packed.stderr[-300:]}")
    shutil.unpack_archive(
        folder / packed.stdout.strip().splitlines()[-1], folder, "gztar", filter="data"
    )
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec node "{folder}/package/{_BUNDLED[name][1]}" "$@"\n')
    program.chmod(0o755)


def node() -> Path:
    """A node that OpenClaw and Qwen Code start on: the system's own where it is new enough, else
    one from npm.
    """
    own = shutil.which("node")
    said = (
        subprocess.run([own, "--version"], capture_output=True, text=True, check=True).stdout
        if own
        else ""
    )
    version = tuple(int(number) for number in re.findall(r"\d+", said)[:2])
    return (
        Path(own)
        if own and ((24, 16) <= version < (25,) or version >= (26, 1))
        else program("node24")
    )


class Lab(Box):
    """A box with agents in it."""

    def __init__(self, root: Path, model: MockModel) -> None:
        super().__init__(root)
        self.model = model
        self.bin = root / "bin"
        self.bin.mkdir()
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        self.env["PATH"] = f"{self.bin}:{os.environ['PATH']}"
        self.env |= {
            "CODEX_HOME": str(self.user / ".codex"),
            "MOCK_API_KEY": "sk-dummy",
            "XDG_CONFIG_HOME": str(self.user / ".config"),
            "XDG_DATA_HOME": str(self.user / ".local" / "share"),
            "XDG_STATE_HOME": str(self.user / ".local" / "state"),
            "XDG_CACHE_HOME": str(self.user / ".cache"),
            "USER": "tester",
            "SHELL": "/bin/bash",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-dummy-0000",
            "ANTHROPIC_MODEL": "claude-sonnet-4-5",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "DO_NOT_TRACK": "1",
            "OPENCLAW_DISABLE_BONJOUR": "1",
            "OPENCLAW_NO_AUTO_UPDATE": "1",
            "OPENCLAW_SKIP_CHANNELS": "1",
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "sk-dummy",
            "OPENAI_MODEL": "mock-model",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "sk-dummy",
            "COPILOT_MODEL": "mock-model",
            "COPILOT_AUTO_UPDATE": "false",
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            "QWEN_DISABLE_AUTO_TITLE": "1",
        }
        self._gateway: subprocess.Popen[bytes] | None = None
        self._gateway_log = root / "gateway.log"
        self._port = 0
        self._configure()

    def _configure(self) -> None:
        """The user's own configuration of every client, each in an indentation of its own."""
        for path, text in {
            ".claude/settings.json": '{\n    "cleanupPeriodDays": 99\n}',
            ".codex/config.toml": (
                'model = "gpt-5-mock"\nmodel_provider = "mock"\n'
                "check_for_update_on_startup = false\n\n"
                '[model_providers.mock]\nname = "mock"\n'
                f'base_url = "{self.model.url}/v1"\nwire_api = "responses"\n'
                'env_key = "MOCK_API_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n\n'
                "[analytics]\nenabled = false\n\n[features]\ndaemon_auto_start = false\n"
            ),
            ".config/opencode/opencode.json": json.dumps(self._opencode(), indent=2),
            ".openclaw/openclaw.json": json.dumps(self._openclaw(), indent=1),
            ".qwen/settings.json": json.dumps(self._qwen(), indent=3),
            ".gemini/settings.json": json.dumps(self._gemini(), indent=4),
            ".pi/agent/settings.json": json.dumps(_PI, indent=5),
            ".pi/agent/models.json": json.dumps({"providers": {"mock": self._pi()}}),
        }.items():
            file = self.user / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def _opencode(self) -> dict[str, Any]:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "sk-dummy"},
            "models": {
                "mock-model": {"name": "mock-model", "limit": {"context": 100000, "output": 8000}}
            },
        }
        return {
            "$schema": "https://opencode.ai/config.json",
            "model": "mock/mock-model",
            "small_model": "mock/mock-model",
            "share": "disabled",
            "autoupdate": False,
            "provider": {"mock": provider},
        }

    def _openclaw(self) -> dict[str, Any]:
        provider = {
            "baseUrl": f"{self.model.url}/v1",
            "apiKey": "sk-dummy",
            "api": "openai-completions",
            "models": [
                {"id": "mock-model", "name": "mock", "contextWindow": 100000, "maxTokens": 8000}
            ],
        }
        defaults = {
            "model": {"primary": "mock/mock-model"},
            "workspace": str(self.project),
            "heartbeat": {"target": "none", "every": "1h"},
        }
        return {
            "agents": {"defaults": defaults},
            "models": {"mode": "merge", "providers": {"mock": provider}},
            "update": {"checkOnStart": False},
            "telemetry": {"enabled": False},
            "logging": {"file": str(self.root / "openclaw.log")},
            "gateway": {
                "mode": "local",
                "bind": "loopback",
                "auth": {"mode": "token", "token": _TOKEN},
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
        }

    def _qwen(self) -> dict[str, Any]:
        """Without the calls that it makes of its own: after each turn it would ask a model what to
        remember.
        """
        return {
            "$version": 4,
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }

    def _gemini(self) -> dict[str, Any]:
        """It keeps its sessions: else 0.61 deletes one that was resumed in another minute when it
        starts the next time.
        """
        return {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "sessionRetention": {"enabled": False}},
        }

    def _pi(self) -> dict[str, Any]:
        model = {"id": "mock-model", "contextWindow": 100000, "maxTokens": 8000}
        return {
            "baseUrl": f"{self.model.url}/v1",
            "api": "openai-completions",
            "apiKey": "sk-dummy",
            "models": [model],
        }

    def have(self, *names: str) -> None:
        """Put clients on the PATH of this box."""
        for name in names:
            link = self.bin / name
            if not link.exists():
                link.symlink_to(program(name))
            if name == "copilot":  # it unpacks 200 MB at its first start: the same for all labs
                self.env["XDG_CACHE_HOME"] = str(cache := program(name).parents[2] / "cache")
                with FileLock(f"{cache}.lock"):
                    if not cache.exists():  # two that unpack at once would be in each other's way
                        self.client(str(link), "--version")
            if name in _NEWER_NODE and not (self.bin / "node").exists():
                (self.bin / "node").symlink_to(node())

    def client(
        self,
        *argv: str,
        timeout: float = 120,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> Result:
        done = subprocess.run(
            list(argv),
            cwd=cwd or self.project,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
        )
        return Result(done)

    def claude(self, prompt: str, *more: str, **kwargs: Any) -> Result:
        return self.client(
            str(self.bin / "claude"),
            "-p",
            *more,
            "--allowedTools",
            "Bash,Write",
            "--",
            prompt,
            **kwargs,
        )

    def codex(self, prompt: str, *more: str, **kwargs: Any) -> Result:
        return self.client(
            str(self.bin / "codex"),
            "exec",
            *more,
            "--skip-git-repo-check",
            "--json",
            prompt,
            **kwargs,
        )

    def opencode(self, prompt: str, *more: str, **kwargs: Any) -> Result:
        return self.client(str(self.bin / "opencode"), "run", *more, prompt, **kwargs)

    def openclaw(self, prompt: str, key: str = "agent:main:main") -> int:
        """One turn through the gateway, in the session of *key*. Returns HTTP's status."""
        body = {"model": "openclaw", "messages": [{"role": "user", "content": prompt}]}
        request = urllib.request.Request(
            f"{self.gateway()}/v1/chat/completions", json.dumps(body).encode()
        )
        request.add_header("authorization", f"Bearer {_TOKEN}")
        request.add_header("content-type", "application/json")
        request.add_header("x-openclaw-session-key", key)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def gateway(self) -> str:
        """Where OpenClaw's gateway listens: started with the first call (not by two threads), it
        ends with the lab.
        """
        if self._gateway is None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._port = free.getsockname()[1]
            with self._gateway_log.open("wb") as log:
                self._gateway = subprocess.Popen(
                    [str(self.bin / "openclaw"), "gateway", "run", "--port", str(self._port)],
                    cwd=self.project,
                    env=self.env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            until(self._listens, 180, "the gateway")
        return f"http://127.0.0.1:{self._port}"

    def _listens(self) -> bool:
        assert self._gateway is not None and self._gateway.poll() is None, (
            self._gateway_log.read_text()
        )
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False

    def end_gateway(self) -> None:
        if self._gateway is not None:
            self._gateway.terminate()
            try:
                self._gateway.wait(60)
            except subprocess.TimeoutExpired:
                self._gateway.kill()
                self._gateway.wait()
            self._gateway = None

    def clean(self) -> None:
        self.end_gateway()
        super().clean()

    def turn(self, client: str, prompt: str, session: str = "", more: tuple[str, ...] = ()) -> str:
        """One turn of any client, in a new session or a resumed one. Returns the session, as the
        client names it.
        """
        if client == "claude":
            name = session or str(uuid.uuid4())
            self.claude(prompt, "--resume" if session else "--session-id", name)
            return name
        if client == "qwen":
            name = session or str(uuid.uuid4())
            self.client(
                str(self.bin / "qwen"),
                "-y",
                "--resume" if session else "--session-id",
                name,
                *more,
                "-p",
                prompt,
            )
            return name
        if client == "copilot":  # both in one, too
            name = session or str(uuid.uuid4())
            argv = (
                "--allow-all-tools",
                "--allow-all-paths",
                "--session-id",
                name,
                *more,
                "-p",
                prompt,
            )
            self.client(str(self.bin / "copilot"), *argv)
            return name
        if client == "pi":  # both in one: it goes on with a session of that name, or begins one
            name = session or str(uuid.uuid4())
            self.client(str(self.bin / "pi"), "--session-id", name, *more, "-p", prompt)
            return name
        if client == "gemini":
            name = session or str(uuid.uuid4())
            self.client(
                str(self.bin / "gemini"),
                "-y",
                "--resume" if session else "--session-id",
                name,
                *more,
                "-p",
                prompt,
            )
            return name
        if client == "openclaw":  # a new session without a gateway, which a gateway then resumes
            name = session or f"s-{uuid.uuid4()}"
            if session:
                self.openclaw(prompt, f"agent:main:explicit:{session}")
            else:
                argv = ("agent", "--local", "--session-id", name, "-m", prompt)
                done = self.client(str(self.bin / client), *argv, timeout=300)
                assert done.code == 0, done
            return name
        if client == "codex":
            done = self.codex(prompt, *(("resume", session) if session else ()))
        else:
            done = self.opencode(
                prompt, "--format", "json", *(("-s", session) if session else ()), timeout=300
            )
        events = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
        named = {event.get("thread_id") or event.get("sessionID") for event in events} - {None}
        assert len(named) == 1, done
        return named.pop()

    def compact(self, client: str, session: str) -> None:
        """Have a session compacted, by its user."""
        if client != "pi":
            self.turn(client, "/compact" if client == "claude" else "/compress", session)
            return
        argv = (str(self.bin / "pi"), "--mode", "rpc", "--session-id", session)
        with subprocess.Popen(
            argv,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin and process.stdout
            process.stdin.write('{"type": "compact", "id": "1"}\n')
            process.stdin.flush()
            answer = next(line for line in process.stdout if '"response"' in line)
            process.stdin.close()
            assert json.loads(answer)["success"], answer

    def captured(self, count: int, seconds: float = 30) -> list[dict[str, Any]]:
        """The entries, once *count* of them are there."""

        def entries() -> Any:
            self.run("inbox", "--json")
            found = self.run("entries", "-n", "200", "--json").json["entries"]
            return found if len(found) >= count else None

        found = until(entries, seconds, f"{count} entries")
        assert len(found) == count, [e["content"] for e in found]
        return found

    def leftovers(self) -> list[str]:
        """Processes of ours other than the service."""
        found = []
        for process in psutil.process_iter():
            try:
                line = " ".join(process.cmdline())
                ours = "memsearch" in line and "service.server" not in line
                if ours and process.environ().get("MEMSEARCH_HOME") == str(self.home.root):
                    found.append(line)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def model() -> Iterator[MockModel]:
    model = MockModel()
    yield model
    model.close()


@pytest.fixture
def lab(tmp_path: Path, model: MockModel) -> Iterator[Lab]:
    lab = Lab(tmp_path, model)
    yield lab
    lab.clean()
