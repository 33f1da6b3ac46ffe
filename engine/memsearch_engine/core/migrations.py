"""SQLite files: write-ahead logging, transactions, and migrations of durable databases.

A database stores the number of migration steps it has had in ``PRAGMA user_version``
(SQLite, pragma.html#pragma_user_version). Steps are only added at the end. All missing steps run in
one transaction with the new number, so a crash or another process finds the old or the new layout.
Caches are not migrated: they are rebuilt.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import private

_LEFT_S = 3600.0
_BUSY_S = 20.0
_TRY_AGAIN_S = 0.005
T = TypeVar("T")
Step = Callable[[sqlite3.Connection], None]


class Database(sqlite3.Connection):
    """A connection that raises only ``sqlite3`` errors.

    SQLite quotes malformed parts of a damaged schema in its message. These need not be UTF-8, and
    Python then raises UnicodeDecodeError instead of the error.
    """

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement.

        Raises:
            sqlite3.DatabaseError: also for a damaged schema (sqlite3 raises another error).
        """
        try:
            return super().execute(sql, parameters)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("malformed database schema") from error

    def executescript(self, sql_script: str, /) -> sqlite3.Cursor:
        """Execute several statements.

        Raises:
            sqlite3.DatabaseError: also for a damaged schema (sqlite3 raises another error).
        """
        try:
            return super().executescript(sql_script)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("malformed database schema") from error


def open_shared(file: str | os.PathLike[str], timeout_s: float = 20.0) -> sqlite3.Connection:
    """Open a connection in autocommit mode that threads may share under a lock of theirs.

    Args:
        file: path or ``file:`` URI.
        timeout_s: seconds to wait for another process that writes.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    return sqlite3.connect(
        file,
        uri=os.fspath(file).startswith("file:"),
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
        factory=Database,
    )


class OpenedOnce(ABC):
    """A database that is opened by its first use. Threads may share it under ``_lock``."""

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    @abstractmethod
    def _open(self) -> sqlite3.Connection:
        """Open the database."""

    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def close(self) -> None:
        """Close the connection, if it is open."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def open_readonly(path: str | os.PathLike[str], timeout_s: float = 5.0) -> sqlite3.Connection:
    """Open a connection that only reads, as ``open_shared`` does.

    In a sandbox that cannot write the shared memory file of WAL mode, the database is read without
    its log.

    Args:
        timeout_s: seconds to wait for another process that writes.

    Raises:
        sqlite3.Error: the file is missing, or is not a database.
    """
    uri = Path(os.path.abspath(path)).as_uri()
    with contextlib.suppress(sqlite3.Error):
        return _readable(f"{uri}?mode=ro", timeout_s)
    return _readable(f"{uri}?mode=ro&immutable=1", timeout_s)


def _readable(uri: str, timeout_s: float) -> sqlite3.Connection:
    db = open_shared(uri, timeout_s)
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        db.close()
        raise
    return db


def read_rows(
    path: Path, query: str, values: Iterable[Any] = (), timeout_s: float = 5.0
) -> list[tuple[Any, ...]]:
    """Return the rows of a query; [] if the file does not exist or cannot be read.

    Args:
        timeout_s: seconds to wait for another process that writes.
    """
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(open_readonly(path, timeout_s)) as db,
    ):
        return db.execute(query, tuple(values)).fetchall()
    return []


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: all or nothing. *db* is in autocommit mode.

    A full disk and a few other errors end the transaction by themselves (SQLite,
    lang_transaction.html).
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def write_ahead(db: sqlite3.Connection) -> None:
    """Switch *db* to write-ahead logging, so that readers and one writer work at the same time.

    Only the first connection to a new file changes anything. Meanwhile SQLite answers SQLITE_BUSY
    at once, since its busy timeout is ignored where waiting could be a deadlock (SQLite,
    c3ref/busy_handler.html). So this tries again.

    Raises:
        sqlite3.Error: the file is no database, or it was in use for 20 seconds.
    """
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_TRY_AGAIN_S)


def bring_up(db: sqlite3.Connection, path: Path, steps: Sequence[Step], backups: Path) -> None:
    """Run the missing migration steps of *db*, the file at *path*. Copy it to *backups* first.

    Args:
        db: in autocommit mode; nothing was written to it yet.
        steps: all steps, oldest first. The first ones may run on an empty file or on one without a
            number, so each step looks which tables exist.

    Raises:
        Unreachable: a newer version wrote it (nothing was changed), or it cannot be written.
        sqlite3.Error: it is no database, or it is in use.
    """
    if _known(layout_of(db), path, steps) == len(steps):
        return
    # this waits for another process that does the same; then there may be nothing left to do
    with transaction(db):
        layout = _known(layout_of(db), path, steps)
        if layout < len(steps) and tables_of(db):
            _keep(path, backups, layout)
        for step in steps[layout:]:
            step(db)
        db.execute(f"PRAGMA user_version={len(steps)}")


def _known(layout: int, path: Path, steps: Sequence[Step]) -> int:
    if layout > len(steps):
        raise Unreachable(
            f"{path} was written by a newer memsearch "
            f"(layout {layout}, this one knows {len(steps)})",
            "update memsearch; nothing was changed",
        )
    return layout


def layout_of(db: sqlite3.Connection) -> int:
    """Return the number of the last migration step of a database."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def tables_of(db: sqlite3.Connection) -> set[str]:
    """Return the names of the tables."""
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}


def _keep(path: Path, backups: Path, layout: int) -> None:
    """Copy the database at *path*, whole or not at all; keep a copy of the same layout.

    The caller holds the write lock, so the copy is what the steps begin with. A connection that
    writes cannot be copied from (SQLITE_LOCKED).
    """
    target = backups / f"{path.name}.layout{layout}"
    if target.exists():
        return
    for left in backups.glob(f".{target.name}.*"):  # of a process that was killed
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                left.unlink()
    made = backups / f".{target.name}.{os.urandom(6).hex()}"
    try:
        backups.mkdir(mode=0o700, exist_ok=True)
        private(made)
        with (
            contextlib.closing(sqlite3.connect(path, factory=Database)) as db,
            contextlib.closing(sqlite3.connect(made, factory=Database)) as copy,
        ):
            db.backup(copy)
        with contextlib.suppress(FileExistsError):
            os.link(made, target)
    except OSError as error:
        raise Unreachable(
            f"{target} can't be written: {error.strerror}",
            "nothing was changed: a copy comes first",
        ) from error
    finally:
        made.unlink(missing_ok=True)


def batches(values: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Yield *values* in lists of at most *size*, which a query can take at once."""
    every = list(values)
    for start in range(0, len(every), size):
        yield every[start : start + size]


def placeholders(count: int) -> str:
    """Return *count* SQL parameters, such as ``?,?,?``."""
    return ",".join("?" * count)


def rows_in(
    query: Callable[[str, list[Any]], Iterable[tuple[Any, ...]]],
    sql: str,
    values: Iterable[Any],
    before: Sequence[Any] = (),
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query with ``IN ({})`` for any number of values.

    Args:
        query: runs a query.
        sql: the query, with ``{}`` for the parameters in ``IN``.
        values: the values in ``IN``.
        before: values of the parameters before ``IN``.
    """
    for batch in batches(values):
        yield from query(sql.format(placeholders(len(batch))), [*before, *batch])
