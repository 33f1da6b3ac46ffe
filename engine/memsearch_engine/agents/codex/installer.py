"""Installs into Codex: hooks in ``hooks.json``, their trust in ``config.toml``, and skills.

Codex runs no hook that its user has not trusted. Codex itself is asked for the key and hash of each
hook (``hooks/list`` of its app server, 0.140 and later). The trust is written where Codex' own
review writes it: ``[hooks.state."KEY"]`` in ``config.toml``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memsearch_engine.agents.hooks_json import (
    InSettings,
    drop_hooks,
)
from memsearch_engine.agents.installing import BY_MARKETPLACE, OURS, PEERS
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.agents.transcripts.model import table_of
from memsearch_engine.core import agent_registry, network
from memsearch_engine.core.child_process import LineProcess
from memsearch_engine.core.errors import UsageError


class Installer(InSettings):
    """Installs into Codex."""

    agent = agent_registry.agent("codex")
    file = "hooks.json"
    has_comments = False
    one_way_out = (
        "`codex plugin remove memsearch@memsearch-tui`, or `memsearch agents uninstall codex`"
    )

    @property
    def config(self) -> Path:
        """The path of Codex' own settings."""
        return self.base / "config.toml"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        self._settings()
        return super().patches(replace_peer=replace_peer)

    def _drop_peer(self, table: dict[str, Any]) -> None:
        drop_hooks(table, PEERS)

    def _settings(self) -> dict[str, Any]:
        """Return Codex' own settings. Raises UsageError if they are not valid."""
        try:
            return tomllib.loads((read(self.config) or b"").decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{self.config} is not valid TOML: {error}", "correct it, then try again"
            ) from error

    def trust_planned(self) -> list[Patch]:
        """Announce the trust of our hooks.

        Codex computes their hashes only after they are installed.
        """
        return (
            [Patch(str(self.config), read(self.config), None, "trust for our hooks", by_agent=True)]
            if shutil.which("codex")
            else []
        )

    def trusted(self, *, plugins: bool) -> list[Patch]:
        """Record the trust in our hooks.

        Codex runs no hook that its user has not trusted. The user who installs our hooks trusts
        ours and only ours.
        """
        if plugins:
            network.check("codex")  # Codex asks for news of its plugins before it lists them
        before = read(self.config)
        after = trust(self.base, before, lambda line: bool(OURS.search(line)), plugins=plugins)
        return (
            [Patch(str(self.config), before, after, "trust for our hooks")]
            if after is not None
            else []
        )

    def plugin(self) -> str:
        """Return the version of our plugin from the agent's marketplace; ``""`` if not active."""
        plugin = table_of(table_of(self._settings(), "plugins"), BY_MARKETPLACE)
        if not plugin.get("enabled"):
            return ""
        name, _, market = BY_MARKETPLACE.partition("@")
        found = sorted(
            path.name for path in (self.base / "plugins" / "cache" / market / name).glob("*")
        )
        return found[-1] if found else "of an unknown version"

    def plugin_problems(self) -> list[str]:
        """Return the problems of our plugin from the agent's marketplace."""
        try:
            network.check("codex")  # Codex asks for news of its plugins before it lists their hooks
        except network.Offline:
            return []
        state = untrusted(self.base, lambda line: bool(OURS.search(line)), plugins=True)
        if not state:
            return []
        return [
            (
                f"Codex does not trust its hooks ({', '.join(state)}): "
                "`memsearch agents install codex` says that you do"
            )
        ]

    def problems(self) -> list[str]:
        """Return the reasons in the agent's configuration why our hooks do not run."""
        if self._settings().get("features", {}).get("hooks") is False:
            return [f"`features.hooks` is off in {self.config}: Codex runs no hook"]
        state = untrusted(self.base, lambda line: bool(OURS.search(line)))
        if state is None:
            return []  # Codex is not installed, so it cannot be asked
        return [f"Codex does not trust the hook {event} (open codex, `/hooks`)" for event in state]

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        return self._peer_hooks()

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part."""
        if path == str(self.config):
            return without(now, str(self.settings))
        return super().strip(path, now, before)


_ANSWER_S = 15.0
_END_S = 3.0
_QUIET = (
    "features.plugins",
    "features.apps",
    "features.shell_snapshot",
    "analytics.enabled",
    "skills.bundled.enabled",
    "check_for_update_on_startup",
)


def trust(
    base: Path, config: bytes | None, ours: Callable[[str], bool], *, plugins: bool = False
) -> bytes | None:
    """Return ``config.toml`` with our hooks trusted.

    Args:
        base: Codex's folder.
        config: the bytes of ``config.toml``, None if it does not exist.
        ours: returns whether a command is ours.
        plugins: trust the hooks of our plugin from a marketplace, not those of ``hooks.json``.

    Returns:
        None if Codex cannot be asked or trusts them already.

    Raises:
        UsageError: the file cannot be changed safely.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError
    from tomlkit.items import InlineTable

    found = [
        hook
        for hook in _listed(base, plugins) or []
        if ours(hook["command"]) and hook["trustStatus"] != "trusted"
    ]
    if not found:
        return None
    try:
        document: Any = tomlkit.parse((config or b"").decode())
    except (ParseError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{base / 'config.toml'} is not TOML that can be changed safely: {error}",
            "repair this file, then try again",
        ) from error
    state = document
    for name in ("hooks", "state"):
        inline = isinstance(state, InlineTable)  # `hooks = {…}`: tables cannot follow within it
        if name not in state:
            state[name] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=True)
        state = state[name]
        if not isinstance(state, dict):
            raise UsageError(
                f"`hooks` in {base / 'config.toml'} is not a table", "correct it, then try again"
            )
    for hook in found:
        # key of a plugin's hooks: "<handler>/<plugin content>"
        digest, _, content = hook["currentHash"].partition("/")
        entry: Any = tomlkit.inline_table() if isinstance(state, InlineTable) else tomlkit.table()
        entry["trusted_hash"] = digest
        if content:
            entry["trusted_content_hash"] = content
        state[hook["key"]] = entry
    return tomlkit.dumps(document).encode()


def untrusted(
    base: Path, ours: Callable[[str], bool], *, plugins: bool = False
) -> list[str] | None:
    """Return the events with hooks of ours that Codex ignores; None if Codex cannot be asked."""
    found = _listed(base, plugins)
    if found is None:
        return None
    return [
        hook["eventName"]
        for hook in found
        if ours(hook["command"]) and hook["trustStatus"] != "trusted"
    ]


def without(config: bytes, source: str) -> bytes:
    """Return ``config.toml`` without the trust of the hooks in the file *source*.

    Codex would ask about other hooks of that file again, because their keys count positions that
    have changed.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        document: Any = tomlkit.parse(config.decode())
    except (ParseError, ValueError) as error:
        raise UsageError(
            f"Codex' config.toml is not TOML that can be changed safely: {error}",
            "correct it, then try again",
        ) from error
    hooks = document.get("hooks")
    state: Any = hooks.get("state") if isinstance(hooks, dict) else None
    if isinstance(state, dict):
        for key in [key for key in state if key.startswith(f"{source}:")]:
            del state[key]
    return tomlkit.dumps(document).encode()


def _listed(base: Path, plugins: bool) -> list[dict[str, Any]] | None:
    """Return every command hook as Codex sees it from an empty folder.

    Each is a dict with ``key``, ``command``, ``eventName``, ``currentHash`` and ``trustStatus``.

    Args:
        plugins: include hooks of plugins.
    """
    program = shutil.which("codex")
    if not program:
        return None
    with tempfile.TemporaryDirectory() as empty:
        answer = _ask(os.path.abspath(program), base, empty, plugins)
    if not isinstance(answer, dict):
        return None
    rows = [hook for place in answer.get("data") or [] for hook in place.get("hooks") or []]
    wanted = ("key", "command", "eventName", "currentHash", "trustStatus")
    return [row for row in rows if all(isinstance(row.get(name), str) for name in wanted)]


def _ask(program: str, base: Path, folder: str, plugins: bool) -> Any:
    """Send one ``hooks/list`` to a short-lived app server."""
    environment = {
        **os.environ,
        "CODEX_HOME": str(base),
        "CODEX_SQLITE_HOME": folder,
        "CODEX_EXEC_SERVER_URL": "none",
        "MEMSEARCH_DISABLE": "1",
    }
    # With plugins enabled, Codex asks GitHub for news of them (`git ls-remote`) before it answers.
    quiet = [f"{name}=false" for name in _QUIET if not (plugins and name == "features.plugins")]
    try:
        server = LineProcess(
            [program, *(part for setting in quiet for part in ("-c", setting)), "app-server"],
            cwd=folder,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    client = {
        "clientInfo": {"name": "memsearch", "version": "0"},
        "capabilities": {"experimentalApi": True},
    }
    try:
        _send(server, {"id": 0, "method": "initialize", "params": client})
        if _answer(server, 0) is None:
            return None
        _send(server, {"method": "initialized"})
        _send(server, {"id": 1, "method": "hooks/list", "params": {"cwds": [folder]}})
        return _answer(server, 1)
    except OSError:
        return None
    finally:
        server.close(_END_S)  # the program may have a wrapper, which ends when its input ends


def _send(server: LineProcess, message: dict[str, Any]) -> None:
    server.send(json.dumps(message).encode() + b"\n")


def _answer(server: LineProcess, number: int) -> Any:
    end = time.monotonic() + _ANSWER_S
    while line := server.line(end - time.monotonic()):
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and message.get("id") == number:
                return message.get("result")
    return None
