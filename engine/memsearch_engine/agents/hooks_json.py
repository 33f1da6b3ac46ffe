"""Reads and changes agents' settings in JSON, with or without comments, and the hooks in them.

An agent's settings are its user's file: only what differs is written anew, so that the layout, the
order and the numbers of the user stay. Plain JSON is edited here. Settings of OpenClaw and OpenCode
may have comments, trailing commas and bare keys (JSON5). The library json-five preserves them; it
is imported only for such a file, because it takes 0.6 s for 58 kB.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

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
        merge_hooks(table, self.bundle(), self.settings)
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
            value = parse_json5(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON that can be changed safely: {error}", "correct it, then try again"
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"{path} is not a JSON object: {{...}}", "correct it, then try again")
    return value


def table_in(table: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """Return the object *name* in *table*, created if missing.

    Raises:
        UsageError: the value is not an object.
    """
    found = table.setdefault(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"`{name}` in {path} is not an object", "correct it, then try again")
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
            made = changed_json(before.decode(), table).encode()
        return made
    except ValueError:  # it has comments, since it was readable before
        text = before.decode()
        try:
            return before if parse_json5(text) == table else changed_json5(text, table).encode()
        except ValueError as error:
            raise UsageError(
                f"settings with comments can't be changed safely: {error}",
                "correct it, then try again",
            ) from error


def merge_hooks(table: dict[str, Any], bundle: Path, path: Path) -> None:
    """Put our hooks from *bundle* beside the user's own hooks, and remove older ones of ours.

    Args:
        path: the file of *table*, for errors.

    Raises:
        UsageError: the hooks in *table* have an unknown shape.
    """
    wanted = json.loads((bundle / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    program = " ".join(map(quoted, hook_argv()))
    for groups in wanted.values():
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook["command"] = hook["command"].replace("memsearch", program, 1)
    hooks = table_in(table, "hooks", path)
    odd = [
        event
        for event, groups in hooks.items()
        if groups is not None and not isinstance(groups, list)
    ]
    if odd:
        raise UsageError(f"`hooks.{odd[0]}` in {path} is not a list", "correct it, then try again")
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


def parse_json5(text: str) -> Any:
    """Return the value of *text*. Raises ValueError if it is not JSON5."""
    from json5.loader import loads
    from json5.utils import JSON5DecodeError

    try:
        return loads(text)
    except (JSON5DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def changed_json5(text: str, table: dict[str, Any]) -> str:
    """Return *text*, changed so that its value is *table*.

    Raises:
        ValueError: the changed text would have another value.
    """
    from json5.dumper import ModelDumper, dumps
    from json5.loader import ModelLoader, loads

    model: Any = loads(text, loader=ModelLoader())
    _merge(model.value, parse_json5(text), table, depth=1)
    dumper: Any = ModelDumper()
    made = dumps(model, dumper=dumper)
    if parse_json5(made) != table:
        raise ValueError("it can't be changed without loss")
    return made


def _merge(node: Any, now: dict[str, Any], wanted: dict[str, Any], depth: int) -> None:
    """Change the object *node* with the value *now* so that its value is *wanted*.

    Args:
        depth: indentation of its keys, in steps of two blanks.
    """
    names = list(now)
    if len(names) != len(node.keys):
        raise ValueError("one object has a name twice")
    for name in [name for name in names if name not in wanted]:
        at = names.index(name)
        del node.keys[at], node.values[at], names[at]
        if (
            at == 0
            and node.keys
            and not "".join(map(str, node.leading_wsc)).strip()
            and "\n" in "".join(map(str, node.keys[0].wsc_before))
        ):
            node.leading_wsc = []  # the line that the pair began on goes with it
    if not node.keys:
        node.trailing_comma = None
    for name, value in wanted.items():
        if name not in now:
            _put_first(node, name, value, depth)
            names.insert(0, name)
        elif now[name] != value:
            at = names.index(name)
            if isinstance(now[name], dict) and isinstance(value, dict):
                _merge(node.values[at], now[name], value, depth + 1)
            else:
                node.values[at] = _fresh(
                    value, node.values[at].wsc_before, node.values[at].wsc_after
                )


def _put_first(node: Any, name: str, value: Any, depth: int) -> None:
    """Insert a new pair before all others.

    Text after the last pair may be a comment that belongs to it.
    """
    from json5.loader import ModelLoader, loads

    key: Any = loads(json.dumps({name: 0}), loader=ModelLoader()).value.keys[0]
    indent = "\n" + "  " * depth
    key.wsc_before = [indent]
    if node.keys:
        node.keys[0].wsc_before = [*node.leading_wsc, *node.keys[0].wsc_before]
        node.leading_wsc = []
    elif node.leading_wsc and str(node.leading_wsc[-1]).isspace():
        node.leading_wsc.pop()
    made = _fresh(value, [" "], [] if node.keys else [indent[:-2]])
    node.keys.insert(0, key)
    node.values.insert(0, made)


def _fresh(value: Any, before: list[Any], after: list[Any]) -> Any:
    """Return a new node with the white space and comments of the one that it replaces."""
    from json5.loader import ModelLoader, loads

    made: Any = loads(json.dumps(value, ensure_ascii=False), loader=ModelLoader())
    made.value.wsc_before, made.value.wsc_after = before, after
    return made.value


_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def changed_json(text: str, wanted: dict[str, Any]) -> str:
    """Return *text*, changed so that its value is *wanted*.

    Raises:
        ValueError: *text* is no object, or has a name twice in one object.
        RecursionError: it is too deep.
    """
    start = _skip(text, 0)
    indented = re.search(r"\n([ \t]+)\S", text)
    made, end = _Editor(text, indented[1] if indented else "  ").value(start, wanted, "")
    made = text[:start] + made + text[end:]
    if not _same(json.loads(made), wanted):
        raise ValueError("it can't be changed without loss")
    return made


class _Editor:
    """Edits one text.

    Args:
        unit: the indentation of one level.
    """

    def __init__(self, text: str, unit: str) -> None:
        self._text = text
        self._unit = unit

    def value(self, start: int, wanted: Any, indent: str) -> tuple[str, int]:
        """Return (new text of the value at *start*, end of its old text).

        Args:
            indent: indentation of the line on which the value begins.
        """
        now, end = _DECODER.raw_decode(self._text, start)
        if _same(now, wanted):
            return self._text[start:end], end
        if isinstance(now, dict) and isinstance(wanted, dict):
            return self._object(start, end, wanted, indent), end
        if isinstance(now, list) and isinstance(wanted, list):
            return self._list(start, end, now, wanted, indent), end
        return self._fresh(wanted, indent, lines="\n" in self._text[start:end]), end

    def _object(self, start: int, end: int, wanted: dict[str, Any], indent: str) -> str:
        inner, lines = self._layout(start, end, indent)
        parts: list[str] = []
        seen: set[str] = set()
        for begin, at, stop in self._members(start, end):
            key_at = _skip(self._text, begin)
            name, _ = _DECODER.raw_decode(self._text, key_at)
            if name in seen:
                raise ValueError("one object has a name twice")
            seen.add(name)
            if name in wanted:
                made, old_end = self.value(at, wanted[name], inner)
                parts.append(self._text[begin:at] + made + self._text[old_end:stop])
        for name in [name for name in wanted if name not in seen]:
            made = f"{json.dumps(name, ensure_ascii=False)}: "
            parts.append(self._lead(inner, lines=lines, first=not parts) + made)
            parts[-1] += self._fresh(wanted[name], inner, lines=lines)
        return self._closed("{", parts, "}", end, indent, lines=lines)

    def _list(self, start: int, end: int, now: list[Any], wanted: list[Any], indent: str) -> str:
        inner, lines = self._layout(start, end, indent)
        members = self._members(start, end)
        same = 0
        while same < min(len(now), len(wanted)) and _same(now[same], wanted[same]):
            same += 1
        after = 0
        while after < min(len(now), len(wanted)) - same and _same(
            now[-1 - after], wanted[-1 - after]
        ):
            after += 1
        old, new = members[same : len(now) - after], wanted[same : len(wanted) - after]
        parts = [self._text[begin:stop] for begin, _, stop in members[:same]]
        if len(old) == len(new):
            for (begin, at, stop), value in zip(old, new, strict=True):
                made, old_end = self.value(at, value, inner)
                parts.append(self._text[begin:at] + made + self._text[old_end:stop])
        else:
            for value in new:
                lead = self._lead(inner, lines=lines, first=not parts)
                parts.append(lead + self._fresh(value, inner, lines=lines))
        parts += [self._text[begin:stop] for begin, _, stop in members[len(now) - after :]]
        return self._closed("[", parts, "]", end, indent, lines=lines)

    def _members(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Return the offsets of each member of the object or list at *start*.

        They are the begin of its text after the comma, the begin of its value, and the end of its
        text.
        """
        text, found, place = self._text, [], start + 1
        while _skip(text, place) < end - 1:
            at = _skip(text, place)
            if text[start] == "{":
                _, key_end = _DECODER.raw_decode(text, at)
                at = _skip(text, _skip(text, key_end) + 1)
            _, stop = _DECODER.raw_decode(text, at)
            comma = _skip(text, stop)
            if text[comma] == ",":
                stop = comma
            found.append((place, at, stop))
            place = comma + 1 if text[comma] == "," else comma
        return found

    def _layout(self, start: int, end: int, indent: str) -> tuple[str, bool]:
        """Return the indentation of the members, and whether each has a line of its own."""
        first = re.match(r"[ \t\r]*\n([ \t]*)\S", self._text[start + 1 : end])
        if first and self._text[end - 1] not in first[0]:
            return first[1], True
        empty = not self._text[start + 1 : end - 1].strip()
        return indent + self._unit, empty or bool(first)

    def _lead(self, inner: str, *, lines: bool, first: bool) -> str:
        return f"\n{inner}" if lines else "" if first else " "

    def _closed(
        self, opening: str, parts: list[str], closing: str, end: int, indent: str, *, lines: bool
    ) -> str:
        if not parts:
            return opening + closing
        before = re.search(r"[ \t\r\n]*$", self._text[: end - 1])
        tail = before[0] if before else ""
        if lines and "\n" not in tail:
            tail = f"\n{indent}"
        return opening + ",".join(parts) + tail + closing

    def _fresh(self, value: Any, indent: str, *, lines: bool) -> str:
        made = json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=self._unit if lines else None
        )
        return made.replace("\n", f"\n{indent}")


def _skip(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _same(one: Any, other: Any) -> bool:
    """Compare values as JSON has them: ``1`` is not ``true``, and order in an object is nothing."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
