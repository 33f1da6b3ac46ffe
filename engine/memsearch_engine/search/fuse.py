"""Combine similarity of meaning and word matches into one score per candidate.

``rrf`` is reciprocal rank fusion (Cormack, Clarke, Büttcher 2009; k = 60, equal weights). The
default, ``weighted``, adds two scores. The score for meaning is the cosine with its hubness
correction (``index/hubness.py``). Half of the score for words is BM25, as a share of the highest
possible score of the query. The other half is coverage: the share of the query's words that the
chunk contains, weighted by rarity. A match of one common word adds almost nothing, even at rank 1.

With a second model (``search.models``), the score for meaning is a weighted sum of both models. If
the first model does not know the script of the query, almost only the second model counts. Both
models rate a note lower if its script differs from the script of the query. For notes in a script
that the first model does not know, the weight of the second model is therefore doubled.
"""

from __future__ import annotations

from typing import NamedTuple

from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.search.rarity import weights
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Candidates, DenseScores, Key

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
    idf = weights(catalog, found.terms)
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
        key: sum(idf[term] for term in idf.keys() & has.get(row.id, set())) / most
        for key, row in rows.items()
    }


def _ranks(scores: dict[Key, float]) -> dict[Key, int]:
    order = sorted(scores, key=lambda key: (-comparable(scores[key]), key))
    return {key: place for place, key in enumerate(order, 1)}
