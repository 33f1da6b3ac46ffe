"""Adds `memsearch mcp` to the server lists of Model Context Protocol clients, and removes it again.

Removal restores the same bytes. Formats and paths follow the clients' own documentation (November
2026). If a client needs more than the entry (a restart, the user's consent), the client asks for
it.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from memsearch_engine.agents.hooks_json import json_like, json_table, table_in
from memsearch_engine.agents.installing import Client, command, plain_entry
from memsearch_engine.agents.patches import Patch, apply, read, revert
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import Home

NAME = "memsearch"


#: Clients whose sessions we do not read. Agents have their entry in the ``mcp_entry`` module of
#: their package.
_OTHERS = {
    "windsurf": Client(
        "Windsurf", ".codeium/windsurf/mcp_config.json", ("mcpServers",), plain_entry
    ),
}


def clients() -> dict[str, Client]:
    """Return all known clients by name."""
    ours = {
        name: part.CLIENT
        for name in agent_registry.names()
        if (part := agent_registry.part(name, "mcp_entry"))
    }
    return ours | _OTHERS


def client(name: str) -> Client:
    """Return a client by name. Raises UsageError if it is unknown."""
    known = clients()
    if name not in known:
        raise UsageError(
            f"no client named {name}",
            f"known: {', '.join(known)}; any other: --print, and put it where that one wants it",
        )
    return known[name]


def install(home: Home, name: str, *, dry_run: bool = False) -> list[Patch]:
    """Write our entry into a client's list.

    Args:
        dry_run: change nothing.

    Returns:
        The patches that changed (or would change) something.
    """
    patches = [_patch(client(name))]
    if dry_run:
        return [patch for patch in patches if patch.changes]
    return apply(home, _record(name), patches)


def uninstall(home: Home, name: str, *, dry_run: bool = False) -> list[Patch]:
    """Remove our entry from a client's list, and restore the file if nobody changed it meanwhile.

    Returns:
        The patches that changed (or would change) something.
    """
    known = client(name)
    return revert(
        home, _record(name), lambda path, now, before: _without(known, now, before), dry_run=dry_run
    )


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


def _record(name: str) -> str:
    return f"mcp-{name}"


def _patch(known: Client) -> Patch:
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


def _without(known: Client, now: bytes, before: bytes | None) -> bytes | None:
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
            f"`{'.'.join(known.under)}` in {path} is no table", "correct it, then try again"
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
