"""Installs into OpenClaw: an extension with skills, and its entry in ``openclaw.json``."""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.agents import installing
from memsearch_engine.agents.hooks_json import json_like, json_table, table_in
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.core import agent_registry


class Installer(installing.Installer):
    """Installs into OpenClaw."""

    agent = agent_registry.agent("openclaw")
    source = "extensions/memsearch/index.js"

    @property
    def config(self) -> Path:
        """The path of OpenClaw's settings."""
        return self.base / "openclaw.json"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        before = read(self.config)
        table = json_table(self.config, before, comments=True)
        folder = self.base / "extensions" / "memsearch"
        plugins = table_in(table, "plugins", self.config)
        entry = table_in(table_in(plugins, "entries", self.config), "memsearch", self.config)
        entry["enabled"] = True
        table_in(entry, "hooks", self.config).update(
            allowConversationAccess=True, allowPromptInjection=True
        )
        if isinstance(plugins.get("allow"), list) and "memsearch" not in plugins["allow"]:
            plugins["allow"].append("memsearch")
        made = [Patch(str(self.config), before, json_like(table, before), "plugin entry")]
        made.extend(
            self._bundled_file(name, folder / name, "plugin")
            for name in ("index.js", "openclaw.plugin.json", "package.json")
        )
        return made + self._skills(folder / "skills")

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        folder = self.base / "extensions" / "memsearch"
        manifest = read(folder / "package.json")
        if manifest is not None and b"memsearch-openclaw-plugin" not in manifest:
            return [f"plugin in {folder}"]
        return []

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part."""
        if path != str(self.config):
            return super().strip(path, now, before)
        table = json_table(self.config, now, comments=True)
        plugins = table.get("plugins")
        if isinstance(plugins, dict):
            if isinstance(plugins.get("entries"), dict):
                plugins["entries"].pop("memsearch", None)
                theirs = json_table(self.config, before, comments=True).get("plugins")
                if not plugins["entries"] and not (
                    isinstance(theirs, dict) and "entries" in theirs
                ):
                    del plugins["entries"]  # it was made for our entry
                if not plugins and theirs is None:
                    del table["plugins"]
            if isinstance(plugins.get("allow"), list):
                plugins["allow"] = [name for name in plugins["allow"] if name != "memsearch"]
        return json_like(table, now)
