"""Score pairs of conversations: the probability that the later one changes the earlier answer.

A decision is often made in a conversation of several turns, and changed in another conversation
months later. Comparing single notes (``supersession.notes``) does not show this. The note that
answers best is the one that explained the topic first, and the new value is in a turn that hardly
names the topic. Therefore each of the first hits is compared with the best hit of every later
conversation, each together with the turns around it. A logistic regression gives the probability
(``python -m tests.evaluation.later`` fits it). If a note of the later conversation supersedes a
note of the earlier one, and both are on the topic of the hits, that probability is the minimum.

Unlike the supersession of notes, the result is valid for one query only. It is not stored and not
shown as supersession: both notes remain hits, and only their order changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

import numpy as np

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.catalog.words import idf_of
from memsearch_engine.index.hubness import Background
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST
from memsearch_engine.search.confidence import LogisticModel
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.supersession.listing import ENOUGH as SUPERSEDES
from memsearch_engine.search.supersession.listing import NONE, Overrides, changes
from memsearch_engine.search.supersession.notes import links_from

#: ``score``: logarithm of the later hit's score divided by the earlier hit's score.
#: ``near``: similarity of the earlier hit to the turns around the later one, in standard deviations
#: above any two notes (``_Surroundings.near``).
#: ``change``: logarithm of the number of words of change around the later hit.
#: ``rare``: logarithm of the number of rare words that occur around both hits.
MODEL = LogisticModel(("score", "near", "change", "rare"), -8.37, (1.56, 1.77, 0.73, 1.56))
#: From this probability on, the later hit is moved before the earlier one.
ENOUGH = 0.6
#: Number of hits that are compared, and number of the first hits that are compared with them.
CONSIDERED, _FIRST = 10, 3
_AROUND = 5  # turns before and after a hit
#: From this similarity on, in standard deviations above any two notes, two notes are on the same
#: topic (chosen on the demo's year).
_SAME_TOPIC = 1.0
_RARE = 3  # a rare word occurs in at most this many notes
_MANY_RARE = 12  # upper bound for the rare words that two conversations share
_LEAST_SCORE = 0.1


class ConversationPair(NamedTuple):
    """A hit and the best hit of a later conversation.

    Attributes:
        earlier: one of the first hits.
        later: a hit of a later conversation.
        features: the features of ``MODEL``.
        linked: the probability that a note around the later hit supersedes a note around the
            earlier hit, both on the topic of their hit; 0 if it is too low to act on.
    """

    earlier: Hit
    later: Hit
    features: tuple[float, ...]
    linked: float

    @property
    def probability(self) -> float:
        """The probability that the later conversation changes the earlier answer, 0 to 1."""
        return max(MODEL.probability(self.features), self.linked)


class _Surroundings:
    """The turns around hits, with their vectors, terms and words of change."""

    def __init__(
        self, catalog: Catalog, index: VectorIndex, project: Project, hits: list[Hit]
    ) -> None:
        self.turns = {hit.id: catalog.around(hit.row, _AROUND) for hit in hits}
        rows = {hit.row.id: hit.row for hit in hits}
        rows |= {row.id: row for turns in self.turns.values() for row in turns}
        self.vectors: Mapping[str, np.ndarray] = index.vectors(
            project.collection, [row.chunk_id for row in rows.values()]
        )
        self.background: Background = index.sample(project.collection).pair_background
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
        """Id -> entry, for the entries around a hit that are on its topic, and its own entry."""
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
        """Similarity of the earlier hit to the most similar turn around the later one.

        The connection may lead through a turn around the earlier hit. The lower similarity of the
        two steps then counts.

        Returns:
            Standard deviations above any two notes.
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
) -> Iterator[ConversationPair]:
    """Pair each of the first hits with the best hit of every later conversation.

    Args:
        hits: of this project, best first.
        overrides: the owner's decisions.
        least: skip pairs that can hardly reach this probability, because counting the rare words of
            a conversation takes time.
    """
    best: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        is_old = hit.row.heading.startswith(DIGEST) or "superseded-by" in hit.row.marks
        if _has_turns(hit) and not is_old:
            best.setdefault((hit.row.agent, hit.row.session), hit)
    leading = [hit for hit in hits[:_FIRST] if _has_turns(hit) and hit.score > 0]
    later_than = {hit.id: _later(hit, best) for hit in leading}
    leading = [hit for hit in leading if later_than[hit.id]]
    if not leading:
        return
    compared = {hit.id: hit for first in leading for hit in (first, *later_than[first.id])}
    around = _Surroundings(catalog, index, project, list(compared.values()))
    found: list[
        tuple[ConversationPair, set[str]]
    ] = []  # pairs without ``rare`` yet, and their shared terms
    for earlier in leading:
        links = links_from(catalog, index, project, list(around.topic[earlier.id].values()))
        for later in later_than[earlier.id]:
            score = math.log(max(later.score / earlier.score, _LEAST_SCORE))
            shared = around.terms[earlier.id] & around.terms[later.id]
            most_rare = math.log1p(min(len(shared), _MANY_RARE))
            features = (score, around.near(earlier, later), around.change[later.id], most_rare)
            linked = _linked(
                links, overrides, around.topic[later.id].keys(), (earlier.id, later.id)
            )
            pair = ConversationPair(earlier, later, features, linked)
            if pair.probability >= least:
                found.append((pair, shared))
    idf = catalog.words.rarity(sorted(set().union(*(shared for _, shared in found))))
    rare = idf_of(_RARE, catalog.words.chunk_count())
    for pair, shared in found:
        count = sum(idf[term] >= rare for term in shared)
        yield pair._replace(features=(*pair.features[:-1], math.log1p(count)))


def _later(earlier: Hit, best: Mapping[tuple[str, str], Hit]) -> list[Hit]:
    """The best hits of other conversations that are later than a hit."""
    one = earlier.row
    return [
        later
        for conversation, later in best.items()
        if conversation != (one.agent, one.session)
        and (later.row.day, later.row.time) > (one.day, one.time)
    ]


def _has_turns(hit: Hit) -> bool:
    return bool(hit.row.session and hit.row.day)


def _linked(
    links: list[Link], overrides: Overrides, topic: Set[str], direct: tuple[str, str]
) -> float:
    """The probability that an entry of *topic* supersedes an entry around the earlier hit.

    Args:
        links: links from the entries around the earlier hit.
        topic: ids of the entries around the later hit that are on its topic.
        direct: ids of the two hits themselves, which ``supersession.notes`` compares.

    Returns:
        0 if the probability is too low to act on.
    """
    most = 0.0
    for link in links:
        names = link.older, link.newer
        if link.newer in topic and names != direct:
            decision = overrides.get(names)
            most = max(most, link.sure if decision is None else float(decision))
    return most if most >= SUPERSEDES else 0.0
