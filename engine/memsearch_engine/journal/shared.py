"""Notes shared with a team: ``.memsearch/shared/<author>/YYYY-MM-DD.md``, in the repository.

A shared note is a copy with its own id, so that deleting one does not delete the other. It has no
secrets and private paths, and these marks: ``copy-of`` (the original), ``shared`` (day) and
``review`` (day to look at it again). The folder names the author; that is as reliable as the
project's review. The last commit decides which shared notes to trust; git is never run.
"""

from __future__ import annotations

import os
from datetime import date
from functools import lru_cache
from pathlib import Path

from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_location import SHARED_FOLDER, author_of, find, shared_beside
from memsearch_engine.core.repository import at_commit, head_of
from memsearch_engine.journal.files import DayFile, FolderListing, dated, list_files
from memsearch_engine.journal.parse import parse

#: Marks of a shared note.
COPY_OF, SHARED, REVIEW = "copy-of", "shared", "review"
#: How this home came by a shared note (``Origin``): its owner shared it, or imported it with a
#: pack.
WRITTEN, IMPORTED = "shared", "imported"


def is_in(path: str, memory: str) -> bool:
    """Whether a file is a shared note file of a project."""
    folder = shared_beside(memory)
    return bool(folder) and path.startswith(folder + os.sep)


def belongs(path: str, memory: str) -> bool:
    """Whether a file belongs to a project's notes, own or shared."""
    return path.startswith(memory + os.sep) or is_in(path, memory)


def list_shared(folder: str) -> FolderListing:
    """List the shared note files of a project.

    Others write in that folder, so only files with a day and an author count, and no links. Other
    files are reported as problems and not read.
    """
    if not folder or not os.path.lexists(folder):
        return FolderListing([], [])
    if os.path.islink(folder):
        return FolderListing(
            [],
            [(folder, "a link: shared notes are read from a folder of the project's own")],
            complete=False,
        )
    found = list_files(folder)
    listing = FolderListing([], list(found.problems), found.complete)
    for file in found.files:
        if os.path.islink(file.path):
            listing.problems.append((file.path, "a link: no shared note is read from it"))
        elif not author_of(file.path) or not file.day:
            listing.problems.append(
                (file.path, f"no shared notes: {SHARED_FOLDER}/<author>/YYYY-MM-DD.md has those")
            )
        else:
            listing.files.append(file)
    return listing


def list_notes(memory: str) -> FolderListing:
    """The files of both folders, own notes first. A fresh clone may have shared notes only."""
    folder = shared_beside(memory)
    if not os.path.lexists(folder):
        return list_files(memory)
    shared = list_shared(folder)
    if not os.path.lexists(memory):
        return shared
    own = list_files(memory)
    return FolderListing(
        [*own.files, *shared.files],
        [*own.problems, *shared.problems],
        own.complete and shared.complete,
    )


def list_dated(memory: str) -> list[DayFile]:
    """Day files of both folders, newest first, without copies."""
    return sorted(dated(list_notes(memory)), key=lambda file: (file.day, file.path), reverse=True)


def path_for(memory: str, author: str, day: str) -> str:
    """The file where *author* (as ``author_name`` returns it) shares notes of a day (ISO)."""
    return os.path.join(shared_beside(memory), author, f"{date.fromisoformat(day).isoformat()}.md")


def shared_id(entry_id: str) -> str:
    """Id of a note's shared copy."""
    return digest("shared", entry_id)


def is_due(marks: dict[str, str], today: date) -> bool:
    """Whether the review day of a shared note has come."""
    return "" < marks.get(REVIEW, "") <= today.isoformat()


def author_label(path: str, marks: dict[str, str], today: date) -> str:
    """The author label of a shared note when it is injected; ``""`` for other notes."""
    author = author_of(path)
    if not author:
        return ""
    return f"[shared: {author}{', to be looked at again' if is_due(marks, today) else ''}]"


def committed(path: str, memory: str) -> set[bytes]:
    """Bytes of the entries of a shared file that the project's last commit has."""
    root, found, common = find(os.path.dirname(os.path.dirname(memory)), os.devnull)
    if not common or found != memory:
        return set()
    return _at(common, head_of(common), os.path.relpath(path, root))


@lru_cache(maxsize=512)
def _at(common_dir: str, commit: str, relative: str) -> set[bytes]:
    data = at_commit(common_dir, commit, relative) if commit else None
    if data is None:
        return set()
    return {with_lf(entry.raw) for entry in parse(data, Path(relative).stem).entries}


def with_lf(raw: bytes) -> bytes:
    """*raw* with LF line ends: git may have checked it out with others."""
    return raw.replace(b"\r\n", b"\n")
