"""The sources of a project's index: notes, long-term memory, agent files, and named folders."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path

from memsearch_engine.agents import agent_files
from memsearch_engine.agents.transcripts.locate import reported_folders
from memsearch_engine.core import freshness, network
from memsearch_engine.core.errors import MemsearchError, SettingsError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.project_location import shared_beside
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, load
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import pages, searchable

log = logging.getLogger("memsearch.service")


class ProjectSources:
    """The sources of projects, and whether they have changed since they were read."""

    def __init__(self, home: Home, settings: Callable[[], Settings]) -> None:
        self.home, self._settings = home, settings
        # root -> stamps of the agents' memory files, and of PROJECT.md and USER.md
        self._file_stamps: dict[str, dict[str, list[int]]] = {}
        self._page_stamps: dict[str, dict[str, list[int]]] = {}

    def longterm(self, project: Project) -> str:
        """Write the searchable long-term memory of a project, and return its folder."""
        self._page_stamps[project.root] = pages.stamps(
            self._settings(), project
        )  # taken before the pages are read
        try:
            with contextlib.closing(Origin(self.home)) as origin:
                made = searchable.write(self.home, project.id, origin, project, self._settings())
                return str(made)
        except (MemsearchError, OSError) as error:  # the notes are found without it
            log.warning("the long-term memory is not searched in %s: %s", project.slug, error)
            return str(searchable.folder(self.home, project.id))

    def write_agent_files(self, project: Project) -> None:
        """Write the searchable copy of the agent files, if they have changed."""
        found = self.agent_files(project, AgentFolders.from_env(seen=reported_folders(self.home)))
        stamps = freshness.stamps(found)
        if self._file_stamps.get(project.root) == stamps:
            return
        self._file_stamps[project.root] = (
            stamps  # also if writing fails: the next change tries again
        )
        try:
            searchable.write_agent_files(self.home, project.id, project.root, found)
        except (MemsearchError, OSError) as error:  # the notes are found without it
            log.warning("the agents' own memories are not searched in %s: %s", project.slug, error)

    def agent_files(self, project: Project, folders: AgentFolders) -> agent_files.Found:
        """Return the agent files of a project that may be indexed."""
        is_wanted = self._may_read(self._settings().indexing.native_memories)
        return agent_files.sources(project.root, folders) if is_wanted else {}

    def has_changed(self, project: Project, folders: AgentFolders) -> bool:
        """Whether agent files, PROJECT.md or USER.md have changed since they were read."""
        page_stamps = pages.stamps(self._settings(), project)
        files = freshness.stamps(self.agent_files(project, folders))
        return (
            self._file_stamps.get(project.root, {}) != files
            or self._page_stamps.get(project.root, page_stamps) != page_stamps
        )

    def settings_of(self, project: Project) -> tuple[Settings, list[tuple[str, str]]]:
        """Load the settings that apply in a project.

        Returns: The settings, and (file, reason) if the project's file can't be read. The project's
            file is then ignored, because it may have come with a clone.
        """
        file = Path(project.root) / ".memsearch.toml"
        try:
            return load(self.home, file), []
        except SettingsError as error:
            return load(self.home), [(str(file), str(error))]

    def extra_roots(
        self, project: Project, paths: list[str], catalog: Catalog, others: list[Project]
    ) -> list[str]:
        """Return the folders outside the memory folder that the user asked to index.

        The catalog remembers them by their files. The memory folder of another clone is not
        included, because that clone's runs index it.

        Args:
            paths: folders and files of the current request.
            others: the other known projects.
        """
        roots = {os.path.abspath(path) for path in paths} | catalog.files.roots(project.id)
        own = {
            folder
            for other in (project, *others)
            for folder in (other.memory, shared_beside(other.memory))
        }
        return sorted(roots - own)

    @property
    def prompts_wanted(self) -> bool:
        """Whether notes are searched together with the prompts of their turns."""
        return self._may_read(self._settings().indexing.prompts)

    def _may_read(self, chosen: str) -> bool:
        """Whether texts other than notes may go to the embedding model and the store.

        Both may be services on other machines.

        Args:
            chosen: the setting, ``on``, ``off`` or ``auto`` (only if both are on this machine).
        """
        embedding, uri = self._settings().embedding, self._settings().milvus.uri
        is_here = embedding.provider == "onnx" or network.is_local(
            embedding.base_url or "elsewhere"
        )
        return chosen == "on" or (
            chosen == "auto" and is_here and (not uri or network.is_local(uri))
        )
