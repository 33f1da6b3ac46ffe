"""Paths for hooks, as strings, and file locks. ``pathlib`` alone costs a hook 4 ms.

``home`` has the same paths as ``Path``, and all others. Standard library only, and only modules
that every hook imports anyway.
"""

from __future__ import annotations

import os
import stat

#: A Unix socket path longer than this does not fit ``sockaddr_un`` on every system (104 bytes on
#: macOS).
MAX_SOCKET_PATH = 100
MARKER = ".memsearch"
#: The folder in the home folder with links to projects whose paths are not UTF-8.
ALIASES = "folders"
_SOCKET = "engine.sock"
#: Bytes of the longest name that any version has used beside it: all versions use one folder.
_LONGEST_NAME = 17
_TRY_AGAIN_S = 0.01


def spelled(path: str) -> str:
    """*path* as ``pathlib`` spells it."""
    if os.path.normpath(path) == path:
        return path
    from pathlib import Path  # rare: a doubled or trailing slash, `.` or `..`

    return str(Path(path))


def user_home() -> str:
    """The user's home folder, also when ``HOME`` is unset (then from the password database)."""
    try:
        if os.path.isabs(os.environ.get("HOME", "/")):
            found = os.path.expanduser("~")
            if not found.startswith("~"):
                return spelled(found)
        else:  # HOME is empty or relative: it can't be meant
            import pwd

            return spelled(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass
    return os.path.join(temporary(), f"memsearch-{os.getuid()}")


def temporary() -> str:
    """Return the machine's temporary folder instead of TMPDIR.

    Agents set their own TMPDIR for commands, but all must find the same service.
    """
    if os.path.isdir("/tmp"):
        return "/tmp"
    import tempfile  # 5 ms, and hooks count them

    return spelled(tempfile.gettempdir())


def home_root() -> str:
    """Return ``MEMSEARCH_HOME`` or its default.

    Raises:
        RuntimeError: it names the home of an unknown user.
        PermissionError: this is ``sudo``, and the folder is another user's.
    """
    root = os.environ.get("MEMSEARCH_HOME") or os.path.join(user_home(), ".memsearch")
    if not os.path.isabs(root):
        from pathlib import Path

        root = str(Path(root).expanduser())
    # a relative path is below the user's home, whatever the current folder is
    root = os.path.normpath(os.path.join(user_home(), root))
    # in a container, root may well use a folder of another user
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        _check_owner(root)
    return root


def _check_owner(root: str) -> None:
    """Raise PermissionError if root would make files in a user's home that the user can't write.

    ``sudo`` keeps HOME on some systems.
    """
    for folder in (root, os.path.dirname(root)):
        try:
            owner = os.stat(folder).st_uid
        except OSError:
            continue
        if owner:
            raise PermissionError(
                1,
                f"{folder} belongs to another user, and root's files would lock that user out: "
                "run memsearch as that user, or set MEMSEARCH_HOME",
            )
        return


def context(root: str, memory: str) -> str:
    """See ``Home.context``."""
    from memsearch_engine.core.ids import digest

    return os.path.join(root, "context", f"{digest(memory, size=10)}.json")


def run(root: str) -> str:
    """Return the folder of sockets and locks of a home."""
    return os.path.join(root, "run")


def service_lock(root: str) -> str:
    """Return the lock that a home's running service holds."""
    return os.path.join(run(root), "service.lock")


def logs(root: str) -> str:
    """Return the folder of a home's logs."""
    return os.path.join(root, "logs")


def socket(root: str) -> str:
    """Return the socket of the service: in ``run/``, or in a temporary folder for a long path."""
    if len(os.fsencode(os.path.join(run(root), ""))) + _LONGEST_NAME <= MAX_SOCKET_PATH:
        return os.path.join(run(root), _SOCKET)
    from memsearch_engine.core.ids import digest

    return os.path.join(
        temporary(), f"memsearch-{os.getuid()}-{digest(os.fsencode(root))}", _SOCKET
    )


def check_socket_folder(root: str) -> None:
    """Check that no other user prepared the socket's folder.

    Raises:
        PermissionError: another user did, and could read requests and write answers.
    """
    folder = os.path.dirname(socket(root))
    info = os.lstat(folder)
    if (
        not stat.S_ISDIR(info.st_mode)
        or info.st_uid != os.getuid()
        or (folder != run(root) and info.st_mode & 0o077)
    ):
        raise PermissionError(1, f"{folder} is not a private folder of this user", folder)


def lock(
    path: str | os.PathLike[str], *, shared: bool = False, make: bool = True, wait_s: float = 0.0
) -> int | None:
    """Take a lock (flock(2)).

    Args:
        make: create a missing file.
        wait_s: seconds to wait while another process or thread holds it.

    Returns:
        A descriptor that holds the lock until it is closed or the process ends; None if the lock
        is taken.

    Raises:
        OSError: the file cannot be opened.
    """
    import fcntl
    import time

    until = time.monotonic() + wait_s
    while True:
        fd = os.open(
            path,
            os.O_CLOEXEC | (os.O_RDONLY if os.path.isdir(path) else os.O_RDWR | make * os.O_CREAT),
            0o600,
        )
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return fd
        except OSError as error:
            os.close(fd)
            if not isinstance(error, BlockingIOError):
                raise
        if time.monotonic() >= until:
            return None
        time.sleep(_TRY_AGAIN_S)


def is_free(path: str | os.PathLike[str]) -> bool:
    """Whether nobody holds a lock."""
    try:
        fd = lock(path, make=False)
    except OSError:
        return True
    if fd is None:
        return False
    os.close(fd)
    return True
