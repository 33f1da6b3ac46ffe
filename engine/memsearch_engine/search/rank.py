"""The last step of every search: small, explainable adjustments, one hit per entry, numbered."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from memsearch_engine.index import analyze
from memsearch_engine.index.rows import LONGTERM_KINDS, Row, comparable
from memsearch_engine.journal.files import day_of, original_of
from memsearch_engine.journal.model import CONFLICT_OF, DIGEST
from memsearch_engine.journal.shared import COPY_OF
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.overrides import Said
from memsearch_engine.search.query import Query, is_expired

if TYPE_CHECKING:  # words alone are ordered without vectors
    import numpy as np

_NAME = re.compile(r"[\d_./]")
_PINNED, _SUPERSEDED, _RECENT = 0.03, -0.15, 0.06
_GONE, _UNMERGED = (
    -0.08,
    -0.08,
)  # of what a note names nothing is there any more; its branch was never merged
_CONFIDENCE = {"high": 0.02, "low": -0.08}

#: How alike two notes must be (cosine) to be about the same matter, and what share of the older
#: one's score the newer one must have; the second pair where the query asks for the present (chosen
#: on tests/evaluation, see docs/guide.md).
_SAME_MATTER = {False: (0.65, 0.8), True: (0.45, 0.6)}
#: So many hits are looked at for a newer word on what is above them.
NEWEST_AMONG = 5


def newest_first(
    query: Query,
    hits: list[Hit],
    vectors: dict[tuple[str, str], np.ndarray],
    terms: list[str],
    said: Said,
    found: Mapping[tuple[str, str], float],
) -> None:
    """Put the newest word on a matter before older ones, in place: what was decided last holds. Not
    where the past is asked for, nor before a note that has a name or number of the query which the
    newer one hasn't.

    Args:
        hits: in order; vectors: (project id, chunk id) -> of length 1; terms: the query's;
            said: the owner's words on what amends what;
        found: (older, newer) -> how likely the words of these notes say so, whatever is asked.
    """
    if query.about_then:
        return
    alike, share = _SAME_MATTER[query.about_now]
    names = names_in(terms)
    named = {
        hit.row.chunk_id: names & set(analyze.terms(hit.row.embedded))
        for hit in hits[:NEWEST_AMONG]
        if names
    }
    for hit in hits[:NEWEST_AMONG]:
        vector = vectors.get((hit.row.project, hit.row.chunk_id))
        place = hits.index(hit)
        for older in hits[:place]:
            other = vectors.get((older.row.project, older.row.chunk_id))
            cosine = float(vector @ other) if vector is not None and other is not None else 0.0
            amends = said.get((older.id, hit.id))
            if amends is None:
                has_names = not names or named[older.row.chunk_id] <= named[hit.row.chunk_id]
                sure = found.get((older.id, hit.id), 0.0)
                is_enough = (
                    cosine >= alike and hit.score >= share * older.score and _is_newer(hit, older)
                )
                amends = has_names and (bool(sure) or is_enough)
                why = f"amends that, {sure:.0%} sure" if sure else f"alike {cosine:.2f}"
            else:
                why = "as you said"
            if amends:
                hits.insert(hits.index(older), hits.pop(place))
                hit.score = older.score
                hit.scores["newer"] = round(cosine, 4)
                hit.overtakes = [*hit.overtakes, older.id]
                hit.reasons.append(f"newer word on the same matter as {older.row.day} ({why})")
                break
    for rank, hit in enumerate(hits, 1):
        hit.rank = rank


def names_in(terms: list[str]) -> set[str]:
    """Those of a query's terms that are only ever written one way: identifiers, paths, numbers."""
    return {term for term in terms if _NAME.search(term)}


def _is_newer(hit: Hit, than: Hit) -> bool:
    one, other = hit.row, than.row
    if one.heading.startswith(DIGEST):
        return False
    return (
        one.project == other.project
        and bool(other.day)
        and (one.day, one.time) > (other.day, other.time)
    )


def order(query: Query, found: list[Hit], limit: int, today: str) -> list[Hit]:
    """Adjust scores (pins, superseded, expired, stale and unmerged notes, the present), keep one
    hit per entry, number them.
    """
    days = sorted({hit.row.day for hit in found if hit.row.day})
    newest = {day: (i + 1) / len(days) for i, day in enumerate(days)} if query.about_now else {}
    top = max((abs(hit.score) for hit in found), default=1.0) or 1.0
    for hit in found:
        marks = hit.row.marks
        if "pin" in marks:
            hit.score += _PINNED * top
            hit.reasons.append("pinned")
        if (sure := marks.get("confidence")) in _CONFIDENCE:
            hit.score += _CONFIDENCE[sure] * top
            hit.reasons.append(f"confidence {sure}")
        if "superseded-by" in marks:
            hit.score += _SUPERSEDED * top
            hit.reasons.append(f"superseded by {marks['superseded-by']}")
        if CONFLICT_OF in marks:
            hit.score += _SUPERSEDED * top
            hit.reasons.append(
                f"another text of {marks[CONFLICT_OF]}: `memsearch sync conflicts` decides"
            )
        if original := original_of(hit.row.path):
            hit.score += _SUPERSEDED * top
            hit.reasons.append(f"in a copy of {os.path.basename(original)}")
        if is_expired(marks, today) and "expired" not in query.flags:
            hit.score += 2 * _SUPERSEDED * top
            hit.reasons.append(f"expired on {marks['expires']}")
        if (
            hit.row.stale == "gone"
            and not query.as_of
            and "stale" not in query.flags
            and not query.about_then
        ):
            hit.score += _GONE * top
            hit.reasons.append(f"what it names is gone: {hit.row.stale_why}")
        if (
            hit.row.unmerged
            and not query.as_of
            and not query.branches
            and "unmerged" not in query.flags
        ):
            hit.score += _UNMERGED * top
            hit.reasons.append(f"its branch {hit.row.unmerged} was not merged")
        if bonus := newest.get(hit.row.day):
            hit.score += _RECENT * top * bonus
            hit.reasons.append("the query asks for the present: newer first")
    found.sort(key=lambda hit: (-comparable(hit.score), hit.row.day, hit.row.chunk_id))
    best: dict[tuple[str, str], Hit] = {}
    notes = {(hit.row.project, hit.row.entry_id) for hit in found}
    files: dict[
        tuple[str, str, str, str], str
    ] = {}  # a note's folder, day, time and bytes -> the first file that has it
    for hit in found:
        if (
            (hit.row.project, hit.row.marks.get(COPY_OF, "")) in notes
            and not query.authors
            and "shared" not in query.flags
        ):
            continue  # a shared copy is found where the note itself is not
        if files.setdefault(_same(hit.row), hit.row.path) != hit.row.path:
            continue  # the same note in a copy of its file
        # what holds everywhere is in each project's files
        project = "" if hit.row.kind in LONGTERM_KINDS.values() else hit.row.project
        best.setdefault((project, hit.row.entry_id), hit)
        if len(best) == limit:
            break
    hits = list(best.values())
    for rank, hit in enumerate(hits, 1):
        hit.rank = rank
    return hits


def _same(row: Row) -> tuple[str, str, str, str]:
    return os.path.dirname(row.path), day_of(original_of(row.path) or row.path), row.time, row.hash
