"""Installs into OpenCode: a plugin, and skills beside its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memsearch_engine.agents import installing
from memsearch_engine.agents.hooks_json import json_like, json_table
from memsearch_engine.agents.installing import PEERS, moved_or
from memsearch_engine.agents.patches import Patch, link, read
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import user_home

#: In the first comment of our plugin of every version; memsearch's own plugin has the same file
#: name.
_OUR_MARK = b"`memsearch plugins install opencode`"


class Installer(installing.Installer):
    """Installs into OpenCode."""

    agent = agent_registry.agent("opencode")
    source = "plugins/memsearch.ts"

    def __init__(self) -> None:
        self.base = moved_or("XDG_CONFIG_HOME", user_home() / ".config") / "opencode"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        plugin = self._bundled_file("memsearch.ts", self.base / self.source, "plugin")
        made = [plugin, *self._skills(self.base / "skills")]
        if replace_peer:
            for config in self._configs():
                before = read(config)
                table = json_table(config, before, comments=True)
                if isinstance(table.get("plugin"), list):
                    table["plugin"] = [
                        entry for entry in table["plugin"] if not PEERS.search(str(entry))
                    ]
                    made.append(
                        Patch(
                            str(config),
                            before,
                            json_like(table, before),
                            "memsearch's own plugin off",
                        )
                    )
        return made

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        found = []
        for config in self._configs():
            entries = json_table(config, read(config), comments=True).get("plugin")
            found += [f"plugin {e} in {config}" for e in entries or [] if PEERS.search(str(e))]
        file = self.base / self.source
        if (file.exists() or link(file)) and _OUR_MARK not in (read(file) or b""):
            found.append(f"plugin {file}")
        return found

    def _configs(self) -> Iterable[Path]:
        return [
            path
            for name in ("opencode.json", "opencode.jsonc")
            if (path := self.base / name).exists()
        ]
