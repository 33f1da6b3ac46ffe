"""Whether a hit bears on a prompt, well enough to say it unasked.

What a search shows costs a glance; what is told unasked costs tokens and attention. So the question is another one than that of
``search/confidence.py``, whose features it shares, and so is what it was fitted on: prompts as people report problems, and others on
which no note bears (``python -m tests.evaluation.recall --fit``).
"""

from __future__ import annotations

import math

from memsearch_engine.search import confidence
from memsearch_engine.search.hits import Hit

FEATURES = ("above", "coverage", "lead", "behind", "first")
BIAS = -7.45
WEIGHTS = (1.33, 3.56, 10.62, 1.24, 0.21)
#: From here on a note is told: of prompts on which nothing bears one in twelve is told something.
ENOUGH = 0.4


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """Those of ``confidence.features`` that tell something about prompts. Where the model doesn't speak the prompt's script, ``above`` is 0
    and nothing is likely enough."""
    return [
        (above, coverage, lead, behind, first)
        for above, _, coverage, lead, behind, first, _ in confidence.features(hits)
    ]


def rate(hits: list[Hit]) -> None:
    """Set the confidence of *hits*, a search's for a prompt, to how likely each bears on it."""
    for hit, row in zip(hits, features(hits)):
        log_odds = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, row))
        hit.confidence = round(1 / (1 + math.exp(-log_odds)), 3)
