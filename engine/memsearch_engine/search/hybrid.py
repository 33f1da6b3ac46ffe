"""Search by meaning and words together: retrieve, fuse, order, annotate.

Each step is one function in a module of its own. This module calls them in order.
"""

from __future__ import annotations

import time

from memsearch_engine.core.errors import UsageError
from memsearch_engine.search import lexical
from memsearch_engine.search.annotate import explain, rate, score_parts
from memsearch_engine.search.fuse import FUSIONS, fuse
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.rank import order
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Candidates, IndexCompleteness, Sources, retrieve
from memsearch_engine.search.spelling import absent
from memsearch_engine.search.supersession import reorder

MODES = ("hybrid", "dense", "bm25", "lexical")


def search(sources: Sources, request: SearchRequest) -> Answer:
    """Answer a request in its mode.

    If the vector index is not open, or the query consists of filters only, the answer is lexical.
    ``Answer.mode`` and ``Answer.reason`` say so.

    Raises:
        UsageError: an unknown mode or fusion.
    """
    request = request if request.fusion else request.with_(fusion=FUSIONS[0])
    if request.mode not in MODES or request.fusion not in FUSIONS:
        raise UsageError(
            f"unknown mode {request.mode!r} or fusion {request.fusion!r}",
            f"modes: {', '.join(MODES)}",
        )
    start = time.perf_counter()
    answer = _answer(sources, request)
    answer.took_ms = round((time.perf_counter() - start) * 1000, 2)
    return answer


def _answer(sources: Sources, request: SearchRequest) -> Answer:
    if request.mode == "lexical" or request.is_empty:
        return lexical.search(sources.catalog, sources.projects, request)
    if sources.vectors is None:
        return _by_words_alone(sources, request, "the index is not open yet")
    state = IndexCompleteness.of(sources)
    if request.mode == "hybrid" and state.is_incomplete and not state.embedded:
        reason = f"meaning is being made, for none of {state.total} chunks yet"
        return _by_words_alone(sources, request, reason, check_files=False)
    found = retrieve(sources, request, state)
    fused = fuse(sources.catalog, request, found)
    hits = [
        Hit(0, score, row, fused.places(key), score_parts(found, key), [])
        for key, row in found.rows.items()
        if (score := fused.scores.get(key)) is not None
    ]
    if not hits and (state.is_incomplete or request.filters_after_fetch):
        # the filters that only the catalog can check may have removed all candidates
        return lexical.search(sources.catalog, sources.projects, request, check_files=False)
    hits = order(request, hits, max(request.limit, reorder.CONSIDERED))
    if fused.coverage:
        reorder.for_search(sources, request, found.terms, hits)
        rate(sources, found, fused.coverage, hits)
        reorder.revisions_first(sources, request, found.terms, hits)
    hits = hits[: request.limit]
    explain(hits, found.terms)
    return _as_answer(sources, request, found, hits)


def _as_answer(
    sources: Sources, request: SearchRequest, found: Candidates, hits: list[Hit]
) -> Answer:
    remarks = found.state.remark, request.remark, found.left_out.remark
    return Answer(
        request.mode,
        hits,
        "; ".join(filter(None, remarks)),
        found.corrected,
        # nobody reads the missing words of a prompt
        [] if request.is_prompt else absent(sources.catalog, request, found.corrected),
        as_of=request.as_of,
    )


def _by_words_alone(
    sources: Sources, request: SearchRequest, reason: str, *, check_files: bool = True
) -> Answer:
    answer = lexical.search(sources.catalog, sources.projects, request, check_files=check_files)
    answer.reason = reason
    return answer
