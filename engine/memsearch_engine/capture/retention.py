"""Agents delete their transcripts. Which memories cite one that will go, and keeping those turns in
time.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import cast

import msgspec

from memsearch_engine.agents.retention import Retention
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.evidence import Status as Kept
from memsearch_engine.agents.transcripts.locate import find_session, open_session
from memsearch_engine.capture.clean import redacted
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.projects import Project
from memsearch_engine.journal.files import list_days, read_day
from memsearch_engine.journal.model import Anchor
from memsearch_engine.search.scope import Scope

Progress = Callable[[str, int, int], None]
_SOON_DAYS = 7


class Expiring(msgspec.Struct):
    """A transcript that its agent will delete in ``days``; ``unkept`` of the ``memories`` citing it
    have no kept copy.
    """

    path: str
    days: int
    memories: int
    unkept: int


class Survey(msgspec.Struct):
    live: int = 0
    kept: int = 0
    lost: int = 0
    expiring: list[Expiring] = []


def cited(projects: list[Project]) -> dict[tuple[str, str], list[Anchor]]:
    """Every anchor of every memory, by (agent, session)."""
    found: dict[tuple[str, str], list[Anchor]] = {}
    for memory in dict.fromkeys(project.memory for project in projects):
        for file in list_days(memory):
            try:
                entries = read_day(file.path).entries
            except OSError:
                continue
            for entry in entries:
                for anchor in entry.anchors:
                    if anchor.agent and anchor.session:
                        found.setdefault((anchor.agent, anchor.session), []).append(anchor)
    return found


def survey(home: Home, projects: list[Project], folders: AgentFolders) -> Survey:
    """Where every cited conversation stands."""
    result = Survey(expiring=[])
    kept = Archive(home).names()
    now = time.time()
    for (agent, session), anchors in cited(projects).items():
        where = find_session(agent, session, anchors[0].path, folders)
        unkept = sum((agent, session, anchor.turn) not in kept for anchor in anchors)
        if where is None:
            result.kept += len(anchors) - unkept
            result.lost += unkept
            continue
        result.live += len(anchors)
        limit = _days_kept(agent, folders)
        if limit:
            left = limit - (now - os.stat(where.path).st_mtime) / 86400
            if left <= _SOON_DAYS:
                result.expiring.append(
                    Expiring(where.path, max(0, int(left)), len(anchors), unkept)
                )
    return result


def archive_all(
    home: Home,
    projects: list[Project],
    folders: AgentFolders,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[int, list[tuple[str, str]]]:
    """Keep every cited turn that is live and not kept yet. Returns how many, and what could not be
    read.
    """
    archive = Archive(home)
    names = archive.names()
    wanted = cited(projects)
    kept, failed = 0, []
    try:
        for number, ((agent, session), anchors) in enumerate(wanted.items()):
            if progress:
                progress("keeping", number, len(wanted))
            turns = {a.turn for a in anchors if a.turn and (agent, session, a.turn) not in names}
            where = find_session(agent, session, anchors[0].path, folders) if turns else None
            if where is None:
                continue
            try:
                conversation = open_session(where, home.offsets)
                for name in turns:
                    place = conversation.find(name)
                    for turn in conversation.turns(place, place + 1) if place >= 0 else []:
                        kept += archive.put(redacted(turn, home))
            except (OSError, MemsearchError) as error:
                failed.append((where.path, str(error)))
    finally:
        archive.close()
    return kept, failed


def _days_kept(agent: str, folders: AgentFolders) -> int:
    """How long an agent keeps its transcripts; 0 for ever."""
    deletes = cast("Retention | None", agent_registry.part(agent, "retention"))
    places = folders.here(agent)
    return min((deletes.days_kept(place) for place in places), default=0) if deletes else 0


class Evidence:
    """The conversations behind memories, as far as we keep them.

    >>> with Memory(everything=True) as memory:
    ...     memory.evidence.kept().turns
    0
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    def kept(self) -> Kept:
        """What is kept, and how large it is."""
        with contextlib.closing(Archive(self._home)) as archive:
            return archive.status()

    def survey(self) -> Survey:
        """How many cited conversations are live, kept or lost, and which their agent will delete
        soon.
        """
        return survey(self._home, self._scope.projects, self._scope.folders)

    def archive(self, progress: Progress | None = None) -> tuple[int, list[tuple[str, str]]]:
        """Keep every conversation that a memory of these projects cites and its agent still has:
        how many, and what failed why.
        """
        return archive_all(self._home, self._scope.projects, self._scope.folders, progress)

    def prune(self, *, max_bytes: int, max_days: float, dry_run: bool = False) -> tuple[int, int]:
        """Forget the oldest kept conversations beyond a size or an age (0: no limit): how many, and
        of how many none else is left.
        """
        with contextlib.closing(Archive(self._home)) as archive:
            gone = archive.prune(max_bytes=max_bytes, max_days=max_days, dry_run=dry_run)
        folders = self._scope.folders
        return len(gone), sum(
            find_session(agent, session, "", folders) is None for agent, session, _ in gone
        )
