"""Finds the prompts of older notes, which are embedded together with the notes."""

from __future__ import annotations

import logging
import time

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture import prompts
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
            self._state.catalog.prompts.put(asked)
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
        found |= prompts.live(
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
