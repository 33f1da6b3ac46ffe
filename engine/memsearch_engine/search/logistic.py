"""Logistic regression models with fixed weights. ``python -m tests.evaluation`` fits them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


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
