"""Search by meaning and words together: retrieve, fuse, order, annotate.

This module calls the steps in order. It annotates each hit with the reasons why it was found and
the probability that it answers the query.
"""

from __future__ import annotations

import time

from memsearch_engine.core.errors import UsageError
from memsearch_engine.index.hubness import Background
from memsearch_engine.search import confidence, lexical
from memsearch_engine.search.fuse import FUSIONS, SHARES, fuse
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.rank import order
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import (
    Candidates,
    DenseScores,
    IndexCompleteness,
    Key,
    Sources,
    retrieve,
)
from memsearch_engine.search.spelling import absent
from memsearch_engine.search.supersession import reorder

MODES = ("hybrid", "dense", "bm25", "lexical")
#: A smaller hubness correction is not mentioned.
_WORTH_MENTIONING = 0.02


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
        Hit(0, score, row, fused.places(key), _score_parts(found, key), [])
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
    _explain(hits, found.terms)
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


def _score_parts(found: Candidates, key: Key) -> dict[str, float]:
    """The parts of a candidate's score by name, in the form of ``Hit.scores``."""
    parts: dict[str, float] = {}
    scores = found.dense.get(key, DenseScores())
    for near, names in zip(scores, (("dense", "special"), ("second", "second_special"))):
        if near is not None:
            parts |= zip(names, (round(near.cosine, 4), round(near.hubness_correction, 4)))
    if key in found.words:
        parts["bm25"] = round(found.words[key], 4)
    return parts


def rate(sources: Sources, found: Candidates, coverage: dict[Key, float], hits: list[Hit]) -> None:
    """Set the confidence of each hit.

    Args:
        coverage: share of the query's words that each chunk contains, 0 to 1.
        hits: best first.
    """
    background: dict[tuple[str, int], Background] = {}
    for hit in hits:
        key = hit.row.project, hit.row.chunk_id
        hit.scores["coverage"] = round(coverage[key], 4)
        scores = found.dense.get(key, DenseScores())
        above: list[float] = []
        for number in _judges(found, key):
            near = scores[number]
            if near is None:
                continue
            name = hit.row.project, number
            if name not in background:
                model = found.models[number]
                collection = sources.project(hit.row.project).collection
                background[name] = model.index.sample(collection).background(model.query)
            above.append(background[name].z_score(near.score))
        if len(above) > 1:
            hit.scores["above"] = round(sum(s * one for s, one in zip(SHARES, above)), 3)
        elif above:
            hit.scores["above"] = round(above[0], 3)
    confidence.rate(hits)


def _judges(found: Candidates, key: Key) -> list[int]:
    """Indexes into ``DenseScores`` of the models that can judge this chunk."""
    numbers = list(range(len(found.models)))[0 if found.speaks_query else 1 :]
    if key in found.foreign and len(numbers) > 1 and found.dense.get(key, DenseScores()).second:
        return numbers[1:]
    return numbers


def _explain(hits: list[Hit], terms: list[str]) -> None:
    """Insert the reasons why each hit was retrieved before its other reasons.

    This analyzes the whole text of each hit, so call it only for hits that are shown.

    Args:
        terms: terms of the query.
    """
    for hit in hits:
        hit.reasons = [*_retrieved_because(hit, terms), *hit.reasons]


def _retrieved_because(hit: Hit, terms: list[str]) -> list[str]:
    reasons = lexical.words_in(hit.row, terms) if "bm25" in hit.ranks else []
    if "dense" in hit.scores:
        together = ", with what was asked then" if hit.row.asked else ""
        reasons.append(f"meaning {hit.scores['dense']:.2f}{together}")
        correction = hit.scores["special"]
        if abs(correction) >= _WORTH_MENTIONING:
            many = "many" if correction < 0 else "few"
            reasons.append(f"near to {many} notes: {correction:+.2f}")
    if "second" in hit.scores:
        similarity = hit.scores["second"] + hit.scores["second_special"]
        reasons.append(f"to the second model {similarity:.2f}")
    return reasons
