"""Add to each hit the reasons why it was found and the probability that it answers the query."""

from __future__ import annotations

from memsearch_engine.index.hubness import Background
from memsearch_engine.search import confidence, lexical
from memsearch_engine.search.fuse import SHARES
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.retrieve import Candidates, DenseScores, Key, Sources

#: A smaller hubness correction is not mentioned.
_WORTH_MENTIONING = 0.02


def score_parts(found: Candidates, key: Key) -> dict[str, float]:
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


def explain(hits: list[Hit], terms: list[str]) -> None:
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
