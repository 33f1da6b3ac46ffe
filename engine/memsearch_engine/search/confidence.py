"""Rate how probable it is that a hit answers the query.

``python -m tests.evaluation.confidence`` fits the model on the evaluation set, with its topics held
out in turn, and prints how often hits of each confidence were right. Nothing here depends on the
scale of an embedding model: a cosine counts by how far it is above those of the project's other
notes.
"""

from __future__ import annotations

from memsearch_engine.search.hits import Hit
from memsearch_engine.search.logistic import LogisticModel

_MAX_LEAD = 0.2
MODEL = LogisticModel(
    ("above", "speaks", "coverage", "lead", "behind", "first", "newer"),
    -2.93,
    (0.17, -0.28, 1.35, 23.35, 7.37, 1.79, 0.54),
)


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """The features of each hit of an answer.

    ``above``: how far its similarity is above that of the project's notes, in standard deviations;
    0 where the model does not know the script of the query (``speaks``). ``coverage``: how much of
    the query it has. ``lead``: of the first hit, its score minus that of the second, times its
    coverage: the best of unrelated notes leads, too. ``behind``: of the others, the score minus
    that of the first. ``newer``: it was put before an older version, with that one's score.

    Args:
        hits: best first. Their ``scores`` have ``coverage`` and, where known, ``above``.
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
    """Set the confidence of the hits of an answer, which are in order."""
    for hit, values in zip(hits, features(hits)):
        hit.confidence = round(MODEL.probability(values), 3)
