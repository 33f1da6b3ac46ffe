"""The folders in which agents store their sessions, as hooks reported them."""

from __future__ import annotations

from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import read_rows

_WAIT_S = 2.0


def project_roots(home: Home) -> list[str]:
    """Return the folders of all known projects; none if the database cannot be read."""
    query = "SELECT root FROM project_paths ORDER BY root"
    return [root for (root,) in read_rows(home.state_db, query, timeout_s=_WAIT_S)]


def known_folders(home: Home, *roots: str) -> dict[str, list[str]]:
    """Return the agents' folders that hooks reported, newest first.

    Agents that store sessions in projects get the known projects and *roots*; only *roots* if the
    database cannot be read.
    """
    projects = [*roots, *project_roots(home)]
    found = {agent.name: list(projects) for agent in agent_registry.everyone() if agent.in_projects}
    query = "SELECT agent, folder FROM agent_folders ORDER BY seen DESC"
    for agent, folder in read_rows(home.state_db, query, timeout_s=_WAIT_S):
        found.setdefault(agent, []).append(folder)
    return found
