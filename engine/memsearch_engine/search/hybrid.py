"""Search by meaning and words together: retrieve, fuse, order, annotate.

Fusion combines similarity of meaning and word matches into one score per candidate. ``rrf`` is
reciprocal rank fusion (Cormack, Clarke, Büttcher 2009; k = 60, equal weights). The default,
``weighted``, adds two scores. The score for meaning is the cosine with its hubness correction
(``index/hubness.py``). Half of the score for words is BM25, as a share of the highest possible
score of the query. The other half is coverage: the share of the query's words that the chunk
contains, weighted by rarity. A match of one common word adds almost nothing, even at rank 1.

With a second model (``search.models``), the score for meaning is a weighted sum of both models. If
the first model does not know the script of the query, almost only the second model counts. Both
models rate a note lower if its script differs from the script of the query. For notes in a script
that the first model does not know, the weight of the second model is therefore doubled.

Each hit is annotated with the reasons why it was found and the probability that it answers the
query.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from memsearch_engine.core.errors import UsageError
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.search import confidence, lexical
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
        Hit(0, score, row, {}, {}, [])
        for key, row in found.rows.items()
        if (score := fused.scores.get(key)) is not None
    ]
    if not hits and (state.is_incomplete or request.filters_after_fetch):
        # the filters that only the catalog can check may have removed all candidates
        return lexical.search(sources.catalog, sources.projects, request, check_files=False)
    hits = order(request, hits, max(request.limit, reorder.CONSIDERED))
    for hit in hits:
        key = hit.row.project, hit.row.chunk_id
        hit.ranks, hit.scores = fused.places(key), _score_parts(found, key)
    if fused.coverage:
        reorder.for_search(sources, request, found.terms, hits)
        rate(found, fused.coverage, hits)
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


def rate(found: Candidates, coverage: dict[Key, float], hits: list[Hit]) -> None:
    """Set the confidence of each hit.

    Args:
        coverage: share of the query's words that each chunk contains, 0 to 1.
        hits: best first.
    """
    for hit in hits:
        key = hit.row.project, hit.row.chunk_id
        hit.scores["coverage"] = round(coverage[key], 4)
        scores = found.dense.get(key, DenseScores())
        above: list[float] = []
        for number in _judges(found, key):
            near = scores[number]
            if near is None:
                continue
            background = found.models[number].backgrounds[hit.row.project]
            above.append(background.z_score(near.score))
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


FUSIONS = ("weighted", "rrf")
_RRF_K = 60
#: Weight of a full word match relative to a cosine of 1 (chosen on tests/evaluation): more for a
#: query with an identifier, less with two models.
_WORDS_WEIGHT, _WORDS_WEIGHT_BESIDE_TWO, _IDENTIFIER_WEIGHT = 0.5, 0.25, 1.0
#: Weight of a model that knows only English, for other scripts.
_FOREIGN_DENSE_WEIGHT = 0.05
#: Weights of the first and the second model if the first model knows both scripts, if it does not
#: know the script of the note, and if it does not know the script of the query. Chosen on
#: tests/evaluation: between 0.7 and 0.85 the result of only one question changes.
SHARES, _FOREIGN_NOTE, _FOREIGN_QUERY = (0.6, 0.4), (0.6, 0.8), (_FOREIGN_DENSE_WEIGHT, 1.0)
#: Highest BM25 score of one term, divided by its inverse document frequency: k1 + 1, lowered for
#: the length of the chunk.
_MOST_OF_A_TERM = (1.2 + 1) * 0.6


class Fused(NamedTuple):
    """Result of the fusion.

    Attributes:
        scores: key -> score; candidates without a score are not hits.
        ranks: list (``dense``, ``bm25``) -> key -> rank from 1.
        coverage: key -> share of the query's words in the chunk, 0 to 1; only for ``weighted``.
    """

    scores: dict[Key, float]
    ranks: dict[str, dict[Key, int]]
    coverage: dict[Key, float]

    def places(self, key: Key) -> dict[str, int]:
        """List -> rank of a candidate, for each list that contains it."""
        return {name: places[key] for name, places in self.ranks.items() if key in places}


#: Score for one standard deviation of similarity above the notes of the searched projects.
_DEVIATION_SCORE = 0.12


def fuse(catalog: Catalog, request: SearchRequest, found: Candidates) -> Fused:
    """Compute the score of every candidate by the mode and the fusion of the request."""
    dense = {
        key: similarity(_scaled(found, scores), found.speaks_query, key not in found.foreign)
        for key, scores in found.dense.items()
    }
    listed = {key: score for key, score in dense.items() if key in found.listed}
    lists = {"dense": listed, "bm25": found.words}
    ranks = {name: _ranks(scores) for name, scores in lists.items() if scores}
    if request.mode == "dense":
        return Fused(dense, ranks, {})
    if request.mode == "bm25":
        return Fused(found.words, ranks, {})
    if request.fusion == "rrf":
        return Fused(_rrf(ranks), ranks, {})
    idf = catalog.words.rarity(found.terms)
    most = sum(idf.values()) * _MOST_OF_A_TERM or 1.0
    coverage = _coverage(catalog, found.rows, idf)
    # a chunk without a vector gets the average similarity of the others: with 0 it would rank last
    # even if it is the only chunk with a word of the query
    unknown = sum(listed.values()) / len(listed) if listed and found.state.is_incomplete else 0.0
    weight = _WORDS_WEIGHT_BESIDE_TWO if len(found.models) > 1 else _WORDS_WEIGHT
    weight = _IDENTIFIER_WEIGHT if request.has_identifier else weight
    scores = {
        key: dense.get(key, unknown)
        + weight * (min(1.0, found.words.get(key, 0.0) / most) + covered) / 2
        for key, covered in coverage.items()
    }
    return Fused(scores, ranks, coverage)


def _scaled(found: Candidates, scores: DenseScores) -> tuple[float | None, ...]:
    """The similarity by each model.

    With one model, the scale is standard deviations above the notes of all searched projects, so
    that it does not depend on the model.
    """
    if len(found.models) > 1:
        return tuple(near.score if near else None for near in scores)
    (model,), near = found.models, scores.first
    if near is None:
        return (None,)
    background = model.background
    return (_DEVIATION_SCORE * (near.score - background.mean) / background.deviation,)


def similarity(scores: tuple[float | None, ...], speaks_query: bool, speaks_note: bool) -> float:
    """Combine the similarities of one or two models.

    Args:
        scores: one per model; None if the model has not embedded the note.
        speaks_query: whether the first model knows the script of the query.
        speaks_note: whether the first model knows the script of the note.
    """
    first, second = (*scores, None, None)[:2]
    if second is None:
        return (first or 0.0) * (1.0 if speaks_query else _FOREIGN_DENSE_WEIGHT)
    shares = SHARES if speaks_note else _FOREIGN_NOTE
    ours, theirs = shares if speaks_query else _FOREIGN_QUERY
    return ours * (second if first is None else first) + theirs * second


def _rrf(ranks: dict[str, dict[Key, int]]) -> dict[Key, float]:
    keys = {key for places in ranks.values() for key in places}
    return {
        key: sum(1 / (_RRF_K + places[key]) for places in ranks.values() if key in places)
        for key in keys
    }


def _coverage(catalog: Catalog, rows: dict[Key, Row], idf: dict[str, float]) -> dict[Key, float]:
    most = sum(idf.values()) or 1.0
    has = catalog.terms(row.id for row in rows.values())
    return {
        key: sum(idf[term] for term in idf.keys() & has.get(row.id, ())) / most
        for key, row in rows.items()
    }


def _ranks(scores: dict[Key, float]) -> dict[Key, int]:
    order = sorted(scores, key=lambda key: (-comparable(scores[key]), key))
    return {key: place for place, key in enumerate(order, 1)}
