"""All paths that the product uses on a machine.

This module decides where things are, not what is in them. Standard library only. The paths that
hooks need are in ``paths``.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memsearch_engine.core import paths
from memsearch_engine.core.paths import MAX_SOCKET_PATH as MAX_SOCKET_PATH
from memsearch_engine.core.paths import is_free as is_free
from memsearch_engine.core.paths import lock as lock

if TYPE_CHECKING:
    from memsearch_engine.core.agent_registry import Agent
    from memsearch_engine.core.errors import MemsearchError


def user_home() -> Path:
    """The user's home folder, also when ``HOME`` is unset (then from the password database)."""
    return Path(paths.user_home())


def private(path: Path) -> None:
    """Create a database file that only its owner may read, or restrict an existing one.

    An existing file is not opened: closing it would drop the locks that other connections of this
    process hold (fcntl, POSIX), and two writers damage an SQLite file
    (https://sqlite.org/howtocorrupt.html, 2.2). Raises OSError.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        for suffix in ("", "-wal", "-shm"):  # made by a version that left it to the folder
            with contextlib.suppress(FileNotFoundError):
                file = Path(f"{path}{suffix}")
                info = file.lstat()
                if stat.S_ISLNK(info.st_mode):
                    raise PermissionError(
                        1, "it is a link, and may lead anywhere", str(file)
                    ) from None
                if info.st_mode & 0o077:
                    file.chmod(0o600)


class _Below:
    """A path below the root of a home."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, home: Home, _: type) -> Path:
        return home.root.joinpath(*self._parts)


class Home:
    """``MEMSEARCH_HOME`` (default ``~/.memsearch``) and the places inside it.

    ``index/`` and ``cache.db`` are caches that may be deleted at any moment; ``state.db`` and
    ``history.db`` are durable; everything is readable by its owner only.
    """

    #: The owner's settings file.
    config = _Below("config.toml")
    #: The folder of the vector indexes.
    index = _Below("index")
    #: The catalog. It may be deleted at any time.
    cache_db = _Below("cache.db")
    #: The database of projects, jobs, costs, coverage and injections.
    state_db = _Below("state.db")
    #: The database of changes that can be undone.
    history_db = _Below("history.db")
    #: The record of a scrub that has not ended.
    scrub_note = _Below("scrub.json")
    #: The folder of the event queue.
    inbox = _Below("inbox")
    #: A file that changes with each decision of the owner (``freshness.changed``).
    generation = _Below("context", "generation")
    #: The folder of the archived turns.
    evidence = _Below("evidence")
    #: Cache of the offsets of turns in large transcripts.
    offsets = _Below("offsets")
    #: The workspace of the long-term memory: its sources and its accepted documents.
    longterm = _Below("longterm")
    #: Searchable copies of the long-term memory, a folder per project; derived.
    longterm_search = _Below("longterm.search")
    #: The bare git repository with the last consolidated state of the long-term memory.
    #:
    #: It is beside the workspace, because a repository inside it would be the user's own.
    longterm_baseline = _Below("longterm.git")
    #: Where a consolidation works; created anew by each.
    longterm_staging = _Below("longterm.next")
    #: The folder of database copies from before migrations.
    backups = _Below("backups")
    #: The folder of the embedding models.
    models = _Below("models")
    #: The folder of sockets and locks.
    run = _Below("run")
    #: The folder of the locks of single files.
    locks = _Below("run", "locks")
    #: The lock that the running service holds.
    service_lock = _Below("run", "service.lock")
    #: The file with the process id of the service.
    service_pid = _Below("run", "service.json")
    #: The log file of the service.
    log = _Below("logs", "service.log")

    def __init__(self, root: Path) -> None:
        self.root = root
        #: Set by the service once it runs: a root that vanishes then was removed, and is not made
        #: again.
        self.settled = False

    @staticmethod
    def put(path: Path, data: bytes, *, durable: bool = False, mode: int = 0o600) -> None:
        """Replace a file by *data*, atomically. By default only its owner may read it.

        Args:
            durable: wait until the data is on the disk; otherwise a power cut may leave the old
                file.
            mode: the new file's permission bits.

        Raises:
            OSError: it cannot be written.
        """
        import tempfile  # 10 ms

        # without parents: a home that was removed is not made again
        path.parent.mkdir(mode=0o700, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with open(fd, "wb") as out:
                out.write(data)
                os.fchmod(fd, mode)
                if durable:
                    out.flush()
                    os.fsync(out.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    @classmethod
    def from_env(cls) -> Home:
        """Return the home that the environment names."""
        return cls(Path(paths.home_root()))

    def draft(self, path: str, entry_id: str) -> Path:
        """The file of an unsaved edit."""
        from memsearch_engine.core.ids import digest

        return self.root / "drafts" / f"{digest(path, entry_id)}.json"

    def private(self, name: str) -> Path:
        """Create an empty file that only its owner may read, if it is missing. Raises OSError."""
        path = self.ensure().root / name
        private(path)
        return path

    def context(self, memory: str) -> Path:
        """The prepared text for the start of a session, by memory folder."""
        return Path(paths.context(str(self.root), memory))

    def staleness_cache(self, project: str) -> Path:
        """Cache of the history of a project's repository."""
        return self.root / "ground" / f"{project}.db"

    @property
    def socket(self) -> Path:
        """The service's socket: in ``run/``, or in a private temporary folder for a long path."""
        return Path(paths.socket(str(self.root)))

    def ensure(self) -> Home:
        """Create the folders that writers need.

        Raises:
            OSError: the home can't be written, or belongs to another user.
        """
        if not self.settled:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (
                self.root.parent == Path(paths.temporary())
                and self.root.lstat().st_uid != os.getuid()
            ):
                raise PermissionError(1, f"{self.root} belongs to another user", str(self.root))
        for folder in (self.run, self.locks, self.log.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        return self

    @contextlib.contextmanager
    def locked(
        self, name: str, refused: MemsearchError, *, shared: bool = False, wait_s: float = 0.0
    ) -> Iterator[None]:
        """Hold the lock *name* of this home. The system releases it if the process ends.

        Args:
            refused: raised if the lock is not free within *wait_s* seconds.
            shared: other holders may share it.
        """
        self.ensure()
        fd = paths.lock(os.path.join(self.locks, name), shared=shared, wait_s=wait_s)
        if fd is None:
            raise refused
        try:
            yield
        finally:
            os.close(fd)

    def exposed(self, below: Path | None = None) -> list[Path]:
        """Files in the home (or *below* one of its folders) that other users can read."""
        top = below or self.root
        found = [top] if top.stat().st_mode & 0o077 else []
        for base, folders, names in os.walk(top):
            for name in (*folders, *names):
                path = Path(base, name)
                info = path.lstat()
                if (
                    info.st_uid == os.getuid()
                    and info.st_mode & 0o077
                    and not stat.S_ISLNK(info.st_mode)
                ):
                    found.append(path)
        return found

    def close_to_others(self, below: Path | None = None) -> int:
        """Remove the permissions that ``exposed`` lists. Returns their number."""
        found = self.exposed(below)
        for path in found:
            with contextlib.suppress(FileNotFoundError):
                path.chmod(path.stat().st_mode & 0o700)
        return len(found)

    def ensure_socket_folder(self) -> None:
        """Create the socket's folder. Raises PermissionError if another user prepared it."""
        folder = self.socket.parent
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder == self.run and folder.lstat().st_uid == os.getuid():
            folder.chmod(0o700)  # inside the home it is ours, whatever a restored backup made of it
        self.check_socket_folder()

    def check_socket_folder(self) -> None:
        """Check that no other user prepared the socket's folder.

        Raises:
            PermissionError: another user did, and could read requests and write answers.
        """
        paths.check_socket_folder(str(self.root))


def elsewhere(agent: Agent, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Further folders with an agent's sessions. What is below ``.config`` may have been moved."""
    config = environment.get("XDG_CONFIG_HOME", "")
    return [
        Path(config) / folder.removeprefix(".config/")
        if config and os.path.isabs(config) and folder.startswith(".config/")
        else user_home() / folder
        for folder in agent.elsewhere
    ]


class AgentFolders(NamedTuple):
    """The folders with sessions of each agent.

    They come from the agent's environment variable, its default, and the reports of its hooks,
    because the service may have another environment than the agent.
    """

    places: dict[str, list[Path]]

    def of(self, agent: str) -> list[Path]:
        """Return the folders of an agent."""
        return self.places.get(agent, [])

    def here(self, agent: str) -> list[Path]:
        """The folders that exist. A project counts only if the agent has written in it."""
        from memsearch_engine.core import agent_registry

        known = agent_registry.agent(agent)
        mark = known.writes if known.in_projects and not known.sessions else os.curdir
        return [
            place for place in self.of(agent) if place.is_dir() and os.path.exists(place / mark)
        ]

    @classmethod
    def from_env(
        cls,
        environment: Mapping[str, str] = os.environ,
        *,
        seen: Mapping[str, list[str]] | None = None,
    ) -> AgentFolders:
        """Find the folders.

        Args:
            environment: environment variables to read.
            seen: further folders by agent.
        """
        from memsearch_engine.core import agent_registry

        home = user_home()
        places: dict[str, list[Path]] = {}
        for agent in agent_registry.everyone():
            moved = (
                environment.get(name) for name in (agent.sessions_variable, agent.home_variable)
            )
            bases = [
                Path(os.path.abspath(os.path.expanduser(folder))) for folder in moved if folder
            ]
            bases += [home / agent.home, *map(Path, (seen or {}).get(agent.name, ()))]
            named = [base / agent.sessions for base in bases] + elsewhere(agent, environment)
            places[agent.name] = list(dict.fromkeys(named))
        return cls(places)
