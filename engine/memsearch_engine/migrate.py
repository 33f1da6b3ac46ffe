"""Durable databases, brought to the layout of this program when they are opened.

A database says its layout in ``PRAGMA user_version`` (SQLite, pragma.html#pragma_user_version): how many of its steps were done.
Steps are only ever added at the end. Each runs in one transaction with the number that it leads to, so that a crash leaves the
layout before or the one after. Caches are no business of this room: they are thrown away instead.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memsearch_engine.errors import Unreachable
from memsearch_engine.home import private

_LEFT_S = 3600.0
Step = Callable[[sqlite3.Connection], None]


def bring_up(db: sqlite3.Connection, path: Path, steps: Sequence[Step], backups: Path) -> None:
    """Do the steps that *db*, the file at *path*, has not seen. What it held before is kept in *backups*.

    Args:
        db: in autocommit mode; nothing of this program's was written to it yet.
        steps: from an empty file or from what a version before layouts were counted left: each finds out what there is.

    Raises:
        Unreachable: a newer memsearch has written it, and nothing was touched; or it can't be written.
        sqlite3.Error: it is no database, or it is in use.
    """
    layout = layout_of(db)
    if layout > len(steps):
        raise Unreachable(
            f"{path} was written by a newer memsearch (layout {layout}, this one knows {len(steps)})",
            "update memsearch; nothing was changed",
        )
    if layout < len(steps) and tables_of(db):
        _keep(db, backups, path.name, layout)
    for number in range(layout, len(steps)):
        db.execute("BEGIN IMMEDIATE")
        try:
            if layout_of(db) == number:  # no other process was faster
                steps[number](db)
                db.execute(f"PRAGMA user_version={number + 1}")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


def layout_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def tables_of(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}


def _keep(db: sqlite3.Connection, backups: Path, name: str, layout: int) -> None:
    """A copy of a database of that layout, whole or not at all; one that is there already stays. Where another process has brought
    the database up meanwhile, that one made the copy."""
    target = backups / f"{name}.layout{layout}"
    if target.exists():
        return
    for left in backups.glob(f".{target.name}.*"):  # by a process that was killed over it
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                left.unlink()
    made = backups / f".{target.name}.{secrets.token_hex(6)}"
    try:
        backups.mkdir(mode=0o700, exist_ok=True)
        private(made)
        with contextlib.closing(sqlite3.connect(made)) as copy:
            db.backup(copy)
            as_it_was = layout_of(copy) == layout
        with contextlib.suppress(FileExistsError):
            if as_it_was:
                os.link(made, target)
    except OSError as error:
        raise Unreachable(
            f"{target} can't be written: {error.strerror}", "nothing was changed: a copy comes first"
        ) from error
    finally:
        made.unlink(missing_ok=True)
