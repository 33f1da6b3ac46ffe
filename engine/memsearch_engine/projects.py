"""Which project a folder belongs to, and the registry that remembers it under all its paths.

Identity: the main worktree's root (through git's common directory), else the nearest folder that has a ``.memsearch``,
else the folder itself. The registry (in ``state.db``) knows a project by its first commit and remote, so that a rename,
a move, a second worktree or a clone keeps its memory, and two folders of the same name don't share one.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import time
import unicodedata
from pathlib import Path

import msgspec

from memsearch_engine.errors import Unreachable
from memsearch_engine.home import Home
from memsearch_engine.ids import digest

MARKER = ".memsearch"
_GIT_TIMEOUT_S = 10

_SCHEMA = """
CREATE TABLE IF NOT EXISTS projects (
  id TEXT PRIMARY KEY, slug TEXT NOT NULL, collection TEXT NOT NULL UNIQUE,
  first_commit TEXT NOT NULL, remote TEXT NOT NULL, registered REAL NOT NULL);
CREATE TABLE IF NOT EXISTS project_paths (
  root TEXT PRIMARY KEY, memory TEXT NOT NULL, project_id TEXT NOT NULL REFERENCES projects(id), seen REAL NOT NULL);
"""


class Place(msgspec.Struct, frozen=True):
    """Where a project lives on disk, found from the file system alone."""

    root: str
    memory: str
    common_dir: str = ""

    @property
    def settings_file(self) -> Path:
        return Path(self.root) / ".memsearch.toml"


class Project(msgspec.Struct, frozen=True):
    """A registered project. ``collection`` is ``ms_<slug>_<8 hex>``, frozen at registration."""

    id: str
    slug: str
    collection: str
    root: str
    memory: str

    @property
    def name(self) -> str:
        return os.path.basename(self.root) or self.slug


def locate(cwd: str | os.PathLike[str] | None = None, home: Home | None = None) -> Place:
    """The project that *cwd* is in. Reads the file system only; works for folders that don't exist any more."""
    start = os.path.realpath(cwd or os.getcwd())
    home_root = os.path.realpath((home or Home.from_env()).root)
    git_root, common = _git(start)
    root = git_root or _marked(start, home_root) or start
    override = os.environ.get("MEMSEARCH_DIR")
    base = os.path.abspath(os.path.expanduser(override)) if override else os.path.join(root, MARKER)
    if os.path.realpath(base) == home_root:  # a session started in the user's home folder itself
        base = os.path.join(home_root, "home-project")
    return Place(root, os.path.join(base, "memory"), common)


def _ancestors(start: str) -> list[str]:
    path = Path(start)
    return [str(path), *(str(parent) for parent in path.parents)]


def _git(start: str) -> tuple[str, str]:
    """(root of the main worktree, git's common directory), or ('', '')."""
    for folder in _ancestors(start):
        dot = os.path.join(folder, ".git")
        if os.path.isdir(dot) and os.path.exists(os.path.join(dot, "HEAD")):
            return folder, dot
        if os.path.isfile(dot):
            return _linked(folder, dot)
    return "", ""


def _linked(folder: str, dot: str) -> tuple[str, str]:
    """A worktree's or submodule's ``.git`` file."""
    try:
        text = Path(dot).read_text(errors="replace")[:4096]
        git_dir = os.path.join(folder, text.removeprefix("gitdir:").strip())
        pointer = Path(git_dir) / "commondir"
        if not pointer.exists():
            return folder, os.path.realpath(git_dir)  # a submodule is a project of its own
        common = os.path.realpath(os.path.join(git_dir, pointer.read_text().strip()))
    except OSError:
        return folder, ""
    if os.path.basename(common) == ".git":
        return os.path.dirname(common), common
    return common, common  # worktrees of a bare repository share the memory beside it


def _marked(start: str, home_root: str) -> str:
    for folder in _ancestors(start):
        marker = os.path.join(folder, MARKER)
        if os.path.isdir(marker) and os.path.realpath(marker) != home_root:
            return folder
    return ""


def slug_of(name: str) -> str:
    """A readable ASCII slug: letters and digits, other scripts as their code points, at most 32 signs."""
    folded = unicodedata.normalize("NFKD", name)
    words = []
    for sign in folded:
        if unicodedata.combining(sign):
            continue
        words.append(sign if sign.isascii() else f"u{ord(sign):x}")
    return re.sub(r"[^a-z0-9]+", "_", "".join(words).lower()).strip("_")[:32].strip("_") or "project"


def clean_remote(url: str) -> str:
    """A remote without scheme, credentials and ``.git``, so that ssh and https name one project."""
    url = re.sub(r"^[a-z+]+://", "", url.strip(), flags=re.I)
    url = re.sub(r"^[^/@]*@", "", url)
    return re.sub(r"(\.git)?/*$", "", url).replace(":", "/").lower()


class Registry:
    """The projects of one home folder."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._connection: sqlite3.Connection | None = None

    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self.home.ensure()
                db = sqlite3.connect(self.home.state_db, timeout=20, isolation_level=None, check_same_thread=False)
                db.execute("PRAGMA journal_mode=WAL")
                db.executescript(_SCHEMA)
            except (sqlite3.Error, OSError) as error:
                raise Unreachable(f"the project registry {self.home.state_db} can't be opened: {error}") from error
            self._connection = db
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def at(self, place: Place) -> Project:
        """The project of *place*, registered on first sight. Raises Unreachable where the home can't be written."""
        db = self._db()
        row = db.execute(
            "SELECT p.id, p.slug, p.collection, r.memory FROM project_paths r JOIN projects p ON p.id = r.project_id "
            "WHERE r.root=?",
            (place.root,),
        ).fetchone()
        if row:
            if row[3] != place.memory:
                db.execute("UPDATE project_paths SET memory=? WHERE root=?", (place.memory, place.root))
            return Project(row[0], row[1], row[2], place.root, place.memory)
        commit, remote = self._fingerprint(place)
        identity = _identity(commit, remote, place.root)
        slug = slug_of(os.path.basename(place.root))
        now = time.time()
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(
                "INSERT OR IGNORE INTO projects VALUES (?,?,?,?,?,?)",
                (identity, slug, f"ms_{slug}_{identity[:8]}", commit, remote, now),
            )
            db.execute(
                "INSERT OR REPLACE INTO project_paths VALUES (?,?,?,?)", (place.root, place.memory, identity, now)
            )
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        return self.at(place)

    def all(self) -> list[Project]:
        """Every project, one row per path where it lives, newest first."""
        rows = self._db().execute(
            "SELECT p.id, p.slug, p.collection, r.root, r.memory FROM project_paths r "
            "JOIN projects p ON p.id = r.project_id ORDER BY r.seen DESC, r.root"
        )
        return [Project(*row) for row in rows]

    def forget(self, root: str) -> None:
        """Stop knowing a path (its files are left alone)."""
        self._db().execute("DELETE FROM project_paths WHERE root=?", (root,))

    def _fingerprint(self, place: Place) -> tuple[str, str]:
        git = shutil.which("git")
        if not place.common_dir or not git:
            return "", ""
        base = [os.path.abspath(git), "--no-pager", f"--git-dir={place.common_dir}"]
        # the newest root commit would change when histories are merged; the oldest stays
        commits = _run([*base, "rev-list", "--max-parents=0", "HEAD"]).split()
        remote = _run([*base, "config", "--get", "remote.origin.url"]).strip()
        return (commits[-1] if commits else ""), clean_remote(remote)


def _identity(commit: str, remote: str, root: str) -> str:
    return digest(commit, remote, size=16) if commit else digest("path", root, size=16)


def _run(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def offline_project(place: Place) -> Project:
    """A project by its path alone, for where the registry can't be opened (an agent's read-only sandbox)."""
    identity = _identity("", "", place.root)
    slug = slug_of(os.path.basename(place.root))
    return Project(identity, slug, f"ms_{slug}_{identity[:8]}", place.root, place.memory)
