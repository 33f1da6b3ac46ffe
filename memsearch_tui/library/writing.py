"""Writes to the project of a note, which may not be the project that the app shows."""

from __future__ import annotations

from collections.abc import Sequence

import memsearch_engine as engine

from memsearch_tui.library.rows import Item


class LibraryWriter:
    """Adds notes and facts, and shares notes. Each write opens the note's own project."""

    def __init__(self, memory: engine.Memory) -> None:
        self._memory = memory

    def _opened(self, root: str) -> engine.Memory:
        return engine.Memory(root, home=self._memory.home)

    def project_of_new(self, beside: Item | None) -> engine.Project:
        """Return the project of a new note: the project that is shown or, for all projects, that of
        the note *beside* it.
        """
        memory = self._memory
        if memory.everything and beside:
            return memory.files.project_of(beside.path) or memory.project
        return memory.project

    def add(self, text: str, day: str, root: str = "") -> engine.Note:
        """Write a note of the ISO day *day*.

        Args:
            root: the project's folder; '': the project that is shown.

        Raises:
            MemsearchError: the note cannot be written.
        """
        with self._opened(root or self._memory.place.root) as memory:
            return memory.add(text, day=day)

    def remember(self, fact: str, root: str) -> engine.Fact:
        """Store a fact that is injected into every new session of the project at *root*.

        Raises:
            MemsearchError: the fact cannot be stored.
        """
        with self._opened(root) as memory:
            return memory.remember(fact)

    def plan_share(self, items: Sequence[Item]) -> tuple[str, list[engine.PlannedShare]]:
        """Return what sharing these notes with the team would write. This may take seconds.

        Returns:
            The root of their project, and the planned copies.

        Raises:
            MemsearchError: the notes cannot be shared.
        """
        root = self._root_of_all(items)
        with self._opened(root) as memory:
            return root, memory.sharing.plan([item.entry_id for item in items])

    def share(self, root: str, planned: list[engine.PlannedShare]) -> list[str]:
        """Write the planned copies and return their files.

        Raises:
            MemsearchError: a copy cannot be written.
        """
        with self._opened(root) as memory:
            return memory.sharing.share(planned)

    def withdraw(self, items: Sequence[Item]) -> list[engine.Note]:
        """Remove shared notes from the project.

        Raises:
            MemsearchError: a note cannot be removed.
        """
        with self._opened(self._root_of_all(items)) as memory:
            return memory.sharing.withdraw([item.entry_id for item in items])

    def _root_of_all(self, items: Sequence[Item]) -> str:
        projects = map(self._memory.files.project_of, (item.path for item in items))
        roots = {project.root for project in projects if project}
        if len(roots) != 1:
            raise engine.UsageError(
                "these are notes of several projects, or of none", "choose those of one"
            )
        return roots.pop()
