"""Finds the prompts of older notes, in the archive or in the agents' own sessions.

A prompt is embedded and searched together with its note (``index/chunk.py``), since people search
for a topic with the words of their prompt.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import anchored, known_folders
from memsearch_engine.agents.transcripts.model import TurnName
from memsearch_engine.capture.clean import redacted
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.projects import Project
from memsearch_engine.index.chunk import asked_before
from memsearch_engine.index.rows import Row
from memsearch_engine.service.commands import IndexJob
from memsearch_engine.service.index_state import IndexState
from memsearch_engine.service.sources import ProjectSources

log = logging.getLogger("memsearch.service")
#: Notes for which a step looks up prompts, and the seconds that a step may take.
PROMPTS_AT_ONCE, _PROMPTS_S = 512, 1.0


class PromptFinder:
    """Looks for prompts when the index thread is idle. Only that thread may call it."""

    def __init__(self, state: IndexState, sources: ProjectSources) -> None:
        self._state, self._sources = state, sources
        self._projects: list[Project] = []  # projects with notes that may lack their prompts

    @property
    def is_due(self) -> bool:
        """Whether there is a project with missing prompts."""
        return bool(self._projects)

    def note(self, project: Project) -> None:
        """Record that notes of a project may lack their prompts."""
        if project not in self._projects:
            self._projects.append(project)

    def step(self) -> None:
        """Find the prompts of some notes, and queue these notes to be embedded again.

        Their old vectors serve until then.
        """
        project = self._projects[-1]
        try:
            rows = (
                self._state.catalog.prompts.missing(project.id, PROMPTS_AT_ONCE)
                if self._sources.prompts_wanted
                else []
            )
            is_done, asked = not rows, self._asked_in(rows)
            if asked:
                self._state.catalog.prompts.put(asked)
            if rows and not any(asked.values()):  # otherwise the index job does this
                for space in self._state.spaces:
                    space.reconcile(self._state.catalog, project.id, project.collection)
        except Exception:  # the next start tries again
            log.exception("the prompts of %s are not searched", project.slug)
            is_done, asked = True, {}
        if is_done:
            self._projects.pop()
        elif any(asked.values()):
            self._state.enqueue(IndexJob(project, []))

    def _asked_in(self, rows: list[Row]) -> dict[int, str]:
        """Return the text to embed before each chunk: row id -> prompt, as far as time allows."""
        end = time.monotonic() + _PROMPTS_S
        names = {row.id: (row.agent, row.session, row.turn) for row in rows}
        found = Archive(self._state.home).prompts(names.values())
        left = {names[row.id]: row.anchors[0].path for row in rows if names[row.id] not in found}
        found |= live(
            self._state.home,
            left,
            lambda: (
                time.monotonic() > end
                or not self._state.queue.empty()
                or self._state.stopping.is_set()
            ),
        )
        known = [row.id for row in rows if names[row.id] in found]
        return {
            row: asked_before(text, found[names[row]])
            for row, text in self._state.catalog.prompts.entry_texts(known).items()
        }


def live(
    home: Home, paths: Mapping[TurnName, str], stop: Callable[[], bool]
) -> dict[TurnName, str]:
    """Read prompts from the agents' own sessions, without secrets.

    Args:
        paths: turn -> path of its session, according to its anchor.
        stop: asked before each session. After a stop, the remaining turns are missing in the
            result.

    Returns:
        Turn -> prompt; ``""`` if the turn no longer exists.
    """
    folders = AgentFolders.from_env(seen=known_folders(home))
    sessions: dict[tuple[str, str, str], list[TurnName]] = {}
    for name, path in paths.items():
        sessions.setdefault((*name[:2], path), []).append(name)
    found: dict[TurnName, str] = {}
    for (agent, session, path), names in sessions.items():
        if stop():
            break
        found.update(dict.fromkeys(names, ""))
        try:
            conversation = anchored(agent, session, path, folders, cache=home.offsets)
            for name in names:
                place = conversation.find(name[2])
                for turn in conversation.turns(place, place + 1) if place >= 0 else ():
                    turn.tools = []  # long outputs are not needed
                    found[name] = redacted(turn, home).user
        except (OSError, MemsearchError):
            continue
    return found
