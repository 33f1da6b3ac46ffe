"""Correct cosines for hubness: how near a vector is to notes in general.

A small model puts a few notes, routine ones above all, near every query. Such notes are hubs
(Radovanović, Nanopoulos, Ivanović 2010, "Hubs in Space"). A note's hubness is the mean of its
``_NEAREST`` highest cosines to a sample of its own collection, a local average as in CSLS (Conneau
et al. 2018). A part of it is subtracted from the note's cosine to a query. Figures: docs/evaluation.md,
How good is the search.

A note that is unlike all others gains by the correction, but at most ``_MOST``. Among thousands of
routine notes, a higher gain marks a language or a form that no other note has; such a note would
come first for every query.

All vectors of some models (E5's) point in one direction, and in another one for each script:
cosines of any two notes are above 0.75, and a query in Chinese is near to every Chinese note. For
these models the mean vector of the script is subtracted first ("all but the top", Mu and Viswanath
2018); vectors are then called centered.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

SAMPLE = 1_000
_NEAREST = 10
#: The share of a note's hubness that is subtracted (chosen on tests/evaluation and three other
#: sets).
_WEIGHT = 0.4
#: The most that the correction adds to a cosine (chosen on tests/evaluation: with 3,400 and with
#: 30,000 routine notes 0.12 to 0.15 is best).
_MOST = 0.14
_ROWS = 2_048  # rows of a matrix product at once
_PAIRED = 256  # notes of the sample that are compared with each other
_MIN_DEVIATION = 0.08
#: A handful of notes, two of them on one topic, deviates widely. The deviation is drawn towards
#: this one as if there were so many more notes.
_PRIOR_DEVIATION, _PRIOR_NOTES = 0.12, 32
#: The same for the background of a query, in which no pair of notes on one topic counts.
_PRIOR_NOTES_OF_QUERY = 4
#: The least spread of ``Closeness`` in standard deviations of any two notes' cosines.
_MIN_SPREAD = 2.5
#: Digits of a cosine that count. Single precision errs in the seventh digit, on each CPU in another
#: way and at each place of a matrix in another way: copies of a vector have cosines that differ.
DIGITS = 5
_SELF_COSINE = 0.999  # the cosine of a note to itself and to its copies
#: So many notes of a script count as much as the ordinary texts: the mean of two notes says little,
#: and a query may be in a script that no note has.
_ORDINARY_NOTES = 16


class DenseScore(NamedTuple):
    """How near a chunk is to a query. ``hubness_correction`` is below 0 for a hub."""

    cosine: float
    hubness_correction: float

    @property
    def score(self) -> float:
        return self.cosine + self.hubness_correction


class Background(NamedTuple):
    """The mean and the standard deviation of the scores of a collection's notes, for one query or
    between any two notes.
    """

    mean: float
    deviation: float

    def z_score(self, score: float) -> float:
        """How many standard deviations *score* lies above the mean. Very small deviations are
        raised to a minimum: where most notes are alike, nothing would be near.
        """
        return (score - self.mean) / max(self.deviation, _MIN_DEVIATION)


class Closeness(NamedTuple):
    """How close two notes of a collection are, on a scale that does not depend on the model:
    0 for any two notes, 1 for a note and one of those nearest to it.

    Attributes:
        background: mean cosine of any two notes.
        spread: how much higher the mean cosine of a note and those nearest to it is.
    """

    background: float
    spread: float

    def of(self, cosine: float, corrections: float) -> float:
        """
        Args:
            corrections: the sum of the hubness corrections of both notes, which says how near each
                is to notes in general.
        """
        return (cosine + corrections / (2 * _WEIGHT) - self.background) / self.spread


class QueryVector(NamedTuple):
    """A query as a vector of length 1, float32 of shape (dimension,).

    ``script`` is that of its words (``analyze.script``); None marks the vector of a note as its
    collection returns it, which is centered already.
    """

    vector: np.ndarray
    script: str | None = None


class HubnessSample:
    """A sample of a collection's chunks, against which the hubness of others is measured."""

    def __init__(
        self,
        ids: list[str],
        vectors: np.ndarray,
        scripts: list[str] = [],  # noqa: B006
        ordinary: dict[str, np.ndarray] | None = None,
    ) -> None:
        """
        Args:
            ids: the chunks, as ``sampled`` returns them.
            vectors: theirs, float32 of shape (len(ids), dimension), of length 1.
            scripts: theirs.
            ordinary: the mean vector of ordinary texts by script, for a model whose vectors are
                centered.
        """
        self.ids = ids
        self._made_of = vectors, scripts
        self._common: dict[str, np.ndarray] | None = None
        if ordinary is not None:
            self._common = {
                script: _common(
                    vectors[[place for place, of in enumerate(scripts) if of == script]], mean
                )
                for script, mean in ordinary.items()
            }
        self._vectors = vectors = self.centered(vectors, scripts)
        self._places = {chunk_id: place for place, chunk_id in enumerate(ids)}
        hubness = self._hubness(ids, vectors)
        self._mean = float(hubness.mean()) if ids else 0.0
        self._corrections = self._corrected(hubness)

    @cached_property
    def name(self) -> str:
        """A digest of all that the corrections depend on. It reads all vectors: use it once, at the
        start.
        """
        # of the vectors as they are stored: what is computed of them differs between CPUs
        vectors, scripts = self._made_of
        names = "\n".join([*self.ids, *(scripts if self._common else ()), formula()])
        return hashlib.blake2b(names.encode() + vectors.tobytes(), digest_size=12).hexdigest()

    def hubness_corrections(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """What to add to each chunk's cosine: float32 of shape (len(ids),). Below 0 for a chunk
        that is nearer to the sample than the sample's chunks are on average.

        Args:
            ids, vectors: of the chunks, as for ``__init__``. A chunk of the sample is not compared
                with itself.
        """
        return self._corrected(self._hubness(ids, vectors))

    def _corrected(self, hubness: np.ndarray) -> np.ndarray:
        corrections: np.ndarray = np.minimum(_WEIGHT * (self._mean - hubness), _MOST)
        return corrections

    def _hubness(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """The mean cosine of each chunk to its nearest ones in the sample."""
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
            nearest = np.partition(cosines, -count, axis=1)[:, -count:]
            hubness[start : start + _ROWS] = nearest.mean(axis=1)
        return hubness

    def centered(self, vectors: np.ndarray, scripts: list[str]) -> np.ndarray:
        """*vectors* without the mean vector of their script, of length 1. Unchanged for a model
        whose vectors are compared as they are.
        """
        if self._common is None or not len(vectors):
            return vectors
        return unit(vectors - np.stack([self._common[script] for script in scripts]))

    def centered_query(self, query: QueryVector) -> np.ndarray:
        """The vector of a query as it is compared with those of notes."""
        if query.script is None:
            return query.vector
        centered: np.ndarray = self.centered(query.vector[None], [query.script])[0]
        return centered

    def background(self, query: QueryVector) -> Background:
        """The scores of the collection's notes for a query."""
        if len(self.ids) < 2:
            return Background(0.0, 1.0)
        cosines = self._vectors @ self.centered_query(query)
        scores = (cosines + self._corrections)[cosines < _SELF_COSINE]
        if not len(scores):
            return Background(0.0, 1.0)
        prior = _PRIOR_NOTES if query.script is None else 0
        spread = len(scores) * float(scores.var()) + prior * _PRIOR_DEVIATION**2
        return _rounded_background(float(scores.mean()), spread / (len(scores) + prior))

    @cached_property
    def closeness(self) -> Closeness:
        """The scale on which two notes of the collection are compared."""
        pairs = self.pair_background
        # among a handful of notes, those nearest to a note are all the others
        spread = max(self._mean - pairs.mean, _MIN_SPREAD * pairs.deviation)
        return Closeness(pairs.mean, spread)

    @cached_property
    def pair_background(self) -> Background:
        """The cosines between any two notes."""
        some = self._vectors[:_PAIRED]
        cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
        cosines = cosines[cosines < _SELF_COSINE]
        if not len(cosines):
            return Background(0.0, 1.0)
        count, spread = len(some), float(cosines.var())
        spread = (count * spread + _PRIOR_NOTES * _PRIOR_DEVIATION**2) / (count + _PRIOR_NOTES)
        return _rounded_background(float(cosines.mean()), spread)


def together(sized: Iterable[tuple[Background, int]]) -> Background:
    """One background of a query for several collections: a note counts the same in each.

    Args:
        sized: the background of each collection, and its number of notes.
    """
    known = [(one, notes) for one, notes in sized if notes > 1]
    if not known:
        return Background(0.0, _PRIOR_DEVIATION)
    mean = sum(one.mean for one, _ in known) / len(known)
    variance = sum(one.deviation**2 + (one.mean - mean) ** 2 for one, _ in known) / len(known)
    notes = sum(notes for _, notes in known)
    prior = _PRIOR_NOTES_OF_QUERY
    return _rounded_background(
        mean, (notes * variance + prior * _PRIOR_DEVIATION**2) / (notes + prior)
    )


def rounded(values: np.ndarray) -> np.ndarray:
    """Cosines or corrections, rounded to the digits that count: float64."""
    return np.round(values.astype(np.float64), DIGITS)


def unit(vectors: np.ndarray) -> np.ndarray:
    """*vectors*, of shape (n, dimension), scaled to length 1: float32."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: np.ndarray = (vectors / np.maximum(norms, 1e-9)).astype(np.float32)
    return scaled


def best(scores: np.ndarray, ids: np.ndarray, count: int) -> list[int]:
    """The places of the *count* highest finite scores, highest first. Of equal ones (``DIGITS``)
    the lowest id comes first.
    """
    if len(scores) > count:
        least = np.partition(scores, -count)[-count] - 2 * 10.0**-DIGITS
        places = np.flatnonzero((scores >= least) & np.isfinite(scores))
    else:
        places = np.flatnonzero(np.isfinite(scores))
    equal = rounded(scores[places]).tolist()
    order = sorted(zip(equal, places.tolist()), key=lambda found: (-found[0], ids[found[1]]))
    return [place for _, place in order[:count]]


def formula() -> str:
    """The name of the formula of the corrections: corrections that were stored under another name
    are computed again.
    """
    return f"2 {_WEIGHT} {_NEAREST} {_MOST}"


def sampled(chunk_ids: Iterable[str]) -> list[str]:
    """The chunks of a collection's sample: those with the lowest ids.

    Ids are digests, so this is a random sample. It is the same wherever and in whatever order it is
    drawn, and a new note seldom changes it.
    """
    return heapq.nsmallest(SAMPLE, chunk_ids)


def _rounded_background(mean: float, variance: float) -> Background:
    return Background(round(mean, DIGITS), round(math.sqrt(variance), DIGITS))


def _common(vectors: np.ndarray, ordinary: np.ndarray) -> np.ndarray:
    """The mean of vectors, drawn towards that of ordinary texts where they are few: float32 of
    shape (dimension,).
    """
    total = vectors.sum(axis=0) + _ORDINARY_NOTES * ordinary
    common: np.ndarray = total / (len(vectors) + _ORDINARY_NOTES)
    return common.astype(np.float32)
