"""Find the whole note (L2) of a hit by entry id or chunk id, with or without an index."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.ids import cited_id
from memsearch_engine.core.project_location import author_of
from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import chunks_of
from memsearch_engine.index.rows import CatalogBroken
from memsearch_engine.journal.files import day_of, original_of, read_day_or_empty
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import belongs, list_notes
from memsearch_engine.journal.targets import Target, target_of

if TYPE_CHECKING:
    from memsearch_engine.journal.history import History

_MIN_CHUNK, _MAX_CHANGES = 8, 2_000


class Section(msgspec.Struct):
    """An entry as it is in its file now.

    Attributes:
        path: the entry's file.
        day: ISO day of the file; empty if it is not a day file.
        project: None if the file belongs to no known project.
        chunk_id: the requested chunk; empty if an entry was requested.
    """

    path: str
    day: str
    entry: Entry
    project: Project | None = None
    chunk_id: str = ""

    @property
    def own_chunk(self) -> str:
        """Id of the requested chunk, else of the entry's first chunk."""
        return self.chunk_id or next((chunk.chunk_id for chunk in chunks_of(self.entry)), "")

    @property
    def own_lines(self) -> tuple[int, int]:
        """First and last line of ``own_chunk`` in the file, counted from 1."""
        own = next(
            (chunk for chunk in chunks_of(self.entry) if chunk.chunk_id == self.own_chunk),
            self.entry,
        )
        return own.start_line, own.end_line

    @property
    def target(self) -> Target:
        """The entry and its content hash, to change it only if nobody else has changed it."""
        return target_of(self.path, self.entry)


def find(catalog: Catalog | None, projects: list[Project], name: str) -> Section:
    """Find an entry in its file. The catalog is only used to find the file faster.

    Args:
        catalog: None to search all files.
        projects: the projects to search.
        name: an entry id, a chunk id, or at least the first 4 characters of one; also as a
            citation.

    Raises:
        NotFound: no such entry.
        UsageError: *name* is too short or ambiguous.
    """
    name = cited_id(name)
    if len(name) < 4:
        raise UsageError(
            f"{name!r} is too short to name an entry", "use at least 4 characters of its id"
        )
    found: dict[str, Section] = {}
    likely: list[tuple[str, str]] = []
    with contextlib.suppress(CatalogBroken):
        ids = [project.id for project in projects]
        likely = catalog.find_entries(name, ids, limit=20) if catalog is not None else []
    for path, entry_id in sorted(
        likely, key=lambda row: (bool(author_of(row[0])), bool(original_of(row[0])))
    ):
        _in_file(path, entry_id, projects, found)
    if not found:
        for project in projects:
            files = list_notes(project.memory).files
            # newest first; own notes before shared ones, since anybody can write an id into a
            # shared note; copies last
            preferred = sorted(
                files,
                key=lambda file: (not original_of(file.path), not author_of(file.path), file.path),
                reverse=True,
            )
            for file in preferred:
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
            "`memsearch entries` lists the ids of this project, with --all of every project",
        )
    return found.get(name) or next(iter(found.values()))


def id_of_former_chunk(history: History, name: str) -> str:
    """Find the entry that had a chunk id before it was changed.

    A chunk's id changes with its text. The id of its entry does not.

    Args:
        name: a chunk id, or at least the first 8 characters of one.

    Returns:
        The entry id; '' if the history contains no such chunk.
    """
    if len(name) < _MIN_CHUNK or history.database.is_new:
        return ""
    for change in history.recent(limit=_MAX_CHANGES):
        for entry in parse(change.before, Path(change.path).stem).entries if change.before else ():
            if any(chunk.chunk_id.startswith(name) for chunk in chunks_of(entry)):
                return change.entry_id
    return ""


def _in_file(path: str, name: str, projects: list[Project], found: dict[str, Section]) -> None:
    """Add to *found*, by entry id, the entries of one file that *name* identifies."""
    project = next((p for p in projects if belongs(path, p.memory)), None)
    for entry in read_day_or_empty(path).entries:
        if entry.id.startswith(name):
            found.setdefault(entry.id, Section(path, day_of(path), entry, project))
            continue
        for chunk in chunks_of(entry):
            if chunk.chunk_id.startswith(name):
                found.setdefault(
                    entry.id, Section(path, day_of(path), entry, project, chunk.chunk_id)
                )
