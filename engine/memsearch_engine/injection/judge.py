"""Rate how probable it is that a note is relevant to a prompt, to decide on its injection.

A wrong hit of a search costs a glance, but wrong injected text costs tokens and attention. This
module therefore has its own model, with features of ``search/confidence.py``. It was fitted on
prompts in which people report problems, and on prompts without a relevant note (``python -m
tests.evaluation.recall --fit``).

A decision is often made in a conversation of several turns, and no single turn is probable enough.
If the hits contain more notes of one conversation and topic than expected by chance, the
probability of each is raised. The limit for such notes is higher than for others, because routine
notes are often found together, too.
"""

from __future__ import annotations

import math

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import confidence
from memsearch_engine.search.confidence import LogisticModel, probability
from memsearch_engine.search.hits import Hit

MODEL = LogisticModel(
    ("above", "coverage", "lead", "behind", "first"), -7.61, (1.39, 3.5, 9.22, 1.44, 0.17)
)
#: Least probability for injection. One in fourteen prompts without a relevant note gets a note.
ENOUGH = 0.45
#: Weight of ``companions`` in the log odds, and the probability that a note must reach with it.
#: With 0.75 instead of 0.9, twice as many relevant notes are injected, but 15 of 100 prompts
#: without a relevant note get a wrong note.
_COMPANION_WEIGHT, _ENOUGH_TOGETHER = 3.89, 0.9
#: Similarity of two notes in standard deviations above any two notes. From the first value on, they
#: are on the same topic. From the second value on, they are nearly identical, as routine notes are,
#: and are not counted. One in fifty pairs of a conversation on one topic is that similar.
_SAME_TOPIC, _SAME_WORDS = 1.0, 4.5


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """The features of each hit: those of ``confidence.features`` that ``MODEL`` uses.

    If the model does not know the script of the prompt, ``above`` is 0 and no note is probable
    enough.

    Args:
        hits: best first.
    """
    return [
        (above, coverage, lead, behind, first)
        for above, _, coverage, lead, behind, first, _ in confidence.features(hits)
    ]


def companions(
    catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit]
) -> list[float]:
    """Count, for each hit, the other hits of its conversation that are on its topic.

    Returns:
        For each hit log(1 + n), where n is the count beyond that expected by chance, at least 0.
    """
    conversations: dict[tuple[str, ...], list[Hit]] = {}
    for hit in hits:
        if hit.row.session:
            conversations.setdefault((hit.row.path, hit.row.agent, hit.row.session), []).append(hit)
    vectors = space.vectors(project.collection, [hit.row.chunk_id for hit in hits])
    background, notes = (
        space.sample(project.collection).pair_background,
        catalog.statistics.distinct_chunks(project.id),
    )
    found: dict[int, float] = {}
    for own_hits in conversations.values():
        by_chance = (
            (len(hits) - 1) * (len(catalog.conversation(own_hits[0].row)) - 1) / max(1, notes - 1)
            if len(own_hits) > 1
            else 0.0
        )
        for hit in own_hits:
            own = vectors.get(hit.row.chunk_id)
            nearness = [
                background.z_score(float(own @ vectors[other.row.chunk_id]))
                for other in own_hits
                if other is not hit and own is not None and other.row.chunk_id in vectors
            ]
            near = sum(_SAME_TOPIC <= one < _SAME_WORDS for one in nearness)
            found[id(hit)] = math.log1p(max(0.0, near - by_chance))
    return [found.get(id(hit), 0.0) for hit in hits]


def rate(hits: list[Hit], companions_of: list[float]) -> None:
    """Set the confidence of each hit to the probability that it is relevant to the prompt.

    Args:
        hits: best first.
        companions_of: the result of ``companions`` for these hits.
    """
    for hit, values, more in zip(hits, features(hits), companions_of):
        log_odds = MODEL.log_odds(values)
        alone, together = probability(log_odds), probability(log_odds + _COMPANION_WEIGHT * more)
        is_together = together >= _ENOUGH_TOGETHER
        hit.confidence = round(together if is_together else alone, 3)
        if more and is_together and alone < _ENOUGH_TOGETHER:
            hit.reasons.append("more notes of that conversation are relevant")
