"""Whether a hit bears on a prompt, well enough to say it unasked.

What a search shows costs a glance; what is told unasked costs tokens and attention. So the question
is another one than that of ``search/confidence.py``, whose features it shares, and so is what it
was fitted on: prompts as people report problems, and others on which no note bears (``python -m
tests.evaluation.recall --fit``).

A decision is often a talk of several turns, none of which is sure enough by itself. Where more
notes of one talk and matter are among the
hits than chance puts there, each is likelier: then it needs to be surer, since routine notes stand
together, too.
"""

from __future__ import annotations

import math

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import confidence
from memsearch_engine.search.hits import Hit

FEATURES = ("above", "coverage", "lead", "behind", "first")
BIAS = -7.45
WEIGHTS = (1.33, 3.56, 10.62, 1.24, 0.21)
#: From here on a note is told: of prompts on which nothing bears one in twelve is told something.
ENOUGH = 0.4
#: What the notes beside it add (by ``beside``), where that makes it so sure: from 0.75 on, twice as
#: many are told that bear, and wrong ones in 15 of 100 prompts on which nothing bears.
_BESIDE_WEIGHT, _ENOUGH_OF_A_TALK = 3.89, 0.9
#: So many standard deviations nearer to it than any two notes are: on its matter; nearly its words,
#: as routine notes repeat them: they bear out nothing (of notes of one talk on one matter, one pair
#: in fifty is so near).
_SAME_MATTER, _SAME_WORDS = 1.0, 4.5


def features(hits: list[Hit]) -> list[tuple[float, ...]]:
    """Those of ``confidence.features`` that tell something about prompts. Where the model doesn't
    speak the prompt's script, ``above`` is 0 and nothing is likely enough.
    """
    return [
        (above, coverage, lead, behind, first)
        for above, _, coverage, lead, behind, first, _ in confidence.features(hits)
    ]


def beside(catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit]) -> list[float]:
    """How many others of *hits* are of each one's talk and matter, more than there would be by
    chance (logarithm).
    """
    talks: dict[tuple[str, ...], list[Hit]] = {}
    for hit in hits:
        if hit.row.session:
            talks.setdefault((hit.row.path, hit.row.agent, hit.row.session), []).append(hit)
    vectors = space.vectors(project.collection, [hit.row.chunk_id for hit in hits])
    usual, notes = space.usual(project.collection), catalog.statistics.distinct_chunks(project.id)
    found: dict[int, float] = {}
    for talk in talks.values():
        by_chance = (
            (len(hits) - 1) * (len(catalog.conversation(talk[0].row)) - 1) / max(1, notes - 1)
            if len(talk) > 1
            else 0.0
        )
        for hit in talk:
            own = vectors.get(hit.row.chunk_id)
            nearness = [
                usual.above(float(own @ vectors[other.row.chunk_id]))
                for other in talk
                if other is not hit and own is not None and other.row.chunk_id in vectors
            ]
            near = sum(_SAME_MATTER <= one < _SAME_WORDS for one in nearness)
            found[id(hit)] = math.log1p(max(0.0, near - by_chance))
    return [found.get(id(hit), 0.0) for hit in hits]


def rate(hits: list[Hit], others: list[float]) -> None:
    """Set the confidence of *hits*, a search's for a prompt, to how likely each bears on it.
    *others*: by ``beside``.
    """
    for hit, row, more in zip(hits, features(hits), others):
        log_odds = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, row))
        alone, together = (
            1 / (1 + math.exp(-value)) for value in (log_odds, log_odds + _BESIDE_WEIGHT * more)
        )
        hit.confidence = round(together if together >= _ENOUGH_OF_A_TALK else alone, 3)
        if more and together >= _ENOUGH_OF_A_TALK > alone:
            hit.reasons.append("more of that talk bears on it")
