"""Codex' command line as a plain model without side effects (measured with 0.169).

It has no shell, files, web, other agents, servers, hooks, notifications or instructions of the
user. Codex merges its arguments into the settings in ``CODEX_HOME``, so only a separate home leaves
the user's settings out. The login is a link, never a copy: Codex writes a renewed token to it, and
a copy would log the user out.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from memsearch_engine.agents.transcripts.model import table_of
from memsearch_engine.core.home import user_home
from memsearch_engine.core.llm.cli import AgentCli, CliCall, events, tokens
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

_ALONE = ["exec", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--json"]
_FILES = [
    "-s",
    "workspace-write",
    "-c",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "-c",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
]


class Cli(AgentCli):
    """The command line of Codex."""

    edits_files = True

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask Codex; see ``AgentCli.call``."""
        environment = prepare(private, program, model, "" if edits else system, edits=edits)
        argv = [*_ALONE, *(_FILES if edits else ()), "-"]
        return CliCall(argv, marked(f"{system}\n\n{text}" if edits else text), environment)

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse the output: one JSON event per line."""
        texts, given, made, failed = [], 0, 0, ""
        for event in events(out):
            if event.get("type") in ("turn.failed", "error"):
                reason = event.get("error")
                reason = reason.get("message") if isinstance(reason, dict) else reason
                failed = str(reason or event.get("message") or "it gave no reason")
                continue
            item = table_of(event, "item")
            if item.get("type") == "agent_message":
                texts.append(str(item.get("text") or ""))
            given += tokens(event.get("usage"), "input_tokens")
            made += tokens(event.get("usage"), "output_tokens")
        if failed and not texts:
            raise ModelError(f"codex: {failed[:200]}", again=True, billed=True)
        return "\n".join(texts), given, made

    def complained(self, out: str) -> None:
        """Raise ModelError if the output contains an error event."""
        self.parse_output(out)


#: "Fast and affordable" in Codex' own list; used if the user has no provider of his own.
SMALL_CODEX = "gpt-6-luna"
_LINKED = ("auth.json", "auth.json.lock", ".env")
_COPIED = ("model_provider", "openai_base_url", "chatgpt_base_url", "cli_auth_credentials_store")
_OFF = (
    "hooks plugins apps multi_agent_v2 code_mode code_mode_only code_mode_host view_image "
    "image_generation goals skill_search tool_suggest sleep_tool shell_snapshot memories "
    "computer_use browser_use browser_use_external in_app_browser daemon_auto_start remote_plugin "
    "skill_mcp_dependency_install standalone_web_search default_mode_request_user_input "
    "workspace_dependencies"
).split()
_SHELL = ("shell_tool", "unified_exec")
#: An entry of Codex' list of models decides which tools the model gets, whatever the settings say.
_TOOLLESS: dict[str, Any] = {
    "shell_type": "disabled",
    "apply_patch_tool_type": None,
    "experimental_supported_tools": [],
    "supports_search_tool": False,
    "input_modalities": ["text"],
    "multi_agent_version": "disabled",
    "tool_mode": "direct",
}
_SETTINGS: dict[str, Any] = {
    "model_reasoning_summary": "none",
    "service_tier": "default",
    "web_search": "disabled",
    "approval_policy": "never",
    "sandbox_mode": "read-only",
    "project_doc_max_bytes": 0,
    "check_for_update_on_startup": False,
    "include_apps_instructions": False,
    "include_collaboration_mode_instructions": False,
    "analytics": {"enabled": False},
    "history": {"persistence": "none"},
    "agents": {"enabled": False},
    "skills": {"include_instructions": False, "bundled": {"enabled": False}},
    "orchestrator": {"skills": {"enabled": False}},
}
_ANSWER_S = 10.0


def prepare(
    folder: Path, program: str, model: str, system: str, *, edits: bool = False
) -> dict[str, str]:
    """Make *folder* a home in which the model can only answer.

    Args:
        folder: empty and private; the caller deletes it after the answer.
        program: the path of Codex.
        model: the model; ``""`` for the user's own if he has a provider of his own, else a small
            one.
        system: replaces Codex' own instructions; ``""`` leaves them.
        edits: Codex may use its shell, within the sandbox that the caller requests.

    Returns:
        Environment variables for the call.
    """
    import tomlkit

    base = Path(os.environ.get("CODEX_HOME") or user_home() / ".codex")
    theirs: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        theirs = tomllib.loads((base / "config.toml").read_text(encoding="utf-8"))
    for name in _LINKED:
        if (base / name).exists():
            (folder / name).symlink_to(base / name)
    config: dict[str, Any] = {name: theirs[name] for name in _COPIED if name in theirs}
    providers = theirs.get("model_providers")
    if isinstance(providers, dict):
        config["model_providers"] = {
            name: {**table, "request_max_retries": 0, "stream_max_retries": 0}
            for name, table in providers.items()
            if isinstance(table, dict)
        }
    listed = _models(program, folder)
    own = str(theirs.get("model") or "")
    small = SMALL_CODEX if SMALL_CODEX in listed and "model_provider" not in theirs else ""
    model = model or (own if edits else small or own)
    if model:
        config["model"] = model
    if system:
        (folder / "system.md").write_text(system, encoding="utf-8")
        config["model_instructions_file"] = str(folder / "system.md")
    if model in listed and not edits:
        entry = {
            **listed[model],
            **_TOOLLESS,
            "base_instructions": system or "Answer the question.",
        }
        for name in ("model_messages", "default_service_tier"):
            entry.pop(name, None)
        (folder / "catalog.json").write_text(json.dumps({"models": [entry]}), encoding="utf-8")
        config["model_catalog_json"] = str(folder / "catalog.json")
    config |= {
        **_SETTINGS,
        "model_reasoning_effort": "medium" if edits else "low",
        "include_permissions_instructions": edits,
        "include_environment_context": edits,
        "features": dict.fromkeys((*_OFF, *(() if edits else _SHELL)), False),
    }
    (folder / "config.toml").write_text(tomlkit.dumps(config), encoding="utf-8")
    variables = {"CODEX_HOME": str(folder), "TMPDIR": str(folder)}
    return variables if edits else {**variables, "CODEX_EXEC_SERVER_URL": "none"}


def _models(program: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the models that this Codex knows, without network; ``{}`` if it can't list them."""
    environment = {**os.environ, "CODEX_HOME": str(folder), "MEMSEARCH_DISABLE": "1"}
    try:
        done = subprocess.run(
            [program, "debug", "models", "--bundled"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWER_S,
        )
        entries = json.loads(done.stdout)["models"]
        return {
            entry["slug"]: entry for entry in entries if isinstance(entry, dict) and "slug" in entry
        }
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return {}
