"""Reads and changes agents' settings in JSON, with or without comments, and the hooks in them."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

from memsearch_engine.agents import commented, plain_json
from memsearch_engine.agents.installing import OURS, PEERS, Installer, hook_argv, quoted
from memsearch_engine.agents.patches import Patch, json_text, read
from memsearch_engine.agents.transcripts.model import table_of, tables_of
from memsearch_engine.core.errors import UsageError


class InSettings(Installer):
    """Installs into an agent with Claude Code's format of hooks. Its skills are beside that file.

    Attributes:
        file: the name of the file with its hooks.
        has_comments: that file may have comments.
    """

    file = "settings.json"
    has_comments = True

    @property
    def settings(self) -> Path:
        """The path of the file with the agent's hooks."""
        return self.base / self.file

    def table(self) -> dict[str, Any]:
        """Return the content of that file."""
        return self._parsed(read(self.settings))

    def _parsed(self, data: bytes | None) -> dict[str, Any]:
        return json_table(self.settings, data, comments=self.has_comments)

    def patches(self, *, replace_peer: bool) -> list[Patch]:
        """Return the patches of an installation. They change nothing if it is complete."""
        before = read(self.settings)
        table = self._parsed(before)
        if replace_peer:
            self._drop_peer(table)
        merge_hooks(table, self.bundle())
        hooks = Patch(str(self.settings), before, json_like(table, before), "hooks")
        return [hooks, *self._skills(self.base / "skills")]

    def _drop_peer(self, table: dict[str, Any]) -> None:
        """Switch off memsearch's own plugin in *table*."""

    def strip(self, path: str, now: bytes, before: bytes | None) -> bytes | None:
        """Return an edited file without our part."""
        if path != str(self.settings):
            return super().strip(path, now, before)
        table = self._parsed(now)
        drop_hooks(table, OURS)
        self._drop_rules(table, before or b"")
        return json_like(table, now)

    def _drop_rules(self, table: dict[str, Any], before: bytes) -> None:
        """Remove our rules from *table*. *before* is the file before the installation."""

    def hooked(self) -> bool:
        """Return whether hooks of ours are in the agent's configuration."""
        return any(OURS.search(line) for line in commands(self.table()))

    def starts(self) -> list[list[str]]:
        """Return how the installed hooks are started: the arguments before ``hook``."""
        return starts(self.table())

    def problems(self) -> list[str]:
        """Return what in the agent's configuration prevents our hooks from working."""
        if not self.table().get("disableAllHooks"):
            return []
        return [f"`disableAllHooks` is set in {self.settings}: {self.agent.title} runs no hook"]

    def _peer_hooks(self) -> list[str]:
        """Return the hooks of memsearch's own plugin."""
        lines = commands(self.table())
        return [f"hook `{line}` in {self.settings}" for line in lines if PEERS.search(line)]


def json_table(path: Path, data: bytes | None, *, comments: bool = False) -> dict[str, Any]:
    """Return the object in a settings file. Raises UsageError if it is not valid.

    Args:
        data: the file's bytes, None if it does not exist.
        comments: the agent accepts JSON5.
    """
    if data is None or not data.strip():
        return {}
    try:
        try:
            value = json.loads(data)
        except ValueError:
            if not comments:
                raise
            value = commented.parse(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON that can be changed safely: {error}", "correct it, then try again"
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds no object", "correct it, then try again")
    return value


def table_in(table: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """Return the object *name* in *table*, created if missing.

    Raises:
        UsageError: the value is not an object.
    """
    found = table.setdefault(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"`{name}` in {path} is no table", "correct it, then try again")
    return found


def json_like(table: dict[str, Any], before: bytes | None) -> bytes:
    """Return the bytes of a settings file with the value *table*; *before* if unchanged."""
    if before is None or not before.strip():
        return json_text(table, before)
    try:
        if json.loads(before) == table:
            return before
        made = json_text(table, before)
        with contextlib.suppress(ValueError, RecursionError):  # else it is written anew
            made = plain_json.changed(before.decode(), table).encode()
        return made
    except ValueError:  # it has comments, since it was readable before
        text = before.decode()
        try:
            return (
                before
                if commented.parse(text) == table
                else commented.changed(text, table).encode()
            )
        except ValueError as error:
            raise UsageError(
                f"settings with comments can't be changed safely: {error}",
                "correct it, then try again",
            ) from error


def merge_hooks(table: dict[str, Any], bundle: Path) -> None:
    """Put our hooks from *bundle* beside the user's own hooks, and remove older ones of ours.

    Raises:
        UsageError: the hooks in *table* have an unknown shape.
    """
    wanted = json.loads((bundle / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    program = " ".join(map(quoted, hook_argv()))
    for groups in wanted.values():
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook["command"] = hook["command"].replace("memsearch", program, 1)
    hooks = table.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise UsageError("`hooks` is not an object", "correct it, then try again")
    odd = [
        event
        for event, groups in hooks.items()
        if groups is not None and not isinstance(groups, list)
    ]
    if odd:
        raise UsageError(f"`hooks.{odd[0]}` is not a list", "correct it, then try again")
    if all(
        group in (hooks.get(event) or []) for event, groups in wanted.items() for group in groups
    ):
        return
    drop_hooks(table, OURS)
    hooks = table.setdefault("hooks", {})
    for event, groups in wanted.items():
        hooks[event] = [*(hooks.get(event) or []), *groups]


def drop_hooks(table: dict[str, Any], which: re.Pattern[str]) -> None:
    """Remove the hooks with a command that matches *which*, and the lists that become empty."""
    hooks = table.get("hooks")
    if not isinstance(hooks, dict):
        return
    for event, groups in list(hooks.items()):
        if not isinstance(groups, list):
            continue
        remaining = []
        for group in groups:
            inner = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(inner, list):
                left = [
                    h
                    for h in inner
                    if not (isinstance(h, dict) and which.search(str(h.get("command", ""))))
                ]
                if len(left) < len(inner) and not left:
                    continue
                group = {**group, "hooks": left}
            remaining.append(group)
        if remaining or not groups:
            hooks[event] = remaining
        else:
            del hooks[event]
    if not hooks:
        del table["hooks"]


def commands(table: dict[str, Any]) -> list[str]:
    """Return the commands of all hooks in *table*."""
    groups = [group for found in table_of(table, "hooks").values() for group in tables_of(found)]
    hooks = [hook for group in groups for hook in tables_of(group.get("hooks"))]
    return [str(hook.get("command", "")) for hook in hooks]


def starts(table: dict[str, Any]) -> list[list[str]]:
    """Return how our hooks in *table* are started: each distinct argument list before ``hook``."""
    found: dict[tuple[str, ...], None] = {}
    for line in commands(table):
        if OURS.search(line):
            with contextlib.suppress(ValueError):  # an unclosed quote
                found[tuple(shlex.split(line)[:-3])] = None
    return [list(argv) for argv in found]
