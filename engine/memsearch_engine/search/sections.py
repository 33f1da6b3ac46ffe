"""From a hit to its whole section (L2), by chunk or entry, with or without an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.project_location import author_of
from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import chunks_of
from memsearch_engine.index.rows import CatalogBroken
from memsearch_engine.journal.files import DayFile, day_of, original_of
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import belongs, list_notes

if TYPE_CHECKING:
    from memsearch_engine.journal.history import History
    from memsearch_engine.journal.write import Target

_MIN_CHUNK, _MAX_CHANGES = 8, 2_000


class Section(msgspec.Struct):
    """An entry as it stands in its file now. ``chunk_id`` is the one that was asked for, if a chunk
    was.
    """

    path: str
    day: str
    entry: Entry
    project: Project | None = None
    chunk_id: str = ""

    @property
    def own_chunk(self) -> str:
        """The chunk that was asked for, else the entry's first one."""
        return self.chunk_id or next((chunk.chunk_id for chunk in chunks_of(self.entry)), "")

    @property
    def own_lines(self) -> tuple[int, int]:
        """First and last line of that chunk in the file, counted from 1."""
        own = next(
            (chunk for chunk in chunks_of(self.entry) if chunk.chunk_id == self.own_chunk),
            self.entry,
        )
        return own.start_line, own.end_line

    @property
    def target(self) -> Target:
        """The entry as it stands, to change it only as long as it does."""
        from memsearch_engine.journal.write import Target  # a search needs none of it

        return Target(self.path, self.entry.id, self.entry.hash)


def find(catalog: Catalog | None, projects: list[Project], name: str) -> Section:
    """The entry that *name* names: an entry id, a chunk id, or an unambiguous beginning of one (4
    characters or more).

    The catalog says where to look; the file decides. Raises NotFound.
    """
    if len(name) < 4:
        raise UsageError(
            f"{name!r} is too short to name an entry", "use at least 4 characters of its id"
        )
    found: dict[str, Section] = {}
    likely = _likely(catalog, name, projects)
    for path, entry_id in sorted(
        likely, key=lambda row: (bool(author_of(row[0])), bool(original_of(row[0])))
    ):
        _in_file(path, entry_id, projects, found)
    if not found:
        for project in projects:
            files = list_notes(project.memory).files
            # newest first, the project's own before shared ones (an id can be written by anybody),
            # copies last
            for file in sorted(files, key=_preferred, reverse=True):
                _in_file(file.path, name, projects, found)
                if name in found:
                    break
    if len(found) > 1 and name not in found:
        raise UsageError(
            f"{name!r} names several entries: {', '.join(sorted(found)[:5])}", "type more of the id"
        )
    if not found:
        raise NotFound(
            f"no entry or chunk {name!r} here",
            "`memsearch entries` lists this project's, `--all` all projects'",
        )
    return found.get(name) or next(iter(found.values()))


def id_of_former_chunk(history: History, name: str) -> str:
    """The entry whose earlier text had the chunk *name* (or one that begins so), as far as the
    history goes back; '' where there is none. A chunk's id changes with its text, an entry's stays.
    """
    if len(name) < _MIN_CHUNK or not history.has_changes:
        return ""
    for change in history.recent(limit=_MAX_CHANGES):
        for entry in parse(change.before, Path(change.path).stem).entries if change.before else ():
            if any(chunk.chunk_id.startswith(name) for chunk in chunks_of(entry)):
                return change.entry_id
    return ""


def _preferred(file: DayFile) -> tuple[bool, bool, str]:
    return not original_of(file.path), not author_of(file.path), file.path


def _likely(catalog: Catalog | None, name: str, projects: list[Project]) -> list[tuple[str, str]]:
    """(file, entry id) that the catalog knows for *name* in *projects*; also for chunks, whatever
    their size.
    """
    if catalog is None:
        return []
    try:
        return catalog.find_entries(name, [project.id for project in projects], limit=20)
    except CatalogBroken:
        return []


def _in_file(path: str, name: str, projects: list[Project], found: dict[str, Section]) -> None:
    """Add to *found* (by entry id) what *name* names in one file."""
    try:
        data = safe_files.read(path)
    except OSError:
        return
    project = next((p for p in projects if belongs(path, p.memory)), None)
    for entry in parse(data, Path(path).stem).entries:
        if entry.id.startswith(name):
            found.setdefault(entry.id, Section(path, day_of(path), entry, project))
            continue
        for chunk in chunks_of(entry):
            if chunk.chunk_id.startswith(name):
                found.setdefault(
                    entry.id, Section(path, day_of(path), entry, project, chunk.chunk_id)
                )
