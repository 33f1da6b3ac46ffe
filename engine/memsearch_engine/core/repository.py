"""What a git repository says about a project, read as files: git itself is never run.

git's configuration can name programs (a remote's ``uploadpack``, ``core.fsmonitor``, hooks, pagers,
credential helpers), and an unpacked archive brings its own. So objects and references are read by
dulwich's object store, which runs nothing and fetches nothing, and only where the repository
belongs to this user and consists of regular files.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import time
from collections.abc import Iterable
from typing import Any

from memsearch_engine.core import safe_files
from memsearch_engine.core.project_location import git_folder

_MAX_S = 10.0
_MAX_INDEX, _MAX_LINE = 256 * 1024 * 1024, 8192
_ON_BRANCH = "ref: refs/heads/"
_ELSEWHERE = ".invalid"  # a branch of no repository: the references are in a table (reftable)
_LOOSE = ("HEAD", "config", "packed-refs", "shallow")


def fingerprint(common_dir: str) -> tuple[str, str]:
    """(first commit, URL of the remote ``origin``) of the repository whose git folder *common_dir*
    is; '' for what it does not have, or can't be read without trusting it.

    The first commit is the oldest of those without parents: the newest of them would change when
    histories are merged.
    """
    if not common_dir or not is_ours(common_dir):
        return "", ""
    return _first_commit(common_dir), _remote(common_dir)


def is_ours(folder: str) -> bool:
    """Whether a folder of git's belongs to this user and holds nothing but regular files, where
    dulwich will open them.
    """
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
    """The same for a folder of objects that another repository lends; it lends none itself."""
    names = [os.path.join(base, name) for base, _, files in os.walk(objects) for name in files]
    ours = os.stat(objects).st_uid == os.geteuid()
    return (
        ours
        and _kinds(names) <= {stat.S_IFREG}
        and not os.path.exists(os.path.join(objects, "info", "alternates"))
    )


def _kinds(names: Iterable[str]) -> set[int]:
    """What these are (``S_IFMT``); one that went meanwhile was git's, for a moment."""
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


def _first_commit(folder: str) -> str:
    from dulwich.object_store import DiskObjectStore  # 60 ms, once in a project's life
    from dulwich.objects import Commit
    from dulwich.refs import DiskRefsContainer

    store = DiskObjectStore(os.path.join(folder, "objects"))
    try:
        head = DiskRefsContainer(folder).follow(b"HEAD")[1]  # type: ignore[arg-type]
        cut = shallow(folder)
        end = time.monotonic() + _MAX_S
        seen, waiting = {head}, [head]
        roots: list[tuple[Any, Any]] = []
        while waiting:
            name = waiting.pop()
            commit = store[name] if name else None
            if not isinstance(commit, Commit) or time.monotonic() > end:
                return ""
            parents = [] if name in cut else commit.parents
            if not parents:
                roots.append((commit.commit_time, name))
            for parent in parents:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return min(roots)[1].decode("ascii") if roots else ""
    except (
        Exception
    ):  # a damaged repository, or a part that was never fetched: dulwich has many words for it
        return ""
    finally:
        store.close()


def authors_of(common_dir: str, relative: str, path: str) -> set[str]:
    """The e-mail addresses (lower case) of all who committed a version of a file; empty where that
    can't be told, or where the file as it stands is not what the last commit has.
    """
    if not common_dir or not is_ours(common_dir):
        return set()
    from dulwich.object_store import DiskObjectStore, tree_lookup_path
    from dulwich.objects import Blob, Commit
    from dulwich.refs import DiskRefsContainer

    store: Any = DiskObjectStore(os.path.join(common_dir, "objects"))
    parts = os.fsencode(relative)

    def blob(name: bytes) -> bytes:
        try:
            return tree_lookup_path(store.__getitem__, store[name].tree, parts)[1]
        except KeyError:
            return b""

    try:
        head = DiskRefsContainer(common_dir).follow(b"HEAD")[1]  # type: ignore[arg-type]
        if not head or blob(head) != Blob.from_string(safe_files.read(path)).id:
            return set()
        found: set[str] = set()
        end = time.monotonic() + _MAX_S
        seen, waiting = {head}, [head]
        while waiting:
            name = waiting.pop()
            commit = store[name]
            if not isinstance(commit, Commit) or time.monotonic() > end:
                return set()
            here = blob(name)
            if here and here not in [blob(parent) for parent in commit.parents]:
                address = commit.author.rpartition(b"<")[2].rstrip(b"> ")
                found.add(address.decode("utf-8", "replace").lower())
            waiting += [parent for parent in commit.parents if parent not in seen]
            seen.update(commit.parents)
        return found
    except Exception:  # a damaged repository, or a part that was never fetched
        return set()
    finally:
        store.close()


def at_commit(common_dir: str, commit: str, relative: str) -> bytes | None:
    """What a file of the repository was at *commit* (40 hex digits); None where it was not there,
    or can't be read without trusting it.
    """
    if not is_ours(common_dir):
        return None
    from dulwich.object_store import DiskObjectStore, tree_lookup_path

    store: Any = DiskObjectStore(os.path.join(common_dir, "objects"))
    try:
        name = tree_lookup_path(
            store.__getitem__, store[commit.encode("ascii")].tree, os.fsencode(relative)
        )[1]
        return bytes(store[name].data)
    except Exception:  # not there; a damaged repository, or a part that was never fetched
        return None
    finally:
        store.close()


def worktrees(common_dir: str) -> list[str]:
    """The folders of a repository's linked worktrees, as it names them."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(common_dir, "worktrees")) if common_dir else ():
            with contextlib.suppress(OSError):
                line = safe_files.read(
                    os.path.join(common_dir, "worktrees", name, "gitdir"), _MAX_LINE
                ).decode("utf-8", "replace")
                found.append(os.path.dirname(line.strip()))
    return [folder for folder in found if os.path.isabs(folder)]


def user_name(common_dir: str) -> str:
    """What git calls this user in a repository (``user.name``), by its own configuration or the
    user's; '' where that says nothing.
    """
    from dulwich.config import ConfigFile

    own = [os.path.join(common_dir, "config")] if common_dir and is_ours(common_dir) else []
    xdg = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    for path in (*own, "~/.gitconfig", f"{xdg}/git/config"):
        try:
            text = safe_files.read(os.path.expanduser(path), safe_files.MAX_SETTINGS)
            return (
                ConfigFile.from_file(io.BytesIO(text))
                .get((b"user",), b"name")
                .decode("utf-8", "replace")
            )
        except (OSError, KeyError, ValueError):
            continue
    return ""


def foreign_format(folder: str) -> str:
    """In which format a repository keeps its references or objects, where that can't be read here:
    ``reftable``, ``sha256``; else ''.
    """
    from dulwich.config import ConfigFile

    try:
        config = ConfigFile.from_file(
            io.BytesIO(safe_files.read(os.path.join(folder, "config"), safe_files.MAX_SETTINGS))
        )
    except (OSError, ValueError):
        return ""
    for name, usual in ((b"refstorage", "files"), (b"objectformat", "sha1")):
        with contextlib.suppress(KeyError):
            found = config.get((b"extensions",), name).decode("utf-8", "replace").lower()
            if found != usual:
                return found
    return ""


def shallow(folder: str) -> set[bytes]:
    try:
        return set(
            safe_files.read(os.path.join(folder, "shallow"), safe_files.MAX_SETTINGS).split()
        )
    except OSError:
        return set()


def _remote(folder: str) -> str:
    from dulwich.config import ConfigFile

    try:
        text = safe_files.read(os.path.join(folder, "config"), safe_files.MAX_SETTINGS)
        return (
            ConfigFile.from_file(io.BytesIO(text))
            .get((b"remote", b"origin"), b"url")
            .decode("utf-8", "replace")
        )
    except (OSError, KeyError, ValueError):
        return ""


def current_branch(folder: str) -> str:
    """The branch that is checked out where *folder* lies (also in a linked worktree); '' where none
    is.
    """
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    git = os.path.join(folder, ".git")
    try:
        if not os.path.isdir(git):
            git = git_folder(folder, git)  # '' where a stranger's file names somebody else's
        head = (
            safe_files.read(os.path.join(git, "HEAD"), _MAX_LINE).decode("utf-8", "replace").strip()
            if git
            else ""
        )
    except OSError:
        return ""
    name = head.removeprefix(_ON_BRANCH) if head.startswith(_ON_BRANCH) else ""
    return "" if name == _ELSEWHERE else name


def head_of(common_dir: str) -> str:
    """The commit that HEAD names; '' where that can't be told without more."""
    try:
        head = (
            safe_files.read(os.path.join(common_dir, "HEAD"), _MAX_LINE)
            .decode("ascii", "replace")
            .strip()
        )
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if ".." in name or name.endswith(f"/{_ELSEWHERE}") or not name.startswith("refs/"):
            return ""
        try:
            return (
                safe_files.read(os.path.join(common_dir, name), _MAX_LINE)
                .decode("ascii", "replace")
                .strip()
            )
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
    """Whether a file of a project's came with it: its repository tracks it, or it is another
    user's. What can't be told counts as so.

    The index is read as a file (git's ``index-format``); git is never run.
    """
    from dulwich.index import read_index

    try:
        info = os.lstat(path)
        if info.st_uid != os.geteuid() or not stat.S_ISREG(info.st_mode):
            return True
        folder = os.path.realpath(os.path.dirname(path))
        root = folder
        while not os.path.lexists(os.path.join(root, ".git")):
            if root == os.path.dirname(root):
                return False
            root = os.path.dirname(root)
        index = _index_of(os.path.join(root, ".git"))
        if not os.path.exists(index):
            return False  # nothing was ever added
        name = os.fsencode(
            os.path.relpath(os.path.join(folder, os.path.basename(path)), root)
        ).replace(os.fsencode(os.sep), b"/")
        return any(
            entry.name == name
            for entry in read_index(io.BytesIO(safe_files.read(index, _MAX_INDEX)))
        )
    except Exception:  # a made-up index may break its reader in any way
        return True


def _index_of(git: str) -> str:
    """The index beside a ``.git`` folder, or in the folder that such a file names."""
    if os.path.isdir(git):
        return os.path.join(git, "index")
    line = safe_files.read(git, _MAX_LINE).decode("utf-8", "surrogateescape").partition("\n")[0]
    return os.path.join(os.path.dirname(git), line.removeprefix("gitdir:").strip(), "index")
