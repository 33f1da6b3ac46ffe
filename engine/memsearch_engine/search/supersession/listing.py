"""List which note supersedes which, for code that shows notes.

The list combines the stored comparisons (``supersession.notes``) with the owner's decisions, which
are stored in ``state.db`` and outweigh the probabilities. This module reads the catalog and that
table. It opens no vectors and no model.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.core.state import complaining, connect, using
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.rows import Row

#: A pair has an effect from the probability ``ENOUGH`` on; below ``STORED`` it is not stored.
ENOUGH, STORED = 0.6, 0.3
#: The owner is asked about pairs with a probability between these two.
_ASKED, _CLEAR = 0.4, 0.9
_TOKEN = re.compile(r"[\w./-]*\w")
_SHOWN = 4  # shared words, and words of change, in an explanation
_CHANGE = re.compile(
    r"\b(?:no longer|any ?more|instead of|rather than|changed?|rais\w+|lower(?:ed|s)?|reduc\w+"
    r"|increas\w+|revert\w*|replac\w+|used to|go(?:es)? back|went back|drop(?:ped|s)?|retired?"
    r"|amend\w*|supersed\w*|revisit\w*|rework\w*|soften\w*|loosen\w*|tighten\w*"
    r"|w(?:as|ere) \d\S*|turned out|now|(?:is|are) gone|removed|moved|upgraded|migrated|left"
    r"|closed|switch\w*|new rule|from \S+ to \S+)\b",
    re.IGNORECASE,
)


class Supersession(msgspec.Struct, frozen=True):
    """A pair of notes of which the newer one may supersede the older one.

    Attributes:
        older, newer: first chunks of the notes.
        sure: the probability, 0 to 1; exactly 1 or 0 if the owner has decided.
        said: the owner's decision; None if there is none.
        waits: the newer note is quarantined or demoted, so that the pair has no effect.
        shared: words that occur in both notes and in hardly any other note.
        changes: words of change in the newer note.
    """

    older: Row
    newer: Row
    sure: float
    said: bool | None
    shared: list[str]
    changes: list[str]
    waits: bool = False

    @property
    def is_effective(self) -> bool:
        """Whether the pair has an effect on search, injection and pages."""
        return self.sure >= ENOUGH and not self.waits

    @property
    def why(self) -> str:
        """The reason, as a sentence for people."""
        if self.said is not None:
            return "as you said"
        subject = f"same subject: {', '.join(self.shared)}" if self.shared else "alike in meaning"
        return f"{subject}; says “{'”, “'.join(self.changes)}”" if self.changes else subject


def of_note(
    catalog: Catalog, overrides: Overrides, project: str, entry_id: str
) -> list[Supersession]:
    """The pairs that contain a note, as the older or the newer one, the most probable first.

    Args:
        overrides: the owner's decisions.
        project: id of the note's project.
        entry_id: id of the note.
    """
    links = catalog.links.of(project, older=entry_id) + catalog.links.of(project, newer=entry_id)
    found = {(link.older, link.newer): link for link in links}
    for names in overrides:
        if entry_id in names and names not in found:
            found[names] = Link(project, *names, 0.0, [])
    pairs = filter(None, (_of_link(catalog, overrides, link) for link in found.values()))
    return sorted(pairs, key=lambda pair: (-pair.sure, pair.older.entry_id, pair.newer.entry_id))


def undecided(
    catalog: Catalog, overrides: Overrides, projects: Iterable[str], limit: int
) -> list[Supersession]:
    """Probable but unclear pairs without a decision of the owner, the newest first.

    Args:
        overrides: the owner's decisions.
        projects: project ids.
        limit: number of pairs.
    """
    found = [
        pair
        for project in projects
        for link in catalog.links.of(project)
        if _ASKED <= link.sure <= _CLEAR and (link.older, link.newer) not in overrides
        if (pair := _of_link(catalog, overrides, link)) is not None
        and "superseded-by" not in pair.older.marks
    ]
    return sorted(found, key=lambda pair: (pair.newer.day, pair.newer.time), reverse=True)[:limit]


def _of_link(catalog: Catalog, overrides: Overrides, link: Link) -> Supersession | None:
    """A stored link with its notes; None if one of them is gone or has changed since."""
    older, newer = (row_of(catalog, link.project, name) for name in (link.older, link.newer))
    if older is None or newer is None:
        return None
    decision = overrides.get((link.older, link.newer))
    if decision is None and not (
        catalog.links.is_compared(older) and catalog.links.is_compared(newer)
    ):
        return None
    sure = link.sure if decision is None else float(decision)
    return supersession(older, newer, sure, link.shared, decision)


def row_of(catalog: Catalog, project: str, entry_id: str) -> Row | None:
    """The first chunk of an entry of a project; None if there is no such entry."""
    return next((row for row in catalog.by_entry(entry_id) if row.project == project), None)


def supersession(
    older: Row, newer: Row, sure: float, shared: list[str], said: bool | None = None
) -> Supersession:
    """Make a pair with the words that explain it.

    Args:
        older, newer: first chunks of the notes.
        sure: the probability, 0 to 1.
        shared: terms that occur in both notes.
        said: the owner's decision; None if there is none.
    """
    words = list(_as_written(newer, set(shared)))
    return Supersession(older, newer, sure, said, words[:_SHOWN], changes(newer)[:_SHOWN])


def _as_written(note: Row, terms: set[str]) -> Iterator[str]:
    """The words of a note from which *terms* (``analyze.terms``) were made, each once."""
    from memsearch_engine.index import analyze  # 10 ms, for what few notes have

    for token in dict.fromkeys(_TOKEN.findall(note.embedded)):
        if terms.intersection(own := set(analyze.terms(token))):
            terms = terms - own
            yield token


def changes(note: Row) -> list[str]:
    """The words of change in a note's first chunk and in its prompt, each once, in lower case."""
    return changes_in(f"{note.asked} {note.embedded}")


def changes_in(text: str) -> list[str]:
    """The words of change in a text, such as "instead of" or "raised", each once, in lower case."""
    return list(dict.fromkeys(found.lower() for found in _CHANGE.findall(text)))


#: (id of the older entry, id of the newer entry) -> whether the newer one supersedes the older one.
#: Pairs without a decision of the owner are not in it.
Overrides = Mapping[tuple[str, str], bool]
NONE: Overrides = MappingProxyType({})
SCHEMA = """
CREATE TABLE IF NOT EXISTS amendments (
  older TEXT NOT NULL, newer TEXT NOT NULL, amends INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (older, newer)) WITHOUT ROWID;
"""
_ALL = "SELECT older, newer, amends FROM amendments"


def set_override(home: Home, older: str, newer: str, supersedes: bool | None) -> bool | None:
    """Store the owner's decision on a pair of entries.

    Args:
        older, newer: entry ids.
        supersedes: whether *newer* supersedes *older*; None removes the decision.

    Returns:
        The earlier decision; None if there was none.

    Raises:
        Unreachable: the database can't be written.
    """
    pair = (older, newer)
    with using(home, SCHEMA) as db:
        row = db.execute("SELECT amends FROM amendments WHERE older=? AND newer=?", pair).fetchone()
        if supersedes is None:
            db.execute("DELETE FROM amendments WHERE older=? AND newer=?", pair)
        else:
            db.execute(
                "INSERT OR REPLACE INTO amendments (older, newer, amends, at) VALUES (?,?,?,?)",
                (*pair, supersedes, time.time()),
            )
    return bool(row[0]) if row else None


def read_overrides(home: Home) -> Overrides:
    """Read all decisions of the owner.

    Raises:
        Unreachable: the database can't be read.
    """
    with using(home, SCHEMA) as db:
        return _all(db)


def _all(db: sqlite3.Connection) -> dict[tuple[str, str], bool]:
    return {(older, newer): bool(is_so) for older, newer, is_so in db.execute(_ALL)}


class OverrideCache:
    """The overrides for a process that needs them at every search.

    It uses one connection and reads the table again only after another connection has written.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._db: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._version = -1
        self._known: dict[tuple[str, str], bool] = {}

    def read(self) -> Overrides:
        """All decisions of the owner; those of the last read if the database can't be read."""
        with self._lock:
            try:
                with complaining(self.home):
                    return self._read()
            except Exception:  # a search must not fail without the overrides
                self.close()
                return self._known

    def _read(self) -> Overrides:
        if self._db is None:
            self._db, self._version = connect(self.home, SCHEMA), -1
        # this number changes after another connection has written
        version = self._db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._known, self._version = _all(self._db), version
        return self._known

    def close(self) -> None:
        """Close the connection; the next ``read`` opens a new one."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
