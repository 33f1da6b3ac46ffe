"""The real agents, installed from npm once and driven headless against a model on loopback.

``MEMSEARCH_TEST_CLIENTS`` names the folder that they are installed in (default: below the user's cache); a client that is
not there and can't be installed skips its tests. Nothing of the user's own configuration is read: every test has its own
home.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import Box, Result, until
from tests.mock_model import MockModel

PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.330",
    "codex": "@openai/codex@0.169.0",
    "opencode": "opencode-ai@1.18.33",
}
_FIRST = Path(os.path.expanduser("~"))  # before any test moves HOME


def program(name: str) -> Path:
    base = Path(os.environ.get("MEMSEARCH_TEST_CLIENTS") or _FIRST / ".cache" / "memsearch-test-clients")
    found = base / name / "node_modules" / ".bin" / name
    if found.exists():
        return found
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("npm is not here: the real clients can't be installed")
    (base / name).mkdir(parents=True, exist_ok=True)
    (base / name / "package.json").write_text('{"name": "clients", "private": true}')
    done = subprocess.run(
        [npm, "install", PACKAGES[name], "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=base / name, capture_output=True, text=True, timeout=900, env={**os.environ, "HOME": str(_FIRST)},
    )  # fmt: skip
    if not found.exists():
        pytest.skip(f"{PACKAGES[name]} could not be installed: {done.stderr[-300:]}")
    return found


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
            "CODEX_HOME": str(self.user / ".codex"), "MOCK_API_KEY": "sk-dummy", "XDG_CONFIG_HOME": str(self.user / ".config"),
            "XDG_DATA_HOME": str(self.user / ".local" / "share"), "XDG_STATE_HOME": str(self.user / ".local" / "state"),
            "XDG_CACHE_HOME": str(self.user / ".cache"), "USER": "tester", "SHELL": "/bin/bash",
            "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-dummy-0000", "ANTHROPIC_MODEL": "claude-sonnet-4-5",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_SHARE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }  # fmt: skip
        (self.user / ".codex").mkdir()
        (self.user / ".codex" / "config.toml").write_text(
            'model = "gpt-5-mock"\nmodel_provider = "mock"\ncheck_for_update_on_startup = false\n\n'
            f'[model_providers.mock]\nname = "mock"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "MOCK_API_KEY"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n\n[analytics]\nenabled = false\n\n[features]\ndaemon_auto_start = false\n"
        )
        config = self.user / ".config" / "opencode"
        config.mkdir(parents=True)
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "mock", "options": {"baseURL": f"{model.url}/v1", "apiKey": "sk-dummy"},
            "models": {"mock-model": {"name": "mock-model", "limit": {"context": 100000, "output": 8000}}},
        }  # fmt: skip
        (config / "opencode.json").write_text(
            json.dumps(
                {
                    "model": "mock/mock-model",
                    "small_model": "mock/mock-model",
                    "share": "disabled",
                    "autoupdate": False,
                    "provider": {"mock": provider},
                },
                indent=2,
            )  # fmt: skip
        )

    def have(self, name: str) -> None:
        """Put a client on the PATH of this box."""
        link = self.bin / name
        if not link.exists():
            link.symlink_to(program(name))

    def client(
        self, *argv: str, timeout: float = 120, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Result:
        done = subprocess.run(
            list(argv), cwd=cwd or self.project, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout
        )  # fmt: skip
        return Result(done)

    def claude(self, prompt: str, *more: str, **kwargs: Any) -> Result:
        return self.client(str(self.bin / "claude"), "-p", *more, "--allowedTools", "Bash", "--", prompt, **kwargs)

    def codex(self, prompt: str, *more: str, **kwargs: Any) -> Result:
        return self.client(str(self.bin / "codex"), "exec", *more, "--skip-git-repo-check", "--json", prompt, **kwargs)

    def opencode(self, prompt: str, *more: str, **kwargs: Any) -> Result:
        return self.client(str(self.bin / "opencode"), "run", *more, prompt, **kwargs)

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
