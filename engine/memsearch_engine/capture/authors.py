"""Detects whether an agent or a person writes a note.

Agents set environment variables in the shells and servers that they start. A person's own terminal
has none of these.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import NamedTuple

from memsearch_engine.agents.transcripts.locate import (
    all_sessions,
    find_session,
    known_folders,
    open_session,
)
from memsearch_engine.agents.transcripts.model import Session
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import MemsearchError, UsageError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.journal.instructions import instructs
from memsearch_engine.journal.model import QuarantineReason

#: Variables that any agent may set for the processes that it starts (https://agents.md and the
#: agents' own shells). For the last two, only some values count.
_ANY = ("AI_AGENT", "AGENT")
_NO = ("", "0", "false", "no")
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_RECENT_S, _LOOKED_AT = 3600.0, 3


class Author(NamedTuple):
    """An agent that writes.

    Attributes:
        session: ``""`` if it is not known.
    """

    agent: str
    session: str = ""


def here(environment: Mapping[str, str] = os.environ) -> Author | None:
    """Return the agent that runs this process; None if a person runs it."""
    for known in agent_registry.everyone():
        if any(environment.get(mark, "") not in _NO for mark in known.shell_marks):
            return Author(
                known.name,
                environment.get(known.session_variable, "") if known.session_variable else "",
            )
    for mark in _ANY:
        if environment.get(mark, "") not in _NO:
            value = environment[mark]
            return named(value if not value.isdigit() and value != "true" else "agent", {})
    return None


def refuse(what: str) -> None:
    """Raise UsageError in an agent's shell, because only a person may do *what* (a verb phrase)."""
    if author := here():
        raise UsageError(
            f"{author.agent} can't {what}: its user has to",
            "run the command in a terminal of your own",
        )


def named(client: str, environment: Mapping[str, str] = os.environ) -> Author:
    """Return the agent for the name that a client reports."""
    words = client.casefold().strip()
    for known in agent_registry.everyone():
        if words in (known.name, known.title.casefold(), known.program, *known.also_called):
            return Author(
                known.name,
                environment.get(known.session_variable, "") if known.session_variable else "",
            )
    at_work = here(environment) if environment else None
    return at_work or Author(_NAME.sub("-", client).strip("-.")[:40] or "agent")


def doubt(home: Home, author: Author, root: str, text: str) -> QuarantineReason | None:
    """Return why a text by an agent is quarantined; None if it is not.

    Args:
        root: the project's folder.
    """
    if instructs(text):
        return QuarantineReason.SUSPECT
    return QuarantineReason.OUTSIDE if _took_outside(home, author, root) else None


def _took_outside(home: Home, author: Author, root: str) -> bool:
    """Whether the agent's session involved outside content.

    If the session is not known, its recent sessions in the project are checked.
    """
    folders = AgentFolders.from_env(seen=known_folders(home))
    where = find_session(author.agent, author.session, "", folders) if author.session else None
    found: list[Session] = [where] if where else []
    if not found and author.agent in agent_registry.AGENTS:
        since = time.time() - _RECENT_S
        recent = [one for one in all_sessions(author.agent, folders) if one.modified >= since]
        found = sorted(recent, key=lambda one: one.modified)[-_LOOKED_AT:]
    base = os.path.realpath(root)
    for one in found:
        try:
            turns = list(open_session(one, home.offsets).each())
        except (OSError, MemsearchError, ValueError):
            continue
        if any(turn.outside and (where or _is_below(turn.cwd, base)) for turn in turns):
            return True
    return False


def _is_below(folder: str, base: str) -> bool:
    path = os.path.realpath(folder) if folder else ""
    return path == base or path.startswith(base + os.sep)
