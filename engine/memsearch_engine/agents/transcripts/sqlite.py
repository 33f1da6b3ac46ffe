"""Sessions in a SQLite database that its agent is using: it is never written to and never locked, and
no transaction is left open.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from memsearch_engine.agents.transcripts.model import Session, text_of, well_formed
from memsearch_engine.agents.transcripts.readers import Reader
from memsearch_engine.core.migrations import Database

_BUSY_MS = 2000
_FAR = 1e15  # seconds or milliseconds: a larger number is no time


class DatabaseReader(Reader):
    """Of an agent that keeps many sessions in one database.

    Attributes:
        pattern: of the database's path below the agent's folder.
        named: SQL that gives the id of one session, with two parameters that are both the wanted
            id; for '' it gives the newest session that no other one started.
    """

    kind = "db"
    pattern: ClassVar[str]
    named: ClassVar[str]

    @abstractmethod
    def listed(self, db: Any) -> Iterable[tuple[Any, float, int]]:
        """(id, time of the last change in seconds since 1970, size in bytes or 0) of each session,
        parents before their forks.
        """

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
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
        for file in self._databases(folder) if session else ():
            with contextlib.suppress(OSError):
                if found := self.at(file, session):
                    return found
        return None

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        name = os.fspath(path)
        if not self.may_open(os.path.basename(name)):
            return None
        with reading(name) as db:
            row = db.execute(self.named, (session, session)).fetchone()
        return Session(self.agent, text_of(row[0]), name, self.kind) if row else None

    def may_open(self, name: str) -> bool:
        """Whether a file of that name can be one of its databases."""
        return self.own_names.fullmatch(name) is not None

    def _databases(self, folder: Path) -> list[Path]:
        return [file for file in sorted(folder.glob(self.pattern)) if file.is_file()]


@contextlib.contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection. Readers of a WAL database don't block its writer; in a sandbox that
    can't write the shared memory file, the database is read as it stands without its log.

    Raises:
        OSError: there is no such file, or it is no database.
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    uri = Path(os.path.abspath(path)).as_uri()
    error: sqlite3.Error | None = None
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        try:
            db = sqlite3.connect(
                f"{uri}?{mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                factory=Database,
            )
        except sqlite3.Error as reason:
            error = reason
            continue
        try:
            db.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
            db.text_factory = _text
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as reason:
            db.close()
            error = reason
            continue
        try:
            yield db
        except sqlite3.Error as reason:
            raise OSError(5, f"can't be read: {reason}", path) from reason
        finally:
            db.close()
        return
    raise OSError(5, f"can't be read: {error}", path)


def _text(raw: bytes) -> str:
    """One text that is none spoils no other row."""
    return raw.decode("utf-8", "replace")


def table(value: object) -> dict[str, Any]:
    """A JSON object from a text column; {} for anything else."""
    try:
        raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
        decoded = msgspec.json.decode(well_formed(raw)) if isinstance(raw, bytes) else None
    except (msgspec.DecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def stamp(milliseconds: object) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC."""
    if not isinstance(milliseconds, int | float):
        return ""
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def number(value: object) -> float:
    """A count of seconds or milliseconds; 0 for what is no number, or too large to be one."""
    return float(value) if isinstance(value, int | float) and abs(value) < _FAR else 0.0
