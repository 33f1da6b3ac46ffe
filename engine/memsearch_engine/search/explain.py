"""Explain why a note is not among the hits of a query."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import chunks_of
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.sections import Section

_DEPTH, _SHOWN = 200, 10


class Absence(msgspec.Struct, frozen=True):
    """Why an entry is not among the first hits of a query.

    Attributes:
        rank: its rank among the first 200 hits, from 1; 0 if it is not among them.
        mode: how the query was answered (``Answer.mode``).
        shared: terms that occur in both the entry and the query.
        reasons: sentences, the most important first.
    """

    entry_id: str
    query: str
    rank: int
    mode: str
    shared: list[str]
    reasons: list[str]


def why_not(
    catalog: Catalog | None,
    scope: list[Project],
    section: Section,
    request: SearchRequest,
    search: Callable[[SearchRequest], Answer],
) -> Absence:
    """Find the reasons: another project, not indexed, filtered out, no shared word, outranked.

    Args:
        catalog: None if there is no index.
        scope: the projects that were searched.
        section: the expected note.
        request: the query.
        search: the function that answers a request.
    """
    entry = section.entry
    reasons: list[str] = []
    if section.project and section.project.id not in {p.id for p in scope} and not request.projects:
        reasons.append(
            f"it belongs to the project {section.project.name}: search with "
            f"project:{section.project.slug}"
        )
    rows = catalog.by_entry(entry.id) if catalog else []
    if not rows:
        reasons.append(
            "it is not indexed yet: `memsearch index` reads it now (words find it all the same)"
        )
    if catalog:
        catalog.add_note_texts(rows)
    if rows and not any(request.admits(row) for row in rows):
        reasons.append("a filter, a phrase or an excluded word of the query leaves it out")
    words = set(analyze.query_terms(request.text))
    texts = [*(chunk.embedded for chunk in chunks_of(entry)), *(row.asked for row in rows)]
    shared = sorted(words & {term for text in texts for term in analyze.terms(text)})
    reasons.append(
        f"it shares these words with the query: {', '.join(shared)}"
        if shared
        else "it shares no word with the query"
    )
    answer = search(request.with_(limit=_DEPTH))
    place = next((hit.rank for hit in answer.hits if hit.row.entry_id == entry.id), 0)
    if place:
        how = "" if place <= _SHOWN else ": raise -k"
        reasons.insert(0, f"it is there, as hit {place} of the {answer.mode} answer{how}")
    else:
        reasons.append(
            f"only words were compared ({answer.reason or 'lexical mode'})"
            if answer.mode == "lexical"
            else f"{len(answer.hits)} other notes are nearer in meaning or share rarer words"
        )
    return Absence(entry.id, request.raw, place, answer.mode, shared, reasons)
