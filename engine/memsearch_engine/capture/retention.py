"""Archives cited turns in time, because agents delete their transcripts."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive, ArchiveStatus
from memsearch_engine.agents.transcripts.locate import SessionFinder, open_session
from memsearch_engine.agents.transcripts.readers import reader
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders
from memsearch_engine.index.rows import CatalogBroken
from memsearch_engine.journal.files import DayFile, list_days, read_day_or_empty
from memsearch_engine.journal.model import Anchor
from memsearch_engine.search.scope import Scope, ScopePart

Progress = Callable[[str, int, int], None]
_SOON_DAYS = 7


class Expiring(msgspec.Struct):
    """A transcript that its agent will delete.

    Attributes:
        days: days until then.
        memories: notes that cite it.
        unkept: those of them without an archived turn.
    """

    path: str
    days: int
    memories: int
    unkept: int


class Survey(msgspec.Struct):
    """Numbers of cited turns by state.

    Attributes:
        live: the agent still has the turn.
        kept: the turn is archived.
        lost: neither.
        expiring: transcripts that their agents will delete soon.
    """

    live: int = 0
    kept: int = 0
    lost: int = 0
    expiring: list[Expiring] = []


def cited(scope: Scope) -> dict[tuple[str, str], list[Anchor]]:
    """Return every anchor of every note, by (agent, session)."""
    found: dict[tuple[str, str], list[Anchor]] = defaultdict(list)
    indexed: dict[DayFile, list[Anchor]] = {}
    with contextlib.suppress(CatalogBroken):
        for project in scope.projects:
            if scope.catalog:
                indexed |= scope.catalog.outlines.anchors(project.id)
    for memory in dict.fromkeys(project.memory for project in scope.projects):
        for file in list_days(memory):
            anchors = indexed.get(file)
            if anchors is None or not os.access(file.path, os.R_OK):
                entries = read_day_or_empty(file.path).entries
                anchors = [anchor for entry in entries for anchor in entry.anchors]
            for anchor in anchors:
                found[anchor.agent, anchor.session].append(anchor)
    return {key: anchors for key, anchors in found.items() if all(key)}


def _retention_days(agent: str, folders: AgentFolders) -> int:
    """Return after how many days an agent deletes its transcripts; 0 for never."""
    reads = reader(agent)
    places = folders.here(agent) if reads else []
    return min((reads.retention_days(place) for place in places), default=0) if reads else 0


class Evidence(ScopePart):
    """The archived turns behind notes.

    >>> with Memory(everything=True) as memory:
    ...     memory.evidence.status().turns
    0
    """

    def status(self) -> ArchiveStatus:
        """Return the number and size of the archived turns."""
        with contextlib.closing(Archive(self._home)) as archive:
            return archive.status()

    def survey(self) -> Survey:
        """Return how many cited turns are live, archived or lost, and the expiring transcripts."""
        result, now = Survey(expiring=[]), time.time()
        archived = Archive(self._home).turns()
        finder = SessionFinder(self._scope.folders)
        retention_days = cache(partial(_retention_days, folders=self._scope.folders))
        for (agent, session), anchors in cited(self._scope).items():
            where = finder.find(agent, session, anchors[0].path)
            turns = archived.get((agent, session))
            unkept = sum(a.turn not in turns for a in anchors) if turns else len(anchors)
            if where is None:
                result.kept += len(anchors) - unkept
                result.lost += unkept
                continue
            result.live += len(anchors)
            if limit := retention_days(agent):
                left = limit - (now - os.stat(where.path).st_mtime) / 86400
                if left <= _SOON_DAYS:
                    result.expiring.append(
                        Expiring(where.path, max(0, int(left)), len(anchors), unkept)
                    )
        return result

    def archive(self, progress: Progress | None = None) -> tuple[int, list[tuple[str, str]]]:
        """Archive every turn that a note of these projects cites and its agent still has.

        Args:
            progress: called with phase, done and total.

        Returns:
            The number of archived turns, and (path, reason) of those that can't be read.
        """
        from memsearch_engine.capture.clean import redacted  # 40 ms, which a survey need not

        wanted = cited(self._scope)
        count, failed, finder = 0, [], SessionFinder(self._scope.folders)
        with contextlib.closing(Archive(self._home)) as archive:
            names = archive.names()
            for number, ((agent, session), anchors) in enumerate(wanted.items()):
                if progress:
                    progress("keeping", number, len(wanted))
                turns = {
                    one.turn
                    for one in anchors
                    if one.turn and (agent, session, one.turn) not in names
                }
                where = finder.find(agent, session, anchors[0].path) if turns else None
                if where is None:
                    continue
                try:
                    conversation = open_session(where, self._home.offsets)
                    for name in turns:
                        place = conversation.find(name)
                        for turn in conversation.turns(place, place + 1) if place >= 0 else []:
                            count += archive.put(redacted(turn, self._home))
                except (OSError, MemsearchError) as error:
                    failed.append((where.path, str(error)))
        return count, failed

    def prune(self, *, max_bytes: int, max_days: float, dry_run: bool = False) -> tuple[int, int]:
        """Delete the oldest archived turns above a size or an age.

        Args:
            max_bytes: the size; 0 for no limit.
            max_days: the age; 0 for no limit.
            dry_run: only count.

        Returns:
            The number of deleted turns, and how many of them have no other copy.
        """
        with contextlib.closing(Archive(self._home)) as archive:
            gone = archive.prune(max_bytes=max_bytes, max_days=max_days, dry_run=dry_run)
        finder = SessionFinder(self._scope.folders)
        return len(gone), sum(finder.find(agent, session, "") is None for agent, session, _ in gone)
