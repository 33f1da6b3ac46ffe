"""Fuse meaning and words into one score per candidate.

``rrf`` is reciprocal rank fusion (Cormack, Clarke, Büttcher 2009; k = 60, equal weights). The
default, ``weighted``, adds scores. Meaning is the cosine with its hubness correction
(``index/hubness.py``). Words count half by BM25, as a share of the most that the query could score,
and half by coverage: how much of the query the chunk has, rare words counting more. A BM25 hit on
one common word adds next to nothing, however high its rank.

With a second model (``search.models``), meaning is a weighted sum of both. For a query in a script
that the first model does not know, the second one decides nearly alone. Notes in such a script are
less similar to a query in another one than notes in its own script are, for either model: there
the second model weighs twice as much.
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
#: How much a full word match weighs beside a cosine of 1 (chosen on tests/evaluation): more where
#: the query has an identifier, less where two models are asked.
_WORDS_WEIGHT, _WORDS_WEIGHT_BESIDE_TWO, _IDENTIFIER_WEIGHT = 0.5, 0.25, 1.0
#: The weight of a model that knows only English, for other scripts.
_FOREIGN_DENSE_WEIGHT = 0.05
#: Weights of the first and the second model: where the first knows both scripts, where it does not
#: know the note's, and where it does not know the query's (chosen on tests/evaluation: from 0.7 to
#: 0.85 nothing changes but one question).
SHARES, _FOREIGN_NOTE, _FOREIGN_QUERY = (0.6, 0.4), (0.6, 0.8), (_FOREIGN_DENSE_WEIGHT, 1.0)
#: A chunk that is full of a term scores this much for it, times the term's inverse document
#: frequency: BM25's k1 + 1, lowered for its length.
_MOST_OF_A_TERM = (1.2 + 1) * 0.6


class Fused(NamedTuple):
    """Result of the fusion.

    Attributes:
        scores: by key; candidates without a score are no hits.
        ranks: list (``dense``, ``bm25``) -> key -> place from 1.
        coverage: share of the query that a chunk has, 0 to 1; empty unless fused by weights.
    """

    scores: dict[Key, float]
    ranks: dict[str, dict[Key, int]]
    coverage: dict[Key, float]

    def places(self, key: Key) -> dict[str, int]:
        """The place of a candidate in each list that has it."""
        return {name: places[key] for name, places in self.ranks.items() if key in places}


#: What one standard deviation of similarity above the notes of the searched projects scores.
_DEVIATION_SCORE = 0.12


def fuse(catalog: Catalog, request: SearchRequest, found: Candidates) -> Fused:
    """The score of every candidate."""
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
    # a chunk without a vector counts as if it meant what the others mean on average: else a word
    # that it alone has would not bring it up
    unknown = sum(listed.values()) / len(listed) if listed and found.state.is_incomplete else 0.0
    weight = _words_weight(request, found)
    scores = {
        key: dense.get(key, unknown)
        + weight * (min(1.0, found.words.get(key, 0.0) / most) + covered) / 2
        for key, covered in coverage.items()
    }
    return Fused(scores, ranks, coverage)


def _words_weight(request: SearchRequest, found: Candidates) -> float:
    if request.has_identifier:
        return _IDENTIFIER_WEIGHT
    return _WORDS_WEIGHT_BESIDE_TWO if len(found.models) > 1 else _WORDS_WEIGHT


def _scaled(found: Candidates, scores: DenseScores) -> tuple[float | None, ...]:
    """The similarity by each model. A model that is asked alone is put on a scale that does not
    depend on it: deviations above the notes of all searched projects.
    """
    if len(found.models) > 1:
        return tuple(near.score if near else None for near in scores)
    (model,), near = found.models, scores.first
    if near is None:
        return (None,)
    background = model.background
    return (_DEVIATION_SCORE * (near.score - background.mean) / background.deviation,)


def similarity(scores: tuple[float | None, ...], speaks_query: bool, speaks_note: bool) -> float:
    """One similarity from those of one or two models.

    Args:
        scores: by each model, None where it has not embedded the note.
        speaks_query, speaks_note: whether the first model knows the script of the query and of the
            note.
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
