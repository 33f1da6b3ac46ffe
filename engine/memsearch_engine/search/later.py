"""The later of two talks on one matter comes first, for a question.

A decision is often a talk of several turns, and what amends it another one, months later. Turn by
turn nothing tells so (``chains``): the note that answers best is where the matter was explained
first, and the new value stands in a turn that hardly names it. So each of the first hits is
compared with the best one of every later talk among the hits, each with what was said before and
after it in its talk. A logistic regression over these says how likely the later one is the newer
word on the matter asked about (weights and figures: ``python -m tests.evaluation.later``). Where a
note of the later talk is known to amend one of the earlier, both on the matter of the hits, it is
as likely as that. Unlike an amendment this holds for a question alone: it is neither kept nor shown
as one, both notes stay, and nothing but their order changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.hubness import Typical
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.linked import ENOUGH as AMENDS
from memsearch_engine.search.linked import changes
from memsearch_engine.search.overrides import NOTHING, Said
from memsearch_engine.search.rarity import idf_of, weights

#: How the later hit's score compares with the earlier one's (logarithm of the ratio); how near the
#: earlier hit is to what was said around the later one, itself or by way of a note that was said
#: around it, in standard deviations above any two notes (``Sample.usual``); words of change around
#: the later one, and rare words that both surroundings have (logarithms).
FEATURES = ("score", "near", "change", "rare")
BIAS = -8.37
WEIGHTS = (1.56, 1.77, 0.73, 1.56)
#: From here on the later one comes first.
ENOUGH = 0.6
#: So many hits are looked at, and so many of the first of them compared with the others.
AMONG, _FIRST = 10, 3
_BESIDE = 5  # notes before and after, that are said around one
_SAME_MATTER = (
    1.0  # so many standard deviations nearer to it than any two notes (chosen on the demo's year)
)
_RARE, _MANY_RARE = (
    3,
    12,
)  # a word that so many notes have at most, and more of them than two talks share
_LEAST_SCORE = 0.1


class Pair(NamedTuple):
    """A hit and the best one of a later talk, with their ``FEATURES``. ``amended``: how likely a
    note around the later one and on its matter amends one around the earlier one and on that one's;
    0 where it is not likely enough to be acted on.
    """

    earlier: Hit
    later: Hit
    features: tuple[float, ...]
    amended: float

    @property
    def sure(self) -> float:
        """How likely the later one is the newer word on the matter."""
        return max(likely(self.features), self.amended)


def likely(features: tuple[float, ...]) -> float:
    return 1 / (
        1 + math.exp(-(BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features))))
    )


def first(
    catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit], said: Said = NOTHING
) -> None:
    """Put hits of later talks before those to which they are the newer word, in place. Confidences
    follow, where there are any.

    Args:
        hits: in order; those of other projects stay where they are. said: the owner's words on
            what amends what.
    """
    own = [hit for hit in hits[:AMONG] if hit.row.project == project.id]
    found = sorted(
        pairs(catalog, space, project, own, said, ENOUGH),
        key=lambda pair: (pair.later.day, pair.later.time),
        reverse=True,
    )
    for pair in found:  # of several, the newest comes to stand first
        if pair.sure < ENOUGH or said.get((pair.earlier.id, pair.later.id)) is False:
            continue
        before, after = hits.index(pair.earlier), hits.index(pair.later)
        if after > before:
            hits.insert(before, hits.pop(after))
            pair.later.score = pair.earlier.score
        if pair.earlier.confidence is not None:
            sure = round(pair.sure * pair.earlier.confidence, 3)
            pair.later.confidence = max(pair.later.confidence or 0.0, sure)
        pair.later.precedes = [*pair.later.precedes, pair.earlier.id]
        pair.later.reasons.append(
            f"of a later talk on the matter of {pair.earlier.day} ({pair.sure:.0%} sure)"
        )
    for rank, hit in enumerate(hits, 1):
        hit.rank = rank


def pairs(
    catalog: Catalog,
    space: VectorIndex,
    project: Project,
    hits: list[Hit],
    said: Said = NOTHING,
    least: float = 0.0,
) -> Iterator[Pair]:
    """Each of the first of a project's *hits* with the best one of every later talk among them.

    Args:
        least: pairs that are hardly ever as likely as this are left out: how rare all words of
            a talk are takes time to find out.
    """
    best: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        if (
            hit.row.session
            and hit.row.day
            and not hit.row.heading.startswith(DIGEST)
            and "superseded-by" not in hit.row.marks
        ):
            best.setdefault((hit.row.agent, hit.row.session), hit)
    leading = [hit for hit in hits[:_FIRST] if hit.row.session and hit.row.day and hit.score > 0]
    compared = [*leading, *best.values()]
    around = {hit.id: catalog.around(hit.row, _BESIDE) for hit in compared}
    rows = {
        row.id: row
        for row in (
            *(hit.row for hit in compared),
            *(row for talk in around.values() for row in talk),
        )
    }
    vectors = space.vectors(project.collection, [row.chunk_id for row in rows.values()])
    has, usual = catalog.terms(rows), space.usual(project.collection)
    terms = {
        name: {term for row in talk for term in has.get(row.id, ())}
        for name, talk in around.items()
    }
    matter = {hit.id: _matter(hit.row, around[hit.id], vectors, usual) for hit in compared}
    change = {
        name: math.log1p(len({word for row in talk for word in changes(row)}))
        for name, talk in around.items()
    }
    found: list[
        tuple[Pair, set[str]]
    ] = []  # without how many rare words they share; and what they share
    for earlier in leading:
        links = [
            link for name in matter[earlier.id] for link in catalog.links.of(project.id, older=name)
        ]
        for talk, later in best.items():
            one, other = earlier.row, later.row
            if talk == (one.agent, one.session) or (other.day, other.time) <= (one.day, one.time):
                continue
            score = math.log(max(later.score / earlier.score, _LEAST_SCORE))
            near = usual.above(_by_way(one, around[earlier.id], around[later.id], vectors))
            amended = _amended(links, said, matter[later.id], (earlier.id, later.id))
            shared = terms[earlier.id] & terms[later.id]
            pair = Pair(
                earlier,
                later,
                (score, near, change[later.id], math.log1p(min(len(shared), _MANY_RARE))),
                amended,
            )
            if pair.sure >= least:
                found.append((pair, shared))
    idf = weights(catalog, sorted(set().union(*(shared for _, shared in found))))
    rare = idf_of(_RARE, catalog.words.chunk_count())
    for pair, shared in found:
        count = sum(idf[term] >= rare for term in shared)
        yield pair._replace(features=(*pair.features[:-1], math.log1p(count)))


def _by_way(
    one: Row, before: list[Row], after: list[Row], vectors: Mapping[str, np.ndarray]
) -> float:
    """How near (cosine) a note is to the nearest of *after*, itself or by way of one of *before*:
    as near as the farther step of the two.
    """
    own = vectors.get(one.chunk_id)
    theirs, ours = (
        [vectors[row.chunk_id] for row in rows if row.chunk_id in vectors]
        for rows in (before, after)
    )
    if own is None or not ours:
        return 0.0
    first, second = np.array(theirs) @ own, (np.array(theirs) @ np.array(ours).T).max(axis=1)
    return float(np.minimum(first, second).max())


def _matter(
    one: Row, talk: list[Row], vectors: Mapping[str, np.ndarray], usual: Typical
) -> set[str]:
    """The entries of what was said around a note that are on its matter, itself among them."""
    own = vectors.get(one.chunk_id)
    return {one.entry_id} | {
        row.entry_id
        for row in talk
        if own is not None
        and row.chunk_id in vectors
        and usual.above(float(own @ vectors[row.chunk_id])) >= _SAME_MATTER
    }


def _amended(links: list[Link], said: Said, matter: set[str], direct: tuple[str, str]) -> float:
    """How likely one of *matter* amends what was said, as *links* have it; 0 where it is not likely
    enough. That one hit amends another itself is decided elsewhere (*direct*).
    """
    sure = 0.0
    for link in links:
        names = link.older, link.newer
        if link.newer in matter and names != direct:
            word = said.get(names)
            sure = max(sure, link.sure if word is None else float(word))
    return sure if sure >= AMENDS else 0.0
