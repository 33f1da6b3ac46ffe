"""What a reader of an agent's sessions is, and which reader a file belongs to."""

from __future__ import annotations

import glob
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec

from memsearch_engine.agents.transcripts.model import Conversation, Session
from memsearch_engine.agents.transcripts.records import records
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import UsageError

_LOOKED_AT = 80  # lines of a file whose name does not tell
_LONGEST_LOOKED_AT = 1 << 20


class Reader(ABC):
    """One agent's sessions as they lie on disk: the class ``Reader`` of the module ``reader`` of its
    package is one of these.

    The module says at its head how a turn is named: by what its agent never changes for that turn
    and never gives to another. Nothing that a file holds may raise anything but OSError; what is not
    understood is counted (``Conversation.unknown``).

    Attributes:
        agent: the agent's name.
        kind: the word for its paths in anchors: transcript, rollout or db.
        own_names: names of files that are this agent's alone.
        ends: how further names end that other agents' files may have, too.
    """

    agent: ClassVar[str]
    kind: ClassVar[str] = "transcript"
    own_names: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    ends: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Every session below *folder*, which may not exist; what can't be read goes into *failed*
        as (path, reason).
        """

    @abstractmethod
    def locate(self, folder: Path, session: str) -> Session | None:
        """The session of that id below *folder*."""

    @abstractmethod
    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """The session in a file: the named one, else its only or newest; None where it is no file
        of this agent. Raises OSError.
        """

    @abstractmethod
    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        """Raises OSError where it can't be read. *cache*: where the places of turns may be kept."""

    def holds(self, name: str) -> bool | None:
        """Whether a file of that name is this agent's; None where only its lines can tell."""
        if self.own_names.fullmatch(name):
            return True
        return None if self.ends and name.endswith(self.ends) else False

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether this agent wrote a line of JSON: any of a session's, which may have lost its
        first.
        """
        return False


class FileReader(Reader):
    """Of an agent that keeps each session in a file of its own, or in a folder that has one.

    Attributes:
        patterns: of the files' paths below the agent's folder; ``{}`` is the session's id.
    """

    ends: ClassVar[tuple[str, ...]] = (".jsonl",)
    patterns: ClassVar[tuple[str, ...]]

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """The files that may hold a session; of all sessions where none is named."""
        name = glob.escape(session) or "*"
        return (file for pattern in self.patterns for file in folder.glob(pattern.format(name)))

    def order(self, file: Path) -> Any:
        """What sessions are listed by: a session comes before its forks."""
        return 0

    def session_of(self, path: Path) -> str:
        """The id of the session in a file. Raises OSError."""
        return path.stem

    def measured(self, file: Path) -> tuple[float, int]:
        """(time of the last change in seconds since 1970, size in bytes). Raises OSError."""
        info = file.stat()
        return info.st_mtime, info.st_size

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        for file in sorted(self.files(folder), key=self.order):
            if self.holds(file.name) is False:
                continue
            try:
                name, (changed, size) = self.session_of(file), self.measured(file)
            except OSError:
                continue
            yield Session(self.agent, name, str(file), self.kind, changed, size)

    def locate(self, folder: Path, session: str) -> Session | None:
        if os.path.basename(session) != session or session in ("", os.curdir, os.pardir):
            return None
        near = [file for file in self.files(folder, session) if file.is_file()]
        return self.at(max(near, key=self.order), session) if near else None

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        path = Path(path)
        if self.holds(path.name) is False:
            return None
        return Session(self.agent, session or self.session_of(path), str(path), self.kind)


def reader(agent: str) -> Reader | None:
    """None where no agent of that name is known."""
    part = agent_registry.part(agent, "reader")
    return cast("Reader", part.Reader()) if part else None


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
                    # the strictest reader first: the registry's first takes nearly any line
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
