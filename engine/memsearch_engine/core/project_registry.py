"""The registry of projects, in ``state.db``.

It identifies a project by first commit and remote. So a rename, a move, a second worktree or a
clone keeps its memory, and two folders with the same name do not share one.
"""

from __future__ import annotations

import os
import sqlite3
import time

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.migrations import open_readonly, transaction
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.projects import Place, Project, clean_remote, identity_of, slug_of
from memsearch_engine.core.repository import fingerprint
from memsearch_engine.core.state import StateTables

_SCHEMA = """
CREATE TABLE IF NOT EXISTS projects (
  id TEXT PRIMARY KEY, slug TEXT NOT NULL, collection TEXT NOT NULL UNIQUE,
  first_commit TEXT NOT NULL, remote TEXT NOT NULL, registered REAL NOT NULL);
CREATE TABLE IF NOT EXISTS project_paths (
  root TEXT PRIMARY KEY, memory TEXT NOT NULL,\
 project_id TEXT NOT NULL REFERENCES projects(id), seen REAL NOT NULL);
"""


class Registry(StateTables):
    """The projects of one home folder."""

    schema = _SCHEMA
    read_only = False

    def _open(self) -> sqlite3.Connection:
        try:
            return super()._open()
        except (sqlite3.Error, OSError) as error:
            return self._reader(error)

    def _reader(self, reason: Exception) -> sqlite3.Connection:
        """The registry opened read-only (an agent's sandbox), else Unreachable."""
        try:
            db = open_readonly(self.home.state_db)
            db.execute("SELECT count(*) FROM project_paths").fetchone()
        except sqlite3.Error:
            raise Unreachable(
                f"the project registry {self.home.state_db} can't be opened: {reason}"
            ) from reason
        self.read_only = True
        return db

    def at(self, place: Place, *, register: bool = False) -> Project:
        """The project of *place*.

        A folder with notes is registered at first sight, another one only if *register* is set: a
        lookup leaves no trace. Raises Unreachable if the home cannot be written.
        """
        with self._using():
            return self._at(place, register or has_notes(place.memory))

    def knows(self, root: str) -> bool:
        """Whether *root* is the folder of a known project."""
        return bool(self._rows("SELECT 1 FROM project_paths WHERE root=?", (root,)))

    def _at(self, place: Place, register: bool) -> Project:
        db = self._db()
        row = db.execute(
            "SELECT p.id, p.slug, p.collection, r.memory FROM project_paths r "
            "JOIN projects p ON p.id = r.project_id "
            "WHERE r.root=?",
            (place.root,),
        ).fetchone()
        if row:
            if row[3] != place.memory and not self.read_only:
                db.execute(
                    "UPDATE project_paths SET memory=? WHERE root=?", (place.memory, place.root)
                )
            return Project(row[0], row[1], row[2], place.root, place.memory)
        if self.read_only and register:
            raise Unreachable(
                f"{place.root} is not registered, and {self.home.state_db} can't be written"
            )
        commit, remote = fingerprint(place.common_dir)
        remote = clean_remote(remote)
        identity = identity_of(commit, remote, place.root)
        slug = slug_of(os.path.basename(place.root))
        if not register:
            known = db.execute(
                "SELECT slug, collection FROM projects WHERE id=?", (identity,)
            ).fetchone()
            slug, collection = known or (slug, f"ms_{slug}_{identity[:8]}")
            return Project(identity, slug, collection, place.root, place.memory)
        now = time.time()
        with transaction(db):
            db.execute(
                "INSERT OR IGNORE INTO projects (id, slug, collection, "
                "first_commit, remote, registered) VALUES (?,?,?,?,?,?)",
                (identity, slug, f"ms_{slug}_{identity[:8]}", commit, remote, now),
            )
            db.execute(
                "INSERT OR REPLACE INTO project_paths (root, memory, project_id, seen) "
                "VALUES (?,?,?,?)",
                (place.root, place.memory, identity, now),
            )
        return self._at(place, register)

    def all(self) -> list[Project]:
        """All projects, one row per path, newest first."""
        rows = self._rows(
            "SELECT p.id, p.slug, p.collection, r.root, r.memory FROM project_paths r "
            "JOIN projects p ON p.id = r.project_id ORDER BY r.seen DESC, r.root"
        )
        return [Project(*row) for row in rows]

    def moved_to(self, folder: str) -> str:
        """Return where a folder of a project that was moved is now.

        Args:
            folder: an absolute path that no longer exists.

        Returns:
            ``""`` if it was in no known project, or if that project is now in no folder or in
            several.
        """
        rows = self._rows("SELECT root, project_id FROM project_paths")
        above = [row for row in rows if f"{folder}{os.sep}".startswith(row[0] + os.sep)]
        old, identity = max(above, key=lambda row: len(row[0]), default=("", ""))
        if not old or os.path.isdir(old):
            return ""
        now = [root for root, project in rows if project == identity and os.path.isdir(root)]
        return now[0] + folder[len(old) :] if len(now) == 1 else ""

    def forget(self, root: str) -> None:
        """Remove a path from the registry. Its files stay."""
        self._change("DELETE FROM project_paths WHERE root=?", (root,))
