"""Installs into Claude Code: hooks and rules in its ``settings.json``, skills beside its own."""

from __future__ import annotations

import json
import re
from typing import Any

from memsearch_engine.agents.hooks_json import (
    InSettings,
    json_like,
    json_table,
)
from memsearch_engine.agents.installing import BY_MARKETPLACE, quoted
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.agents.transcripts.model import table_of, tables_of
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import UsageError

#: Rules that `--allow` added, with any name of the program.
_RULE = re.compile(
    r'Skill\((?:memsearch:)?memory-recall\)|Bash\((?:"[^"]*memsearch"|[^\s"()]*memsearch) '
    r"(?:search|expand|transcript|how|fix|blame):\*\)"
)


class Installer(InSettings):
    """Installs into Claude Code."""

    agent = agent_registry.agent("claude-code")
    has_comments = False
    one_way_out = (
        "`claude plugin uninstall memsearch@memsearch-tui`, or `memsearch agents uninstall "
        "claude-code`"
    )

    def _drop_peer(self, table: dict[str, Any]) -> None:
        for key in _peer_plugins(table):
            table["enabledPlugins"][key] = False

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        plugins = _peer_plugins(self.table())
        return [f"plugin {key} in {self.settings}" for key in plugins] + self._peer_hooks()

    def _drop_rules(self, table: dict[str, Any], before: bytes) -> None:
        permissions = table_of(table, "permissions")
        allowed = permissions.get("allow")
        if not isinstance(allowed, list) or not any(_RULE.fullmatch(str(r)) for r in allowed):
            return
        # a rule that the user had before stays
        permissions["allow"] = [
            rule
            for rule in allowed
            if not _RULE.fullmatch(str(rule)) or json.dumps(rule).encode() in before
        ]
        if not permissions["allow"]:
            del permissions["allow"]
        if not permissions:
            del table["permissions"]

    def plugin(self) -> str:
        """Return the version of our plugin from the agent's marketplace; ``""`` if not active."""
        if not table_of(self.table(), "enabledPlugins").get(BY_MARKETPLACE):
            return ""
        file = self.base / "plugins" / "installed_plugins.json"
        try:
            listed = table_of(json_table(file, read(file)), "plugins")
        except UsageError:
            listed = {}
        entries = tables_of(listed.get(BY_MARKETPLACE))
        return str(entries[0].get("version")) if entries else "of an unknown version"

    def rules(self) -> list[str]:
        """Return the rules that recall needs if nobody can be asked (`claude -p`).

        They allow three read-only commands, in the form in which the skill calls them.
        """
        skill, name = (
            ("memsearch:memory-recall", "memsearch")
            if self.plugin() and not self.hooked()
            else ("memory-recall", quoted())
        )
        return [
            f"Skill({skill})",
            *(
                f"Bash({name} {verb}:*)"
                for verb in ("search", "expand", "transcript", "how", "fix", "blame")
            ),
        ]

    def _allowed(self, table: dict[str, Any]) -> list[Any]:
        """Return the list of allow rules in the settings, created if missing."""
        permissions = table.setdefault("permissions", {})
        allowed = permissions.setdefault("allow", []) if isinstance(permissions, dict) else None
        if not isinstance(allowed, list):
            raise UsageError(
                f"`permissions.allow` in {self.settings} is not a list",
                "correct it, then try again",
            )
        return allowed

    def with_rules(self, patches: list[Patch]) -> list[Patch]:
        """Return *patches* with the rules that allow recall without a question each time."""
        before = read(self.settings)
        planned = next(
            (patch for patch in patches if patch.path == str(self.settings)),
            Patch(str(self.settings), before, before),
        )
        after = planned.after or b""
        table = json_table(self.settings, after)
        allowed = self._allowed(table)
        allowed += [rule for rule in self.rules() if rule not in allowed]
        made = Patch(
            planned.path,
            planned.before,
            json_like(table, after),
            f"{planned.why} and rules".removeprefix(" and "),
        )
        return [made, *(patch for patch in patches if patch is not planned)]

    def lacks_rules(self) -> bool:
        """Whether rules are missing that allow recall without a question each time."""
        allowed = self._allowed(self.table())
        return not all(rule in allowed for rule in self.rules())

    def notes(self) -> list[str]:
        """Return hints about optional improvements."""
        if not self.lacks_rules():
            return []
        return [
            "Claude Code asks before it looks a memory up, and `claude -p` can't: `memsearch "
            "agents install claude-code --allow` lets it read without asking"
        ]


def _peer_plugins(table: dict[str, Any]) -> list[str]:
    return [
        key
        for key, on in table_of(table, "enabledPlugins").items()
        if on and key.startswith("memsearch@") and "memsearch-tui" not in key
    ]
