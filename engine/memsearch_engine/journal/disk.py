"""Bytes on disk: a lock per file, append in one write, replace by temp file and rename.

Writers that don't know our lock (an editor, another memory tool) are expected: a file is compared with what was read
just before it is replaced, and lines that somebody appended to the replaced file meanwhile are carried over.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.errors import Conflict, Unreachable
from memsearch_engine.home import Home
from memsearch_engine.ids import digest

LOCK_TIMEOUT_S = 20.0


@contextlib.contextmanager
def locked(home: Home, path: str) -> Iterator[None]:
    """Hold the lock of *path*; the lock file lives in the home folder, never beside the user's file."""
    import filelock  # 50 ms: only writers pay for it

    home.ensure()
    lock = filelock.FileLock(home.locks / f"{digest(os.fsencode(path), size=10)}.lock", timeout=LOCK_TIMEOUT_S)
    try:
        with lock:
            yield
    except filelock.Timeout as error:
        raise Unreachable(
            f"{path} has been locked by another memsearch process for {LOCK_TIMEOUT_S:.0f} s",
            "see `memsearch service status`, then try again",
        ) from error


def real_file(path: str) -> str:
    """*path* with links resolved. A link that leaves its own folder is refused: a cloned repository may plant one."""
    real = os.path.realpath(path)
    if os.path.islink(path) and os.path.dirname(real) != os.path.realpath(os.path.dirname(path)):
        raise Unreachable(f"{path} is a link to {real}", "memory files are only written inside their own folder")
    return real


def append(path: str, block: bytes, *, first: bytes = b"") -> int:
    """Add *block* (after *first* when the file is new or empty) in one write. All of it is written or none.

    Returns the offset at which the block begins. The caller holds the lock.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        size = os.fstat(fd).st_size
        data = first + block if size == 0 else block
        try:
            written = os.write(fd, data)
            if written < len(data):
                raise OSError(28, "No space left on device")
            os.fsync(fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
            raise Unreachable(f"could not write to {path}: {error.strerror or error}", "nothing was changed") from error
        return size + len(data) - len(block)
    finally:
        os.close(fd)


def replace(path: str, read: bytes, data: bytes) -> None:
    """Make *path* hold *data*, if it still holds *read*. The caller holds the lock.

    Raises:
        Conflict: the file changed since it was read; the caller reads it again.
        Unreachable: it could not be written; the old file stands.
    """
    try:
        old = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise Unreachable(f"could not open {path}: {error.strerror}") from error
    temporary = ""
    try:
        info = os.fstat(old)
        fd, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", suffix=".tmp", dir=os.path.dirname(path))
        try:
            with open(fd, "wb", closefd=True) as out:
                out.write(data)
                out.flush()
                os.fchmod(out.fileno(), stat.S_IMODE(info.st_mode))
                os.fsync(out.fileno())
            if _read_all(old) != read or os.stat(path).st_ino != info.st_ino:
                raise Conflict(f"{path} changed while it was being edited")
            os.replace(temporary, path)
            temporary = ""
        except OSError as error:
            raise Unreachable(f"could not write {path}: {error.strerror or error}", "nothing was changed") from error
        _sync_folder(os.path.dirname(path))
        grown = os.fstat(old).st_size
        if grown > len(read):  # somebody appended to the old file between our comparison and the rename
            append(path, os.pread(old, grown - len(read), len(read)))
    finally:
        os.close(old)
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _read_all(fd: int) -> bytes:
    chunks, offset = [], 0
    while chunk := os.pread(fd, 1 << 20, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError:
        pass  # some file systems can't sync a folder; the rename is atomic all the same
    finally:
        os.close(fd)
