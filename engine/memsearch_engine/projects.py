"""Which project a folder belongs to, from the file system alone.

The main worktree's root (through git's common directory), else the nearest folder that has a ``.memsearch``, else the
folder itself. One function decides it, for hooks, commands, the service and the app alike.
"""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

import msgspec

from memsearch_engine.home import Home
from memsearch_engine.ids import digest

MARKER = ".memsearch"


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


def identity_of(commit: str, remote: str, root: str) -> str:
    return digest(commit, remote, size=16) if commit else digest("path", root, size=16)


def offline_project(place: Place) -> Project:
    """A project by its path alone, for where the registry can't be opened (an agent's read-only sandbox)."""
    identity = identity_of("", "", place.root)
    slug = slug_of(os.path.basename(place.root))
    return Project(identity, slug, f"ms_{slug}_{identity[:8]}", place.root, place.memory)
