"""The folder in which a session of Cursor worked.

A session in the editor's database may name its folder itself, or through its workspace. A session
in JSON lines names it by the folder below ``projects``.
"""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from memsearch_engine.agents.transcripts.model import (
    json_file,
    table_of,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.sqlite import reading
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import elsewhere

DATABASE, CHATS = "state.vscdb", "chats"
SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_MAX_SMALL = 1024 * 1024  # bytes


def databases() -> list[Path]:
    """Return the places of the editor's databases on this machine, whether they exist or not."""
    return [place / DATABASE for place in elsewhere(agent_registry.agent("cursor"))]


def folder_of_composer(
    user: Path, session: str, head: dict[str, Any], rows: dict[str, dict[str, Any]]
) -> str:
    """Return the folder of a session in the database, ``""`` if it had none.

    Args:
        user: the editor's ``User`` folder.
    """
    identity = table_of(head, "workspaceIdentifier")
    if path := text_of(table_of(identity, "uri").get("fsPath")):
        return path
    if (name := text_of(identity.get("id"))) and (
        path := _workspace(user / "workspaceStorage" / os.path.basename(name))
    ):
        return path
    if path := _by_workspaces(user, _minute()).get(session, ""):
        return path
    for one in tables_of(head.get("trackedGitRepos")):
        if path := text_of(one.get("repoPath")):
            return path
    return next(
        (path for row in rows.values() if (path := text_of(row.get("workspaceProjectDir")))), ""
    )


def _minute() -> int:
    """Return the current minute, as a cache key: an import looks up thousands of sessions."""
    return int(time.monotonic() // 60)


@lru_cache(maxsize=2)
def _by_workspaces(user: Path, _minute: int) -> dict[str, str]:
    """Return session -> folder of the workspace with a database that names it."""
    found: dict[str, str] = {}
    for folder in sorted((user / "workspaceStorage").glob("*/")):
        if path := _workspace(folder):
            for session in _of_workspace(folder):
                found.setdefault(session, path)
    return found


def _of_workspace(folder: Path) -> set[str]:
    """Return the sessions that a workspace's own database names."""
    try:
        with reading(str(folder / DATABASE)) as db:
            row = db.execute(
                "SELECT value FROM ItemTable WHERE key='composer.composerData'"
            ).fetchone()
    except OSError:
        return set()
    listed = tables_of(table_of(value_of(row[0])).get("allComposers") if row else None)
    return {text_of(one.get("composerId")) for one in listed}


def _workspace(folder: Path) -> str:
    """Return the folder of a workspace; ``""`` for several, for none, or if it cannot be read."""
    uri = text_of(json_file(folder / "workspace.json", _MAX_SMALL).get("folder"))
    return unquote(urlsplit(uri).path) if uri else ""


def folder_of_transcript(base: Path, session: str) -> str:
    """Return the folder of a session by its path below ``projects``.

    The name there cannot be decoded, but it can be compared with the names of known folders.
    """
    home = base.parent.parent.parent
    is_id = SESSION_ID.fullmatch(session)
    for meta in home.glob(f"{CHATS}/*/{session}/meta.json") if is_id else ():
        if path := text_of(json_file(meta, _MAX_SMALL).get("cwd")):
            return path
    near = _by_slug(home, _minute()).get(base.parent.name, set())
    return next(iter(near)) if len(near) == 1 else ""


@lru_cache(maxsize=2)
def _by_slug(home: Path, _minute: int) -> dict[str, set[str]]:
    """Return names of folders below ``projects`` -> the known folders with that name."""
    known = {
        text_of(json_file(meta, _MAX_SMALL).get("cwd"))
        for meta in home.glob(f"{CHATS}/*/*/meta.json")
    }
    known |= {
        _workspace(f) for db in databases() for f in db.parent.parent.glob("workspaceStorage/*/")
    }
    found: dict[str, set[str]] = {}
    for path in filter(None, known):
        found.setdefault(re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-"), set()).add(path)
    return found
