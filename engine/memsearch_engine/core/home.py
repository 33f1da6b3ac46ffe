"""Every path that the product uses on a machine, in one place.

This room decides *where* things are, never what is in them. It imports the standard library only.
The paths that hooks use come from ``paths``.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memsearch_engine.core import paths
from memsearch_engine.core.paths import MAX_SOCKET_PATH as MAX_SOCKET_PATH
from memsearch_engine.core.paths import is_free as is_free
from memsearch_engine.core.paths import lock as lock

if TYPE_CHECKING:
    from memsearch_engine.core.agent_registry import Agent


def user_home() -> Path:
    """The user's home folder, also when ``HOME`` is unset (then from the password database)."""
    return Path(paths.user_home())


def private(path: Path) -> None:
    """Make sure that a database of ours exists and that nobody else may read it, whatever its
    folder allows. Raises OSError.

    One that exists is not opened here: closing it would drop the locks of this process's other
    connections (fcntl, POSIX), and two writers at once are how an SQLite file is damaged
    (https://sqlite.org/howtocorrupt.html, 2.2).
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


class Home:
    """``MEMSEARCH_HOME`` (default ``~/.memsearch``) and the places inside it.

    ``index/`` and ``cache.db`` are caches that may be deleted at any moment; ``state.db`` and
    ``history.db`` are durable; everything is readable by its owner only.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        #: Set by the service once it runs: a root that vanishes then was removed, and is not made
        #: again.
        self.settled = False

    @staticmethod
    def put(path: Path, data: bytes, *, durable: bool = False) -> None:
        """Have a file of ours hold *data*, readable by its owner only: whoever reads it sees the
        old text or the new one, whole. Its folder is made. Raises OSError.

        Args:
            durable: it is on the disk when this returns; else a power cut may leave the old one.
        """
        import tempfile  # 10 ms

        path.parent.mkdir(
            mode=0o700, exist_ok=True
        )  # and none above it: a home that was removed is not made again
        fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with open(fd, "wb") as out:
                out.write(data)
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
        return cls(Path(paths.home_root()))

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def cache_db(self) -> Path:
        return self.root / "cache.db"

    @property
    def state_db(self) -> Path:
        return self.root / "state.db"

    @property
    def history_db(self) -> Path:
        return self.root / "history.db"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    def draft(self, path: str, entry_id: str) -> Path:
        """The file of an unsaved edit."""
        from memsearch_engine.core.ids import digest

        return self.root / "drafts" / f"{digest(path, entry_id)}.json"

    def private(self, name: str) -> Path:
        """A file of ours that nobody else may read, made empty where it is not there. Raises
        OSError.
        """
        path = self.ensure().root / name
        private(path)
        return path

    def context(self, memory: str) -> Path:
        """What a new session of the project with this memory folder is given, prebuilt for its
        hook.
        """
        return Path(paths.context(str(self.root), memory))

    @property
    def generation(self) -> Path:
        """A file that is replaced when the owner's decisions change (``freshness.changed``)."""
        return self.root / "context" / "generation"

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    @property
    def offsets(self) -> Path:
        """Where turns begin in large transcripts; a cache."""
        return self.root / "offsets"

    def ground(self, project: str) -> Path:
        """What is known of the history of a project's repository; a cache."""
        return self.root / "ground" / f"{project}.db"

    @property
    def longterm(self) -> Path:
        """The long-term workspace: what consolidation reads, and what it made as far as it was
        accepted.
        """
        return self.root / "longterm"

    @property
    def longterm_search(self) -> Path:
        """The same as files that the index reads, one folder for each project; derived."""
        return self.root / "longterm.search"

    @property
    def longterm_baseline(self) -> Path:
        """A bare git repository beside the workspace, never inside: a repository that a user made
        there is not ours.
        """
        return self.root / "longterm.git"

    @property
    def longterm_staging(self) -> Path:
        """Where a consolidation works; made anew by each."""
        return self.root / "longterm.next"

    @property
    def backups(self) -> Path:
        return self.root / "backups"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def locks(self) -> Path:
        return self.run / "locks"

    @property
    def service_lock(self) -> Path:
        return self.run / "service.lock"

    @property
    def service_pid(self) -> Path:
        return self.run / "service.json"

    @property
    def log(self) -> Path:
        return self.root / "logs" / "service.log"

    @property
    def socket(self) -> Path:
        """The service's socket: in ``run/``, or in a private temporary folder where that path would
        be too long.
        """
        return self._socket("engine.sock")

    def milvus_socket(self, fingerprint: str) -> Path:
        """Where Milvus Lite listens inside the service for one vector space (gRPC appends ``:0`` to
        the name).
        """
        return self._socket(f"m-{fingerprint[-8:]}.sock")

    def _socket(self, name: str) -> Path:
        return Path(paths.socket(str(self.root), name))

    def ensure(self) -> Home:
        """Create the folders that writers need. Raises OSError where the home can't be written, or
        is somebody else's folder in a place where everybody may make one.
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

    def exposed(self, below: Path | None = None) -> list[Path]:
        """What others may read in the home (or *below* a folder of it), if its folders let them:
        left by a backup, or by a version that trusted the folder.
        """
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
        """Take from others what ``exposed`` lists. Returns how many."""
        found = self.exposed(below)
        for path in found:
            with contextlib.suppress(FileNotFoundError):
                path.chmod(path.stat().st_mode & 0o700)
        return len(found)

    def ensure_socket_folder(self) -> None:
        """Create the socket's folder and refuse one that somebody else prepared. Raises
        PermissionError.
        """
        folder = self.socket.parent
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder == self.run and folder.lstat().st_uid == os.getuid():
            folder.chmod(0o700)  # inside the home it is ours, whatever a restored backup made of it
        self.check_socket_folder()

    def check_socket_folder(self) -> None:
        """Refuse a socket in a folder that another user prepared: he would read what is asked and
        write what is answered. Raises OSError, PermissionError among them.
        """
        paths.check_socket_folder(str(self.root))


def elsewhere(agent: Agent, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The further folders in which an agent's sessions lie; what is below ``.config`` may have been
    moved.
    """
    config = environment.get("XDG_CONFIG_HOME", "")
    return [
        Path(config) / folder.removeprefix(".config/")
        if config and os.path.isabs(config) and folder.startswith(".config/")
        else user_home() / folder
        for folder in agent.elsewhere
    ]


class AgentFolders(NamedTuple):
    """Where each agent may keep its sessions: where its environment says, where it does by default,
    and where its hooks have been seen to (a service started elsewhere has another environment than
    the agent).
    """

    places: dict[str, list[Path]]

    def of(self, agent: str) -> list[Path]:
        return self.places.get(agent, [])

    def here(self, agent: str) -> list[Path]:
        """Those that are there. A project is no place of an agent that has written nothing in it."""
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
        """
        Args:
            environment: where the agents' own variables are looked up.
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
