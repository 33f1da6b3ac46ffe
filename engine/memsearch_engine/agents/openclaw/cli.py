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
from memsearch_engine.agents.transcripts.model import table_of, text_of
from memsearch_engine.core.home import user_home
from memsearch_engine.core.llm.cli import AgentCli, CliCall, last_message, tokens
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

#: The part of the user's configuration that a call needs. Everything else could run a program or
#: add instructions.
_WANTED = ("models", "auth", "env", "secrets")
_INCLUDE = "$include"


class Cli(AgentCli):
    """The command line of OpenClaw."""

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask OpenClaw; see ``AgentCli.call``."""
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
        return CliCall(argv, marked(f"{system}\n\n{text}"), environment, ("OPENCLAW_CONFIG_PATH",))

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse the JSON table that a run prints: its text, its error, its tokens."""
        table = last_message("openclaw", out)
        if "status" not in table:
            raise ModelError(
                f"openclaw sent an answer of an unknown shape: {out[:100]}", again=True
            )
        if table.get("ok") is not True:
            reason = table_of(table, "error").get("message") or table["status"]
            raise ModelError(f"openclaw: {str(reason)[:200]}", again=True)
        usage = table.get("usage")
        given = tokens(usage, "input", "cacheRead", "cacheWrite")
        return text_of(table.get("final")), given, tokens(usage, "output")

    def complained(self, out: str) -> None:
        """Raise ModelError if the output contains an error."""
        if out.strip():
            self.parse_output(out)


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
    """Return the model for short tasks, or else the user's own; ``""`` if neither is named."""
    defaults = table_of(table_of(user, "agents"), "defaults")
    own = defaults.get("model")
    named = own.get("primary") if isinstance(own, dict) else own
    small = defaults.get("utilityModel")
    # an alias says nothing about its provider
    return next((name for name in (small, named) if isinstance(name, str) and "/" in name), "")
