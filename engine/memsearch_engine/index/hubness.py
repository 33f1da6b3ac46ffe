"""What a vector is near to anyway.

A small model puts a few notes, routine ones above all, near every query: they are hubs (Radovanović, Nanopoulos, Ivanović
2010, "Hubs in Space"). What a note's cosine says about *this* query is what is left of it after its nearness to notes in
general. That is measured against a sample of its own collection, with the mean of the ``_NEAREST`` highest cosines (a local
average as in CSLS, Conneau et al. 2018). Figures: README, How well it finds.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

SAMPLE = 1_000
_NEAREST = 10
#: How much of the nearness to notes in general is taken off (chosen on tests/evaluation and three other sets).
_WEIGHT = 0.4
_ROWS = 2_048
_LEAST_DEVIATION = 0.08


class Near(NamedTuple):
    """How near a chunk is to a query. ``special``: what its hubness adds or, for a hub, takes off."""

    cosine: float
    special: float

    @property
    def score(self) -> float:
        return self.cosine + self.special


class Typical(NamedTuple):
    """Mean and standard deviation of the ``Near.score`` of a collection's notes."""

    mean: float
    deviation: float

    def above(self, score: float) -> float:
        """How many standard deviations *score* lies above the mean. Where most notes are alike there is hardly a deviation, and nothing
        would be near: then that of ordinary notes counts."""
        return (score - self.mean) / max(self.deviation, _LEAST_DEVIATION)


def sampled(chunk_ids: Iterable[str]) -> list[str]:
    """The chunks that the others of a collection are compared with: those of the lowest ids. Ids are digests, so that is a random
    sample, it is the same wherever and in whatever order it is drawn, and a new note seldom changes it."""
    return heapq.nsmallest(SAMPLE, chunk_ids)


class Sample:
    """A collection's sample, to tell how special its chunks are."""

    def __init__(self, ids: list[str], vectors: np.ndarray) -> None:
        """
        Args:
            ids: of ``sampled``, in its order; vectors: theirs, float32 of shape (len(ids), dimension), of length 1.
        """
        self.ids = ids
        self._vectors = vectors
        self._places = {chunk_id: place for place, chunk_id in enumerate(ids)}
        self._mean = 0.0
        self._special = self.special(ids, vectors)
        if ids:
            self._mean = -float(self._special.mean()) / _WEIGHT
            self._special += _WEIGHT * self._mean

    def special(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """What each chunk's cosine to a query is corrected by: below 0 for what is nearer to the sample than the sample's own notes are
        on average.

        Args:
            ids, vectors: of the chunks, as in ``__init__``; one that is in the sample is not compared with itself.
        """
        count = min(_NEAREST, len(self.ids) - 1)
        if count < 1:
            return np.zeros(len(vectors), np.float32)
        own = [self._places.get(chunk_id, -1) for chunk_id in ids]
        hubness = np.empty(len(vectors), np.float32)
        for start in range(0, len(vectors), _ROWS):
            cosines = vectors[start : start + _ROWS] @ self._vectors.T
            itself = np.array(own[start : start + _ROWS])
            rows = np.flatnonzero(itself >= 0)
            cosines[rows, itself[rows]] = -2.0
            hubness[start : start + _ROWS] = np.partition(cosines, -count, axis=1)[:, -count:].mean(axis=1)
        return _WEIGHT * (self._mean - hubness)

    def typical(self, vector: np.ndarray) -> Typical:
        """How near the collection's notes are to a query in general."""
        if len(self.ids) < 2:
            return Typical(0.0, 1.0)
        scores = self._vectors @ vector + self._special
        return Typical(float(scores.mean()), float(scores.std()))
