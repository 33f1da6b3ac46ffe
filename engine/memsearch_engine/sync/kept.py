"""The conversations behind notes on their way between machines, where their owner wants that (``sync.evidence``).

A turn is a file of its own, named by a hash of its name, and never put together with another: the machine that has changed it since both
had the same sends it, or takes it. What one machine forgets (its archive has limits) stays on the others, and does not come back to it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memsearch_engine.capture.clean import without_secrets
from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.sync.clone import Clone, name_of
from memsearch_engine.sync.state import State
from memsearch_engine.transcripts.evidence import Archive
from memsearch_engine.transcripts.model import Turn, TurnName

FOLDER = "evidence/"
#: How a secret that was taken out looks: of two texts the one with more of them is the careful one.
_TAKEN_OUT = b"[REDACTED"
_MAX_BYTES = 64 * 1024 * 1024


class Exchanged(msgspec.Struct):
    """What a round did. ``hold``: path -> (digest of it here, the blob's name) once what was sent has arrived."""

    received: int = 0
    sent: int = 0
    hold: dict[str, tuple[str, str]] = {}
    problems: list[str] = []


def path_of(name: TurnName) -> str:
    """Where a turn lies in the repository."""
    found = digest("evidence", *name, size=16)
    return f"{FOLDER}{found[:2]}/{found}.json"


def exchange(
    home: Home, clone: Clone, state: State, tree: dict[str, str], stop: Callable[[], bool] = lambda: False
) -> Exchanged:
    """Take the turns of *tree* that are new here, and put those into it that are new there. What stands here changes at once, what goes
    there with the caller's push.

    Raises:
        NoKey: it is encrypted, and the key is not here. Unreachable: the archive can't be written.
    """
    done, archive = Exchanged(), Archive(home)
    try:
        here = {path_of(name): (name, content) for name, content in archive.digests().items()}
        there = {path: sha for path, sha in tree.items() if path.startswith(FOLDER)}
        known = state.turns()
        for path in sorted(here.keys() | there.keys()):
            if stop():
                break
            name, now = here.get(path, (None, ""))
            had, was = known.get(path, ("", ""))
            theirs = clone.name_of(there.get(path, ""))
            if (now, theirs) == (had, was) or not now and had or not theirs and was:
                continue  # as it was, or one side has forgotten it
            ours = _packed(archive, name, home) if name else b""
            if ours and theirs == name_of(ours):
                done.hold[path] = now, theirs
            elif (
                not theirs
                or ours
                and theirs == was
                or ours
                and now != had
                and _is_more_careful(ours, clone.blob(there[path]))
            ):
                clone.put(tree, path, ours)
                done.sent += 1
                done.hold[path] = now, name_of(ours)
            elif (turn := _turn(clone.blob(there[path]), path)) is None:
                done.problems.append(f"{path} on the remote is no conversation: it is left alone")
            else:
                archive.put(without_secrets(turn, home))
                done.received += 1
                taken = archive.digests([(turn.agent, turn.session, turn.turn)])
                done.hold[path] = next(iter(taken.values()), ""), theirs
    finally:
        archive.close()
    return done


def _packed(archive: Archive, name: TurnName, home: Home) -> bytes:
    """A turn as it travels; b"" where it can't be read."""
    turn = archive.get(*name)
    return msgspec.json.encode(without_secrets(turn, home)) if turn is not None else b""


def _turn(data: bytes, path: str) -> Turn | None:
    """The turn of a file; None for what is none, or another's."""
    if len(data) > _MAX_BYTES:
        return None
    try:
        turn = msgspec.json.decode(data, type=Turn)
    except (msgspec.DecodeError, RecursionError):
        return None
    return turn if path_of((turn.agent, turn.session, turn.turn)) == path else None


def _is_more_careful(ours: bytes, theirs: bytes) -> bool:
    """Which of two texts stands where both sides have changed one: the one from which more secrets were taken, else the longer one."""
    return (ours.count(_TAKEN_OUT), len(ours), ours) > (theirs.count(_TAKEN_OUT), len(theirs), theirs)
