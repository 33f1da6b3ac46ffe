"""Finding the prompts behind older notes, so that they are searched with them."""

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
#: Notes whose prompts are looked for at once, and how long a new note may wait for that.
PROMPTS_AT_ONCE, _PROMPTS_S = 512, 1.0


class PromptFinder:
    """Looks for prompts when the index thread rests. All calls come from that thread."""

    def __init__(self, state: IndexState, sources: ProjectSources) -> None:
        self._state, self._sources = state, sources
        self._projects: list[Project] = []  # whose notes may lack the prompts of their turns

    @property
    def is_due(self) -> bool:
        return bool(self._projects)

    def note(self, project: Project) -> None:
        """A project's notes may lack their prompts."""
        if project not in self._projects:
            self._projects.append(project)

    def step(self) -> None:
        """Find the prompts behind some notes that have none, and have those embedded anew; their
        old vectors serve meanwhile.
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
        except Exception:  # what is not found today is looked for at the next start
            log.exception("the prompts of %s are not searched", project.slug)
            is_done, asked = True, {}
        if is_done:
            self._projects.pop()
        elif any(asked.values()):
            self._state.enqueue(IndexJob(project, []))

    def _asked_in(self, rows: list[Row]) -> dict[int, str]:
        """What is embedded before the chunks *rows*, as far as there is time to find it."""
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
