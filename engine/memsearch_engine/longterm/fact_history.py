"""The history of the long-term memory: when each statement was added and removed.

A search with ``as-of:`` uses it to find the statements of a past day. The text of a statement is
stored when the statement is removed, for as long as the changes of notes are
(``history.max_days``). The texts of forgotten statements are not stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import change_state, using
from memsearch_engine.longterm.store import DAY_S

_SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_stood (
  project TEXT NOT NULL, page TEXT NOT NULL, id TEXT NOT NULL,\
 since REAL NOT NULL, until REAL NOT NULL DEFAULT 0,
  text TEXT NOT NULL DEFAULT '', PRIMARY KEY (project, page, id, since)) WITHOUT ROWID;
"""


_ADD = "INSERT OR REPLACE INTO longterm_stood (project, page, id, since) VALUES (?,?,?,?)"
_REMOVE = (
    "UPDATE longterm_stood SET until=max(since, ?), text=?"
    " WHERE project=? AND page=? AND id=? AND until=0"
)
_PRUNE = "DELETE FROM longterm_stood WHERE project=? AND until>0 AND until<=?"


class Statement(msgspec.Struct, frozen=True):
    """One statement of the long-term memory: an entry of a searchable file.

    Attributes:
        since: the latest time at which it was added, in seconds since 1970.
    """

    id: str
    since: float
    text: str


class StatementFile(msgspec.Struct, frozen=True):
    """The statements of a file. ``changed``: when the file got them, in seconds since 1970."""

    entries: list[Statement]
    changed: float


def record(
    home: Home,
    project: str,
    pages: Mapping[str, StatementFile],
    before: Callable[[str], Mapping[str, str]],
    *,
    max_days: float,
    forget: bool = False,
) -> None:
    """Record which statements were added and removed, before the files themselves are written.

    If the process stops between the two steps, the next call records the same.

    Args:
        project: the first eight digits of the project's identity.
        pages: file name -> the new statements of the file. Other files do not change.
        before: returns the previous texts of a file, by id.
        max_days: how long the text of a removed statement is stored, in days; 0 for ever.
        forget: delete the texts of all removed statements now.
    """
    now = {
        (name, statement.id): statement
        for name, page in pages.items()
        for statement in page.entries
    }
    with using(home, _SCHEMA) as db:
        rows = db.execute(
            "SELECT page, id FROM longterm_stood WHERE project=? AND until=0", (project,)
        )
        known = {(page, name) for page, name in rows if page in pages}
        came, went, at = now.keys() - known, known - now.keys(), time.time()
        if not came and not went and not forget:
            return
        texts = {page: before(page) for page in {page for page, _ in went}}
        removed = [
            (min(at, pages[page].changed), texts[page].get(name, ""), project, page, name)
            for page, name in went
        ]
        added = [(project, *key, min(at, now[key].since)) for key in came]
        oldest = at if forget else at - max_days * DAY_S if max_days else 0.0
        with transaction(db):
            db.executemany(_ADD, added)
            db.executemany(_REMOVE, removed)
            db.execute(_PRUNE, (project, oldest))


def drop(home: Home, project: str) -> None:
    """Delete the history of a project. *project*: the first eight digits of its identity."""
    change_state(home, _SCHEMA, "DELETE FROM longterm_stood WHERE project=?", (project,))


def at(home: Home, projects: Iterable[str], when: float) -> dict[tuple[str, str], str]:
    """The statements at a past time.

    Args:
        when: seconds since 1970.

    Returns:
        (path of the file, id) -> the text of a statement that was removed since; '' for one that
        still exists.

    Raises:
        Unreachable: the database is not readable.
    """
    found: dict[tuple[str, str], str] = {}
    with using(home, _SCHEMA) as db:
        for project in projects:
            rows = db.execute(
                "SELECT page, id, text, until FROM longterm_stood WHERE project=? AND since<=? "
                "AND (until=0 OR until>?)",
                (project, when, when),
            )
            for page, name, text, until in rows:
                if text or not until:
                    found[str(home.longterm_search / project / page), name] = text
    return found
