"""The last step of every search: small, explainable adjustments, one hit per entry, numbered."""

from __future__ import annotations

from memsearch_engine.search.hits import Hit
from memsearch_engine.search.query import Query, is_expired

_PINNED, _SUPERSEDED, _RECENT = 0.03, -0.15, 0.06
_CONFIDENCE = {"high": 0.02, "low": -0.08}


def order(query: Query, found: list[Hit], limit: int, today: str) -> list[Hit]:
    """Adjust scores (pins, superseded and expired notes, the present), keep one hit per entry, number them."""
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
        if is_expired(marks, today) and "expired" not in query.flags:
            hit.score += 2 * _SUPERSEDED * top
            hit.reasons.append(f"expired on {marks['expires']}")
        if bonus := newest.get(hit.row.day):
            hit.score += _RECENT * top * bonus
            hit.reasons.append("the query asks for the present: newer first")
    found.sort(key=lambda hit: (-hit.score, hit.row.day, hit.row.chunk_id))
    best: dict[tuple[str, str], Hit] = {}
    for hit in found:
        best.setdefault((hit.row.project, hit.row.entry_id), hit)
        if len(best) == limit:
            break
    hits = list(best.values())
    for rank, hit in enumerate(hits, 1):
        hit.rank = rank
    return hits
