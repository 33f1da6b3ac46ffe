"""Installs into Claude Code: hooks and rules in its ``settings.json``, skills beside its own."""

from __future__ import annotations

import json
import re
from typing import Any

from memsearch_engine.agents import installing
from memsearch_engine.agents.claude_code import AGENT
from memsearch_engine.agents.hooks_json import (
    commands,
    drop_hooks,
    json_like,
    json_table,
    merge_hooks,
    starts,
)
from memsearch_engine.agents.installing import BY_MARKETPLACE, OURS, PEERS, moved_or, quoted
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import user_home

#: Rules that `--allow` added, with any name of the program.
_RULE = re.compile(
    r'Skill\((?:memsearch:)?memory-recall\)|Bash\((?:"[^"]*memsearch"|[^\s"()]*memsearch) '
    r"(?:search|expand|transcript|how|fix|blame):\*\)"
)


class Installer(installing.Installer):
    """Installs into Claude Code."""

    name = AGENT.name
    one_way_out = (
        "`claude plugin uninstall memsearch@memsearch-tui`, or `memsearch agents uninstall "
        "claude-code`"
    )

    def __init__(self) -> None:
        self.base = moved_or("CLAUDE_CONFIG_DIR", user_home() / ".claude")
        self.settings = self.base / "settings.json"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        before = read(self.settings)
        table = json_table(self.settings, before)
        merge_hooks(table, self.bundle())
        if replace_peer:
            for key in _peer_plugins(table):
                table["enabledPlugins"][key] = False
        return [
            Patch(str(self.settings), before, json_like(table, before), "hooks"),
            *self._skills(self.base / "skills"),
        ]

    def peer(self) -> list[str]:
        """Return where memsearch's own plugin is active."""
        table = json_table(self.settings, read(self.settings))
        found = [f"plugin {key} in {self.settings}" for key in _peer_plugins(table)]
        return found + [
            f"hook `{line}` in {self.settings}" for line in commands(table) if PEERS.search(line)
        ]

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part."""
        if path != str(self.settings):
            return super().strip(path, now, before)
        table = json_table(self.settings, now)
        drop_hooks(table, OURS)
        permissions = table.get("permissions")
        allowed = permissions.get("allow") if isinstance(permissions, dict) else None
        if (
            isinstance(permissions, dict)
            and isinstance(allowed, list)
            and any(_RULE.fullmatch(str(rule)) for rule in allowed)
        ):
            his = before or b""  # a rule that the user had before stays
            permissions["allow"] = [
                r for r in allowed if not _RULE.fullmatch(str(r)) or json.dumps(r).encode() in his
            ]
            if not permissions["allow"]:
                del permissions["allow"]
            if not permissions:
                del table["permissions"]
        return json_like(table, now)

    def plugin(self) -> str:
        """Return the version of our plugin from the agent's marketplace; ``""`` if not active."""
        enabled = json_table(self.settings, read(self.settings)).get("enabledPlugins")
        names = (
            [key for key, on in enabled.items() if on and key == BY_MARKETPLACE]
            if isinstance(enabled, dict)
            else []
        )
        if not names:
            return ""
        file = self.base / "plugins" / "installed_plugins.json"
        try:
            listed = json_table(file, read(file)).get("plugins")
        except UsageError:
            listed = None
        entries = listed.get(names[0]) if isinstance(listed, dict) else None
        found = (
            [str(entry.get("version")) for entry in entries if isinstance(entry, dict)]
            if isinstance(entries, list)
            else []
        )
        return found[0] if found else "of an unknown version"

    def hooked(self) -> bool:
        """Whether hooks of ours are in the agent's configuration."""
        return any(
            OURS.search(line) for line in commands(json_table(self.settings, read(self.settings)))
        )

    def starts(self) -> list[list[str]]:
        """Return how the installed hooks are started: the arguments before ``hook``."""
        return starts(json_table(self.settings, read(self.settings)))

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
        allowed = self._allowed(json_table(self.settings, read(self.settings)))
        return not all(rule in allowed for rule in self.rules())

    def notes(self) -> list[str]:
        """Return hints about optional improvements."""
        if not self.lacks_rules():
            return []
        return [
            "Claude Code asks before it looks a memory up, and `claude -p` can't: `memsearch "
            "agents install claude-code --allow` lets it read without asking"
        ]

    def problems(self) -> list[str]:
        """Return the reasons in the agent's configuration why our hooks do not run."""
        off = json_table(self.settings, read(self.settings)).get("disableAllHooks")
        return (
            [f"`disableAllHooks` is set in {self.settings}: Claude Code runs no hook"]
            if off
            else []
        )


def _peer_plugins(table: dict[str, Any]) -> list[str]:
    enabled = table.get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return [
        key
        for key, on in names.items()
        if on and key.startswith("memsearch@") and "memsearch-tui" not in key
    ]
