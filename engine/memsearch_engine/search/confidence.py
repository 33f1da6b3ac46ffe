"""Rate how probable it is that a hit answers the query.

``python -m tests.evaluation.confidence`` fits the model on the evaluation set, cross-validated by
topic, and prints how often hits of each confidence were right. The features do not depend on the
scale of an embedding model: a cosine is measured in standard deviations above the cosines of the
project's other notes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from memsearch_engine.search.hits import Hit


class LogisticModel(NamedTuple):
    """A logistic regression model.

    Attributes:
        features: names of the features, in the order of ``weights`` and of the rated values.
        bias: the log odds if every value is 0.
        weights: one per feature.
    """

    features: tuple[str, ...]
    bias: float
    weights: tuple[float, ...]

    def log_odds(self, values: Sequence[float]) -> float:
        """The log odds for the values of the features."""
        return self.bias + sum(weight * value for weight, value in zip(self.weights, values))

    def probability(self, values: Sequence[float]) -> float:
        """The probability for the values of the features, 0 to 1."""
        return probability(self.log_odds(values))


def probability(log_odds: float) -> float:
    """Convert log odds to a probability, 0 to 1."""
    return 1 / (1 + math.exp(-log_odds))


_MAX_LEAD = 0.2
MODEL = LogisticModel(
    ("above", "speaks", "coverage", "lead", "behind", "first", "newer"),
    -2.93,
    (0.17, -0.28, 1.35, 23.35, 7.37, 1.79, 0.54),
)


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """The features of each hit of an answer.

    Args:
        hits: best first. ``Hit.scores`` contains ``coverage``, except of added newer versions, and,
            if known, ``above``.

    Returns:
        For each hit the features of ``MODEL``:

        - ``above``: similarity in standard deviations above the project's notes; 0 if unknown.
        - ``speaks``: 1 if ``above`` is known, which requires a model that knows the query's script.
        - ``coverage``: share of the query's words that the hit contains.
        - ``lead``: for the first hit, its score minus the score of the second, times its coverage.
          Without the factor, the best of several unrelated notes would have a lead, too.
        - ``behind``: for the other hits, the score minus the score of the first.
        - ``first``: 1 for the first hit.
        - ``newer``: 1 if the hit was moved before an older version and took its score.
    """
    rows: list[tuple[float, ...]] = []
    for place, hit in enumerate(hits):
        following = hits[place + 1].score if place + 1 < len(hits) else hit.score
        lead, behind = (
            (0.0, hit.score - hits[0].score)
            if place
            else (min(_MAX_LEAD, hit.score - following), 0.0)
        )
        above, coverage = hit.scores.get("above"), hit.scores.get("coverage", 0.0)
        known = (above or 0.0, float(above is not None), coverage)
        rows.append(
            (*known, lead * coverage, behind, float(not place), float("newer" in hit.scores))
        )
    return rows


def rate(hits: list[Hit]) -> None:
    """Set the confidence of the hits of an answer.

    Args:
        hits: best first.
    """
    for hit, values in zip(hits, features(hits)):
        hit.confidence = round(MODEL.probability(values), 3)
