"""A logistic regression as the product ships it. ``python -m tests.evaluation`` fits them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class LogisticModel(NamedTuple):
    """Weights of named features.

    Attributes:
        features: names, in the order of ``weights`` and of the values that are rated.
        bias: the log odds where every value is 0.
    """

    features: tuple[str, ...]
    bias: float
    weights: tuple[float, ...]

    def log_odds(self, values: Sequence[float]) -> float:
        return self.bias + sum(weight * value for weight, value in zip(self.weights, values))

    def probability(self, values: Sequence[float]) -> float:
        """Between 0 and 1."""
        return probability(self.log_odds(values))


def probability(log_odds: float) -> float:
    """The probability of some log odds."""
    return 1 / (1 + math.exp(-log_odds))
