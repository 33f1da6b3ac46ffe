"""OpenCode's command line as a plain model (tested with 1.18.33).

It has no tools, plugins, servers or instructions.

It runs in a home of its own that is deleted afterwards, so the session that it stores goes with it.
From the user's home it gets the providers and the key file, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from memsearch_engine.agents.hooks_json import json_table
from memsearch_engine.agents.installing import moved_or
from memsearch_engine.agents.patches import read
from memsearch_engine.agents.transcripts.model import table_of
from memsearch_engine.core import safe_files
from memsearch_engine.core.home import user_home
from memsearch_engine.core.llm.cli import AgentCli, CliCall, events, tokens
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

#: The part of the user's configuration that a call needs. Everything else could run a program or
#: add instructions.
_WANTED = ("provider", "model", "small_model", "enabled_providers", "disabled_providers")
_FILE = re.compile(r"\{file:([^}]+)\}")
_MAX_KEYS = 1024 * 1024


class Cli(AgentCli):
    """The command line of OpenCode."""

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask OpenCode; see ``AgentCli.call``."""
        user = _user_config()
        agent = {
            "mode": "primary",
            "prompt": system,
            "tools": {"*": False},
            "permission": {"*": "deny"},
        }
        config = user | {
            "agent": {"notes": agent},
            "default_agent": "notes",
            "tools": {"*": False},
            "permission": {"*": "deny"},
            "share": "disabled",
            "autoupdate": False,
            "snapshot": False,
            "lsp": False,
            "formatter": False,
        }
        folder = private / "config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
        _copy_keys(private / "data" / "opencode")
        chosen = model or user.get("small_model") or ""
        # A title of ours saves the call with which OpenCode would make one.
        argv = ["run", "--pure", "--agent", "notes", "--title", "notes", "--format", "json"]
        if chosen:
            argv += ["--model", str(chosen)]
        environment = {
            "HOME": str(private),
            "XDG_CONFIG_HOME": str(private / "config"),
            "XDG_DATA_HOME": str(private / "data"),
            "XDG_STATE_HOME": str(private / "state"),
            # Packages of providers are installed there once.
            "XDG_CACHE_HOME": str(moved_or("XDG_CACHE_HOME", user_home() / ".cache")),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
            "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        }
        without = ("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT")
        return CliCall(
            argv,
            marked(text),
            environment,
            (*without, "OPENCODE_PERMISSION", "OPENCODE_AUTO_SHARE"),
        )

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse one JSON event per line: texts, errors, and tokens at the end of each step."""
        texts, given, made, known = list[str](), 0, 0, False
        for event in events(out):
            part = table_of(event, "part")
            known = True
            if event.get("type") == "error":
                error = event.get("error")
                reason = str(table_of(error, "data").get("message") or error)
                raise ModelError(f"opencode: {reason[:200]}", again=True)
            if event.get("type") == "text":
                texts.append(str(part.get("text") or ""))
            elif event.get("type") == "step_finish":
                usage = table_of(part, "tokens")
                given += tokens(usage, "input") + tokens(usage.get("cache"), "read", "write")
                made += tokens(usage, "output")
        if not known:
            raise ModelError(
                f"opencode sent an answer of an unknown shape: {out[:100]}", again=True
            )
        return texts[-1] if texts else "", given, made

    def complained(self, out: str) -> None:
        """Raise ModelError if the output contains an error."""
        self.parse_output(out)


def _user_config() -> dict[str, Any]:
    """Return the needed part of the user's configuration, with absolute paths to files."""
    base = moved_or("XDG_CONFIG_HOME", user_home() / ".config") / "opencode"
    found: dict[str, Any] = {}
    for name in ("config.json", "opencode.json", "opencode.jsonc"):
        text = read(base / name)
        if text is None:
            continue
        table = json_table(base / name, text, comments=True)
        found |= {key: table[key] for key in _WANTED if key in table}

    def absolute(match: re.Match[str]) -> str:
        path = match[1].strip()
        if path.startswith("~/"):
            path = str(user_home() / path[2:])
        return f"{{file:{os.path.join(base, path)}}}"

    changed: dict[str, Any] = json.loads(_FILE.sub(absolute, json.dumps(found, ensure_ascii=False)))
    return changed


def _copy_keys(folder: Path) -> None:
    folder.mkdir(parents=True)
    path = moved_or("XDG_DATA_HOME", user_home() / ".local" / "share") / "opencode" / "auth.json"
    try:
        keys = safe_files.read(path, _MAX_KEYS)
    except OSError:
        return  # no provider has a key in it
    (folder / "auth.json").touch(mode=0o600)
    (folder / "auth.json").write_bytes(keys)
