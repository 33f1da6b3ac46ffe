"""Finds the project of a folder from the file system alone. Standard library only: hooks import it.

The project is the main worktree's root (through git's common directory), else the nearest folder
with a ``.memsearch``, else the folder itself. Hooks, commands, the service and the app use this
function.
"""

from __future__ import annotations

import os
import stat

from memsearch_engine.core.paths import ALIASES, MARKER

_MAX_LINE = 8192
SHARED_FOLDER = "shared"
_MAX_AUTHOR = 40


def find(cwd: str, home_root: str) -> tuple[str, str, str]:
    """Find (project root, memory folder, git's common directory) for *cwd*, which may be deleted.

    A path that is not UTF-8 is named by an alias of it (``_utf8``), so all three are UTF-8.

    Args:
        home_root: ``MEMSEARCH_HOME``, which is no project's ``.memsearch``.
    """
    root, memory, common = _find(cwd, home_root)
    named = _utf8(root, home_root)
    inner = f"{root}{os.sep}"
    if named != root and memory.startswith(inner):
        memory = os.path.join(named, memory[len(inner) :])
    return named, _utf8(memory, home_root), _utf8(common, home_root)


def _find(cwd: str, home_root: str) -> tuple[str, str, str]:
    start = os.path.realpath(cwd)
    home_root = os.path.realpath(home_root)
    git_root, common = _git(start)
    root = git_root or _marked(start, home_root) or start
    if root == os.sep:  # it is above all projects, and none itself
        return root, os.path.join(home_root, "root-project", "memory"), common
    override = os.environ.get("MEMSEARCH_DIR")
    # the owner may name a link; a link in a project may have come with a clone
    base = (
        os.path.realpath(os.path.expanduser(override)) if override else os.path.join(root, MARKER)
    )
    if os.path.realpath(base) == home_root:  # a session started in the user's home folder itself
        base = os.path.join(home_root, "home-project")
    return root, os.path.join(base, "memory"), common


def _utf8(path: str, home_root: str) -> str:
    """*path*, or an alias of it if its bytes are not UTF-8: SQLite and JSON can't store them.

    The alias is a symbolic link in the home folder, made at first sight. The system opens it like
    the folder itself, so other functions need no second form of a path. Its name has a hash of the
    path, so it is the same in every process.

    Returns:
        *path* unchanged if the link can't be made (in a sandbox).
    """
    try:
        path.encode()
        return path
    except UnicodeEncodeError:
        import hashlib  # 2 ms, for few projects
    name = os.fsencode(os.path.basename(path)).decode("utf-8", "backslashreplace")
    key = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    alias = os.path.join(home_root, ALIASES, f"{name.replace(chr(92), '%')[:_MAX_AUTHOR]}~{key}")
    try:
        if not os.path.islink(alias):
            os.makedirs(home_root, mode=0o700, exist_ok=True)
            os.makedirs(os.path.dirname(alias), mode=0o700, exist_ok=True)
            os.symlink(path, alias)
    except FileExistsError:  # another process made it meanwhile
        pass
    except OSError:
        return path
    return alias


def shared_beside(memory: str) -> str:
    """Return the folder of shared notes beside a memory folder; ``""`` outside projects."""
    base = os.path.dirname(memory)
    return os.path.join(base, SHARED_FOLDER) if os.path.basename(base) == MARKER else ""


def has_notes(memory: str) -> bool:
    """Whether a project has a memory folder."""
    return os.path.isdir(memory) or os.path.isdir(shared_beside(memory))


def author_of(path: str) -> str:
    """Return the author of a shared file.

    Returns:
        ``""`` if the file is not shared or has no valid author (``author_name``).
    """
    folder, name = os.path.split(os.path.dirname(path))
    base, between = os.path.split(folder)
    is_shared = between == SHARED_FOLDER and os.path.basename(base) == MARKER
    return name if is_shared and author_name(name) == name else ""


def author_name(name: str) -> str:
    """A person's name as a folder name: one lower-case word; ``""`` if nothing is left."""
    import re
    import unicodedata  # a hook asks for no names

    plain = unicodedata.normalize("NFC", name).strip().lower()
    characters = (
        char if char.isalnum() or char in "._" or unicodedata.category(char)[0] == "M" else "-"
        for char in plain
    )
    return re.sub("-+", "-", "".join(characters))[:_MAX_AUTHOR].strip("-._")


def _ancestors(start: str) -> list[str]:
    found = [start]
    while (above := os.path.dirname(found[-1])) != found[-1]:
        found.append(above)
    return found


def _git(start: str) -> tuple[str, str]:
    """(root of the main worktree, git's common directory), or ('', '')."""
    for folder in _ancestors(start):
        dot = os.path.join(folder, ".git")
        if os.path.islink(dot):
            # git makes no such link, which would make this folder a part of another project
            return folder, ""
        if os.path.isdir(dot) and os.path.exists(os.path.join(dot, "HEAD")):
            return folder, dot
        if os.path.isfile(dot):
            return _linked(folder, dot)
    return "", ""


def _linked(folder: str, dot: str) -> tuple[str, str]:
    """Read a worktree's or submodule's ``.git`` file.

    It counts only if the folder it names points back, as git writes both ends. A file in an archive
    must not make its folder a part of the user's own project.
    """
    git_dir = git_folder(folder, dot)
    common = _common(git_dir) if git_dir else ""
    if common == git_dir:  # a submodule is a project of its own
        return folder, git_dir
    if os.path.basename(common) == ".git":
        return os.path.dirname(common), common
    return common, common  # worktrees of a bare repository share the memory beside it


def git_folder(folder: str, dot: str) -> str:
    """The git folder that the ``.git`` file *dot* names; ``""`` if it does not point back."""
    git_dir = os.path.realpath(os.path.join(folder, _line(dot).removeprefix("gitdir:").strip()))
    if _common(git_dir) == git_dir:
        is_named = _names_back(git_dir, folder)
    else:
        is_named = os.path.realpath(_line(os.path.join(git_dir, "gitdir"))) == os.path.realpath(dot)
    return git_dir if is_named else ""


def _common(git_dir: str) -> str:
    """The directory that all worktrees of a repository share."""
    return os.path.realpath(
        os.path.join(git_dir, _line(os.path.join(git_dir, "commondir")) or os.curdir)
    )


def _names_back(git_dir: str, folder: str) -> bool:
    """Whether a submodule's git folder says that its files are in *folder*."""
    import re

    from memsearch_engine.core import safe_files

    config = safe_files.read_or_empty(os.path.join(git_dir, "config"), safe_files.MAX_SETTINGS)
    worktree = re.search(
        r"(?m)^\s*worktree\s*=\s*\"?(.+?)\"?\s*$", config.decode("utf-8", "replace")
    )
    return worktree is not None and os.path.realpath(
        os.path.join(git_dir, worktree[1])
    ) == os.path.realpath(folder)


def _line(path: str) -> str:
    """First line of a small git file; ``""`` if it cannot be read."""
    from memsearch_engine.core import safe_files  # most folders have no such file

    data = safe_files.read_or_empty(path, _MAX_LINE)
    return data.decode("utf-8", "surrogateescape").partition("\n")[0].strip()


def _ours(folder: str) -> bool:
    """Whether the folder belongs to this user. ``/tmp/.memsearch`` may belong to another."""
    try:
        info = os.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()


def _marked(start: str, home_root: str) -> str:
    for folder in _ancestors(start):
        marker = os.path.join(folder, MARKER)
        if folder != os.sep and os.path.realpath(marker) != home_root and _ours(marker):
            return folder
    return ""
