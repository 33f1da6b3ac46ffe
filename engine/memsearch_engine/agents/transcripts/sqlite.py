"""Sessions in a SQLite database that the agent may be using.

The database is never written and never locked, and no transaction stays open.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    table_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader, Reader
from memsearch_engine.core.migrations import open_readonly

_BUSY_S = 2.0
_FAR = 1e15  # seconds or milliseconds; a larger number is not a time


class DatabaseReader(Reader):
    """Reads an agent that stores many sessions in one database.

    Attributes:
        pattern: glob pattern of the database below the agent's folder.
        named: SQL that returns the id of one session. Both of its parameters are the wanted id; for
            ``""`` it returns the newest session that is not a sub-agent's.
        listing: SQL that returns the id and the last change of each session; see ``listed``.
        per_second: units of its times in a second.
    """

    kind = "db"
    pattern: ClassVar[str]
    named: ClassVar[str]
    listing: ClassVar[str] = ""
    per_second: ClassVar[int] = 1000

    def listed(self, db: Any) -> Iterable[tuple[Any, float, int]]:
        """Yield (id, last change in seconds since 1970, size in bytes or 0) of each session.

        Parents come before their forks.
        """
        for name, changed in db.execute(self.listing):
            yield name, number(changed) / self.per_second, 0

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield every session below *folder*. Add unreadable files to *failed*."""
        for file in self._databases(folder):
            try:
                with reading(str(file)) as db:
                    rows = list(self.listed(db))
            except OSError as error:
                failed.append((str(file), error.strerror or str(error)))
                continue
            for name, changed, size in rows:
                yield Session(self.agent, text_of(name), str(file), self.kind, changed, size)

    def locate(self, folder: Path, session: str) -> Session | None:
        """Return the session with that id below *folder*, or None."""
        for file in self._databases(folder) if session else ():
            with contextlib.suppress(OSError):
                if found := self.at(file, session):
                    return found
        return None

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """Return the named session in a file, or its only or newest one; None if there is none."""
        name = os.fspath(path)
        if not self.may_open(os.path.basename(name)):
            return None
        with reading(name) as db:
            found = self.find(db, session)
        return Session(self.agent, found, name, self.kind) if found else None

    def find(self, db: Any, session: str) -> str:
        """Return the id of the named session or, for ``""``, of the newest; ``""`` if missing."""
        row = db.execute(self.named, (session, session)).fetchone()
        return text_of(row[0]) if row else ""

    def may_open(self, name: str) -> bool:
        """Return whether a file of that name can be one of the agent's databases."""
        return self.own_names.fullmatch(name) is not None

    def _databases(self, folder: Path) -> list[Path]:
        return [file for file in sorted(folder.glob(self.pattern)) if file.is_file()]


class DatabaseOrFiles(DatabaseReader):
    """Reads an agent that stores sessions in a database, and others in files.

    Attributes:
        files: the reader of these files.
    """

    files: ClassVar[FileReader]

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield every session below *folder*. Add unreadable files to *failed*."""
        yield from super().sessions(folder, failed)
        yield from self.files.sessions(folder, failed)

    def unknown_files(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, reason) of files that seem to be sessions and are not read."""
        return self.files.unknown_files(folder)

    def locate(self, folder: Path, session: str) -> Session | None:
        """Return the session with that id below *folder*, or None."""
        return super().locate(folder, session) or self.files.locate(folder, session)

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """Return the named session in a file, or its only or newest one; None if there is none."""
        return super().at(path, session) or self.files.at(path, session)

    def holds(self, name: str) -> bool | None:
        """Return whether such a file is this agent's; None if only its lines can show it."""
        return super().holds(name) or self.files.holds(name)

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        """Open a session; see ``Conversation``."""
        if where.kind != self.kind:
            return self.files.open_session(where, cache)
        return super().open_session(where, cache)


@contextlib.contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection. Readers of a WAL database do not block its writer.

    Raises:
        OSError: the file is missing, or is not a database.
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    try:
        with contextlib.closing(open_readonly(path, _BUSY_S)) as db:
            # decode leniently, so that one invalid value does not spoil other rows
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield db
    except sqlite3.Error as error:
        raise OSError(5, f"can't be read: {error}", path) from error


def session_row(db: Any, query: str, where: Session) -> tuple[Any, ...]:
    """Return the row of a session. The parameter of *query* is the session's id.

    Raises:
        FileNotFoundError: the database has no such session.
    """
    row: tuple[Any, ...] | None = db.execute(query, (where.session,)).fetchone()
    if row is None:
        raise FileNotFoundError(2, f"no session {where.session}", where.path)
    return row


def column(db: Any, table: str, name: str, otherwise: str = "NULL") -> str:
    """Return SQL for a column that only some versions of a database have.

    Args:
        otherwise: SQL to use in its place.
    """
    names = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    return name if name in names else otherwise


def moment(text: object) -> float:
    """Return an RFC 3339 time in seconds since 1970, UTC if it has no zone; 0 for other values."""
    try:
        when = datetime.fromisoformat(text_of(text))
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def table(value: object) -> dict[str, Any]:
    """Return the JSON object in a text column; ``{}`` for anything else."""
    return table_of(value_of(value))


def stamp(milliseconds: object) -> str:
    """Return milliseconds since 1970 as ISO 8601 in UTC; ``""`` if it is not a time."""
    if not isinstance(milliseconds, int | float):
        return ""
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc(local: str) -> str:
    """Return an ISO 8601 time as ``stamp`` does. Without a zone it is a time of this machine."""
    try:
        return stamp(datetime.fromisoformat(local).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return ""


def number(value: object) -> float:
    """Return a number of seconds or milliseconds; 0 if it is not a number or too large."""
    return float(value) if isinstance(value, int | float) and abs(value) < _FAR else 0.0
