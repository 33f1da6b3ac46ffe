"""Order the hits of a search: adjust scores by properties of the notes, one hit per entry."""

from __future__ import annotations

import os
from collections.abc import Iterator

from memsearch_engine.index.rows import LONGTERM_KINDS, Row, comparable
from memsearch_engine.journal.files import day_of, original_of
from memsearch_engine.journal.model import CONFLICT_OF
from memsearch_engine.journal.shared import COPY_OF
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.request import SearchRequest, is_expired

#: Adjustments of a note's score for its properties, as a share of the best score of the answer.
_PINNED, _SUPERSEDED, _EXPIRED = 0.03, -0.15, -0.3
_CONFIDENCE = {"high": 0.02, "low": -0.08}
#: All references of the note are stale; the branch of the note was never merged.
_GONE, _UNMERGED = -0.08, -0.08
#: For the newest day of the answer if the request asks for the present; older days get less.
_RECENT = 0.06


def order(request: SearchRequest, hits: list[Hit], limit: int) -> list[Hit]:
    """Adjust the scores of hits, sort them, and return the first *limit* entries with their ranks.

    Args:
        hits: any number per entry; scores and reasons are changed in place.
    """
    top = max((abs(hit.score) for hit in hits), default=1.0) or 1.0
    days = sorted({hit.row.day for hit in hits if hit.row.day} if request.asks_for_present else ())
    recency = {day: place / len(days) for place, day in enumerate(days, 1)}
    for hit in hits:
        for share, reason in _adjustments(request, hit.row):
            hit.score += share * top
            hit.reasons.append(reason)
        if share := recency.get(hit.row.day, 0.0):
            hit.score += _RECENT * top * share
            hit.reasons.append("the query asks for the present: newer first")
    hits.sort(key=lambda hit: (-comparable(hit.score), hit.row.day, hit.row.chunk_id))
    return numbered(_one_per_entry(request, hits, limit))


def numbered(hits: list[Hit]) -> list[Hit]:
    """Set the rank of each hit to its position, from 1, and return *hits*."""
    for rank, hit in enumerate(hits, 1):
        hit.rank = rank
    return hits


def _adjustments(request: SearchRequest, row: Row) -> Iterator[tuple[float, str]]:
    """(share of the best score, reason) for each property of a note that raises or lowers it."""
    marks = row.marks
    if "pin" in marks:
        yield _PINNED, "pinned"
    if (confidence := marks.get("confidence")) in _CONFIDENCE:
        yield _CONFIDENCE[confidence], f"confidence {confidence}"
    if "superseded-by" in marks:
        yield _SUPERSEDED, f"superseded by {marks['superseded-by']}"
    if CONFLICT_OF in marks:
        reason = f"another text of {marks[CONFLICT_OF]}: `memsearch sync conflicts` decides"
        yield _SUPERSEDED, reason
    if original := original_of(row.path):
        yield _SUPERSEDED, f"in a copy of {os.path.basename(original)}"
    if is_expired(marks, request.day) and "expired" not in request.flags:
        yield _EXPIRED, f"expired on {marks['expires']}"
    if request.as_of:
        return  # the rest describes the current repository
    if row.stale == "gone" and "stale" not in request.flags and not request.asks_for_past:
        yield _GONE, f"what it names is gone: {row.stale_why}"
    if row.unmerged and not request.branches and "unmerged" not in request.flags:
        yield _UNMERGED, f"its branch {row.unmerged} was not merged"


def _one_per_entry(request: SearchRequest, hits: list[Hit], limit: int) -> list[Hit]:
    """The best hit of each of the first *limit* entries, without copies of other hits."""
    shows_copies = bool(request.authors) or "shared" in request.flags
    notes = {(hit.row.project, hit.row.entry_id) for hit in hits}
    files: dict[tuple[str, str, str, str], str] = {}  # identity of a note -> first file with it
    best: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        if not shows_copies and (hit.row.project, hit.row.marks.get(COPY_OF, "")) in notes:
            continue  # a shared copy is shown only if the note itself is not among the hits
        if files.setdefault(_identity(hit.row), hit.row.path) != hit.row.path:
            continue  # the same note in a copy of its file
        # every project has its own copy of the global long-term memory
        project = "" if hit.row.kind in LONGTERM_KINDS.values() else hit.row.project
        best.setdefault((project, hit.row.entry_id), hit)
        if len(best) == limit:
            break
    return list(best.values())


def _identity(row: Row) -> tuple[str, str, str, str]:
    """Folder, day, time and content hash: equal for a note and its copy in a copied file."""
    return os.path.dirname(row.path), day_of(original_of(row.path) or row.path), row.time, row.hash
