"""OpenClaw's command line as a plain model (tested with 2026.9.6): ``openclaw agent exec``.

It runs on a configuration of ours that denies every tool and loads no plugin but the model's own.
Its sessions are in a temporary folder that it deletes. It adds a system prompt of about 2,000
tokens, which can't be switched off, and needs about 20 s for an answer.

From the user's configuration it gets the models and their keys, and nothing else. Stored logins
are read where they are, because a copy of a login would go out of date.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from memsearch_engine.agents.hooks_json import json_table
from memsearch_engine.agents.installing import moved_or
from memsearch_engine.agents.patches import read
from memsearch_engine.core.home import user_home
from memsearch_engine.core.llm.cli import CliCall
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

#: The part of the user's configuration that a call needs. Everything else could run a program or
#: add instructions.
_WANTED = ("models", "auth", "env", "secrets")
_INCLUDE = "$include"


def call(
    private: Path, program: str, model: str, system: str, text: str, *, edits: bool
) -> CliCall:
    """Return how to ask OpenClaw; see ``AgentCli.call``."""
    if edits:
        raise ModelError("openclaw can't be kept to one folder", again=False)
    user = _user_config()
    chosen = model or _model(user)
    if not chosen:
        raise ModelError("openclaw.json names no model", again=False)
    empty = private / "empty"
    empty.mkdir()
    config = {key: user[key] for key in _WANTED if key in user} | {
        "agents": {
            "defaults": {
                "model": {"primary": chosen},
                "workspace": str(empty),
                "skipBootstrap": True,
                "skills": [],
            }
        },
        "tools": {
            "profile": "minimal",
            "deny": ["*"],
            "codeMode": {"enabled": False},
            "toolSearch": False,
        },
        # the provider's own plugin knows its protocol; no other one is loaded
        "plugins": {"allow": [chosen.split("/")[0]], "slots": {"memory": "none"}},
        "update": {"checkOnStart": False},
        "telemetry": {"enabled": False},
        "logging": {"file": str(private / "openclaw.log")},
    }
    file = private / "openclaw.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps(config), encoding="utf-8")
    argv = ["agent", "exec", "--config", str(file), "--cwd", str(empty)]
    argv += ["--message-file", "-", "--json", "--thinking", "off"]
    environment = {"OPENCLAW_NO_AUTO_UPDATE": "1", "OPENCLAW_DISABLE_BONJOUR": "1"}
    return CliCall(argv, f"{system}\n\n{marked(text)}", environment, ("OPENCLAW_CONFIG_PATH",))


def _user_config() -> dict[str, Any]:
    file = os.environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    path = (
        Path(os.path.expanduser(file))
        if file
        else moved_or("OPENCLAW_STATE_DIR", user_home() / ".openclaw") / "openclaw.json"
    )
    text = read(path)
    found = json_table(path, text, comments=True) if text is not None else {}
    if _INCLUDE in json.dumps({key: found[key] for key in _WANTED if key in found}):
        raise ModelError(f"{path}: {_INCLUDE} in it is not supported", again=False)
    return found


def _model(user: dict[str, Any]) -> str:
    """Return the model for short tasks, or else the user's own."""
    defaults = _table(_table(user.get("agents")).get("defaults"))
    own = defaults.get("model")
    named = own.get("primary") if isinstance(own, dict) else own
    small = defaults.get("utilityModel")
    return next((name for name in (small, named) if isinstance(name, str) and name), "")


def parse_output(out: str) -> tuple[str, int, int]:
    """Parse the JSON table that a run prints: its text, its error, its tokens."""
    try:
        table = _table(json.loads(out))
    except ValueError:
        table = {}
    if "status" not in table:
        raise ModelError(f"openclaw sent an answer of an unknown shape: {out[:100]}", again=True)
    if table.get("ok") is not True:
        reason = _table(table.get("error")).get("message") or table["status"]
        raise ModelError(f"openclaw: {str(reason)[:200]}", again=True)
    usage = _table(table.get("usage"))
    given = sum(_number(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    return str(table.get("final") or ""), given, _number(usage.get("output"))


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def complained(out: str) -> None:
    """Raise ModelError if the output contains an error."""
    if out.strip():
        parse_output(out)
