"""What a reader is, and which one reads what."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from memsearch_engine.agents.transcripts.jsonl import records
from memsearch_engine.agents.transcripts.model import Conversation, Session
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import UsageError

_LOOKED_AT = 80  # lines of a file whose name does not tell
_LONGEST_LOOKED_AT = 1 << 20


class Reader(Protocol):
    """One agent's sessions as they lie on disk: the module ``reader`` of its package.

    At its head it says how a turn is named: by what its agent never changes for it and never gives
    to another. Nothing that a file holds may raise anything but OSError; what is not understood is
    counted (``Conversation.unknown``).
    """

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Every session below *folder*, which may not exist; what can't be read goes into *failed*
        as (path, reason).
        """

    def locate(self, folder: Path, session: str) -> Session | None:
        """The session of that id below *folder*."""

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """The session in a file: the named one, else its only or newest; None where it is no file
        of this agent. Raises OSError.
        """

    def holds(self, name: str) -> bool | None:
        """Whether a file of that name is this agent's; None where only its lines can tell."""

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether this agent wrote a line of JSON: any of a session's, which may have lost its
        first.
        """

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        """Raises OSError where it can't be read. *cache*: where the places of turns may be kept."""


def reader(agent: str) -> Reader | None:
    """None where no agent of that name is known."""
    return cast("Reader | None", agent_registry.part(agent, "reader"))


def reader_of(path: str) -> Reader:
    """The reader of a file, by its name, else by its lines. Raises UsageError where it is nobody's,
    OSError.
    """
    name = os.path.basename(path)
    answers = [
        (found, found.holds(name)) for agent in agent_registry.names() if (found := reader(agent))
    ]
    for found, holds in answers:
        if holds:
            return found
    maybe = [found for found, holds in answers if holds is None]
    if maybe:
        with open(path, "rb") as file:
            for _, _, raw in islice(records(file, longest=_LONGEST_LOOKED_AT), _LOOKED_AT):
                if line := _table(raw):
                    # the pickiest first: the registry's first agent takes nearly anything
                    for found in reversed(maybe):
                        if found.wrote(line):
                            return found
    known = ", ".join(f"{one.title} writes {one.writes}" for one in agent_registry.everyone())
    raise UsageError(f"{path} is no transcript of an agent that is known", known)


def _table(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
