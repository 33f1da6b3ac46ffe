"""The public interface of sync between machines, and of git's merge driver."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memsearch_engine.core import network, settings
from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.sync import meeting
from memsearch_engine.sync.clone import Away, checked
from memsearch_engine.sync.meeting import SyncState
from memsearch_engine.sync.seal import make_key
from memsearch_engine.sync.state import Round, opened

# the modules for rounds and for the driver are imported on use: they take 70 ms and 12 MB
if TYPE_CHECKING:
    from memsearch_engine.agents.patches import Patch
    from memsearch_engine.sync.git_driver import DriverState
    from memsearch_engine.sync.run import SyncAnswer


class Sync(ScopePart):
    """Sync of one memory between machines, and git's merge driver.

    >>> with Memory() as memory:
    ...     memory.sync.state().remote
    ''
    """

    def state(self, *, elsewhere: bool = True) -> SyncState:
        """The state of sync on this machine.

        Args:
            elsewhere: include the projects of other machines, which reads the clone.

        Raises:
            SettingsError, Unreachable, NoKey: the settings or the clone are not readable.
        """
        wanted = settings.load(self._scope.home).sync
        if not wanted.remote or not self._scope.home.state_db.exists():
            return SyncState(wanted.remote, wanted.every_minutes, None, 0.0, [])
        with opened(self._scope.home) as state:
            last, worked = state.last(), float(state.get("worked") or 0)
        found = meeting.elsewhere(self._scope.home, self._projects()) if elsewhere else []
        return SyncState(wanted.remote, wanted.every_minutes, last, worked, found)

    def check(self, remote: str, *, encrypt: bool = False) -> str:
        """Contact a remote once and return its address in the form that would be stored.

        Raises:
            UsageError: the address is not valid.
            Away: the remote is not reachable.
            Refused: it contains no memory, or it is readable although encryption is required.
            NoKey: it is encrypted, and the key is missing.
        """
        remote = checked(remote)
        network.check(remote)
        try:
            meeting.look(self._scope.home, remote, encrypt=encrypt)
        except Away as error:
            raise Away(
                str(error),
                "check the address and your access; `git init --bare FOLDER` makes an empty "
                "repository",
            ) from error
        return remote

    def add(self, remote: str, *, encrypt: bool = False) -> Path | None:
        """Sync with a remote from now on.

        Args:
            encrypt: store everything encrypted on the remote.

        Returns:
            The file of the key, which is created if necessary; None without encryption.

        Raises:
            UsageError: another remote is configured, or a library is missing.
            SettingsError: the settings are not writable.
        """
        remote = checked(remote)
        used = settings.load(self._scope.home).sync.remote
        if used and used != remote:
            raise UsageError(
                f"this machine meets others at {used}", "`memsearch sync remove` first"
            )
        key = make_key(self._scope.home) if encrypt else None
        settings.set_values(
            self._scope.home, {"sync.remote": remote, "sync.encrypt": str(encrypt).lower()}
        )
        return key

    def remove(self) -> None:
        """Stop syncing. The notes here and on the remote stay."""
        for key in ("sync.remote", "sync.encrypt", "sync.evidence"):
            settings.unset(self._scope.home, key)
        meeting.leave(self._scope.home)

    def round(self, answer: SyncAnswer | None = None) -> Round:
        """Fetch, merge, write and push.

        Raises:
            UsageError: no remote is configured.
            Refused, Away, Unreachable: see ``sync.run``.
        """
        from memsearch_engine.journal.write import Journal
        from memsearch_engine.sync import run

        where = settings.load(self._scope.home).sync
        if not where.remote:
            raise UsageError(
                "no repository is set for sync",
                "`memsearch sync add REMOTE` names one: any git repository of yours",
            )
        with contextlib.closing(Journal(self._scope.home)) as journal:
            return run.sync(self._scope.home, journal, where, self._projects(register=True), answer)

    def rewrite(self) -> None:
        """Replace the remote's history by one commit with its content after a round.

        Otherwise scrubbed text stays in the history. The other machines have to ``rejoin``.

        Raises:
            UsageError, Refused, Away, Unreachable: as for ``round``.
        """
        self.round()
        meeting.rewrite(self._scope.home, settings.load(self._scope.home).sync)

    def attach(self, name: str, folder: str) -> str:
        """Make *folder* the folder of another machine's project, if git cannot recognize it.

        Args:
            name: the name of the project, or the beginning of its id.

        Returns:
            The id of the project.

        Raises:
            NotFound: there is no such project or folder.
            UsageError: several projects have this name.
        """
        found = [
            other
            for other in self.state().elsewhere
            if other.name == name or (len(name) > 3 and other.id.startswith(name))
        ]
        if not found:
            raise NotFound(
                f"no project {name} without a folder here", "`memsearch sync status` lists them"
            )
        if len(found) > 1:
            raise UsageError(f"several projects are called {name}", "name it by its id")
        if not os.path.isdir(folder):
            raise NotFound(f"no folder {folder}", "clone the project there first")
        with contextlib.closing(Registry(self._scope.home)) as registry:
            project = registry.at(locate(folder, self._scope.home), register=True)
        os.makedirs(project.memory, exist_ok=True)
        with opened(self._scope.home) as state:
            state.place(project.root, found[0].id)
        return found[0].id

    def _projects(self, *, register: bool = False) -> list[Project]:
        """The registered projects.

        Args:
            register: first register the current project if it is in a git repository.
        """
        with contextlib.closing(Registry(self._scope.home)) as registry:
            if register and self._scope.place.common_dir:
                registry.at(self._scope.place, register=True)
            return registry.all()

    def driver(self) -> DriverState:
        """The state of git's merge driver, which merges this project's notes entry by entry.

        Raises:
            UsageError: the project is in no repository of this user.
        """
        from memsearch_engine.sync import git_driver

        return git_driver.state(self._scope.place)

    def install_driver(self, *, dry_run: bool = False) -> list[Patch]:
        """Install the merge driver.

        Args:
            dry_run: change nothing.

        Returns:
            The changes.
        """
        from memsearch_engine.sync import git_driver

        place = self._scope.place
        return (
            [patch for patch in git_driver.planned(place) if patch.changes]
            if dry_run
            else git_driver.install(self._scope.home, place)
        )

    def uninstall_driver(self, *, dry_run: bool = False) -> list[Patch]:
        """Uninstall the merge driver, and restore the changed files byte for byte.

        Args:
            dry_run: change nothing.

        Returns:
            The changes.
        """
        from memsearch_engine.sync import git_driver

        return git_driver.uninstall(self._scope.home, self._scope.place, dry_run=dry_run)

    def merge_files(self, base: str, ours: str, theirs: str, path: str) -> tuple[int, list[str]]:
        """Merge the files *base* and *theirs* into the file *ours*, for git.

        Returns:
            The exit status for git, and the notes that were changed on both sides.
        """
        from memsearch_engine.sync import git_driver

        return git_driver.run(self._scope.home, base, ours, theirs, path)
