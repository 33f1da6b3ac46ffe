"""Score pairs of conversations: how probable it is that the later one changes what the earlier one
says about a question.

A decision is often a conversation of several turns, and another one changes it months later. Turn
by turn nothing shows this (``supersession.notes``): the note that answers best is where the topic
was explained first, and the new value is in a turn that hardly names it. So each of the first hits
is compared with the best hit of every later conversation, each with the turns around it. A logistic
regression gives the probability (``python -m tests.evaluation.later`` fits it). Where a note of the
later conversation is known to supersede one of the earlier, both on the topic of the hits, the pair
is at least as probable as that.

Unlike the supersession of a note this holds for one question. It is not stored and not shown as
one: both notes stay, only their order changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

import numpy as np

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.hubness import Background
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.logistic import LogisticModel
from memsearch_engine.search.rarity import idf_of, weights
from memsearch_engine.search.supersession.listing import ENOUGH as SUPERSEDES
from memsearch_engine.search.supersession.listing import changes
from memsearch_engine.search.supersession.notes import links_from
from memsearch_engine.search.supersession.overrides import NONE, Overrides

#: ``score``: how the later hit's score compares with the earlier one's (logarithm of the ratio);
#: ``near``: how similar the earlier hit is to the turns around the later one, itself or by way of a
#: turn around it, in standard deviations above any two notes; ``change``: words of change around
#: the later one, and ``rare``: rare words that both surroundings have (logarithms).
MODEL = LogisticModel(("score", "near", "change", "rare"), -8.37, (1.56, 1.77, 0.73, 1.56))
#: From here on the later one comes first.
ENOUGH = 0.6
#: Hits that are compared, and how many of the first of them are compared with all others.
CONSIDERED, _FIRST = 10, 3
_AROUND = 5  # turns before and after a hit
#: Similarity in standard deviations above any two notes, from which two notes have one topic
#: (chosen on the demo's year).
_SAME_TOPIC = 1.0
_RARE = 3  # notes that have a rare word, at most
_MANY_RARE = 12  # more rare words than two conversations share
_LEAST_SCORE = 0.1


class Pair(NamedTuple):
    """A hit and the best hit of a later conversation.

    Attributes:
        features: as ``MODEL`` rates them.
        linked: the probability that a note around the later hit and on its topic supersedes one
            around the earlier hit; 0 where it is too low to act on.
    """

    earlier: Hit
    later: Hit
    features: tuple[float, ...]
    linked: float

    @property
    def probability(self) -> float:
        """That the later conversation changes what the earlier one says."""
        return max(MODEL.probability(self.features), self.linked)


class _Surroundings:
    """The turns around hits, with what their comparison needs."""

    def __init__(
        self, catalog: Catalog, index: VectorIndex, project: Project, hits: list[Hit]
    ) -> None:
        self.turns = {hit.id: catalog.around(hit.row, _AROUND) for hit in hits}
        rows = {row.id: row for row in (hit.row for hit in hits)}
        rows |= {row.id: row for turns in self.turns.values() for row in turns}
        self.vectors: Mapping[str, np.ndarray] = index.vectors(
            project.collection, [row.chunk_id for row in rows.values()]
        )
        self.background: Background = index.pair_background(project.collection)
        has = catalog.terms(rows)
        self.terms = {
            name: {term for row in turns for term in has.get(row.id, ())}
            for name, turns in self.turns.items()
        }
        self.change = {
            name: math.log1p(len({word for row in turns for word in changes(row)}))
            for name, turns in self.turns.items()
        }
        self.topic = {hit.id: self._topic(hit.row) for hit in hits}

    def _topic(self, row: Row) -> dict[str, Row]:
        """The entries around a hit that have its topic, by id; its own among them."""
        own = self.vectors.get(row.chunk_id)
        turns = (
            turn
            for turn in self.turns[row.entry_id]
            if own is not None
            and turn.chunk_id in self.vectors
            and self.background.z_score(float(own @ self.vectors[turn.chunk_id])) >= _SAME_TOPIC
        )
        return {turn.entry_id: turn for turn in (row, *turns)}

    def near(self, earlier: Hit, later: Hit) -> float:
        """How similar the earlier hit is to the nearest turn around the later one, itself or by way
        of a turn around it: as similar as the farther of both steps.
        """
        own = self.vectors.get(earlier.row.chunk_id)
        ours, theirs = (
            [
                self.vectors[row.chunk_id]
                for row in self.turns[hit.id]
                if row.chunk_id in self.vectors
            ]
            for hit in (later, earlier)
        )
        cosine = 0.0
        if own is not None and ours and theirs:
            first = np.array(theirs) @ own
            second = (np.array(theirs) @ np.array(ours).T).max(axis=1)
            cosine = float(np.minimum(first, second).max())
        return self.background.z_score(cosine)


def pairs(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    hits: list[Hit],
    overrides: Overrides = NONE,
    least: float = 0.0,
) -> Iterator[Pair]:
    """Each of the first of a project's *hits* with the best hit of every later conversation.

    Args:
        least: leave out pairs that are hardly ever as probable as this; counting how rare all words
            of a conversation are takes time.
    """
    best: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        is_old = hit.row.heading.startswith(DIGEST) or "superseded-by" in hit.row.marks
        if _has_turns(hit) and not is_old:
            best.setdefault((hit.row.agent, hit.row.session), hit)
    leading = [hit for hit in hits[:_FIRST] if _has_turns(hit) and hit.score > 0]
    around = _Surroundings(catalog, index, project, [*leading, *best.values()])
    found: list[tuple[Pair, set[str]]] = []  # pairs still without ``rare``, and what they share
    for earlier in leading:
        links = links_from(catalog, index, project, list(around.topic[earlier.id].values()))
        for conversation, later in best.items():
            one, other = earlier.row, later.row
            is_later = (other.day, other.time) > (one.day, one.time)
            if conversation == (one.agent, one.session) or not is_later:
                continue
            score = math.log(max(later.score / earlier.score, _LEAST_SCORE))
            shared = around.terms[earlier.id] & around.terms[later.id]
            most_rare = math.log1p(min(len(shared), _MANY_RARE))
            features = (score, around.near(earlier, later), around.change[later.id], most_rare)
            linked = _linked(
                links, overrides, around.topic[later.id].keys(), (earlier.id, later.id)
            )
            pair = Pair(earlier, later, features, linked)
            if pair.probability >= least:
                found.append((pair, shared))
    idf = weights(catalog, sorted(set().union(*(shared for _, shared in found))))
    rare = idf_of(_RARE, catalog.words.chunk_count())
    for pair, shared in found:
        count = sum(idf[term] >= rare for term in shared)
        yield pair._replace(features=(*pair.features[:-1], math.log1p(count)))


def _has_turns(hit: Hit) -> bool:
    return bool(hit.row.session and hit.row.day)


def _linked(
    links: list[Link], overrides: Overrides, topic: Set[str], direct: tuple[str, str]
) -> float:
    """How probable it is that an entry of *topic* supersedes one around the earlier hit; 0 where it
    is not probable enough.

    Args:
        links: from the entries around the earlier hit.
        direct: the two hits themselves, which ``supersession.notes`` decides.
    """
    most = 0.0
    for link in links:
        names = link.older, link.newer
        if link.newer in topic and names != direct:
            said = overrides.get(names)
            most = max(most, link.sure if said is None else float(said))
    return most if most >= SUPERSEDES else 0.0
