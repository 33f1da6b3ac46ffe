"""How likely a hit answers what was asked: a logistic regression over what can be explained of it.

``python -m tests.evaluation.confidence`` fits the weights on the evaluation set, with its topics
held out in turn, and prints how often hits of each confidence were right. Nothing here depends on
the model's own scale: what is taken of a cosine is how far it lies above those of the project's
other notes.
"""

from __future__ import annotations

import math

from memsearch_engine.search.hits import Hit

_MAX_LEAD = 0.2
FEATURES = ("above", "speaks", "coverage", "lead", "behind", "first", "newer")
BIAS = -2.93
WEIGHTS = (0.17, -0.28, 1.35, 23.35, 7.37, 1.79, 0.54)


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """What of each hit of an answer, best first, tells whether it is right.

    ``above``: standard deviations that its meaning lies above those of the project's notes, 0 where
    the model doesn't speak the query's script (``speaks``). ``coverage``: how much of what was
    asked it has. ``lead``: of the first, its score less the second's, as far as its words bear it
    out (the best of notes that all have nothing to do with it leads, too); ``behind``: of the
    others, less the first's. ``newer``: it was put before an older word on the same matter, with
    that one's score. ``scores`` of the hits must have ``above`` and ``coverage``.
    """
    rows: list[tuple[float, ...]] = []
    for place, hit in enumerate(hits):
        following = hits[place + 1].score if place + 1 < len(hits) else hit.score
        lead, behind = (
            (0.0, hit.score - hits[0].score)
            if place
            else (min(_MAX_LEAD, hit.score - following), 0.0)
        )
        above, coverage = hit.scores.get("above"), hit.scores["coverage"]
        known = (above or 0.0, float(above is not None), coverage)
        rows.append(
            (*known, lead * coverage, behind, float(not place), float("newer" in hit.scores))
        )
    return rows


def rate(hits: list[Hit]) -> None:
    """Set the confidence of *hits*, an answer's, best first and complete as far as it goes."""
    for hit, row in zip(hits, features(hits)):
        log_odds = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, row))
        hit.confidence = round(1 / (1 + math.exp(-log_odds)), 3)
