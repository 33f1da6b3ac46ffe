"""Open and read the SQLite file of the catalog: connections, transactions, damaged files."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from memsearch_engine.core.migrations import (
    open_readonly,
    open_shared,
    rows_in,
    transaction,
    write_ahead,
)
from memsearch_engine.index.catalog import schema
from memsearch_engine.index.rows import CatalogBroken

T = TypeVar("T")
#: A connection, and the lock that its thread holds while it uses it. SQLite may crash if another
#: thread closes a connection in use.
_Held = tuple[sqlite3.Connection, threading.RLock]
_REMEMBERED = 20_000  # written chunks of a project
_SMALL_SHARE = 0.1  # of all files; above it, a list of the chunks takes longer than it saves


class CatalogDatabase:
    """The database ``cache.db``, with one connection per thread.

    Args:
        path: the database; created when *writable*.
        writable: only the service writes.

    Raises:
        CatalogBroken: the file is damaged, foreign, or of another layout.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        self.writable = writable
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._writes = 0
        #: project -> chunk id -> version that wrote it, and project -> the last forgotten version
        self._written: dict[str, dict[str, int]] = {}
        self._forgotten: dict[str, int] = {}
        self._files: tuple[int, dict[str, int]] = -1, {}  # of which version
        self._version_reader: _Held | None = None
        self._version_lock = threading.Lock()
        self._connections: list[_Held] = []
        try:
            schema.prepare(self._connection()[0], writable=writable)
            self._inode = path.stat().st_ino
        except sqlite3.DatabaseError as error:
            self.close()
            raise CatalogBroken(str(error)) from error
        except CatalogBroken:
            self.close()
            raise

    def is_current(self) -> bool:
        """Return whether the open file is still the one on disk."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Close the connections of all threads, each when its current query has ended."""
        for db, in_use in self._connections:
            with in_use:
                db.close()
        self._connections.clear()
        self._version_reader = None
        self._local = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction. Only one thread at a time can be in it."""
        with self._write_lock:
            db, in_use = self._connection()  # not before: a catalog may be closed meanwhile
            with in_use, transaction(db):
                yield db
            self._writes += 1

    def note_written(self, project: str, chunk_ids: Iterable[str]) -> None:
        """Record the chunks that the current transaction adds, changes or deletes."""
        written = self._written.setdefault(project, {})
        written.update(dict.fromkeys(chunk_ids, self._writes + 1))
        if len(written) > _REMEMBERED:
            self._written[project], self._forgotten[project] = {}, self._writes + 1

    def forget_written(self, project: str, version: int) -> None:
        """Forget the chunks that were written up to a version, which all indexes have compared."""
        with self._write_lock:
            written = self._written.get(project, {})
            self._written[project] = {name: at for name, at in written.items() if at > version}
            self._forgotten[project] = max(version, self._forgotten.get(project, 0))

    def written_since(self, project: str, version: int) -> set[str] | None:
        """Return the chunks of a project that were written after a version of this object.

        None: they are forgotten.
        """
        with self._write_lock:
            if version < self._forgotten.get(project, 0):
                return None
            written = self._written.get(project, {})
            return {name for name, at in written.items() if at > version}

    def query(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query. Only modules of this package may call it.

        Raises:
            CatalogBroken: SQLite can't read the file.
        """
        try:
            db, in_use = self._connection()
            with in_use:
                return db.execute(sql, tuple(values)).fetchall()
        except sqlite3.DatabaseError as error:
            raise CatalogBroken(str(error)) from error

    def column(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """Return the only column of a query. Raises as ``query``."""
        return [value for (value,) in self.query(sql, values)]

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Run one statement in a transaction of its own."""
        with self.transaction() as db:
            db.execute(sql, values)

    def query_in(
        self, sql: str, names: Iterable[Any], before: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query with ``IN ({})``, as ``rows_in``."""
        return rows_in(self.query, sql, names, before)

    def version(self) -> int:
        """Return a number that changes with every write.

        The writer counts its transactions. A reader uses ``PRAGMA data_version``, always on the
        same connection, because the values of two connections can't be compared.
        """
        if self.writable:
            return self._writes
        try:
            with self._version_lock:
                if self._version_reader is None:
                    self._version_reader = self._new_connection()
                db, in_use = self._version_reader
                with in_use:
                    return int(db.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.DatabaseError as error:  # the file was deleted, for example
            raise CatalogBroken(str(error)) from error

    def file_counts(self) -> dict[str, int]:
        """Return project -> number of its files, cached until the next write."""
        version = self.version()
        if self._files[0] != version:
            sql = "SELECT project, count(*) FROM files GROUP BY project"
            self._files = version, dict(self.query(sql))
        return self._files[1]

    def is_small(self, projects: Iterable[str]) -> bool:
        """Return whether projects have so few of the files that a list of their chunks is short."""
        files = self.file_counts()
        own = sum(files.get(project, 0) for project in projects)
        return own <= _SMALL_SHARE * sum(files.values())

    def _connection(self) -> _Held:
        held: _Held | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = self._new_connection()
        return held

    def _new_connection(self) -> _Held:
        held = self._connect(), threading.RLock()
        self._connections.append(held)
        return held

    def _connect(self) -> sqlite3.Connection:
        if self.writable:
            db = open_shared(self.path)
            write_ahead(db)
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA foreign_keys=ON")
            return db
        # on a read-only mount it is read without its log: notes that are newer than the catalog are
        # read from their files anyway
        db = open_readonly(self.path)
        # small, because each thread has its own cache and the system caches the file, too
        db.execute("PRAGMA cache_size=-500")
        return db


class CatalogPart:
    """The base class of the parts of the catalog: some of its tables."""

    def __init__(self, database: CatalogDatabase) -> None:
        self._database = database
