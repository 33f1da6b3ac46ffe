"""Installs into Codex: hooks in ``hooks.json``, their trust in ``config.toml``, and skills."""

from __future__ import annotations

import shutil
import tomllib
from typing import Any

from memsearch_engine.agents import installing
from memsearch_engine.agents.codex import AGENT, trust
from memsearch_engine.agents.hooks_json import (
    commands,
    drop_hooks,
    json_like,
    json_table,
    merge_hooks,
    starts,
    without_hooks,
)
from memsearch_engine.agents.installing import BY_MARKETPLACE, OURS, PEERS, moved_or
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.core import network
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import user_home


class Installer(installing.Installer):
    """Installs into Codex."""

    name = AGENT.name
    one_way_out = (
        "`codex plugin remove memsearch@memsearch-tui`, or `memsearch agents uninstall codex`"
    )

    def __init__(self) -> None:
        self.base = moved_or("CODEX_HOME", user_home() / ".codex")
        self.hooks = self.base / "hooks.json"
        self.config = self.base / "config.toml"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        self._settings()
        before = read(self.hooks)
        table = json_table(self.hooks, before)
        if replace_peer:
            drop_hooks(table, PEERS)
        merge_hooks(table, self.bundle())
        return [
            Patch(str(self.hooks), before, json_like(table, before), "hooks"),
            *self._skills(self.base / "skills"),
        ]

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
        after = trust.trust(
            self.base, before, lambda line: bool(OURS.search(line)), plugins=plugins
        )
        return (
            [Patch(str(self.config), before, after, "trust for our hooks")]
            if after is not None
            else []
        )

    def plugin(self) -> str:
        """Return the version of our plugin from the agent's marketplace; ``""`` if not active."""
        tables = self._settings().get("plugins")
        tables = tables if isinstance(tables, dict) else {}
        names = [
            key
            for key, table in tables.items()
            if key == BY_MARKETPLACE and isinstance(table, dict) and table.get("enabled")
        ]
        if not names:
            return ""
        name, _, market = names[0].partition("@")
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
        state = trust.untrusted(self.base, lambda line: bool(OURS.search(line)), plugins=True)
        if not state:
            return []
        return [
            (
                f"Codex does not trust its hooks ({', '.join(state)}): "
                "`memsearch agents install codex` says that you do"
            )
        ]

    def hooked(self) -> bool:
        """Whether hooks of ours are in the agent's configuration."""
        return any(OURS.search(line) for line in commands(json_table(self.hooks, read(self.hooks))))

    def starts(self) -> list[list[str]]:
        """Return how the installed hooks are started: the arguments before ``hook``."""
        return starts(json_table(self.hooks, read(self.hooks)))

    def problems(self) -> list[str]:
        """Return the reasons in the agent's configuration why our hooks do not run."""
        if self._settings().get("features", {}).get("hooks") is False:
            return [f"`features.hooks` is off in {self.config}: Codex runs no hook"]
        state = trust.untrusted(self.base, lambda line: bool(OURS.search(line)))
        if state is None:
            return []  # Codex is not installed, so it cannot be asked
        return [f"Codex does not trust the hook {event} (open codex, `/hooks`)" for event in state]

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        lines = commands(json_table(self.hooks, read(self.hooks)))
        return [f"hook `{line}` in {self.hooks}" for line in lines if PEERS.search(line)]

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part."""
        if path == str(self.hooks):
            return without_hooks(path, now)
        return (
            trust.without(now, str(self.hooks))
            if path == str(self.config)
            else super().strip(path, now, before)
        )
