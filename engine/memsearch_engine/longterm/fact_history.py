"""When each thing that the long-term memory says came and went, so that what it said on a day can
be told.

A text is kept from when it goes, as long as the journal's changes are (``history.max_days``); of
what was forgotten nothing is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import using
from memsearch_engine.longterm.store import DAY_S

_SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_stood (
  project TEXT NOT NULL, page TEXT NOT NULL, id TEXT NOT NULL, since REAL NOT NULL, until REAL NOT NULL DEFAULT 0,
  text TEXT NOT NULL DEFAULT '', PRIMARY KEY (project, page, id, since)) WITHOUT ROWID;
"""


class Said(msgspec.Struct, frozen=True):
    """One thing that the long-term memory says: an entry as its page has it, and since when at the
    latest (seconds since 1970).
    """

    id: str
    since: float
    text: str


class Page(msgspec.Struct, frozen=True):
    """All that a page says. ``changed``: when it came to say so, in seconds since 1970."""

    entries: list[Said]
    changed: float


def record(
    home: Home,
    project: str,
    pages: Mapping[str, Page],
    before: Callable[[str], Mapping[str, str]],
    *,
    max_days: float,
    forget: bool = False,
) -> None:
    """Note what has come and gone, before the pages themselves say so: a crash between the two is
    made good by the next call.

    Args:
        project: the first eight digits of its identity. pages: by name, what each says from now
            on; others stay.
        before: a page's name -> the texts that it has had, by id.
        max_days: how long what has gone is kept; 0: always. forget: keep nothing that has gone,
            now or earlier.
    """
    now = {(name, said.id): said for name, page in pages.items() for said in page.entries}
    with using(home, _SCHEMA) as db:
        rows = db.execute(
            "SELECT page, id FROM longterm_stood WHERE project=? AND until=0", (project,)
        )
        known = {(page, name) for page, name in rows if page in pages}
        came, went, at = now.keys() - known, known - now.keys(), time.time()
        if not came and not went and not forget:
            return
        texts = {page: before(page) for page in {page for page, _ in went}}
        with transaction(db):
            for page, name in came:
                db.execute(
                    "INSERT OR REPLACE INTO longterm_stood (project, page, id, since) VALUES (?,?,?,?)",
                    (project, page, name, min(at, now[page, name].since)),
                )
            for page, name in went:
                db.execute(
                    "UPDATE longterm_stood SET until=max(since, ?), text=? WHERE project=? AND page=? AND id=? AND until=0",
                    (min(at, pages[page].changed), texts[page].get(name, ""), project, page, name),
                )
            oldest = at if forget else at - max_days * DAY_S if max_days else 0.0
            db.execute(
                "DELETE FROM longterm_stood WHERE project=? AND until>0 AND until<=?",
                (project, oldest),
            )


def drop(home: Home, project: str) -> None:
    """Know nothing of a project any more. *project*: the first eight digits of its identity."""
    with using(home, _SCHEMA) as db:
        db.execute("DELETE FROM longterm_stood WHERE project=?", (project,))


def at(home: Home, projects: Iterable[str], when: float) -> dict[tuple[str, str], str]:
    """(path of a page, id) -> what stood there at a time and has gone since; '' for what stands
    there still. Raises Unreachable.
    """
    found: dict[tuple[str, str], str] = {}
    with using(home, _SCHEMA) as db:
        for project in projects:
            rows = db.execute(
                "SELECT page, id, text, until FROM longterm_stood WHERE project=? AND since<=? AND (until=0 OR until>?)",
                (project, when, when),
            )
            for page, name, text, until in rows:
                if text or not until:
                    found[str(home.longterm_search / project / page), name] = text
    return found
