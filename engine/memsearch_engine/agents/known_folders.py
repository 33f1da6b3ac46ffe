"""The folders in which agents store their sessions, as hooks reported them."""

from __future__ import annotations

import contextlib
import sqlite3

from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import Database


def project_roots(home: Home) -> list[str]:
    """Return the folders of all known projects; none if the database cannot be read."""
    return [root for (root,) in _looked_up(home, "SELECT root FROM project_paths ORDER BY root")]


def known_folders(home: Home, *roots: str) -> dict[str, list[str]]:
    """Return the agents' folders that hooks reported, newest first.

    Agents that store sessions in projects get the known projects and *roots*; only *roots* if the
    database cannot be read.
    """
    projects = [*roots, *project_roots(home)]
    found = {agent.name: list(projects) for agent in agent_registry.everyone() if agent.in_projects}
    for agent, folder in _looked_up(
        home, "SELECT agent, folder FROM agent_folders ORDER BY seen DESC"
    ):
        found.setdefault(agent, []).append(folder)
    return found


def _looked_up(home: Home, query: str) -> list[tuple[str, ...]]:
    """Return rows of ``state.db``; none if the table is missing or the database cannot be read."""
    if not home.state_db.exists():
        return []
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        with contextlib.suppress(sqlite3.Error):
            db = sqlite3.connect(
                f"{home.state_db.as_uri()}?{mode}", uri=True, timeout=2, factory=Database
            )
            try:
                return db.execute(query).fetchall()
            finally:
                db.close()
    return []
