"""Checks, leaves and rewrites the remote; decides which projects take part."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import msgspec

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.projects import Project, identity_of
from memsearch_engine.core.settings_schema import SyncSettings
from memsearch_engine.sync.clone import Clone, checked
from memsearch_engine.sync.layout import FORMAT, MARK, NOTE, Mark, called
from memsearch_engine.sync.seal import NoKey
from memsearch_engine.sync.state import Round, SyncDatabase, opened

_WAIT_S = 30.0  # for a round of another process


class Refused(Unreachable):
    """The remote was changed or is not ours. Nothing was changed here or there."""


class Elsewhere(msgspec.Struct, frozen=True):
    """A project on the remote without a folder here. ``files``: number of note files."""

    id: str
    name: str
    files: int


class SyncState(msgspec.Struct, frozen=True):
    """State of sync on this machine.

    Attributes:
        remote: its address, or ``""``.
        last: the last round.
        worked: time of the last good round, in seconds since 1970; 0: never.
        elsewhere: projects of other machines without a folder here.
    """

    remote: str
    every_minutes: float
    last: Round | None
    worked: float
    elsewhere: list[Elsewhere]


def look(home: Home, remote: str, *, encrypt: bool = False) -> None:
    """Check a remote. Raises Away, Foreign, Refused, NoKey."""
    with contextlib.closing(Clone(home)) as clone:
        head = clone.fetch(remote)
        if head:
            check_format(clone, head, remote, encrypt=encrypt)


def check_format(clone: Clone, head: str, remote: str, *, encrypt: bool = False) -> None:
    """Check the data of a commit.

    Raises:
        Refused: it is not memsearch data, is from a newer version, or is not encrypted as required.
        NoKey: the key is missing.
    """
    mark = clone.tree(head).get(MARK, "")
    try:
        value = msgspec.json.decode(clone.read(mark), type=Mark) if mark else Mark()
    except msgspec.DecodeError:
        value = Mark()
    if not value.format:
        raise Refused(f"{remote} holds something else than memories", "name an empty repository")
    if value.format > FORMAT:
        raise Refused("a newer memsearch has written there", "update this one")
    if value.sealed and clone.seal.name != value.sealed:
        raise NoKey(
            "what lies there is encrypted for another key", "copy sync.key of another machine here"
        )
    if encrypt and not value.sealed:
        raise Refused(
            f"{remote} is not encrypted",
            "begin with an empty repository: what was sent once can be read for good",
        )
    clone.seals = bool(value.sealed)


def chosen(state: SyncDatabase, projects: list[Project]) -> dict[str, Project]:
    """One folder per project identity: the one that took part before if it still exists.

    Args:
        projects: all known paths, newest first.
    """
    places, applied = state.places(), state.applied_commits()
    found: dict[str, Project] = {}
    for project in projects:
        name = places.get(project.root) or _name(state, project)
        if os.path.isdir(project.root) and (
            name not in found or applied.get(name, ("",))[0] == project.root
        ):
            found[name] = project
    return found


def _name(state: SyncDatabase, project: Project) -> str:
    """Return the identity of a project on the remote.

    A project that is known by its path only has another identity on each machine, until the owner
    attaches it.
    """
    if project.id != identity_of("", "", project.root):
        return project.id
    return digest("place", state.machine(), project.root, size=16)


def elsewhere(home: Home, projects: list[Project]) -> list[Elsewhere]:
    """Projects of the last round without a folder here."""
    with contextlib.closing(Clone(home)) as clone:
        with opened(home) as state:
            tree = clone.tree(state.get("seen")) if clone.is_there else {}
            here = chosen(state, projects)
        found: dict[str, int] = {}
        for key in tree:
            if (match := NOTE.fullmatch(key)) and match[1] not in here:
                found[match[1]] = found.get(match[1], 0) + 1
        names = {
            name: called(clone.blob(tree.get(f"projects/{name}/project.json", "")))
            for name in found
        }
        return [
            Elsewhere(name, names[name] or name[:8], count) for name, count in sorted(found.items())
        ]


def rewrite(home: Home, where: SyncSettings) -> None:
    """Replace the remote's history by one commit of its current content, after a round.

    The other machines refuse that until their owner says ``rejoin``.

    Raises:
        Refused: another machine wrote meanwhile.
        Away, Unreachable: as ``sync``.
    """
    remote = checked(where.remote)
    with alone(home) as (clone, state):
        head, last = state.get("seen"), state.last()
        if last and (last.problems or last.error):
            raise Refused(
                "the last round left something open",
                "`memsearch sync status` says what; settle it first",
            )
        commit = clone.commit(clone.tree(head), [], "notes, without what was before")
        if not clone.replace(remote, commit, head):
            raise Refused(
                "another machine has written there meanwhile", "`memsearch sync`, then once more"
            )
        applied = {
            project: root
            for project, (root, base) in state.applied_commits().items()
            if base == head
        }
        state.forget()
        state.put("seen", commit)
        state.settled(commit, applied, {})
        clone.remove()
        clone.fetch(remote)


def leave(home: Home) -> None:
    """Delete our clone and the state of the remote. Raises Unreachable."""
    with alone(home) as (clone, state):
        clone.remove()
        state.leave()


@contextlib.contextmanager
def alone(home: Home) -> Iterator[tuple[Clone, SyncDatabase]]:
    """Our clone and its state, exclusively for one process. Raises Unreachable."""
    refused = Unreachable(
        f"another sync has been under way for {_WAIT_S:.0f} s",
        "`memsearch sync status` shows it",
    )
    clone = Clone(home)
    try:
        with home.locked("sync.lock", refused, wait_s=_WAIT_S), opened(home) as state:
            yield clone, state
    finally:
        clone.close()
