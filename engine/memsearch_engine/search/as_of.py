"""Answer a search with notes and long-term memory as they were at the end of a day.

Later edits, marks and deletions are undone in the answer; the files stay unchanged. A note belongs
to the day of its file, even if it was written later. Changes that are no longer in the history
can't be undone. Long-term memory of a later day and agent files of an unknown day are left out.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import LONGTERM_KINDS, CatalogBroken, Row, comparable
from memsearch_engine.journal.files import DayFile, day_of
from memsearch_engine.journal.history import Change, History
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import belongs
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.lexical import rows_of
from memsearch_engine.search.rank import numbered
from memsearch_engine.search.request import SearchRequest

_BEFORE = 1e-9
_ENOUGH = 0.5  # least coverage of the query for a restored note that was no hit


def end_of(day: str) -> float:
    """The end of an ISO day in local time, in seconds since 1970.

    Returns:
        Infinity for a day beyond the range of the clock, 0 for a day before it.
    """
    try:
        return (
            datetime.combine(date.fromisoformat(day), datetime.min.time()) + timedelta(days=1)
        ).timestamp()
    except (OverflowError, ValueError):
        return math.inf if day > "1970" else 0.0


class NotesAsOf:
    """The notes that have changed since the end of a day, as they were then.

    Args:
        memories: memory folders.
        day: ``YYYY-MM-DD``.
        longterm: (path, id) -> text of long-term memory on that day; empty if it is unchanged.

    Attributes:
        known_from: first day with a complete history if that is after *day*; else empty.
        entries: (path, id) -> the entry on that day; None if it did not exist.
        lasting: (path, id) of long-term memory that is unchanged.
    """

    def __init__(
        self,
        history: History,
        memories: Iterable[str],
        day: str,
        longterm: Mapping[tuple[str, str], str] = {},
    ) -> None:
        self.day = day
        begins = history.begins()
        self.known_from = (
            datetime.fromtimestamp(begins).date().isoformat() if begins > end_of(day) else ""
        )
        self.entries: dict[tuple[str, str], Entry | None] = {}
        for memory in memories:
            for change in history.first_since(memory, end_of(day)):
                self._put(change, change.before)
            for change in history.undone_since(memory, end_of(day)):
                self._put(change, change.after)
        self.lasting = {key for key, text in longterm.items() if not text}
        for key, text in longterm.items():
            if text and (earlier := parse(text.encode(), "").entries):
                self.entries[key] = earlier[0]

    def _put(self, change: Change, text: bytes | None) -> None:
        if not "" < day_of(change.path) <= self.day:
            return
        earlier = parse(text, day_of(change.path)).entries if text else []
        if earlier:
            # the id of an entry without an id comment is a digest of its text: use today's
            self.entries[change.path, change.entry_id] = msgspec.structs.replace(
                earlier[0], id=change.entry_id
            )
        elif not text:  # it had been deleted and was restored later
            self.entries[change.path, change.entry_id] = None

    def read(self, file: DayFile, now: list[Entry]) -> list[Entry]:
        """The entries of a day file on that day.

        Args:
            now: its current entries.
        """
        known = {entry.id for entry in now}
        then = (self.entries.get((file.path, entry.id), entry) for entry in now)
        found = [entry for entry in then if entry is not None]
        back = [
            e
            for (path, name), e in self.entries.items()
            if path == file.path and e is not None and name not in known
        ]
        return sorted(found + back, key=lambda entry: entry.time or "99") if back else found


def put_back(
    catalog: Catalog | None,
    answer: Answer,
    request: SearchRequest,
    then: NotesAsOf,
    projects: list[Project],
) -> None:
    """Change an answer from the current notes into the answer for an earlier day, in place.

    Args:
        catalog: used for the rarity of words; None weighs all words equally.
        answer: hits among the current notes.
        request: its ``as_of`` is the day.
        then: the notes that have changed since that day.
        projects: the projects that were searched.
    """
    of_then = then.lasting | then.entries.keys()
    answer.hits = [hit for hit in answer.hits if hit.day or (hit.row.path, hit.id) in of_then]
    places = {(hit.row.path, hit.id): hit for hit in answer.hits}
    covered = _coverage_of(request, catalog)
    hits = [hit for hit in answer.hits if (hit.row.path, hit.id) not in then.entries]
    for hit in hits:
        # these describe the current repository
        hit.row.stale = hit.row.stale_why = hit.row.unmerged = ""
    why = [f"as of {then.known_from or then.day}"]
    if then.known_from:
        why.append(f"what was changed before {then.known_from} is forgotten")
    for (path, name), entry in then.entries.items():
        rows = _rows_of_then(path, entry, projects)
        admitted = [row for row in rows if request.admits(row)]
        if admitted:
            best, now = max(admitted, key=covered), places.get((path, name))
            hits += _hits_of_then(best, now, hits, covered, why, everything=request.is_empty)
    if request.is_empty:
        hits.sort(key=lambda hit: (hit.day, hit.time), reverse=True)
    else:
        hits.sort(key=lambda hit: -comparable(hit.score))
    answer.hits = numbered(hits[: request.limit])
    names = {hit.id for hit in answer.hits}
    for hit in answer.hits:
        hit.supersedes = [name for name in hit.supersedes if name in names]
        hit.possibly_supersedes = [name for name in hit.possibly_supersedes if name in names]


def _coverage_of(request: SearchRequest, catalog: Catalog | None) -> Callable[[Row], float]:
    """Return the function that gives the share of a query's words in a chunk, rare words first."""
    terms = sorted(set(analyze.query_terms(request.text)))
    idf = dict.fromkeys(terms, 1.0)
    with contextlib.suppress(CatalogBroken):
        idf = catalog.words.rarity(terms) if catalog is not None else idf
    most = sum(idf.values()) or 1.0
    return lambda row: (
        sum(idf[term] for term in idf.keys() & set(analyze.terms(row.embedded))) / most
    )


def _rows_of_then(path: str, entry: Entry | None, projects: list[Project]) -> list[Row]:
    """The chunks of an entry of that day; none if it did not exist or is of no searched project."""
    of_longterm = os.path.basename(os.path.dirname(path)) if not day_of(path) else None
    project = next(
        (p for p in projects if belongs(path, p.memory) or p.id[:8] == of_longterm), None
    )
    rows = rows_of(project.id, entry, path, day_of(path)) if project and entry is not None else []
    for row in rows:
        row.kind = row.kind if row.day else LONGTERM_KINDS[os.path.basename(path)]
    return rows


def _hits_of_then(
    best: Row,
    now: Hit | None,
    hits: list[Hit],
    covered: Callable[[Row], float],
    why: list[str],
    *,
    everything: bool,
) -> list[Hit]:
    """The hit for an entry as it was; none if too few words of the query are in it.

    Args:
        best: the chunk of the entry that has most words of the query.
        now: the hit for its current text, if there is one.
        hits: the hits so far.
        why: added to the hit's reasons.
        everything: the query has no words.
    """
    coverage = covered(best)
    # words that were added later must not raise the score
    coverage_now = covered(now.row) if now is not None else 0.0
    share = min(1.0, coverage / coverage_now) if coverage_now else 1.0
    if not share:
        return []
    if now is not None:
        reasons = [*now.reasons, *why]
        return [Hit(0, now.score * share, best, now.ranks, now.scores, reasons, now.confidence)]
    if not everything and coverage < _ENOUGH:
        return []
    beside = next((hit for hit in hits if not everything and covered(hit.row) < coverage), None)
    score = beside.score + _BEFORE if beside else min((hit.score for hit in hits), default=1.0)
    return [Hit(0, score, best, {"lexical": 1}, {"coverage": round(coverage, 4)}, why)]
