"""Adds `memsearch mcp` to the server lists of Model Context Protocol clients, and removes it again.

Removal restores the same bytes. Formats and paths follow the clients' own documentation (November
2026). If a client needs more than the entry (a restart, the user's consent), the client asks for
it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from memsearch_engine.agents.hooks_json import json_like, json_table, table_in
from memsearch_engine.agents.installing import command, moved_or
from memsearch_engine.agents.patches import Patch, read
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import user_home

NAME = "memsearch"


class Client(NamedTuple):
    """Where a client of the Model Context Protocol lists its servers.

    Attributes:
        title: its name for people.
        file: path below the user's home.
        under: the tables that lead to the entry.
        entry: makes the entry from the path of our program.
        variable: environment variable that replaces the file's folder.
        comments: the file is JSON5.
        moved_within: the file's folder below the one that *variable* names.
    """

    title: str
    file: str
    under: tuple[str, ...]
    entry: Callable[[str], dict[str, Any]]
    variable: str = ""
    comments: bool = False
    moved_within: str = ""

    def path(self) -> Path:
        """Return the path of the client's list of servers."""
        own = user_home() / self.file
        if not self.variable or not os.environ.get(self.variable):
            return own
        return moved_or(self.variable, own) / self.moved_within / own.name


def _plain(program: str) -> dict[str, Any]:
    """Return the entry in the shape that most clients use."""
    return {"command": program, "args": ["mcp"], **({"env": _moved()} if _moved() else {})}


def _moved() -> dict[str, str]:
    """Return the environment that our server needs if the home folder was moved.

    Clients pass only a small part of their own environment to servers.
    """
    home = os.environ.get("MEMSEARCH_HOME", "")
    return {"MEMSEARCH_HOME": os.path.abspath(os.path.expanduser(home))} if home else {}


def _opencode(program: str) -> dict[str, Any]:
    """Return the entry in OpenCode's shape."""
    environment = {"environment": _moved()} if _moved() else {}
    return {"type": "local", "command": [program, "mcp"], "enabled": True, **environment}


#: All known clients by name: agents first, then clients whose sessions we do not read.
CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        ".claude.json",
        ("mcpServers",),
        lambda program: {"type": "stdio", **_plain(program)},
        "CLAUDE_CONFIG_DIR",
    ),
    "codex": Client("Codex CLI", ".codex/config.toml", ("mcp_servers",), _plain, "CODEX_HOME"),
    "opencode": Client(
        "OpenCode", ".config/opencode/opencode.json", ("mcp",), _opencode, comments=True
    ),
    "qwen": Client(
        "Qwen Code", ".qwen/settings.json", ("mcpServers",), _plain, "QWEN_HOME", comments=True
    ),
    "gemini": Client(
        "Gemini CLI",
        ".gemini/settings.json",
        ("mcpServers",),
        _plain,
        "GEMINI_CLI_HOME",
        comments=True,
        moved_within=".gemini",
    ),
    # since 1.5; by default, pi hides the tools behind one that runs code
    "pi": Client(
        "pi",
        ".pi/agent/mcp.json",
        ("mcpServers",),
        lambda program: {**_plain(program), "exposure": "direct"},
        "PI_CODING_AGENT_DIR",
    ),
    "copilot": Client(
        "GitHub Copilot CLI",
        ".copilot/mcp-config.json",
        ("mcpServers",),
        lambda program: {"type": "local", **_plain(program), "tools": ["*"]},
        "COPILOT_HOME",
    ),
    "kilo": Client("Kilo CLI", ".config/kilo/kilo.json", ("mcp",), _opencode, comments=True),
    "cline": Client(
        "Cline CLI",
        ".cline/data/settings/cline_mcp_settings.json",
        ("mcpServers",),
        lambda program: {"transport": {"type": "stdio", **_plain(program)}},
    ),
    "kimi": Client("Kimi Code", ".kimi-code/mcp.json", ("mcpServers",), _plain, "KIMI_CODE_HOME"),
    "cursor": Client("Cursor", ".cursor/mcp.json", ("mcpServers",), _plain),
    "crush": Client(
        "Crush",
        ".config/crush/crush.json",
        ("mcp",),
        lambda program: {"type": "stdio", **_plain(program)},
    ),
    "zed": Client("Zed", ".config/zed/settings.json", ("context_servers",), _plain, comments=True),
    "windsurf": Client("Windsurf", ".codeium/windsurf/mcp_config.json", ("mcpServers",), _plain),
}


def client(name: str) -> Client:
    """Return a client by name. Raises UsageError if it is unknown."""
    if name not in CLIENTS:
        raise UsageError(
            f"no client named {name}",
            f"known: {', '.join(CLIENTS)}; any other: --print, and put it where that one wants it",
        )
    return CLIENTS[name]


def entry(name: str = "") -> dict[str, Any]:
    """Return the entry for a client, inside its tables; the most common form without a name."""
    known = client(name or "cursor")
    found: dict[str, Any] = {NAME: known.entry(command())}
    for table in reversed(known.under):
        found = {table: found}
    return found


def entry_text(name: str = "") -> str:
    """Return the entry as text that a person can paste."""
    if name and client(name).file.endswith(".toml"):
        import tomlkit

        return tomlkit.dumps(entry(name)).strip()
    return json.dumps(entry(name), indent=2)


def patch(known: Client) -> Patch:
    """Return the change that writes our entry into a client's list."""
    path = known.path()
    before = read(path)
    if path.suffix == ".toml":
        return Patch(
            str(path), before, _toml(path, before, known, known.entry(command())), "mcp server"
        )
    table = json_table(path, before, comments=known.comments)
    inner = table
    for name in known.under:
        inner = table_in(inner, name, path)
    inner[NAME] = known.entry(command())
    return Patch(str(path), before, json_like(table, before), "mcp server")


def without(known: Client, now: bytes, before: bytes | None) -> bytes | None:
    """Return a client's list without our entry and the tables that were made for it.

    Args:
        now: the file's bytes.
        before: its bytes before the installation, None if it did not exist.

    Returns:
        None if nothing is left of a file that we created.
    """
    path = known.path()
    if path.suffix == ".toml":
        return _toml(path, now, known, None)
    table = json_table(path, now, comments=known.comments)
    theirs: Any = json_table(path, before, comments=known.comments)
    tables: list[tuple[dict[str, Any], str, bool]] = []
    inner: Any = table
    for name in known.under:
        if not isinstance(inner, dict):
            break
        theirs = theirs.get(name) if isinstance(theirs, dict) else None
        tables.append((inner, name, theirs is None))
        inner = inner.get(name)
    if isinstance(inner, dict):
        inner.pop(NAME, None)
    for outer, name, is_ours in reversed(tables):
        if is_ours and outer.get(name) == {}:
            del outer[name]
    return json_like(table, now) if table or before is not None else None


def _toml(path: Path, before: bytes | None, known: Client, wanted: dict[str, Any] | None) -> bytes:
    """Return the TOML file with our entry, or without it if *wanted* is None. Comments stay."""
    import tomlkit

    text = (before or b"").decode("utf-8", "surrogateescape")
    try:
        same = tomllib.loads(text)
        document: Any = tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, tomlkit.exceptions.ParseError) as error:
        raise UsageError(
            f"{path} is not valid TOML: {error}", "correct it, then try again"
        ) from error
    table: Any = document
    for name in known.under:
        same = same.get(name, {}) if isinstance(same, dict) else {}
        if name not in table:
            table[name] = tomlkit.table(is_super_table=True)
        table = table[name]
    if not isinstance(table, dict) or not isinstance(same, dict):
        raise UsageError(
            f"`{'.'.join(known.under)}` in {path} is not a table", "correct it, then try again"
        )
    if same.get(NAME) == wanted:
        return before or b""
    if wanted is None:
        table.pop(NAME, None)
    else:
        made = tomlkit.table()
        made.update(wanted)
        table[NAME] = made
    out: str = tomlkit.dumps(document)
    return out.encode("utf-8", "surrogateescape")
