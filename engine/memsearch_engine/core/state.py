"""Opens ``state.db``, to which each room with durable data adds its own tables.

Write-ahead logging lets readers and one writer work at the same time. A writer waits up to 20 s for
another one.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home, private
from memsearch_engine.core.migrations import (
    OpenedOnce,
    bring_up,
    open_shared,
    tables_of,
    write_ahead,
)


def connect(home: Home, schema: str) -> sqlite3.Connection:
    """A connection in autocommit mode that threads may share under a lock of theirs.

    Args:
        schema: ``CREATE … IF NOT EXISTS`` statements of the caller's tables.

    Raises:
        OSError, sqlite3.Error: the home can't be written, or the file is no database.
    """
    home.ensure()
    private(home.state_db)
    db = open_shared(home.state_db)
    try:
        bring_up(db, home.state_db, _STEPS, home.backups)
        write_ahead(db)
        db.execute("PRAGMA synchronous=NORMAL")
        db.executescript(schema)
    except (sqlite3.Error, Unreachable):
        db.close()
        raise
    return db


def _begin_origin(db: sqlite3.Connection) -> None:
    """Create the tables of ``journal.origin`` before any other.

    Projects that an earlier version registered are the owner's; later ones may be anybody's.
    """
    tables = tables_of(db)
    if "origin_folders" in tables:
        return
    for name, column in (("origin_notes", "key"), ("origin_folders", "memory")):
        db.execute(
            f"CREATE TABLE {name} ({column} TEXT "
            "PRIMARY KEY, how TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID"
        )
    if "project_paths" in tables:
        query = (
            "INSERT OR IGNORE INTO origin_folders (memory, how, at) "
            "SELECT DISTINCT memory, 'adopt', ? FROM project_paths"
        )
        db.execute(query, (time.time(),))


def _drop_proposals(db: sqlite3.Connection) -> None:
    """Delete the table in which the first version stored decided proposals."""
    db.execute("DROP TABLE IF EXISTS longterm_proposals")


def _forget_untold(db: sqlite3.Connection) -> None:
    """Delete texts that no session was given. An earlier version stored all texts it built."""
    if {"injected_texts", "injections"} <= tables_of(db):
        db.execute("DELETE FROM injected_texts WHERE id NOT IN (SELECT text_id FROM injections)")


def _begin_states(db: sqlite3.Connection) -> None:
    """Create the tables of the owner's decisions (``journal.origin``), and read known folders."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS origin_states (hash BLOB NOT NULL, "
        "day INTEGER NOT NULL, id BLOB NOT NULL,"
        " verdict INTEGER NOT NULL, key BLOB, PRIMARY KEY (hash, day)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX IF NOT EXISTS origin_states_id ON origin_states (id)")
    db.execute(
        "CREATE INDEX IF NOT EXISTS origin_states_key ON origin_states (key) WHERE key IS NOT NULL"
    )
    db.execute("CREATE TABLE IF NOT EXISTS origin_unread (memory TEXT PRIMARY KEY) WITHOUT ROWID")
    db.execute("INSERT OR IGNORE INTO origin_unread (memory) SELECT memory FROM origin_folders")
    if "project_paths" in tables_of(db):
        db.execute("INSERT OR IGNORE INTO origin_unread (memory) SELECT memory FROM project_paths")


#: The migration steps of all tables, oldest first. After them, each caller of ``connect`` creates
#: its own tables (``CREATE … IF NOT EXISTS``).
_STEPS = (_begin_origin, _drop_proposals, _forget_untold, _begin_states)


class StateTables(OpenedOnce):
    """Some of the tables, behind one connection.

    Attributes:
        schema: ``CREATE … IF NOT EXISTS`` statements of the tables.
    """

    schema: ClassVar[str] = ""

    def __init__(self, home: Home) -> None:
        super().__init__()
        self.home = home

    def _open(self) -> sqlite3.Connection:
        return connect(self.home, self.schema)

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Let no other thread use the connection meanwhile. Raises Unreachable."""
        with self._lock, complaining(self.home):
            yield self._db()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query. Raises Unreachable."""
        with self._using() as db:
            return db.execute(query, values).fetchall()

    def _change(self, query: str, values: Sequence[Any] = ()) -> int:
        """Run a statement, and return the number of changed rows. Raises Unreachable."""
        with self._using() as db:
            return db.execute(query, values).rowcount


@contextlib.contextmanager
def using(home: Home, schema: str) -> Iterator[sqlite3.Connection]:
    """A connection for one piece of work. Raises Unreachable where the database can't be used."""
    with complaining(home), contextlib.closing(connect(home, schema)) as db:
        yield db


def state_rows(home: Home, schema: str, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """Return the rows of a query. Raises Unreachable where the database can't be used."""
    with using(home, schema) as db:
        return db.execute(query, values).fetchall()


def change_state(home: Home, schema: str, query: str, values: Sequence[Any] = ()) -> int:
    """Run a statement, and return the number of changed rows. Raises as ``state_rows``."""
    with using(home, schema) as db:
        return db.execute(query, values).rowcount


@contextlib.contextmanager
def complaining(home: Home) -> Iterator[None]:
    """Give SQLite's and the file system's errors a name and a next step."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        hint = (
            "move it aside: a new one is made"
            if damaged
            else "nothing was changed; try again, or see `memsearch doctor`"
        )
        raise Unreachable(f"{home.state_db} can't be used: {error}", hint) from error
