"""Sync of archived conversations (``sync.evidence``).

A turn is a file named by a hash, never merged: the machine that changed it sends it. If both did,
what either side removed stays removed. What one machine deletes (its archive has limits) stays on
the others and is not sent to it again.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from datetime import datetime

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import Turn, TurnName
from memsearch_engine.capture.clean import without_secrets
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.sync.clone import Clone, name_of
from memsearch_engine.sync.state import SyncDatabase

FOLDER = "evidence/"
_NAME = re.compile(rf"{FOLDER}[0-9a-f]{{2}}/[0-9a-f]{{32}}\.json")
#: The replacement of a removed secret.
_TAKEN_OUT = re.compile(rb"\[REDACTED[^\]\n]{0,80}\]")
_MAX_BYTES = 64 * 1024 * 1024
#: Limits of one round, in turns and bytes: a push has two minutes, and notes must not wait for
#: conversations.
_AT_ONCE, _BYTES_AT_ONCE = 1_000, 20_000_000


_SCRUBBED_TWICE = "a turn of {} was scrubbed in two places: each has its own text of it"


class Exchanged(msgspec.Struct):
    """The result of a round.

    Attributes:
        turns: path -> (digest here, blob id), valid after the push has arrived.
        left: whether more remains for the next round.
    """

    received: int = 0
    sent: int = 0
    left: bool = False
    turns: dict[str, tuple[str, str]] = {}
    problems: list[str] = []


def path_of(name: TurnName) -> str:
    """Path of a turn in the repository."""
    found = digest("evidence", *name, size=16)
    return f"{FOLDER}{found[:2]}/{found}.json"


def exchange(
    home: Home,
    clone: Clone,
    state: SyncDatabase,
    tree: dict[str, str],
    stop: Callable[[], bool] = lambda: False,
) -> Exchanged:
    """Exchange turns with *tree*. Local changes are written at once, others with the caller's push.

    Raises:
        NoKey: it is encrypted and the key is missing.
        Unreachable: the archive cannot be written.
    """
    done, size = Exchanged(), 0
    with contextlib.closing(Archive(home)) as archive:
        here = {path_of(name): (name, content) for name, content in archive.digests().items()}
        there = {path: sha for path, sha in tree.items() if _NAME.fullmatch(path)}
        known = state.turns()
        for path in sorted(here.keys() | there.keys()):
            name, now = here.get(path, (None, ""))
            had, was = known.get(path, ("", ""))
            theirs = clone.name_of(there.get(path, ""))
            if (now, theirs) == (had, was) or (not now and had) or (not theirs and was):
                continue  # unchanged, or one side has deleted it
            if stop() or done.received + done.sent >= _AT_ONCE or size >= _BYTES_AT_ONCE:
                done.left = True
                break
            ours = _packed(archive, name, home) if name else b""
            if name and not ours:
                continue  # it can't be read here
            data = clone.blob(there[path]) if theirs else b""
            size += len(ours) + len(data)
            done.turns[path] = now, theirs
            if ours and theirs == name_of(ours):
                continue
            wins = _ours_wins(ours, data, now != had, theirs not in ("", was))
            if wins is None:
                done.problems.append(_SCRUBBED_TWICE.format(name[0] if name else ""))
            elif wins:
                clone.put(tree, path, ours)
                done.sent += 1
                done.turns[path] = now, name_of(ours)
            elif (turn := _turn(data, path)) is None:
                done.problems.append(f"{path} on the remote is no conversation: it is left alone")
            else:
                done.received += 1
                done.turns[path] = _archived(archive, turn, home), theirs
    return done


def _archived(archive: Archive, turn: Turn, home: Home) -> str:
    """Archive a received turn. Returns its digest here."""
    archive.put(without_secrets(turn, home), at=_when(turn))
    stored = archive.digests([(turn.agent, turn.session, turn.turn)])
    return next(iter(stored.values()), "")


def _packed(archive: Archive, name: TurnName, home: Home) -> bytes:
    """A turn in the form of the repository; ``b""`` if it cannot be read."""
    turn = archive.get(*name)
    return msgspec.json.encode(without_secrets(turn, home)) if turn is not None else b""


def _turn(data: bytes, path: str) -> Turn | None:
    """The turn in a file; None if it is none, or another one."""
    if len(data) > _MAX_BYTES:
        return None
    try:
        turn = msgspec.json.decode(data, type=Turn)
    except (msgspec.DecodeError, RecursionError):
        return None
    return turn if path_of((turn.agent, turn.session, turn.turn)) == path else None


def _when(turn: Turn) -> float:
    """End of a turn; limits of age and size remove the oldest ones."""
    with contextlib.suppress(ValueError, OverflowError):
        return min(time.time(), datetime.fromisoformat(turn.ended or turn.started).timestamp())
    return time.time()


def _ours_wins(ours: bytes, theirs: bytes, here: bool, there: bool) -> bool | None:
    """Whether our version wins.

    A side that did not change loses. If both changed, the version with more redactions wins,
    otherwise the longer one.

    Args:
        here, there: whether our and their side changed.

    Returns:
        None if each side redacted something that the other has.
    """
    if not (ours and here and there):
        return bool(ours) and not there
    one, other = set(_TAKEN_OUT.findall(ours)), set(_TAKEN_OUT.findall(theirs))
    if one == other:
        return (len(ours), ours) > (len(theirs), theirs)
    return True if one > other else False if one < other else None
