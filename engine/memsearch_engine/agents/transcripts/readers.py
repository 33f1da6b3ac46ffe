"""The base classes of readers, and the choice of the reader for a file."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, cast

from memsearch_engine.agents.transcripts.model import Conversation, Session, table_of, value_of
from memsearch_engine.agents.transcripts.records import records
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import UsageError

#: Names of files beside sessions that are likely to contain sessions.
_LIKE_A_SESSION = re.compile(r".+\.jsonl?(?:[.~-].*)?", re.S)
#: Why a session is not read.
OLDER = "a session of an older version"
_NO_SESSION = (".lock", ".tmp", ".trajectory.jsonl", ".trajectory-path.json")
_LOOKED_AT = 80  # lines that are inspected if the file's name is ambiguous
_LONGEST_LOOKED_AT = 1 << 20


class Reader(ABC):
    """Reads one agent's sessions on disk.

    The ``reader`` module of an agent's package has a subclass ``Reader``.

    The docstring of that module says how a turn is named: by an id that its agent never changes and
    never reuses. No content of a file may raise anything but OSError. What a reader does not
    understand is counted in ``Conversation.unknown``.

    Attributes:
        agent: the agent's name.
        kind: the word for its paths in anchors: transcript, rollout or db.
        own_names: matches names of files that only this agent writes.
        ends: endings of names that this agent's files share with other agents' files.
        compaction_mark: bytes that every JSON line with the summary of a context compaction
            contains, after blanks are removed; empty if there is no such line.
        conversation: the class of its opened sessions.
    """

    agent: ClassVar[str]
    kind: ClassVar[str] = "transcript"
    own_names: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    ends: ClassVar[tuple[str, ...]] = ()
    compaction_mark: ClassVar[bytes] = b""
    conversation: ClassVar[type[Conversation]]

    @abstractmethod
    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield every session below *folder*, which may not exist.

        Args:
            failed: gets a pair (path, reason) for everything that cannot be read.
        """

    def unknown_files(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, reason) of files that seem to be sessions and are not read."""
        return iter(())

    @abstractmethod
    def locate(self, folder: Path, session: str) -> Session | None:
        """Return the session with that id below *folder*, or None."""

    @abstractmethod
    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """Return the named session in a file, or its only or newest one.

        Returns:
            None if the file is not one of this agent's.

        Raises:
            OSError: it cannot be read.
        """

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        """Open a session; see ``Conversation``."""
        return self.conversation(where, cache)

    def holds(self, name: str) -> bool | None:
        """Return whether such a file is this agent's; None if only its lines can show it."""
        if self.own_names.fullmatch(name):
            return True
        return None if self.ends and name.endswith(self.ends) else False

    def wrote(self, line: dict[str, Any]) -> bool:
        """Return whether this agent wrote a JSON line.

        It may be any line, because the first may be lost.
        """
        return False

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a JSON line, or None."""
        return None

    def retention_days(self, sessions: Path) -> int:
        """Return after how many days the agent deletes sessions in that folder; 0 for never."""
        return 0


class FileReader(Reader):
    """Reads sessions that have a file each, or a folder with one main file.

    Attributes:
        patterns: glob patterns below the agent's folder; ``{}`` is the session's id.
        parts: the beginning of names of files that belong to a session beside them. None if a
            session has a folder, which contains other files of the agent.
        older: glob patterns beside the agent's folder of sessions of older versions, which are not
            read.
    """

    ends: ClassVar[tuple[str, ...]] = (".jsonl",)
    patterns: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[str | None] = None
    older: ClassVar[tuple[str, ...]] = ()

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """Return the files that may hold a session, or all sessions if none is named."""
        name = glob.escape(session) or "*"
        return (file for pattern in self.patterns for file in folder.glob(pattern.format(name)))

    def order(self, file: Path) -> Any:
        """Return what sorts before a session's path. A session comes before its forks."""
        return 0

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file. Raises OSError."""
        return path.stem

    def measured(self, file: Path) -> tuple[float, int]:
        """Return (time of the last change in seconds since 1970, size in bytes). Raises OSError."""
        info = file.stat()
        return info.st_mtime, info.st_size

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield every session below *folder*. Add unreadable files to *failed*."""
        for file in sorted(self.files(folder), key=lambda file: (self.order(file), file)):
            if self.holds(file.name) is False:
                continue
            try:
                name, (changed, size) = self.session_of(file), self.measured(file)
            except OSError as error:
                failed.append((str(file), error.strerror or str(error)))
                continue
            yield Session(self.agent, name, str(file), self.kind, changed, size)
        failed.extend(
            (str(place), "Permission denied")
            for place in self._folders(folder)
            if not os.access(place, os.R_OK | os.X_OK)
        )

    def unknown_files(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, reason) of files that seem to be sessions and are not read."""
        for pattern in self.older:
            yield from ((str(file), OLDER) for file in sorted(folder.parent.glob(pattern)))
        if self.parts is None:
            return
        known = {str(file) for file in self.files(folder) if self.holds(file.name) is not False}
        for place in self._folders(folder):
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if (
                        entry.path not in known
                        and _LIKE_A_SESSION.fullmatch(entry.name)
                        and not entry.name.endswith(_NO_SESSION)
                        and not (self.parts and entry.name.startswith(self.parts))
                        and entry.is_file()
                    ):
                        yield entry.path, "no known name of a session"

    def _folders(self, folder: Path) -> list[Path]:
        """Return the folders that may contain files of sessions."""
        above = {pattern.rpartition("/")[0] for pattern in self.patterns}
        found = {
            place
            for pattern in above
            if "{" not in pattern
            for place in (folder.glob(pattern) if pattern else [folder])
            if place.is_dir()
        }
        return sorted(found | {file.parent for file in self.files(folder)})

    def locate(self, folder: Path, session: str) -> Session | None:
        """Return the session with that id below *folder*, or None."""
        if os.path.basename(session) != session or session in ("", os.curdir, os.pardir):
            return None
        near = [file for file in self.files(folder, session) if file.is_file()]
        return self.at(max(near, key=self.order), session) if near else None

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """Return the named session in a file, or its only or newest one; None if there is none."""
        path = Path(path)
        if self.holds(path.name) is False:
            return None
        return Session(self.agent, session or self.session_of(path), str(path), self.kind)


@cache
def reader(agent: str) -> Reader | None:
    """Return the reader of an agent, or None if the agent is unknown."""
    part = agent_registry.part(agent, "reader")
    return cast("Reader", part.Reader()) if part else None


def reader_of(path: str) -> Reader:
    """Return the reader for a file, by its name or else by its lines.

    Raises:
        UsageError: no known agent wrote it.
        OSError: it cannot be read.
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
                if line := table_of(value_of(raw)):
                    # Ask the strictest reader first. The first one in the registry accepts nearly
                    # any line.
                    for found in reversed(maybe):
                        if found.wrote(line):
                            return found
    raise UsageError(
        f"{path} is no transcript of an agent that is known",
        ", ".join(f"{one.title} writes {one.writes}" for one in agent_registry.everyone()),
    )


_LOOKED_THROUGH = 8 * 1024 * 1024  # bytes from the end: the summary has just been written


def last_summary(where: Session) -> str:
    """Return the newest summary of a session; ``""`` if there is none or it cannot be read."""
    reads = reader(where.agent)
    if reads is None or not reads.compaction_mark or not where.path.endswith(".jsonl"):
        return ""
    try:
        with open(where.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_THROUGH))
            lines = file.read(_LOOKED_THROUGH).split(b"\n")
    except OSError:
        return ""
    for raw in reversed(lines):
        if reads.compaction_mark not in raw.replace(b" ", b""):
            continue
        if (found := reads.compaction_summary(table_of(value_of(raw)))) is not None:
            return found
    return ""
