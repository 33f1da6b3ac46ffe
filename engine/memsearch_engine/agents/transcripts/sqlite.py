"""Reading a database that its agent is using: never written to, never locked, no transaction left
open.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.model import well_formed
from memsearch_engine.core.migrations import Database

_BUSY_MS = 2000


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
