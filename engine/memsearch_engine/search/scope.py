"""The projects that a caller works with, and the stores that are open for them.

Parts of the engine that act for a caller take a ``Scope``. It opens each store on first use. It
does not import the client of the service; its owner passes one in.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memsearch_engine.core.errors import MemsearchError, NotFound, UsageError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.projects import Place, Project, locate, offline_project, projects_named

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine.core.home import AgentFolders
    from memsearch_engine.core.settings import Settings
    from memsearch_engine.index.catalog import Catalog
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.model import Document, Entry
    from memsearch_engine.journal.note import Note
    from memsearch_engine.journal.outline import FileOutline
    from memsearch_engine.journal.write import Journal
    from memsearch_engine.search.request import SearchRequest
    from memsearch_engine.search.sections import Section

T = TypeVar("T")


class ServiceCall(Protocol):
    """Calls one method of the service and returns its answer as *kind*.

    Raises:
        Unreachable: no service answers, and *start* does not allow to start one.
    """

    def __call__(
        self,
        method: str,
        kind: type[T],
        *,
        start: bool = True,
        timeout_s: float = 30.0,
        progress: Callable[[dict[str, Any]], None] | None = None,
        request: SearchRequest | None = None,
        **params: Any,
    ) -> T:
        """Call *method*, and return its answer."""
        ...


class _Read:
    """What was read in ``reading_once``: path -> file, and the outlines of all files."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.outlines: dict[DayFile, FileOutline] | None = None


_READ: ContextVar[_Read | None] = ContextVar("read", default=None)


def reading_once() -> Context:
    """Return a context in which ``Scope`` parses each file and reads the outlines only once.

    In such a context, it reads what that one reads. A file that changes meanwhile is not read
    again. Whoever changes a note compares the file.
    """
    context = copy_context()
    if not context.get(_READ):
        context.run(_READ.set, _Read())
    return context


class Scope:
    """One project, or all registered projects. Threads may share it.

    Args:
        home: the folder with indexes, settings and history.
        path: a folder inside the project; None if the current folder is gone.
        everything: all registered projects instead of one.
        project: the name of a registered project, instead of the one at *path* (``*``: all).
        call: the function that calls the service.

    Attributes:
        shortfall: why the project registry can't be read; empty if it can.

    Raises:
        UsageError: no project has that name.
    """

    def __init__(
        self,
        home: Home,
        path: str | os.PathLike[str] | None,
        *,
        everything: bool,
        project: str | None,
        call: ServiceCall,
    ) -> None:
        self.home, self.call = home, call
        self.everything = everything or project == "*"
        self.shortfall = ""
        self._path, self._place = path, None
        self._catalog: Catalog | None = None
        self._journal: Journal | None = None
        self._projects: list[Project] | None = None
        #: The projects, and the project of each folder.
        self._owners: tuple[list[Project], dict[str, Project | None]] = [], {}
        self._is_known = False
        self._folders: AgentFolders | None = None
        if project and not self.everything:
            chosen = self.named([project])[0]
            common_dir = locate(chosen.root, home).common_dir
            self._place = Place(chosen.root, chosen.memory, common_dir)

    def close(self) -> None:
        """Close the stores that were opened."""
        if self._catalog is not None:
            self._catalog.close()
        if self._journal is not None:
            self._journal.history.close()
            self._journal.origin.close()

    # -- projects

    @property
    def place(self) -> Place:
        """The project location. Raises FileNotFoundError if the current folder is gone."""
        if self._place is None:
            self._place = locate(self._path, self.home)
        return self._place

    @property
    def place_param(self) -> dict[str, str]:
        """The project location as parameters for methods of the service."""
        place = self.place
        return {"root": place.root, "memory": place.memory, "common_dir": place.common_dir}

    @property
    def project(self) -> Project:
        """The project at the project location, or the first project if it is not registered."""
        return next((p for p in self.projects if p.root == self.place.root), self.projects[0])

    @property
    def projects(self) -> list[Project]:
        """The projects of this scope; at least one."""
        if self._projects is not None:
            return self._projects
        found = self._find_projects()
        if self._is_known:  # the identity of an unregistered project changes with its first commit
            self._projects = found
        return found

    def _find_projects(self, *, register: bool = False) -> list[Project]:
        from memsearch_engine.core.project_registry import Registry

        try:
            with contextlib.closing(Registry(self.home)) as registry:
                here = registry.at(self.place, register=register)
                self._is_known = registry.knows(here.root)
                return (registry.all() if self.everything else []) or [here]
        except (MemsearchError, OSError) as error:
            self.shortfall = str(error)
            self._is_known = True
            return [offline_project(self.place)]

    def register(self) -> None:
        """Register the project, so that the service knows it."""
        self._projects = self._find_projects(register=True)

    def forget_projects(self) -> None:
        """Make the next use of ``projects`` read the registry again."""
        self._projects = None

    def known(self) -> list[Project]:
        """Every registered project, one per path, newest first. Raises Unreachable."""
        from memsearch_engine.core.project_registry import Registry

        with contextlib.closing(Registry(self.home)) as registry:
            return registry.all()

    def forget_project(self, name: str) -> Project:
        """Unregister a project and drop its index; see ``Memory.forget_project``."""
        named = self.named([name]) if os.sep not in name else []
        path = os.path.abspath(name)
        found = [p for p in named or self.named(["*"]) if named or p.root == path]
        if len(found) != 1:
            several = ", ".join(project.root for project in found)
            raise UsageError(
                f"several projects are named {name}: {several}"
                if found
                else f"no project at {path}",
                "name one by its path: `memsearch project --all` lists them",
            )
        (project,) = found
        self.call("forget_project", bool, timeout_s=90, root=project.root)
        self.home.context(project.memory).unlink(missing_ok=True)
        self.forget_projects()
        return project

    def named(self, names: list[str]) -> list[Project]:
        """The registered projects with these names, slugs, ids or collections (``*``: all).

        Raises:
            UsageError: no project has any of these names.
        """
        known = self.known()
        return known if "*" in names and known else projects_named(known, names)

    # -- stores

    @property
    def catalog(self) -> Catalog | None:
        """The catalog of the index, read only; None if there is no index."""
        if self._catalog is None:
            from memsearch_engine.index.catalog import Catalog

            self._catalog = Catalog.open_readonly(self.home.cache_db)
        return self._catalog

    @property
    def journal(self) -> Journal:
        """The writer of day files, with its history."""
        if self._journal is None:
            from memsearch_engine.journal.write import Journal

            self._journal = Journal(self.home)
        return self._journal

    @property
    def settings(self) -> Settings:
        """The owner's settings, read from disk at each use. Raises SettingsError."""
        from memsearch_engine.core.settings import load

        return load(self.home)

    @property
    def folders(self) -> AgentFolders:
        """The known folders in which agents on this machine store their sessions."""
        if self._folders is None:
            from memsearch_engine.agents.transcripts.locate import known_folders

            roots: list[str] = []
            with contextlib.suppress(FileNotFoundError):  # the current folder is gone
                roots.append(self.place.root)
            self._folders = AgentFolders.from_env(seen=known_folders(self.home, *roots))
        return self._folders

    # -- notes

    def days(self) -> list[DayFile]:
        """All day files, newest first."""
        from memsearch_engine.journal.shared import list_dated

        found = [day for project in self.projects for day in list_dated(project.memory)]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def files(self) -> list[DayFile]:
        """All markdown files of the memory folders and of shared notes, newest day first."""
        from memsearch_engine.journal.shared import list_notes

        found = [file for project in self.projects for file in list_notes(project.memory).files]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def files_anew(self) -> list[DayFile]:
        """As ``files``, with the projects that were registered since."""
        if self.everything:
            self.forget_projects()
        return self.files()

    def document(self, path: str) -> Document:
        """A file of notes with its entries. Raises OSError."""
        from memsearch_engine.journal.files import read_day

        read = _READ.get()
        if read is None:
            return read_day(path)
        if path not in read.documents:
            read.documents[path] = read_day(path)
        return read.documents[path]

    def outlines(self) -> dict[DayFile, FileOutline]:
        """The outlines of the readable files that have not changed since they were indexed."""
        read = _READ.get() or _Read()
        if read.outlines is None:
            read.outlines = {}
            with contextlib.suppress(MemsearchError):  # the files are parsed then
                for project in self.projects:
                    if self.catalog:
                        read.outlines |= self.catalog.outlines.of(project.id)
            for file in [file for file in read.outlines if not os.access(file.path, os.R_OK)]:
                del read.outlines[file]
        return read.outlines

    def read(self, file: DayFile) -> list[Entry]:
        """The entries of a day file. Raises OSError."""
        return self.document(file.path).entries

    def section(self, name: str) -> Section:
        """The entry with an entry id or chunk id, and its file.

        The projects of the scope are searched first, then all projects, then former chunk ids in
        the history.

        Raises:
            NotFound: no such entry.
            UsageError: the id is too short or ambiguous.
        """
        from memsearch_engine.search import sections

        try:
            return sections.find(self.catalog, self.projects, name)
        except NotFound as error:
            missing = error
        others = self
        if not self.everything:
            others = Scope(
                self.home, self.place.root, everything=True, project=None, call=self.call
            )
            with contextlib.suppress(NotFound):
                return sections.find(self.catalog, others.projects, name)
        with contextlib.suppress(MemsearchError):  # a history that cannot be read
            if entry_id := sections.id_of_former_chunk(self.journal.history, name):
                return sections.find(self.catalog, others.projects, entry_id)
        raise missing

    def note(self, name: str) -> Note:
        """The current note with the id of a hit, an entry or a chunk.

        Raises:
            NotFound: no such entry.
            UsageError: the id is too short or ambiguous.
        """
        from memsearch_engine.journal.note import Note

        section = self.section(name)
        return Note.of(section.entry, section.path)

    def project_of(self, path: str) -> Project | None:
        """The project that has this file among its own or shared notes; None if there is none."""
        from memsearch_engine.journal.shared import belongs

        folder, projects = os.path.dirname(path), self.projects
        known, owners = self._owners
        if known is not projects:
            owners = {}
            self._owners = projects, owners
        if folder not in owners:  # the files of a folder have one project
            owners[folder] = next((p for p in projects if belongs(path, p.memory)), None)
        return owners[folder]

    def memory_of(self, path: str) -> str:
        """The memory folder that a file belongs to, which identifies its undo history."""
        project = self.project_of(path)
        return project.memory if project else os.path.dirname(path)


class ScopePart:
    """The base class of the parts of ``Memory``, which act for the projects of a scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home
