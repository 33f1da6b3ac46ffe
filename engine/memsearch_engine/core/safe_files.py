"""Opens project files safely: regular files of bounded size below a trusted folder.

Project files come with clones, archives and other people's folders. A planted link must not lead
elsewhere, a pipe or device must not block, an endless file must not fill memory. Every path part
below *base* is opened by descriptor without following links, so nothing can be swapped between a
check and its use. A link whose target is below the base is followed once, by its real path.
Standard library only: hooks import it in a worktree.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterable, Iterator

from memsearch_engine.core.paths import ALIASES, home_root
from memsearch_engine.core.paths import MARKER as MARKER

MAX_NOTES = 128 * 1024 * 1024
MAX_SETTINGS = 1024 * 1024
_LINK = (errno.ELOOP, errno.ENOTDIR)


def base_of(path: str) -> str:
    """Return the trusted folder for *path*.

    It is the project's root for files in its ``.memsearch``, and the file's folder for others.
    """
    place = f"{path}{os.sep}".rfind(f"{os.sep}{MARKER}{os.sep}")
    aliases = os.path.join(MARKER, ALIASES, "")
    if path.startswith(aliases, place + 1) and path[:place] == os.path.dirname(home_root()):
        end = path.find(os.sep, place + 1 + len(aliases))
        return path if end < 0 else path[:end]  # the marker is the home folder's, not a project's
    return (path[:place] or os.sep) if place >= 0 else os.path.dirname(path)


def real(path: str) -> str:
    """*path* with links resolved.

    Raises:
        OSError: a link leads out of the project's ``.memsearch`` (which must not be a link itself)
            or, for other files, out of their folder. Otherwise we would write into another file of
            the project.
    """
    base = os.path.realpath(base_of(path))
    if path.startswith(os.path.join(base_of(path), MARKER)):
        base = os.path.join(base, MARKER)
    found = os.path.realpath(path)
    if found != base and not found.startswith(base.rstrip(os.sep) + os.sep):
        raise OSError(errno.EPERM, f"a link that leads out of its project, to {found}", path)
    return found


def open_folder(path: str, *, create: bool = False) -> int:
    """A descriptor of a folder.

    Args:
        create: create missing folders.

    Raises:
        OSError: no folder, a link that leads out, or another user's ``.memsearch``.
    """
    base = base_of(path)
    if create:
        os.makedirs(base, exist_ok=True)
    try:
        return _descend(base, os.path.relpath(path, base), create)
    except OSError as error:
        if error.errno not in _LINK:
            raise
        base, found = os.path.realpath(base), real(path)
        return _descend(base, os.path.relpath(found, base), create)


def _descend(base: str, relative: str, create: bool) -> int:
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        owner = os.fstat(folder).st_uid
        for part in () if relative == os.curdir else relative.split(os.sep):
            try:
                below = _open_part(part, folder)
            except FileNotFoundError:
                if not create:
                    raise
                try:
                    os.mkdir(part, 0o755, dir_fd=folder)
                    below = _open_part(part, folder)
                    if not os.listdir(below):  # else somebody put another folder in its place
                        _hand_over(below, folder, shared=part != MARKER)
                except FileExistsError:
                    below = _open_part(part, folder)
            os.close(folder)
            folder = below
            if part == MARKER and os.fstat(folder).st_uid not in (os.geteuid(), owner):
                raise OSError(errno.EPERM, "it belongs to another user", f"{base}{os.sep}{MARKER}")
        return folder
    except BaseException:
        os.close(folder)
        raise


def _open_part(part: str, folder: int) -> int:
    if part == os.pardir:
        raise OSError(errno.EPERM, "it leads out of its project", part)
    return os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)


def _hand_over(made: int, folder: int, *, shared: bool = True) -> None:
    """Give what was made in a folder to those who may write there.

    What root makes in a user's folder is the user's. The group may write in a folder that is
    group-writable and has the setgid bit, if *shared*.
    """
    info, new = os.fstat(folder), os.fstat(made)
    with contextlib.suppress(OSError):  # root of a container may not
        if os.geteuid() == new.st_uid == 0 != info.st_uid:
            os.fchown(made, info.st_uid, info.st_gid)
    if shared and info.st_mode & stat.S_ISGID and info.st_mode & stat.S_IWGRP:
        enter = stat.S_IXGRP if stat.S_ISDIR(new.st_mode) else 0
        with contextlib.suppress(PermissionError):  # another user's file that is still empty
            os.fchmod(made, stat.S_IMODE(new.st_mode) | stat.S_IRGRP | stat.S_IWGRP | enter)


def keep_access(fd: int, old: os.stat_result, most: int = 0o777) -> None:
    """Give a new file the owner, group and permissions of the *old* one, as far as this user may.

    If it gets another group, that group may do only what everybody may. The set-user-ID bit is not
    kept: with it, the content of another user would run with the rights of this one.

    Args:
        most: the permissions that it may get.
    """
    new = os.fstat(fd)
    for user, group in ((-1, old.st_gid), (old.st_uid, -1)):
        if user not in (-1, new.st_uid) or group not in (-1, new.st_gid):
            with contextlib.suppress(OSError):  # a container does not know every user and group
                os.fchown(fd, user, group)
    mode = old.st_mode & most
    if os.fstat(fd).st_gid != old.st_gid:
        mode &= 0o707 | (mode & stat.S_IRWXO) << 3
    os.fchmod(fd, mode)


@contextlib.contextmanager
def folder_of(path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """(descriptor of the folder, name in it) of a file, with permitted links resolved."""
    if os.path.islink(path):
        path = real(path)
    folder = open_folder(os.path.dirname(path), create=create)
    try:
        yield folder, os.path.basename(path)
    finally:
        os.close(folder)


def open_in(folder: int, name: str, flags: int = os.O_RDONLY, *, max_bytes: int = MAX_NOTES) -> int:
    """Open a regular file in an open folder, and return its descriptor. It never blocks.

    Raises:
        OSError: EINVAL if it is not a regular file, EFBIG if it exceeds *max_bytes*.
    """
    fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        if info.st_size > max_bytes:
            raise OSError(errno.EFBIG, f"larger than {max_bytes >> 20} MB", name)
        if flags & os.O_CREAT and info.st_size == 0 and info.st_nlink == 1:
            _hand_over(fd, folder)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read(path: str | os.PathLike[str], max_bytes: int = MAX_NOTES) -> bytes:
    """The bytes of a regular file. Raises OSError."""
    path = os.path.abspath(os.fspath(path))
    try:
        with folder_of(path) as (folder, name):
            return content(folder, name, max_bytes)
    except OSError as error:
        error.filename = path  # and not the name alone
        raise


def read_each(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Pairs (path, bytes) of the files that can be read. A folder is opened once for its files."""
    for parent, files in itertools.groupby(paths, os.path.dirname):
        with contextlib.suppress(OSError), folder_of(os.path.join(parent, "")) as (folder, _):
            for path in files:
                with contextlib.suppress(OSError):
                    is_link, name = os.path.islink(path), os.path.basename(path)
                    yield path, read(path) if is_link else content(folder, name)


def content(folder: int, name: str, max_bytes: int = MAX_NOTES) -> bytes:
    """The bytes of a regular file in an open folder. Raises OSError."""
    with open(open_in(folder, name, max_bytes=max_bytes), "rb") as file:
        return file.read(max_bytes + 1)


def read_or_empty(path: str | os.PathLike[str], max_bytes: int = MAX_NOTES) -> bytes:
    """The bytes of a regular file; ``b""`` if it can't be read."""
    try:
        return read(path, max_bytes)
    except OSError:
        return b""


def put(path: str, data: bytes, *, private: bool = False) -> None:
    """Replace a small project file by *data*, atomically. ``journal/disk.py`` writes notes.

    Args:
        private: only the owner may read it. Otherwise it keeps its mode; a new file is private.

    Raises:
        OSError: it cannot be written.
    """
    with folder_of(path) as (folder, name):
        made = f".{name}.{os.urandom(6).hex()}.tmp"
        try:
            with open(open_in(folder, made, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as out:
                out.write(data)
                with contextlib.suppress(FileNotFoundError):
                    old = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    keep_access(out.fileno(), old, 0o600 if private else 0o777)
            os.replace(made, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(made, dir_fd=folder)
            raise


def read_all(fd: int) -> bytes:
    """All bytes of an open file, whatever its position."""
    chunks, offset = [], 0
    while chunk := os.pread(fd, 1 << 20, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)
