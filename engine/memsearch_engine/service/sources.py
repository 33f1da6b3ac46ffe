"""Where the texts of a project's index come from: its notes, its long-term memory, the agents' own
memory files, folders that its owner named.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from memsearch_engine.agents import agent_files
from memsearch_engine.agents.known_folders import known_folders
from memsearch_engine.core import network
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
        self._file_stamps: dict[str, tuple[tuple[str, int, int], ...]] = {}
        self._page_stamps: dict[str, tuple[tuple[int, int], ...]] = {}

    def longterm(self, project: Project) -> str:
        """Where what a project may know of the long-term memory lies, up to date."""
        self._page_stamps[project.root] = pages.stamp(
            self._settings(), project
        )  # before they are read
        origin = Origin(self.home)
        try:
            return str(searchable.write(self.home, project.id, origin, project, self._settings()))
        except (MemsearchError, OSError) as error:  # the notes are found without it
            log.warning("the long-term memory is not searched in %s: %s", project.slug, error)
            return str(searchable.folder(self.home, project.id))
        finally:
            origin.close()

    def write_agent_files(self, project: Project) -> None:
        """Bring up to date what is searched of the agents' own memories."""
        found = self.agent_files(project, AgentFolders.from_env(seen=known_folders(self.home)))
        stamps = agent_files.stamps(found)
        if self._file_stamps.get(project.root) == stamps:
            return
        self._file_stamps[project.root] = (
            stamps  # also where it fails: it is tried again when they change
        )
        try:
            searchable.write_agent_files(self.home, project.id, project.root, found)
        except (MemsearchError, OSError) as error:  # the notes are found without it
            log.warning("the agents' own memories are not searched in %s: %s", project.slug, error)

    def agent_files(self, project: Project, folders: AgentFolders) -> agent_files.Found:
        is_wanted = self._may_read(self._settings().indexing.native_memories)
        return agent_files.sources(project.root, folders) if is_wanted else {}

    def has_changed(self, project: Project, folders: AgentFolders) -> bool:
        """Whether agents have written to their memory files, or somebody to PROJECT.md or USER.md."""
        page_stamps = pages.stamp(self._settings(), project)
        files = agent_files.stamps(self.agent_files(project, folders))
        return (
            self._file_stamps.get(project.root, ()) != files
            or self._page_stamps.get(project.root, page_stamps) != page_stamps
        )

    def settings_of(self, project: Project) -> tuple[Settings, list[tuple[str, str]]]:
        """The settings that hold in a project. A bad file in it fails nothing but itself: it came
        with a clone.
        """
        file = Path(project.root) / ".memsearch.toml"
        try:
            return load(self.home, file), []
        except SettingsError as error:
            return load(self.home), [(str(file), str(error))]

    def extra_roots(
        self, project: Project, paths: list[str], catalog: Catalog, others: list[Project]
    ) -> list[str]:
        """Folders beside the memory folder that the user asked to index; remembered by the
        catalog's own files.

        Another clone's memory folder is not one of them: it is indexed as what it is, by that
        clone's own runs.
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
        """Whether what users had asked is searched with the notes of it."""
        return self._may_read(self._settings().indexing.prompts)

    def _may_read(self, chosen: str) -> bool:
        """Whether a text that is no note is given to the model that embeds and to the store: they
        may be somebody else's.
        """
        embedding, uri = self._settings().embedding, self._settings().milvus.uri
        is_here = embedding.provider == "onnx" or network.is_local(
            embedding.base_url or "elsewhere"
        )
        return chosen == "on" or (
            chosen == "auto" and is_here and (not uri or network.is_local(uri))
        )
