"""Writes files: a lock per file, append in one write, replace by temporary file and rename.

Other programs do not know our lock (editors, git, other memory tools). So a file is compared with
what was read just before it is replaced. Lines that someone appended to the old file meanwhile are
carried over, and lines that we appended to a file that someone replaced at the same moment are
written again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator

from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import Conflict, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest

LOCK_TIMEOUT_S = 20.0
_ATTEMPTS = 20
_SCRATCH = ".tmp"


@contextlib.contextmanager
def locked(home: Home, path: str) -> Iterator[None]:
    """Hold the lock of *path*, and let ``last_write`` change at the end.

    The lock file is in the home, never beside the user's file.
    """
    refused = Unreachable(
        f"{path} has been locked by another memsearch process for {LOCK_TIMEOUT_S:.0f} s",
        "see `memsearch service status`, then try again",
    )
    name = f"{digest(os.fsencode(path), size=10)}.lock"
    with home.locked(name, refused, wait_s=LOCK_TIMEOUT_S):
        try:
            yield
        finally:
            # the kernel's own time stamp is the same for writes within milliseconds
            now = time.time_ns()
            with contextlib.suppress(OSError):
                os.utime(home.locks, ns=(now, now))


def last_write(home: Home) -> int:
    """Return a number that is different after each write of a process of this home."""
    try:
        return os.stat(home.locks).st_mtime_ns
    except OSError:
        return 0


def real_file(path: str) -> str:
    """Resolve the links in *path*. Refuse a link that leaves the project, as in a clone.

    The alias of a project whose path is not UTF-8 is not resolved: databases store the result.
    """
    try:
        found, base = safe_files.real(path), safe_files.base_of(path)
        found.encode()
        return found
    except UnicodeEncodeError:
        return os.path.join(base, os.path.relpath(found, os.path.realpath(base)))
    except OSError as error:
        raise Unreachable(
            f"{path} is {error.strerror}",
            "memory files are only written inside their own project; "
            "MEMSEARCH_DIR names another place",
        ) from error


def append(path: str, block: bytes, *, first: bytes = b"", sync: bool = True) -> int:
    """Append *block* in one write, all or nothing. The caller holds the lock.

    Args:
        first: written before the block if the file is new or empty.
        sync: wait until it is on the disk. Otherwise the caller calls ``synced`` later.

    Returns:
        The byte offset of the block.
    """
    try:
        with safe_files.folder_of(path, create=True) as (folder, name):
            for _ in range(_ATTEMPTS):
                fd = safe_files.open_in(folder, name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
                try:
                    offset = _append(fd, block, first, sync)
                    if _is_at(folder, name, fd) or _has(folder, name, block):
                        return offset
                finally:
                    os.close(fd)
    except OSError as error:
        raise Unreachable(
            f"could not write to {path}: {error.strerror or error}", "nothing was changed"
        ) from error
    raise Unreachable(
        f"{path} is replaced again and again by another program", "close it, then try again"
    )


def _append(fd: int, block: bytes, first: bytes, sync: bool) -> int:
    size = os.fstat(fd).st_size
    data = first + block if size == 0 else block
    try:
        written = os.write(fd, data)
        if written < len(data):
            raise OSError(28, "No space left on device")
        if sync:
            os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, size)
        raise
    return size + len(data) - len(block)


def synced(path: str) -> None:
    """Wait until a file is on the disk. Raises Unreachable."""
    try:
        with (
            safe_files.folder_of(path) as (folder, name),
            open(safe_files.open_in(folder, name), "rb") as file,
        ):
            os.fsync(file.fileno())
    except OSError as error:
        raise Unreachable(
            f"could not write to {path}: {error.strerror or error}", "repeat the command"
        ) from error


def _is_at(folder: int, name: str, fd: int) -> bool:
    """Whether the open file still has that name."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def _has(folder: int, name: str, block: bytes) -> bool:
    """Whether the file that replaced ours already contains our block."""
    try:
        return block.strip() in safe_files.content(folder, name)
    except FileNotFoundError:
        return False


def replace(path: str, read: bytes, data: bytes) -> None:
    """Replace the content of *path* by *data* if it still is *read*. The caller holds the lock.

    Raises:
        Conflict: the file changed since it was read.
        Unreachable: it could not be written; the old file stays.
    """
    try:
        with safe_files.folder_of(path) as (folder, name), _scratch(path, folder) as scratch:
            old = safe_files.open_in(folder, name)
            try:
                _replace(path, folder, name, scratch, old, read, data)
                grown = os.fstat(old).st_size
                if grown > len(
                    read
                ):  # somebody appended to the old file between our comparison and the rename
                    append(path, os.pread(old, grown - len(read), len(read)))
            finally:
                os.close(old)
    except OSError as error:
        raise Unreachable(
            f"could not write {path}: {error.strerror or error}", "nothing was changed"
        ) from error


def _replace(
    path: str, folder: int, name: str, scratch: int, old: int, read: bytes, data: bytes
) -> None:
    _sweep(folder, name)
    _sweep(scratch, name)
    temporary = f".{name}.{secrets.token_hex(6)}.tmp"
    fd = safe_files.open_in(scratch, temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with open(fd, "wb") as out:
            out.write(data)
            out.flush()
            safe_files.keep_access(out.fileno(), os.fstat(old))
            os.fsync(out.fileno())
        if safe_files.read_all(old) != read or not _is_at(folder, name, old):
            raise Conflict(f"{path} changed while it was being edited")
        os.replace(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=scratch)
        raise
    with contextlib.suppress(
        OSError
    ):  # some file systems can't sync a folder; the rename is atomic all the same
        os.fsync(folder)


@contextlib.contextmanager
def _scratch(path: str, folder: int) -> Iterator[int]:
    """Yield the folder for temporary files.

    It is in ``.memsearch`` and ignored by git, so that leftovers of a killed process are never
    committed. Without ``.memsearch``, it is the file's folder.
    """
    base = os.path.join(safe_files.base_of(path), safe_files.MARKER)
    if not path.startswith(base + os.sep):
        yield folder
        return
    try:
        scratch = safe_files.open_folder(os.path.join(base, _SCRATCH), create=True)
    except OSError:  # a link, or a place where only the notes may be written
        yield folder
        return
    try:
        if os.fstat(scratch).st_dev != os.fstat(folder).st_dev or not os.access(
            ".", os.W_OK, dir_fd=scratch
        ):  # nothing can be renamed from there, or another user made it for himself
            yield folder
            return
        with contextlib.suppress(FileExistsError):
            fd = safe_files.open_in(scratch, ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with open(fd, "wb") as out:
                out.write(b"*\n")
        yield scratch
    finally:
        os.close(scratch)


def _sweep(folder: int, name: str) -> None:
    """Remove temporary files of a killed process. The file's lock excludes other users of them."""
    with os.scandir(folder) as items:
        left = [
            item.name
            for item in items
            if item.name.startswith(f".{name}.") and item.name.endswith(".tmp")
        ]
    for temporary in left:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
