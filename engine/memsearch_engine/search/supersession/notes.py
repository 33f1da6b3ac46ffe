"""Score pairs of notes: how probable it is that the newer one supersedes the older one, whatever is
asked.

Two notes have one topic when they are similar and share words that hardly any other note has. A
note that repeats the other, or that is one of many of its kind (the tenth release note), supersedes
nothing. Words of change ("instead of", "any more", "raised to") say that it does. A logistic
regression over these features gives the probability. ``python -m tests.evaluation.recall --chains``
fits it and prints its precision on every pair of four sets of notes.

No language model is asked, and no note is changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.embed import speaks
from memsearch_engine.index.hubness import formula
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST
from memsearch_engine.search.logistic import LogisticModel
from memsearch_engine.search.rarity import idf_of, weights
from memsearch_engine.search.supersession.listing import STORED, changes

#: ``alike``: how similar the notes are, in standard deviations above other notes
#: (``Background.z_score``); ``repeats``: the share of the newer note's words, by rarity, that the older
#: one has; ``rare``: how many rare words both have; ``crowd``: how many other notes share as much
#: (logarithm); ``change``: words of change in the newer note (logarithm); ``few``: 1 for a project
#: with no notes, 0 from ``_MANY`` on: in a small project no note stands out and any word is rare.
MODEL = LogisticModel(
    ("alike", "repeats", "rare", "crowd", "change", "few"),
    -8.48,
    (1.93, -7.45, 0.68, -1.80, 1.38, 2.85),
)
_NEAREST = 25  # notes that each note is compared with
_RARE = 3  # notes that have a rare word, at most
_MANY = 200  # chunks
_SHOWN = 6  # words that two notes share
_AS_MUCH = 0.8  # of what a pair shares, for another note to share as much


class Pair(NamedTuple):
    """Two similar notes.

    Attributes:
        features: as ``MODEL`` rates them.
        shared: the rarest terms that both have.
    """

    older: Row
    newer: Row
    features: tuple[float, ...]
    shared: list[str]

    @property
    def names(self) -> tuple[str, str]:
        """Ids of the older and the newer entry."""
        return self.older.entry_id, self.newer.entry_id

    @property
    def probability(self) -> float:
        """That the newer note supersedes the older one."""
        return MODEL.probability(self.features)


def version(index: VectorIndex) -> str:
    """Identifies the vectors and weights that stored links come from; others are found anew."""
    return f"{index.fingerprint}/{MODEL.bias}{MODEL.weights}/{formula()}"


def compare(catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row]) -> list[Link]:
    """Compare notes with those nearest to them.

    A pair is rated from both sides, and the lower probability counts: only from one side it may be
    visible that a note is one of many.

    Args:
        rows: first chunks of the notes.

    Returns:
        The pairs that are probable enough to be stored.
    """
    found = {
        pair.names: pair
        for pair in pairs(catalog, index, project, rows, STORED)
        if pair.probability >= STORED
    }
    if not found:
        return []
    seen = {row.entry_id for row in rows}
    across = {
        note.entry_id: note
        for pair in found.values()
        for note in (pair.older, pair.newer)
        if note.entry_id not in seen
    }
    rated = {names: pair.probability for names, pair in found.items()}
    for pair in pairs(catalog, index, project, list(across.values())):
        if pair.names in rated:
            rated[pair.names] = min(rated[pair.names], pair.probability)
    return [
        Link(project.id, *names, round(rated[names], 3), pair.shared)
        for names, pair in found.items()
        if rated[names] >= STORED
    ]


def links_from(
    catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row]
) -> list[Link]:
    """What may supersede each note of *rows*: from the catalog, or compared now where the background
    comparison has not come to a note yet. So an answer does not depend on how far that is.

    Args:
        rows: first chunks of the notes.
    """
    current, names = version(index), {row.entry_id for row in rows}
    fresh = [row for row in rows if not catalog.links.is_compared(row, current)]
    found = {
        (link.older, link.newer): link
        for row in rows
        for link in catalog.links.of(project.id, older=row.entry_id)
        if row not in fresh
    }
    for link in compare(catalog, index, project, fresh) if fresh else ():
        if link.older in names:
            found.setdefault((link.older, link.newer), link)
    return list(found.values())


def pairs(
    catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row], least: float = 0.0
) -> Iterator[Pair]:
    """Each note of *rows* with the notes nearest to it.

    Left out are notes of the same minute, notes with the very same words, and notes in a script
    that the model does not know: to it, they are all alike.

    Args:
        least: leave out pairs that can't be as probable as this; counting how rare all words of a
            note are takes time.
    """
    rows = [row for row in rows if _is_comparable(index, row)]
    near = index.neighbours(project.collection, [row.chunk_id for row in rows], _NEAREST)
    known = catalog.by_chunk_id({name for names in near.values() for name, _ in names}, project.id)
    known = {name: row for name, row in known.items() if row.day and _is_comparable(index, row)}
    has = catalog.terms({row.id for row in (*rows, *known.values())})
    idf = weights(catalog, sorted(set().union(*(has.get(row.id, set()) for row in rows))))
    total = catalog.words.chunk_count()
    rare, few = idf_of(_RARE, total), 1 - min(1.0, total / _MANY)
    found: list[tuple[Pair, float]] = []  # pairs still without ``repeats``, and what they share
    for row in rows:
        others = [
            (known[name], alike) for name, alike in near.get(row.chunk_id, ()) if name in known
        ]
        others = [(other, alike) for other, alike in others if other.entry_id != row.entry_id]
        shared = {
            other.id: has.get(row.id, set()) & has.get(other.id, set()) for other, _ in others
        }
        shares = {
            name: comparable(sum(idf[term] for term in terms)) for name, terms in shared.items()
        }
        for other, alike in others:
            older, newer = sorted((row, other), key=lambda note: (note.day, note.time))
            is_same_minute = (older.day, older.time) == (newer.day, newer.time)
            if is_same_minute or has.get(older.id) == has.get(newer.id):
                continue
            share = shares[other.id]
            words = sorted(shared[other.id], key=lambda term: (-idf[term], term))
            crowd = sum(value >= comparable(_AS_MUCH * share) for value in shares.values()) - 1
            count = float(sum(idf[term] >= rare for term in words))
            change = math.log1p(len(changes(newer)))
            features = (alike, 0.0, count, math.log1p(crowd), change, few)
            pair = Pair(older, newer, features, words[:_SHOWN])
            if pair.probability >= least:
                found.append((pair, share))
    unknown = set().union(*(has.get(pair.newer.id, set()) for pair, _ in found)) - idf.keys()
    idf |= weights(catalog, sorted(unknown))
    for pair, share in found:
        repeats = share / (sum(idf[term] for term in has.get(pair.newer.id, ())) or 1.0)
        yield pair._replace(features=(pair.features[0], repeats, *pair.features[2:]))


def _is_comparable(index: VectorIndex, row: Row) -> bool:
    return speaks(index.embedder, row.embedded) and not row.heading.startswith(DIGEST)
