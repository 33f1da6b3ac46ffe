"""Projects: their location on disk, and the ids by which they are known for good."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection
from pathlib import Path

import msgspec

from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_location import find


class Place(msgspec.Struct, frozen=True):
    """Location of a project, found from the file system alone."""

    root: str
    memory: str
    common_dir: str = ""

    @property
    def settings_file(self) -> Path:
        """The project's settings file. It may not exist."""
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
        """The name of the project's folder."""
        return os.path.basename(self.root) or self.slug


def locate(cwd: str | os.PathLike[str] | None = None, home: Home | None = None) -> Place:
    """Location of the project that *cwd* (default: the current folder) is in."""
    return Place(*find(os.fspath(cwd or os.getcwd()), str((home or Home.from_env()).root)))


def slug_of(name: str) -> str:
    """A readable ASCII slug of at most 32 characters; letters of other scripts as code points."""
    folded = unicodedata.normalize("NFKD", name)
    words = []
    for char in folded:
        if unicodedata.combining(char):
            continue
        words.append(char if char.isascii() else f"u{ord(char):x}")
    return (
        re.sub(r"[^a-z0-9]+", "_", "".join(words).lower()).strip("_")[:32].strip("_") or "project"
    )


def clean_remote(url: str) -> str:
    """A remote without scheme, credentials and ``.git``, so that ssh and https addresses agree."""
    url = re.sub(r"^[a-z+]+://", "", url.strip(), flags=re.I)
    url = re.sub(r"^[^/@]*@", "", url)
    return re.sub(r"(\.git)?/*$", "", url).replace(":", "/").lower()


def identity_of(commit: str, remote: str, root: str) -> str:
    """Return the id of a project: from its first commit and remote, or else from its root."""
    return digest(commit, remote, size=16) if commit else digest("path", root, size=16)


def offline_project(place: Place) -> Project:
    """Return a project that is known by its path only, without the registry (in a sandbox)."""
    identity = identity_of("", "", place.root)
    slug = slug_of(os.path.basename(place.root))
    return Project(identity, slug, f"ms_{slug}_{identity[:8]}", place.root, place.memory)


def projects_named(known: list[Project], names: Collection[str]) -> list[Project]:
    """Return the projects with one of these names, slugs, ids or collections.

    Raises:
        UsageError: there is none.
    """
    chosen = [p for p in known if {p.slug, p.name, p.id, p.collection} & set(names)]
    if not chosen:
        raise UsageError(
            f"no project named {', '.join(names)}",
            f"known: {', '.join(sorted({p.name for p in known})) or 'none'}",
        )
    return chosen
