"""Installing our plugins into the four agents, taking them out again, and saying how they stand.

What each agent needs is a few lines of its own configuration and our skills beside its own. Nothing is fetched. memsearch's
own plugins do the same work: beside one of them ours is not installed, unless it takes its place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine import network
from memsearch_engine.agents import codex_trust, commented
from memsearch_engine.agents.discover import PROGRAMS
from memsearch_engine.agents.patches import Link, Patch, apply, json_text, link, read, record, revert
from memsearch_engine.capture.ledger import Ledger
from memsearch_engine.errors import Conflict, UsageError
from memsearch_engine.home import Home, user_home

_BY_MARKETPLACE = "memsearch@memsearch-tui"
SKILLS = ("memory-recall", "memory-config", "remember", "forget")
_OURS = re.compile(r"memsearch(?:\.exe)?['\"]? hook (?:claude-code|codex) \w+$")
#: Rules that `--allow` added, whatever the program was called then.
_RULE = re.compile(
    r'Skill\((?:memsearch:)?memory-recall\)|Bash\((?:"[^"]*memsearch"|[^\s"()]*memsearch) (?:search|expand|transcript|how|fix|blame):\*\)'
)
_PEERS = re.compile(r"memsearch[^\s]*/(?:plugins/[\w-]+/)?hooks/[\w-]+\.sh|memsearch-(?:opencode|openclaw|claude)")


class Status(msgspec.Struct):
    """How a plugin stands. ``problems``: what keeps it from working; ``peer``: memsearch's own plugin, found beside."""

    agent: str
    installed: bool
    version: str
    program: str
    files: list[str]
    problems: list[str]
    peer: list[str]
    plugin: str = ""  # the version that came by a marketplace of the agent's own
    notes: list[str] = []  # what could be, and is not wrong


def bundled() -> Path:
    """The plugins that this installation brings: in the wheel, or beside the sources."""
    here = Path(__file__).parent / "bundled"
    return here if here.is_dir() else Path(__file__).parents[3] / "plugins"


def command() -> str:
    """How an agent calls memsearch: by name where the PATH finds this very one, else by its whole path."""
    own = Path(sys.executable).parent / "memsearch"
    found = shutil.which("memsearch")
    if found and (not own.exists() or os.path.realpath(found) == os.path.realpath(own)) and _lasting(found):
        return "memsearch"
    return str(own) if own.exists() else "memsearch"


def _lasting(path: str) -> bool:
    """Whether the PATH of another shell will find it too: an activated environment's is gone with the shell."""
    active = os.environ.get("VIRTUAL_ENV")
    return not (active and path.startswith(active + os.sep))


def install(
    home: Home,
    agent: str,
    *,
    dry_run: bool = False,
    replace_peer: bool = False,
    trust: bool = True,
    allow: bool = False,
) -> list[Patch]:
    """Install the plugin of *agent*; what stands already is left alone. Returns the changes.

    Args:
        replace_peer: switch off memsearch's own plugin for this agent; without it, Conflict.
        trust: let Codex know that its user trusts these hooks (asked of Codex itself).
        allow: let the agent look things up without asking each time, where it asks (``Claude.rules``).

    Where ours came by a marketplace of the agent's own, its hooks and skills are there: only trust and rules are added.
    """
    kind = _kind(agent)
    by_plugin = bool(kind.plugin()) and not kind.hooked()
    peer = kind.peer()
    if peer and not replace_peer:
        raise Conflict(
            f"memsearch's own plugin is active in {agent}: {'; '.join(peer)}",
            f"two would write everything twice: `memsearch plugins install {agent} --replace` takes its place",
        )
    patches = [] if by_plugin else kind.patches(replace_peer=bool(peer))
    patches = kind.with_rules(patches) if allow else patches
    if dry_run:
        found = [patch for patch in patches if patch.changes]
        if found and trust and isinstance(kind, Codex) and shutil.which("codex"):
            # what it says is known once the hooks stand: Codex is asked for their hashes
            found.append(Patch(str(kind.config), read(kind.config), None, "trust for our hooks"))
        return found
    done = apply(home, agent, patches)
    ledger = Ledger(home)
    try:
        ledger.capturing(agent, time.time())
    finally:
        ledger.close()
    if isinstance(kind, Codex) and trust:
        if by_plugin:
            network.check("codex")  # it asks for news of its plugins before it lists them
        done += apply(home, agent, kind.trusted(plugins=by_plugin))
    return done


def uninstall(home: Home, agent: str, *, dry_run: bool = False) -> list[Patch]:
    """Put the agent's configuration back as it was."""
    kind = _kind(agent)
    done = revert(home, agent, kind.strip, dry_run=dry_run)
    if not dry_run:
        ledger = Ledger(home)
        try:
            ledger.capturing(agent, None)
        finally:
            ledger.close()
    return done


def status(home: Home, agent: str) -> Status:
    """How the plugin of *agent* stands; settings of its that can't be read are a problem of its own alone."""
    try:
        return _status(home, agent)
    except UsageError as error:
        kept = record(home, agent)
        program = shutil.which(PROGRAMS[agent]) or ""
        return Status(
            agent, kept is not None, kept.version if kept else "", program, [], [f"{error} ({error.hint})"], []
        )


def _status(home: Home, agent: str) -> Status:
    kind = _kind(agent)
    kept = record(home, agent)
    problems: list[str] = []
    plugin = kind.plugin()
    by_plugin = bool(plugin) and not kind.hooked()
    if kept is not None and not by_plugin:
        changed = [patch.path for patch in kind.patches(replace_peer=False) if patch.changes]
        again = f"`memsearch plugins install {agent}` puts it back"
        problems += [f"{path} is not as it was installed: {again}" for path in changed]
        if not os.access(shutil.which(command()) or command(), os.X_OK):
            problems.append("the memsearch command is not where the hooks look for it")
        problems += kind.problems()
    if plugin and not by_plugin:
        problems.append(f"it is here twice, and tells everything twice: {kind.one_way_out}")
    elif plugin:
        problems += kind.plugin_problems()
    program = shutil.which(PROGRAMS[agent]) or ""
    return Status(
        agent, kept is not None or bool(plugin), kept.version if kept else plugin, program,
        [f.path for f in kept.files] if kept else [], problems, kind.peer(), plugin, kind.notes() if kept or plugin else [],
    )  # fmt: skip


class _Agent:
    """One agent's own configuration."""

    name = ""

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        raise NotImplementedError

    def peer(self) -> list[str]:
        """Where memsearch's own plugin is active."""
        return []

    def problems(self) -> list[str]:
        return []

    #: How one of two goes.
    one_way_out = ""

    def plugin(self) -> str:
        """The version of ours that came by a marketplace of the agent's own; '' where none is active."""
        return ""

    def plugin_problems(self) -> list[str]:
        return []

    def hooked(self) -> bool:
        """Whether hooks of ours stand in the agent's configuration."""
        return False

    def notes(self) -> list[str]:
        return []

    def with_rules(self, patches: list[Patch]) -> list[Patch]:
        """*patches*, and what lets the agent look things up without asking each time."""
        return patches

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """*now*, which somebody changed, without what is ours; None where all of it is. A skill that was edited stays."""
        return now if path.endswith("SKILL.md") else None

    def _skills(self, folder: Path) -> list[Patch]:
        made = []
        for skill in SKILLS:
            text = (bundled() / self.name / "skills" / skill / "SKILL.md").read_text(encoding="utf-8")
            path = folder / skill / "SKILL.md"
            found = link(folder / skill)
            if found:  # another's skill of this name, linked from its own place: that place is not ours to write to
                made.append(Patch(str(folder / skill), found, None, f"link to {found.to}"))
            made.append(_own(path, _with_command(text), "skill", anew=found is not None))
        return made


def _own(path: Path, text: str, why: str, *, anew: bool = False) -> Patch:
    """A file that is wholly ours. A link in its place gives way; *anew*: its folder is made by an earlier patch."""
    before: bytes | Link | None = None if anew else link(path) or read(path)
    if isinstance(before, Link) and read(path) == text.encode():
        before = text.encode()  # the user's own link to the very same file
    return Patch(str(path), before, text.encode(), why, own=True)


def _with_command(text: str) -> str:
    """A skill whose commands name the program as this machine finds it."""
    name = _quoted()
    return text.replace("`memsearch ", f"`{name} ").replace("Bash(memsearch ", f"Bash({name} ")


def _quoted() -> str:
    """The command as a shell reads it, in one way everywhere: a rule allows just what is written as the rule is."""
    name = command()
    return f'"{name}"' if " " in name else name


class Claude(_Agent):
    name = "claude-code"
    one_way_out = "`claude plugin uninstall memsearch@memsearch-tui`, or `memsearch plugins uninstall claude-code`"

    def __init__(self) -> None:
        self.base = Path(os.environ.get("CLAUDE_CONFIG_DIR") or user_home() / ".claude")
        self.settings = self.base / "settings.json"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        before = read(self.settings)
        table = _json(self.settings, before)
        _merge_hooks(table, self.name)
        if replace_peer:
            for key in _peer_plugins(table):
                table["enabledPlugins"][key] = False
        return [
            Patch(str(self.settings), before, _json_like(table, before), "hooks"),
            *self._skills(self.base / "skills"),
        ]

    def peer(self) -> list[str]:
        table = _json(self.settings, read(self.settings))
        found = [f"plugin {key} in {self.settings}" for key in _peer_plugins(table)]
        return found + [f"hook `{line}` in {self.settings}" for line in _commands(table) if _PEERS.search(line)]

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        if path != str(self.settings):
            return super().strip(path, now, before)
        table = _json(self.settings, now)
        _drop_hooks(table, _OURS)
        permissions = table.get("permissions")
        allowed = permissions.get("allow") if isinstance(permissions, dict) else None
        if (
            isinstance(permissions, dict)
            and isinstance(allowed, list)
            and any(_RULE.fullmatch(str(rule)) for rule in allowed)
        ):
            his = before or b""  # a rule that he had already is his
            permissions["allow"] = [r for r in allowed if not _RULE.fullmatch(str(r)) or json.dumps(r).encode() in his]
            if not permissions["allow"]:
                del permissions["allow"]
            if not permissions:
                del table["permissions"]
        return _json_like(table, now)

    def plugin(self) -> str:
        enabled = _json(self.settings, read(self.settings)).get("enabledPlugins")
        names = (
            [key for key, on in enabled.items() if on and key == _BY_MARKETPLACE] if isinstance(enabled, dict) else []
        )
        if not names:
            return ""
        file = self.base / "plugins" / "installed_plugins.json"
        try:
            listed = _json(file, read(file)).get("plugins")
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
        return any(_OURS.search(line) for line in _commands(_json(self.settings, read(self.settings))))

    def rules(self) -> list[str]:
        """What recall needs where nobody can be asked (`claude -p`): three commands that only read, as the skill calls them."""
        skill, name = (
            ("memsearch:memory-recall", "memsearch")
            if self.plugin() and not self.hooked()
            else ("memory-recall", _quoted())
        )
        return [
            f"Skill({skill})",
            *(f"Bash({name} {verb}:*)" for verb in ("search", "expand", "transcript", "how", "fix", "blame")),
        ]

    def _allowed(self, table: dict[str, Any]) -> list[Any]:
        """The list of rules in the settings, which is made where it is not there."""
        permissions = table.setdefault("permissions", {})
        allowed = permissions.setdefault("allow", []) if isinstance(permissions, dict) else None
        if not isinstance(allowed, list):
            raise UsageError(f"`permissions.allow` in {self.settings} is not a list", "correct it, then try again")
        return allowed

    def with_rules(self, patches: list[Patch]) -> list[Patch]:
        before = read(self.settings)
        planned = next(
            (patch for patch in patches if patch.path == str(self.settings)), Patch(str(self.settings), before, before)
        )
        after = planned.after or b""
        table = _json(self.settings, after)
        allowed = self._allowed(table)
        allowed += [rule for rule in self.rules() if rule not in allowed]
        made = Patch(
            planned.path, planned.before, _json_like(table, after), f"{planned.why} and rules".removeprefix(" and ")
        )
        return [made, *(patch for patch in patches if patch is not planned)]

    def lacks_rules(self) -> bool:
        allowed = self._allowed(_json(self.settings, read(self.settings)))
        return not all(rule in allowed for rule in self.rules())

    def notes(self) -> list[str]:
        if not self.lacks_rules():
            return []
        return [
            "Claude Code asks before it looks a memory up, and `claude -p` can't: `memsearch plugins install claude-code --allow` "
            "lets it read without asking"
        ]

    def problems(self) -> list[str]:
        off = _json(self.settings, read(self.settings)).get("disableAllHooks")
        return [f"`disableAllHooks` is set in {self.settings}: Claude Code runs no hook"] if off else []


class Codex(_Agent):
    name = "codex"
    one_way_out = "`codex plugin remove memsearch@memsearch-tui`, or `memsearch plugins uninstall codex`"

    def __init__(self) -> None:
        self.base = Path(os.environ.get("CODEX_HOME") or user_home() / ".codex")
        self.hooks = self.base / "hooks.json"
        self.config = self.base / "config.toml"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        self._settings()
        before = read(self.hooks)
        table = _json(self.hooks, before)
        if replace_peer:
            _drop_hooks(table, _PEERS)
        _merge_hooks(table, self.name)
        return [Patch(str(self.hooks), before, _json_like(table, before), "hooks"), *self._skills(self.base / "skills")]

    def _settings(self) -> dict[str, Any]:
        """Codex' own settings. Raises UsageError where Codex can't read them either."""
        try:
            return tomllib.loads((read(self.config) or b"").decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.config} is not valid TOML: {error}", "correct it, then try again") from error

    def trusted(self, *, plugins: bool = False) -> list[Patch]:
        """Codex runs no hook that its user has not trusted; installing it is the user's word for ours, and only ours."""
        before = read(self.config)
        after = codex_trust.trust(self.base, before, lambda line: bool(_OURS.search(line)), plugins=plugins)
        return [Patch(str(self.config), before, after, "trust for our hooks")] if after is not None else []

    def plugin(self) -> str:
        tables = self._settings().get("plugins")
        tables = tables if isinstance(tables, dict) else {}
        names = [
            key
            for key, table in tables.items()
            if key == _BY_MARKETPLACE and isinstance(table, dict) and table.get("enabled")
        ]
        if not names:
            return ""
        name, _, market = names[0].partition("@")
        found = sorted(path.name for path in (self.base / "plugins" / "cache" / market / name).glob("*"))
        return found[-1] if found else "of an unknown version"

    def plugin_problems(self) -> list[str]:
        try:
            network.check("codex")  # it asks for news of its plugins before it lists their hooks
        except network.Offline:
            return []
        state = codex_trust.untrusted(self.base, lambda line: bool(_OURS.search(line)), plugins=True)
        if not state:
            return []
        return [
            f"Codex does not trust its hooks ({', '.join(state)}): `memsearch plugins install codex` says that you do"
        ]

    def hooked(self) -> bool:
        return any(_OURS.search(line) for line in _commands(_json(self.hooks, read(self.hooks))))

    def problems(self) -> list[str]:
        if self._settings().get("features", {}).get("hooks") is False:
            return [f"`features.hooks` is off in {self.config}: Codex runs no hook"]
        state = codex_trust.untrusted(self.base, lambda line: bool(_OURS.search(line)))
        if state is None:
            return []  # Codex is not here to be asked
        return [f"Codex does not trust the hook {event} (open codex, `/hooks`)" for event in state]

    def peer(self) -> list[str]:
        lines = _commands(_json(self.hooks, read(self.hooks)))
        return [f"hook `{line}` in {self.hooks}" for line in lines if _PEERS.search(line)]

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        if path == str(self.hooks):
            return _without_hooks(path, now)
        return (
            codex_trust.without(now, str(self.hooks)) if path == str(self.config) else super().strip(path, now, before)
        )


class OpenCode(_Agent):
    name = "opencode"

    def __init__(self) -> None:
        self.base = Path(os.environ.get("XDG_CONFIG_HOME") or user_home() / ".config") / "opencode"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        text = (bundled() / "opencode" / "memsearch.ts").read_text(encoding="utf-8")
        text = text.replace('const MEMSEARCH = "memsearch"', f"const MEMSEARCH = {json.dumps(command())}")
        path = self.base / "plugins" / "memsearch.ts"
        made = [_own(path, text, "plugin"), *self._skills(self.base / "skills")]
        if replace_peer:
            for config in self._configs():
                before = read(config)
                table = _json(config, before, comments=True)
                if isinstance(table.get("plugin"), list):
                    table["plugin"] = [entry for entry in table["plugin"] if not _PEERS.search(str(entry))]
                    made.append(Patch(str(config), before, _json_like(table, before), "memsearch's own plugin off"))
        return made

    def peer(self) -> list[str]:
        found = []
        for config in self._configs():
            entries = _json(config, read(config), comments=True).get("plugin")
            found += [f"plugin {e} in {config}" for e in entries or [] if _PEERS.search(str(e))]
        file = self.base / "plugins" / "memsearch.ts"
        if (file.exists() or link(file)) and b"`memsearch plugins install opencode`" not in (read(file) or b""):
            found.append(f"plugin {file}")
        return found

    def _configs(self) -> Iterable[Path]:
        return [path for name in ("opencode.json", "opencode.jsonc") if (path := self.base / name).exists()]


class OpenClaw(_Agent):
    name = "openclaw"

    def __init__(self) -> None:
        self.base = Path(os.environ.get("OPENCLAW_STATE_DIR") or user_home() / ".openclaw")
        self.config = self.base / "openclaw.json"

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        before = read(self.config)
        table = _json(self.config, before, comments=True)
        folder = self.base / "extensions" / "memsearch"
        plugins = _table_in(table, "plugins", self.config)
        entry = _table_in(_table_in(plugins, "entries", self.config), "memsearch", self.config)
        entry["enabled"] = True
        _table_in(entry, "hooks", self.config).update(allowConversationAccess=True, allowPromptInjection=True)
        if isinstance(plugins.get("allow"), list) and "memsearch" not in plugins["allow"]:
            plugins["allow"].append("memsearch")
        made = [Patch(str(self.config), before, _json_like(table, before), "plugin entry")]
        for name in ("index.js", "openclaw.plugin.json", "package.json"):
            text = (bundled() / "openclaw" / name).read_text(encoding="utf-8")
            text = text.replace('const MEMSEARCH = "memsearch"', f"const MEMSEARCH = {json.dumps(command())}")
            made.append(_own(folder / name, text, "plugin"))
        return made + self._skills(folder / "skills")

    def peer(self) -> list[str]:
        folder = self.base / "extensions" / "memsearch"
        manifest = read(folder / "package.json")
        if manifest is not None and b"memsearch-openclaw-plugin" not in manifest:
            return [f"plugin in {folder}"]
        return []

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        if path != str(self.config):
            return super().strip(path, now, before)
        table = _json(self.config, now, comments=True)
        plugins = table.get("plugins")
        if isinstance(plugins, dict):
            if isinstance(plugins.get("entries"), dict):
                plugins["entries"].pop("memsearch", None)
            if isinstance(plugins.get("allow"), list):
                plugins["allow"] = [name for name in plugins["allow"] if name != "memsearch"]
        return _json_like(table, now)


_KINDS: dict[str, type[_Agent]] = {kind.name: kind for kind in (Claude, Codex, OpenCode, OpenClaw)}
AGENTS = tuple(_KINDS)


def _kind(agent: str) -> _Agent:
    if agent not in _KINDS:
        raise UsageError(f"no agent named {agent}", f"known: {', '.join(_KINDS)}")
    return _KINDS[agent]()


# -- JSON with hooks in it ----------------------------------------------------------------------------------


def _json(path: Path, data: bytes | None, *, comments: bool = False) -> dict[str, Any]:
    """The table in a settings file. *comments*: its own program takes JSON5."""
    if data is None or not data.strip():
        return {}
    try:
        try:
            value = json.loads(data)
        except ValueError:
            if not comments:
                raise
            value = commented.parse(data.decode())
    except ValueError as error:
        raise UsageError(
            f"{path} is not JSON that can be changed safely: {error}", "correct it, then try again"
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds no object", "correct it, then try again")
    return value


def _table_in(table: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """The table *name* in another, made where it is not there. Raises UsageError where something else stands there."""
    found = table.setdefault(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"`{name}` in {path} is no table", "correct it, then try again")
    return found


def _json_like(table: dict[str, Any], before: bytes | None) -> bytes:
    """*table* as the file would be written; the very bytes of *before* where nothing changed in it."""
    if before is None or not before.strip():
        return json_text(table, before)
    try:
        return before if json.loads(before) == table else json_text(table, before)
    except ValueError:  # with comments, since it could be read
        text = before.decode()
        try:
            return before if commented.parse(text) == table else commented.changed(text, table).encode()
        except ValueError as error:
            raise UsageError(
                f"settings with comments can't be changed safely: {error}", "correct it, then try again"
            ) from error


def _merge_hooks(table: dict[str, Any], agent: str) -> None:
    """Our hooks beside the user's own; older ones of ours give way."""
    wanted = json.loads((bundled() / agent / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    program = _quoted()
    for groups in wanted.values():
        for hook in groups[0]["hooks"]:
            hook["command"] = hook["command"].replace("memsearch", program, 1)
    hooks = table.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise UsageError("`hooks` is not an object", "correct it, then try again")
    odd = [event for event, groups in hooks.items() if groups is not None and not isinstance(groups, list)]
    if odd:
        raise UsageError(f"`hooks.{odd[0]}` is not a list", "correct it, then try again")
    if all(group in (hooks.get(event) or []) for event, groups in wanted.items() for group in groups):
        return
    _drop_hooks(table, _OURS)
    hooks = table.setdefault("hooks", {})
    for event, groups in wanted.items():
        hooks[event] = [*(hooks.get(event) or []), *groups]


def _drop_hooks(table: dict[str, Any], which: re.Pattern[str]) -> None:
    hooks = table.get("hooks")
    if not isinstance(hooks, dict):
        return
    for event, groups in list(hooks.items()):
        if not isinstance(groups, list):
            continue
        kept = []
        for group in groups:
            inner = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(inner, list):
                left = [h for h in inner if not (isinstance(h, dict) and which.search(str(h.get("command", ""))))]
                if len(left) < len(inner) and not left:
                    continue
                group = {**group, "hooks": left}
            kept.append(group)
        if kept or not groups:
            hooks[event] = kept
        else:
            del hooks[event]
    if not hooks:
        del table["hooks"]


def _without_hooks(path: str, now: bytes) -> bytes:
    table = _json(Path(path), now)
    _drop_hooks(table, _OURS)
    return _json_like(table, now)


def _commands(table: dict[str, Any]) -> list[str]:
    hooks = table.get("hooks")
    groups = (
        [g for value in hooks.values() if isinstance(value, list) for g in value] if isinstance(hooks, dict) else []
    )
    lists = [group.get("hooks") for group in groups if isinstance(group, dict)]
    inner = [hook for found in lists if isinstance(found, list) for hook in found if isinstance(hook, dict)]
    return [str(hook.get("command", "")) for hook in inner]


def _peer_plugins(table: dict[str, Any]) -> list[str]:
    enabled = table.get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return [key for key, on in names.items() if on and key.startswith("memsearch@") and "memsearch-tui" not in key]
