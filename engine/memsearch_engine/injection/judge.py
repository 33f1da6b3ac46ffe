"""Rate how probable it is that a note is relevant to a prompt, to inject it unasked.

A hit of a search costs a glance; injected text costs tokens and attention. So this is another
question than that of ``search/confidence.py``, whose features it shares, and it was fitted on other
texts: prompts as people report problems, and prompts for which no note is relevant (``python -m
tests.evaluation.recall --fit``).

A decision is often a conversation of several turns, none of which is probable enough by itself.
Where more notes of one conversation and topic are among the hits than chance puts there, each is
more probable. Such a note must be rated higher than others, since routine notes are found together,
too.
"""

from __future__ import annotations

import math

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import confidence
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.logistic import LogisticModel, probability

MODEL = LogisticModel(
    ("above", "coverage", "lead", "behind", "first"), -7.45, (1.33, 3.56, 10.62, 1.24, 0.21)
)
#: From here on a note is injected. Of prompts without a relevant note, one in twelve gets a note.
ENOUGH = 0.4
#: What each other note of the conversation (``companions``) adds to the log odds, and the
#: probability that a note must reach by it. From 0.75 on, twice as many relevant notes are
#: injected, and wrong ones at 15 of 100 prompts without a relevant note.
_COMPANION_WEIGHT, _ENOUGH_TOGETHER = 3.89, 0.9
#: Similarity of two notes in standard deviations above any two notes: from the first on they have
#: one topic; from the second on they have nearly the same words, as routine notes do, and say
#: nothing about each other (one pair in fifty of a conversation on one topic is so similar).
_SAME_TOPIC, _SAME_WORDS = 1.0, 4.5


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """Those of ``confidence.features`` that say something about prompts. Where the model does not
    know the script of the prompt, ``above`` is 0 and no note is probable enough.
    """
    return [
        (above, coverage, lead, behind, first)
        for above, _, coverage, lead, behind, first, _ in confidence.features(hits)
    ]


def companions(
    catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit]
) -> list[float]:
    """For each hit, how many other hits have its conversation and topic, beyond what chance would
    give (logarithm of one more).
    """
    conversations: dict[tuple[str, ...], list[Hit]] = {}
    for hit in hits:
        if hit.row.session:
            conversations.setdefault((hit.row.path, hit.row.agent, hit.row.session), []).append(hit)
    vectors = space.vectors(project.collection, [hit.row.chunk_id for hit in hits])
    background, notes = (
        space.pair_background(project.collection),
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
    """Set the confidence of the hits of a prompt to the probability that each is relevant.

    Args:
        companions_of: of each hit, as ``companions`` returns it.
    """
    for hit, values, more in zip(hits, features(hits), companions_of):
        log_odds = MODEL.log_odds(values)
        alone, together = probability(log_odds), probability(log_odds + _COMPANION_WEIGHT * more)
        is_together = together >= _ENOUGH_TOGETHER
        hit.confidence = round(together if is_together else alone, 3)
        if more and is_together and alone < _ENOUGH_TOGETHER:
            hit.reasons.append("more notes of that conversation are relevant")
