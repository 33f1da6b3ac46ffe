"""Installs into Codex: hooks in ``hooks.json``, their trust in ``config.toml``, and skills."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

from memsearch_engine.agents.codex import AGENT, trust
from memsearch_engine.agents.hooks_json import (
    InSettings,
    drop_hooks,
)
from memsearch_engine.agents.installing import BY_MARKETPLACE, OURS, PEERS
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.agents.transcripts.model import table_of
from memsearch_engine.core import network
from memsearch_engine.core.errors import UsageError


class Installer(InSettings):
    """Installs into Codex."""

    agent = AGENT
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
        state = trust.untrusted(self.base, lambda line: bool(OURS.search(line)), plugins=True)
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
        state = trust.untrusted(self.base, lambda line: bool(OURS.search(line)))
        if state is None:
            return []  # Codex is not installed, so it cannot be asked
        return [f"Codex does not trust the hook {event} (open codex, `/hooks`)" for event in state]

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        return self._peer_hooks()

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part."""
        if path == str(self.config):
            return trust.without(now, str(self.settings))
        return super().strip(path, now, before)
