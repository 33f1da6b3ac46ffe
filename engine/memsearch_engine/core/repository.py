"""Reads a git repository as files. git itself is never run.

git's configuration can name programs (``uploadpack``, ``core.fsmonitor``, hooks, pagers, credential
helpers), and an unpacked archive brings its own. So objects and references are read by dulwich,
which runs and fetches nothing, and only if the repository belongs to this user and consists of
regular files.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import time
from collections.abc import Container, Iterable, Iterator
from typing import Any

from memsearch_engine.core import safe_files
from memsearch_engine.core.project_location import git_folder

_MAX_S = 10.0
_MAX_INDEX, _MAX_LINE = 256 * 1024 * 1024, 8192
_ON_BRANCH = "ref: refs/heads/"
_ELSEWHERE = ".invalid"  # a branch of no repository: the references are in a table (reftable)
_LOOSE = ("HEAD", "config", "packed-refs", "shallow")


def fingerprint(common_dir: str) -> tuple[str, str]:
    """Return (first commit, URL of ``origin``) of a repository.

    A value is ``""`` if it is missing or cannot be trusted. The first commit is the oldest one
    without parents. The newest one would change when histories are merged.

    Args:
        common_dir: its git folder.
    """
    if not common_dir or not is_ours(common_dir):
        return "", ""
    remote = _configured(os.path.join(common_dir, "config"), b"remote", b"origin", name=b"url")
    return _first_commit(common_dir), remote or ""


def is_ours(folder: str) -> bool:
    """Whether a git folder belongs to this user, with regular files where dulwich opens them."""
    try:
        if os.stat(folder).st_uid != os.geteuid():
            return False
        names = [
            os.path.join(folder, name)
            for name in _LOOSE
            if os.path.lexists(os.path.join(folder, name))
        ]
        for place in ("refs", "objects"):
            for base, folders, files in os.walk(os.path.join(folder, place)):
                names += [os.path.join(base, name) for name in (*folders, *files)]
        return _kinds(names) <= {stat.S_IFREG, stat.S_IFDIR} and all(
            map(_is_store, _alternates(folder))
        )
    except OSError:
        return False


def _is_store(objects: str) -> bool:
    """The same for an object folder that another repository lends. It must not lend one itself."""
    names = [os.path.join(base, name) for base, _, files in os.walk(objects) for name in files]
    ours = os.stat(objects).st_uid == os.geteuid()
    return (
        ours
        and _kinds(names) <= {stat.S_IFREG}
        and not os.path.exists(os.path.join(objects, "info", "alternates"))
    )


def _kinds(names: Iterable[str]) -> set[int]:
    """File types (``S_IFMT``) of these paths; a path that vanished is skipped."""
    found = set()
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            found.add(stat.S_IFMT(os.lstat(name).st_mode))
    return found


def _alternates(folder: str) -> list[str]:
    try:
        text = safe_files.read(
            os.path.join(folder, "objects", "info", "alternates"), safe_files.MAX_SETTINGS
        )
    except FileNotFoundError:
        return []
    lines = [os.fsdecode(line) for line in text.splitlines() if line and not line.startswith(b"#")]
    return [os.path.join(folder, "objects", line) for line in lines]


@contextlib.contextmanager
def _objects(folder: str) -> Iterator[Any]:
    """Open the objects of a repository (dulwich).

    Any error ends the block early: a damaged repository, or a part that was never fetched, raises
    errors of many types.
    """
    from dulwich.object_store import DiskObjectStore  # 60 ms, once in a project's life

    store = DiskObjectStore(os.path.join(folder, "objects"))
    with contextlib.closing(store), contextlib.suppress(Exception):
        yield store


def _head(folder: str) -> Any:
    from dulwich.refs import DiskRefsContainer

    return DiskRefsContainer(folder).follow(b"HEAD")[1]  # type: ignore[arg-type]


def _commits(store: Any, head: Any, cut: Container[bytes] = ()) -> Iterator[tuple[bytes, Any]]:
    """Yield *head* and its ancestors as (name, commit), for at most ``_MAX_S`` seconds.

    Args:
        cut: commits whose parents are not followed.

    Raises:
        KeyError: a commit is missing.
        ValueError: one is not a commit, or there are too many.
    """
    from dulwich.objects import Commit

    end = time.monotonic() + _MAX_S
    seen, waiting = {head}, [head]
    while waiting:
        name = waiting.pop()
        commit = store[name]
        if not isinstance(commit, Commit) or time.monotonic() > end:
            raise ValueError(name)
        yield name, commit
        parents = [] if name in cut else commit.parents
        waiting += [parent for parent in parents if parent not in seen]
        seen.update(parents)


def _first_commit(folder: str) -> str:
    with _objects(folder) as store:
        cut = shallow(folder)
        roots = [
            (commit.commit_time, name)
            for name, commit in _commits(store, _head(folder), cut)
            if name in cut or not commit.parents
        ]
        return min(roots)[1].decode("ascii")
    return ""


def authors_of(common_dir: str, relative: str, path: str) -> set[str]:
    """Return the e-mail addresses (lower case) of everyone who committed a version of a file.

    The result is empty if they are not known, or if the file differs from the last commit.
    """
    if not common_dir or not is_ours(common_dir):
        return set()
    from dulwich.object_store import tree_lookup_path
    from dulwich.objects import Blob

    with _objects(common_dir) as store:

        def blob(name: bytes) -> bytes:
            try:
                parts = os.fsencode(relative)
                return tree_lookup_path(store.__getitem__, store[name].tree, parts)[1]
            except KeyError:
                return b""

        head = _head(common_dir)
        if blob(head) != Blob.from_string(safe_files.read(path)).id:
            return set()
        found: set[str] = set()
        for name, commit in _commits(store, head):
            here = blob(name)
            if here and here not in [blob(parent) for parent in commit.parents]:
                address = commit.author.rpartition(b"<")[2].rstrip(b"> ")
                found.add(address.decode("utf-8", "replace").lower())
        return found
    return set()


def at_commit(common_dir: str, commit: str, relative: str) -> bytes | None:
    """Content of a file at *commit* (40 hex digits); None if missing or not trusted."""
    if not is_ours(common_dir):
        return None
    from dulwich.object_store import tree_lookup_path

    with _objects(common_dir) as store:
        name = tree_lookup_path(
            store.__getitem__, store[commit.encode("ascii")].tree, os.fsencode(relative)
        )[1]
        return bytes(store[name].data)
    return None


def worktrees(common_dir: str) -> list[str]:
    """Folders of a repository's linked worktrees, by its own records."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(common_dir, "worktrees")) if common_dir else ():
            with contextlib.suppress(OSError):
                line = _line(os.path.join(common_dir, "worktrees", name, "gitdir"))
                found.append(os.path.dirname(line))
    return [folder for folder in found if os.path.isabs(folder)]


def user_name(common_dir: str) -> str:
    """``user.name`` from the repository's or the user's configuration; ``""`` if unset."""
    own = [os.path.join(common_dir, "config")] if common_dir and is_ours(common_dir) else []
    xdg = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    paths = (*own, os.path.expanduser("~/.gitconfig"), os.path.expanduser(f"{xdg}/git/config"))
    names = (_configured(path, b"user", name=b"name") for path in paths)
    return next((name for name in names if name is not None), "")


def foreign_format(folder: str) -> str:
    """Return ``reftable`` or ``sha256`` if that format can't be read here; otherwise ``""``."""
    for name, usual in ((b"refstorage", "files"), (b"objectformat", "sha1")):
        found = _configured(os.path.join(folder, "config"), b"extensions", name=name)
        if found is not None and found.lower() != usual:
            return found.lower()
    return ""


def _configured(path: str, *section: bytes, name: bytes) -> str | None:
    """Return a value of a git configuration file; None if it is not set or cannot be read."""
    from dulwich.config import ConfigFile

    try:
        text = safe_files.read(path, safe_files.MAX_SETTINGS)
        value = ConfigFile.from_file(io.BytesIO(text)).get(section, name)
    except (OSError, KeyError, ValueError):
        return None
    return value.decode("utf-8", "replace")


def shallow(folder: str) -> set[bytes]:
    """Return the commits whose parents a shallow clone lacks, as hex digits."""
    path = os.path.join(folder, "shallow")
    return set(safe_files.read_or_empty(path, safe_files.MAX_SETTINGS).split())


def current_branch(folder: str) -> str:
    """The checked-out branch at *folder* (also a linked worktree); ``""`` if there is none."""
    folder = _root_of(os.path.realpath(folder))
    git = os.path.join(folder, ".git") if folder else ""
    try:
        if git and not os.path.isdir(git):
            git = git_folder(folder, git)  # '' if the file names a folder that does not point back
        head = _line(os.path.join(git, "HEAD")) if git else ""
    except OSError:
        return ""
    name = head.removeprefix(_ON_BRANCH) if head.startswith(_ON_BRANCH) else ""
    return "" if name == _ELSEWHERE else name


def head_of(common_dir: str) -> str:
    """The commit of HEAD; ``""`` if it cannot be read simply."""
    try:
        head = _line(os.path.join(common_dir, "HEAD"))
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if ".." in name or name.endswith(f"/{_ELSEWHERE}") or not name.startswith("refs/"):
            return ""
        try:
            return _line(os.path.join(common_dir, name))
        except FileNotFoundError:
            packed = safe_files.read(os.path.join(common_dir, "packed-refs"), _MAX_INDEX).decode(
                "utf-8", "replace"
            )
            return next(
                (line.split()[0] for line in packed.splitlines() if line.endswith(f" {name}")), ""
            )
    except OSError:
        return ""


def came_along(path: str) -> bool:
    """Whether a project file is from others: its repository tracks it, or another user owns it.

    An unknown answer counts as yes. The index is read as a file (git's ``index-format``).
    """
    from dulwich.index import read_index

    try:
        info = os.lstat(path)
        if info.st_uid != os.geteuid() or not stat.S_ISREG(info.st_mode):
            return True
        folder = os.path.realpath(os.path.dirname(path))
        root = _root_of(folder)
        index = _index_of(os.path.join(root, ".git")) if root else ""
        if not os.path.exists(index):
            return False  # no repository, or nothing was ever added
        name = os.fsencode(
            os.path.relpath(os.path.join(folder, os.path.basename(path)), root)
        ).replace(os.fsencode(os.sep), b"/")
        return any(
            entry.name == name
            for entry in read_index(io.BytesIO(safe_files.read(index, _MAX_INDEX)))
        )
    except Exception:  # a forged index may raise any error
        return True


def _root_of(folder: str) -> str:
    """Return *folder*, or the nearest folder above it, that has a ``.git``; ``""`` for none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def _line(path: str) -> str:
    """Return the text of a small git file. Raises OSError."""
    return safe_files.read(path, _MAX_LINE).decode("utf-8", "replace").strip()


def _index_of(git: str) -> str:
    """The index file of a ``.git`` folder or of the folder a ``.git`` file names."""
    if os.path.isdir(git):
        return os.path.join(git, "index")
    line = safe_files.read(git, _MAX_LINE).decode("utf-8", "surrogateescape").partition("\n")[0]
    return os.path.join(os.path.dirname(git), line.removeprefix("gitdir:").strip(), "index")
