"""One memory on several machines, and git's merge driver."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from memsearch_engine.core import settings
from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.search.scope import Scope

# rounds and git's driver are imported where they are wanted: they take 70 ms and 12 MB
if TYPE_CHECKING:
    from memsearch_engine.agents.patches import Patch
    from memsearch_engine.sync.git_driver import DriverState
    from memsearch_engine.sync.meeting import SyncState
    from memsearch_engine.sync.run import SyncAnswer
    from memsearch_engine.sync.state import Round


class Sync:
    """One memory on several machines, and git's merge driver.

    >>> with Memory() as memory:
    ...     memory.sync.state().remote
    ''
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def state(self, *, elsewhere: bool = True) -> SyncState:
        """How it stands; without *elsewhere* our clone is not looked into. Raises SettingsError,
        Unreachable, NoKey.
        """
        from memsearch_engine.sync import meeting
        from memsearch_engine.sync.meeting import SyncState
        from memsearch_engine.sync.state import opened

        wanted = settings.load(self._scope.home).sync
        if not wanted.remote or not self._scope.home.state_db.exists():
            return SyncState(wanted.remote, wanted.every_minutes, None, 0.0, [])
        with opened(self._scope.home) as state:
            last, worked = state.last(), float(state.get("worked") or 0)
        found = meeting.elsewhere(self._scope.home, self._projects()) if elsewhere else []
        return SyncState(wanted.remote, wanted.every_minutes, last, worked, found)

    def check(self, remote: str, *, encrypt: bool = False) -> str:
        """*remote* as it would be used, asked once. Raises UsageError, Away (it can't be reached),
        Refused (it is no memory's, or can be read though it must not), NoKey (it is encrypted, and
        the key is not here).
        """
        from memsearch_engine.core import network
        from memsearch_engine.sync import meeting
        from memsearch_engine.sync.clone import Away, checked

        remote = checked(remote)
        network.check(remote)
        try:
            meeting.look(self._scope.home, remote, encrypt=encrypt)
        except Away as error:
            raise Away(
                str(error),
                "check the address and your access; `git init --bare FOLDER` makes an empty repository",
            ) from error
        return remote

    def add(self, remote: str, *, encrypt: bool = False) -> Path | None:
        """Meet other machines there from now on. *encrypt*: nothing that can be read lies there;
        the file of the key, made where there is none. Raises UsageError where another remote is
        used already, or a library is missing, SettingsError.
        """
        from memsearch_engine.sync.clone import checked
        from memsearch_engine.sync.seal import make_key

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
        """Meet nobody any more: notes stay, here and there."""
        from memsearch_engine.sync import meeting

        for key in ("sync.remote", "sync.encrypt", "sync.evidence"):
            settings.unset(self._scope.home, key)
        meeting.leave(self._scope.home)

    def round(self, answer: SyncAnswer | None = None) -> Round:
        """Fetch, merge, write, push. Raises UsageError where there is no remote, Refused, Away,
        Unreachable.
        """
        from memsearch_engine.journal.write import Journal
        from memsearch_engine.sync import run

        where = settings.load(self._scope.home).sync
        if not where.remote:
            raise UsageError(
                "there is no remote to meet at",
                "`memsearch sync add REMOTE` names one: any git repository of yours",
            )
        journal = Journal(self._scope.home)
        try:
            return run.sync(self._scope.home, journal, where, self._projects(register=True), answer)
        finally:
            journal.close()

    def rewrite(self) -> None:
        """Have the remote forget what was before, by one commit of what stands there after a round:
        what was scrubbed is still in its history otherwise. The other machines have to ``rejoin``.
        Raises as ``round``.
        """
        from memsearch_engine.sync import meeting

        self.round()
        meeting.rewrite(self._scope.home, settings.load(self._scope.home).sync)

    def attach(self, name: str, folder: str) -> str:
        """Have *folder* hold the notes of a project of another machine (its name or the beginning
        of its id), where git does not say that it is that project. Returns the id. Raises NotFound,
        UsageError.
        """
        from memsearch_engine.sync.state import opened

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
            raise NotFound(f"no folder {folder}")
        registry = Registry(self._scope.home)
        try:
            project = registry.at(locate(folder, self._scope.home), register=True)
        finally:
            registry.close()
        os.makedirs(project.memory, exist_ok=True)
        with opened(self._scope.home) as state:
            state.place(project.root, found[0].id)
        return found[0].id

    def _projects(self, *, register: bool = False) -> list[Project]:
        """*register*: the one that this is asked in takes part from now on, where git says what it
        is.
        """
        registry, place = Registry(self._scope.home), self._scope.place
        try:
            if register and place.common_dir:
                registry.at(place, register=True)
            return registry.all()
        finally:
            registry.close()

    def driver(self) -> DriverState:
        """Whether git merges this project's notes entry by entry. Raises UsageError where it is in
        no repository of this user's.
        """
        from memsearch_engine.sync import git_driver

        return git_driver.state(self._scope.place)

    def install_driver(self, *, dry_run: bool = False) -> list[Patch]:
        """Have git do so; *dry_run*: only say what would change."""
        from memsearch_engine.sync import git_driver

        place = self._scope.place
        return (
            [patch for patch in git_driver.planned(place) if patch.changes]
            if dry_run
            else git_driver.install(self._scope.home, place)
        )

    def uninstall_driver(self, *, dry_run: bool = False) -> list[Patch]:
        """Take it out again, byte for byte."""
        from memsearch_engine.sync import git_driver

        return git_driver.uninstall(self._scope.home, self._scope.place, dry_run=dry_run)

    def merge_files(self, base: str, ours: str, theirs: str, path: str) -> tuple[int, list[str]]:
        """What git calls: *base* and *theirs* into the file *ours*. Its answer to git, and the
        notes that were changed on both sides.
        """
        from memsearch_engine.sync import git_driver

        return git_driver.run(self._scope.home, base, ours, theirs, path)
