"""The three versions of each file in a round: the merge base, the local file, the remote file.

The base of a file is the commit that the local file is known to contain. A file that can't be read
is skipped: it stays as it is, here and on the other machines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import shown_line
from memsearch_engine.journal.files import list_files
from memsearch_engine.journal.merge import text_key
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.longterm import workspace
from memsearch_engine.sync.clone import Clone, name_of
from memsearch_engine.sync.layout import (
    BELOW_LONGTERM,
    LONGTERM,
    MARK,
    NOTE,
    Tombstones,
    is_note,
    owner,
    travels,
)
from memsearch_engine.sync.meeting import Refused
from memsearch_engine.sync.state import SyncDatabase

#: Bytes of the largest file that is merged: one of 5 MB takes half a minute of CPU.
MAX_FILE = 16 * 1024 * 1024


class RoundFile(msgspec.Struct):
    """A file in a round.

    Attributes:
        key: its path in the repository.
        path: the local file.
        memory: its memory folder; ``""`` for long-term files.
        ours: its local content; None if the local file does not exist.
        merged, conflicts: the result of the merge, and its number of conflicts.
        removed: (entry id, text key) of entries that were deleted or replaced here since the base,
            with the time in seconds since 1970.
    """

    key: str
    path: str
    memory: str
    base: bytes
    ours: bytes | None
    theirs: bytes
    merged: bytes = b""
    conflicts: int = 0
    removed: dict[tuple[str, str], float] = {}

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return os.path.splitext(os.path.basename(self.path))[0]


class Snapshot:
    """The files of a round, read when the round begins.

    Args:
        projects: project identity -> the local project.
        head: the commit of the remote.
        large: see ``large_files``.

    Attributes:
        tree: path -> blob of the remote.
        local: repository path -> path of the local file.
        tombstones: project -> the deletions on the remote.
        problems: why a project or file is skipped, for the owner.
        skipped_projects, skipped_files: identities of projects; paths in the repository.
    """

    def __init__(
        self,
        home: Home,
        clone: Clone,
        state: SyncDatabase,
        projects: dict[str, Project],
        head: str,
        large: dict[str, int],
    ) -> None:
        self.home, self.clone, self.projects = home, clone, projects
        self.problems: list[str] = []
        self.skipped_projects: set[str] = set()
        self.skipped_files: set[str] = set()
        self.tree = clone.tree(head)
        self._applied = state.applied_commits()
        self._taken = {key: commit for key, (commit, _) in state.taken().items()}
        for key, size in large.items():
            if self.place(key) is not None:
                self.skip_file(key, f"{shown_line(key)} in the remote: {_too_large(size)}")
        self.local = self._find_local()
        self.tombstones = {
            project: Tombstones(self.lines(self.tree, project, "tombstones"))
            for project in projects
        }

    # -- the base

    def base_tree(self, project: str) -> dict[str, str]:
        """Path -> blob of the commit that a project's files contain; {} if they contain none."""
        return self.clone.tree(self._base_commit(project))

    def base_of(self, key: str) -> str:
        """The commit that a file contains; ``""`` for none."""
        return self._taken.get(key, self._base_commit(owner(key)))

    def _base_commit(self, project: str) -> str:
        root, commit = self._applied.get(project, ("", ""))
        folder = str(self.home.longterm) if project == LONGTERM else self.projects[project].root
        return commit if root == folder and self.clone.has(commit) else ""

    def lines(self, tree: dict[str, str], project: str, name: str) -> set[str]:
        """Lines of a list that is synced beside a project's notes."""
        key = f"projects/{project}/{name}"
        return set(self.clone.blob(tree.get(key, "")).decode("utf-8", "replace").split("\n")) - {""}

    # -- the local files

    def _find_local(self) -> dict[str, str]:
        """Return the local files by their path in the repository."""
        found: dict[str, str] = {}
        for name, project in self.projects.items():
            found.update(self._of_project(name, project))
        for file_name, file in workspace.files(self.home.longterm).items():
            if travels(file_name):
                found[BELOW_LONGTERM + file_name] = str(file)
        if not self.home.longterm.is_dir() and any(
            owner(key) == LONGTERM for key in self.base_tree(LONGTERM)
        ):
            self.skip_project(
                LONGTERM,
                f"{self.home.longterm} is not there: "
                "what it held stays as it is on the other machines",
            )
        return found

    def _of_project(self, name: str, project: Project) -> dict[str, str]:
        if not os.path.isdir(project.memory):
            if name in self._applied:
                self.skip_project(
                    name,
                    f"{project.memory} is not there: "
                    "its notes stay as they are on the other machines",
                )
            return {}
        listing = list_files(project.memory)
        if not listing.complete:
            why = listing.problems[0][1]
            self.skip_project(name, f"{project.memory} can't be read wholly: {why}")
            return {}

        def key(path: str) -> str:
            return f"projects/{name}/memory/{os.path.relpath(path, project.memory)}"

        for path, why in listing.problems:  # a file that can't be read is not a deleted file
            self.skip_file(key(path), f"{shown_line(path)}: {why}")
        for file in listing.files:
            if file.size > MAX_FILE and key(file.path) not in self.skipped_files:
                self.skip_file(key(file.path), f"{shown_line(file.path)}: {_too_large(file.size)}")
        return {key(file.path): file.path for file in listing.files}

    def skip_project(self, project: str, why: str) -> None:
        """Leave a project out of this round."""
        self.problems.append(why)
        self.skipped_projects.add(project)

    def skip_file(self, key: str, why: str) -> None:
        """Leave a file out of this round."""
        self.problems.append(why)
        self.skipped_files.add(key)

    # -- the files of the round

    def files(self) -> Iterator[RoundFile]:
        """Yield the files that differ between the base, here and the remote."""
        projects = [
            name for name in (LONGTERM, *self.projects) if name not in self.skipped_projects
        ]
        keys = {*self.local, *self.tree, *self._taken}
        for name in projects:
            keys |= {key for key in self.base_tree(name) if owner(key) == name}
        for key in sorted(keys):
            if owner(key) not in projects or key in self.skipped_files:
                continue
            if (place := self.place(key)) is None:
                continue
            path, memory = place
            try:
                ours = read_local(path, memory) if key in self.local else None
            except OSError as error:
                self.skip_file(key, f"{path}: {error.strerror or error}")
                continue
            base = self.clone.tree(self.base_of(key)).get(key, "")
            theirs = self.tree.get(key, "")
            names = {
                self.clone.name_of(base),
                self.clone.name_of(theirs),
                name_of(ours) if ours is not None else "",
            }
            if len(names) > 1:
                blob = self.clone.blob
                yield RoundFile(key, path, memory, blob(base), ours, blob(theirs))

    def place(self, key: str) -> tuple[str, str] | None:
        """Return (local path, memory folder) of a repository file; None if it has no local path."""
        if key.startswith(BELOW_LONGTERM):
            name = key.removeprefix(BELOW_LONGTERM)
            return (str(self.home.longterm / name), "") if travels(name) else None
        match = NOTE.fullmatch(key)
        project = self.projects.get(match[1]) if match else None
        if match is None or project is None or not is_note(match[2]):
            return None
        return os.path.join(project.memory, match[2]), project.memory


def large_files(clone: Clone, head: str, projects: dict[str, Project]) -> dict[str, int]:
    """Return the files of the remote that are too large for a merge: path -> bytes.

    Raises:
        Refused: a file of the repository's own is so large. memsearch does not write such.
    """
    large = clone.larger(head, MAX_FILE)
    for key, size in large.items():
        is_own = key == MARK or (owner(key) in projects and not NOTE.fullmatch(key))
        if is_own:
            raise Refused(
                f"{shown_line(key)} in the remote: {_too_large(size)}",
                "nothing was changed here. memsearch writes no such file; look at the remote",
            )
    return large


def _too_large(size: int) -> str:
    return (
        f"{size >> 20} MB, and sync takes files of up to {MAX_FILE >> 20} MB; "
        "it stays as it is on both sides. Split it into several files"
    )


def read_local(path: str, memory: str) -> bytes:
    """Read a local file; *memory* as in ``RoundFile``. Raises OSError."""
    return safe_files.read(path) if memory else Path(path).read_bytes()


def entry_ids(data: bytes, name: str) -> set[str]:
    """Ids of the entries in a file. *name*: the file's name without its ending."""
    return {entry.id for entry in parse(data, name).entries if entry.level}


def entry_texts(data: bytes, name: str) -> set[tuple[str, str]]:
    """(id, ``text_key``) of the entries in a file."""
    return {(entry.id, text_key(entry)) for entry in parse(data, name).entries}


def contains(data: bytes, entry: Entry) -> bool:
    """Whether a file has an entry with these bytes."""
    return entry.raw in data and (
        entry.raw + b"\n" in data or entry.raw + b"\r\n" in data or data.endswith(entry.raw)
    )
