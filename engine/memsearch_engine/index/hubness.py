"""Correct cosines for hubness: the tendency of some notes to be similar to every query.

A small model places a few notes, mostly routine ones, near every query. Such notes are hubs
(Radovanović, Nanopoulos, Ivanović 2010, "Hubs in Space"). A note's hubness is the mean of its
``_NEAREST`` highest cosines to a sample of its collection, a local average as in CSLS (Conneau et
al. 2018). A share of it is subtracted from the note's cosine to a query. For figures, see "How good
is the search" in docs/evaluation.md.

The correction raises the score of a note that differs from all others, but by at most ``_MOST``
times the scale of the collection. Among thousands of routine notes, a larger correction would go to
a note in a language or form that no other note has, and that note would come first for every query.

The vectors of some models (E5) all point in a similar direction, which differs by script. The
cosine of any two notes is above 0.75, and a query in Chinese is similar to every Chinese note. For
these models the mean vector of the script is subtracted first ("all but the top", Mu and Viswanath
2018). Such vectors are called centered.

The cosines of any two texts are near 0.2 with one model and near 0.8 with another. Limits and
priors are therefore shares of the scale of the collection: the mean distance (1 - cosine) of a note
to the note least similar to it. An affine change of all cosines then changes no order. The mean of
all cosines would not do: it depends on the share of notes that are nearly identical.
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
#: The most that the correction adds to a cosine, in shares of the scale. On tests/evaluation, 0.12
#: to 0.15 is best with 3,400 and with 30,000 routine notes.
_MOST = 0.14
_ROWS = 2_048  # rows per matrix product
_PAIRED = 256  # notes of the sample that are compared with each other
#: Least deviation, in shares of the scale.
_MIN_DEVIATION = 0.08
#: Prior for the deviation, in shares of the scale, and its weight in notes. The deviation of a few
#: notes, two of them on the same topic, would be too high.
_PRIOR_DEVIATION, _PRIOR_NOTES = 0.12, 32
#: Weight of the prior for the background of a query, which has no pairs of notes on one topic.
_PRIOR_NOTES_OF_QUERY = 4
#: Least spread of ``Closeness``, in standard deviations of the cosines of any two notes.
_MIN_SPREAD = 2.5
#: Significant digits of a cosine. In single precision, the seventh digit depends on the CPU and on
#: the position in a matrix, so that the cosines of equal vectors differ.
DIGITS = 5
#: Distance (1 - cosine) of a note to its copies, in shares of the scale, and at least: the error of
#: a cosine in single precision.
_COPY_DISTANCE, _PRECISION = 0.001, 2e-6
#: Weight of the ordinary texts in the mean vector of a script, in notes. The mean of two notes is
#: not reliable, and a query may be in a script that no note has.
_ORDINARY_NOTES = 16


class DenseScore(NamedTuple):
    """The similarity of a chunk to a query: cosine and hubness correction (below 0 for a hub)."""

    cosine: float
    hubness_correction: float

    @property
    def score(self) -> float:
        """The corrected cosine."""
        return self.cosine + self.hubness_correction


class Background(NamedTuple):
    """Mean and standard deviation of the scores in a collection.

    The scores are those of all notes for one query, or those of any two notes.

    Attributes:
        scale: mean distance (1 - cosine) of a note to the note least similar to it.
    """

    mean: float
    deviation: float
    scale: float = 1.0

    def z_score(self, score: float) -> float:
        """The number of standard deviations by which *score* is above the mean.

        The deviation has a lower limit, so that notes that are all alike get no extreme values.
        """
        return (score - self.mean) / max(self.deviation, _MIN_DEVIATION * self.scale)


class Closeness(NamedTuple):
    """A scale for the similarity of two notes that does not depend on the model.

    0 is the average of any two notes; 1 is the average of a note and the notes most similar to it.

    Attributes:
        background: mean cosine of any two notes.
        spread: mean cosine of a note and the notes most similar to it, minus ``background``.
    """

    background: float
    spread: float

    def of(self, cosine: float, corrections: float) -> float:
        """The closeness of two notes.

        Args:
            cosine: the cosine of their vectors.
            corrections: the sum of the hubness corrections of both notes.
        """
        return (cosine + corrections / (2 * _WEIGHT) - self.background) / self.spread


class QueryVector(NamedTuple):
    """A query as a vector of length 1, float32 of shape (dimension,).

    ``script`` is the script of its words (``analyze.script``). None means the vector of a note from
    the collection, which is centered already.
    """

    vector: np.ndarray
    script: str | None = None


class HubnessSample:
    """A sample of a collection's chunks, against which hubness is measured."""

    def __init__(
        self,
        ids: list[str],
        vectors: np.ndarray,
        scripts: list[str] = [],  # noqa: B006
        ordinary: dict[str, np.ndarray] | None = None,
    ) -> None:
        """Measure the hubness of a sample.

        Args:
            ids: chunk ids, as ``sampled`` returns them.
            vectors: their vectors of length 1, float32 of shape (len(ids), dimension).
            scripts: their scripts.
            ordinary: script -> mean vector of ordinary texts; None for a model without centering.
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

    def stays(self, new: Iterable[str], gone: set[str]) -> bool:
        """Whether a collection has the same sample with *new* chunks and without *gone* ones."""
        return (
            len(self.ids) >= SAMPLE
            and gone.isdisjoint(self.ids)
            and all(chunk_id > self.ids[-1] for chunk_id in new)
        )

    @cached_property
    def name(self) -> str:
        """A digest of all values on which the corrections depend.

        It reads all vectors, so it is used only once, at the start.
        """
        # made from the stored vectors, because results computed from them differ between CPUs
        vectors, scripts = self._made_of
        names = "\n".join([*self.ids, *(scripts if self._common else ()), formula()])
        return hashlib.blake2b(names.encode() + vectors.tobytes(), digest_size=12).hexdigest()

    def hubness_corrections(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """Compute the correction that is added to each chunk's cosine.

        Args:
            ids: chunk ids. A chunk of the sample is not compared with itself.
            vectors: their vectors, float32 of shape (len(ids), dimension).

        Returns:
            float32 of shape (len(ids),); below 0 for a chunk with more than average hubness.
        """
        return self._corrected(self._hubness(ids, vectors))

    def _corrected(self, hubness: np.ndarray) -> np.ndarray:
        most = _MOST * self._scale
        corrections: np.ndarray = np.minimum(_WEIGHT * (self._mean - hubness), most)
        return corrections

    def _hubness(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """The mean cosine of each chunk to the most similar chunks of the sample."""
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
        """Subtract the mean vector of their script from *vectors* and scale them to length 1.

        For a model without centering, the vectors are returned unchanged.
        """
        if self._common is None or not len(vectors):
            return vectors
        return unit(vectors - np.stack([self._common[script] for script in scripts]))

    def centered_query(self, query: QueryVector) -> np.ndarray:
        """The vector of a query in the form that is compared with the vectors of notes."""
        if query.script is None:
            return query.vector
        centered: np.ndarray = self.centered(query.vector[None], [query.script])[0]
        return centered

    def background(self, query: QueryVector) -> Background:
        """Mean and deviation of the scores of the collection's notes for a query."""
        if len(self.ids) < 2:
            return Background(0.0, 1.0)
        cosines = self._vectors @ self.centered_query(query)
        scores = (cosines + self._corrections)[_are_other_notes(cosines, self._scale)]
        if not len(scores):
            return Background(0.0, 1.0)
        prior = _PRIOR_NOTES if query.script is None else 0
        return _with_prior(
            float(scores.mean()), float(scores.var()), self._scale, len(scores), prior
        )

    @cached_property
    def closeness(self) -> Closeness:
        """The scale on which two notes of the collection are compared."""
        pairs = self.pair_background
        # in a small collection, the notes most similar to a note are all the others
        spread = max(self._mean - pairs.mean, _MIN_SPREAD * pairs.deviation)
        return Closeness(pairs.mean, spread)

    @cached_property
    def pair_background(self) -> Background:
        """Mean and deviation of the cosines of any two notes."""
        some = self._vectors[:_PAIRED]
        cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
        cosines = cosines[_are_other_notes(cosines, self._scale)]
        if not len(cosines):
            return Background(0.0, 1.0)
        mean, variance = float(cosines.mean()), float(cosines.var())
        return _with_prior(mean, variance, self._scale, len(some), _PRIOR_NOTES)

    @cached_property
    def _scale(self) -> float:
        """See ``Background``; 1 for fewer than two notes."""
        some = self._vectors[:_PAIRED]
        return float(1 - (some @ some.T).min(axis=1).mean()) if len(some) > 1 else 1.0


def together(sized: Iterable[tuple[Background, int]]) -> Background:
    """Combine the backgrounds of a query in several collections.

    Args:
        sized: (background, number of notes) of each collection.
    """
    known = [(one, notes) for one, notes in sized if notes > 1]
    if not known:
        return Background(0.0, _PRIOR_DEVIATION)
    mean, scale = (
        sum(values) / len(known) for values in zip(*((o.mean, o.scale) for o, _ in known))
    )
    variance = sum(one.deviation**2 + (one.mean - mean) ** 2 for one, _ in known) / len(known)
    return _with_prior(
        mean, variance, scale, sum(notes for _, notes in known), _PRIOR_NOTES_OF_QUERY
    )


def rounded(values: np.ndarray) -> np.ndarray:
    """Round cosines or corrections to ``DIGITS``: float64."""
    return np.round(values.astype(np.float64), DIGITS)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale *vectors* of shape (n, dimension) to length 1: float32."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: np.ndarray = (vectors / np.maximum(norms, 1e-9)).astype(np.float32)
    return scaled


def best(scores: np.ndarray, ids: np.ndarray, count: int) -> list[int]:
    """The indexes of the *count* highest finite scores, highest first.

    Args:
        scores: float of shape (n,), compared with ``DIGITS`` digits.
        ids: ids of the scores; of equal scores, the lowest id comes first.
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
    """The name of the formula of the corrections.

    Corrections stored with another name are computed again.
    """
    return f"3 {_WEIGHT} {_NEAREST} {_MOST}"


def sampled(chunk_ids: Iterable[str]) -> list[str]:
    """Choose the sample of a collection: the chunks with the lowest ids.

    Ids are digests, so the sample is random. It does not depend on the machine or on the order of
    the chunks, and a new note rarely changes it.
    """
    return heapq.nsmallest(SAMPLE, chunk_ids)


def _with_prior(mean: float, variance: float, scale: float, notes: int, prior: int) -> Background:
    """A rounded background whose variance is averaged with that of the prior.

    Args:
        scale: see ``Background``.
        notes, prior: the weights of *variance* and of the prior.
    """
    expected = (_PRIOR_DEVIATION * scale) ** 2
    deviation = math.sqrt((notes * variance + prior * expected) / (notes + prior))
    return Background(round(mean, DIGITS), round(deviation, DIGITS), round(scale, DIGITS))


def _are_other_notes(cosines: np.ndarray, scale: float) -> np.ndarray:
    """Which cosines are not those of a note to itself or to a copy: bool."""
    others: np.ndarray = cosines < 1 - max(_COPY_DISTANCE * scale, _PRECISION)
    return others


def _common(vectors: np.ndarray, ordinary: np.ndarray) -> np.ndarray:
    """The mean of *vectors* and ordinary texts: float32 of shape (dimension,).

    The ordinary texts have the weight of ``_ORDINARY_NOTES`` vectors.
    """
    total = vectors.sum(axis=0) + _ORDINARY_NOTES * ordinary
    common: np.ndarray = total / (len(vectors) + _ORDINARY_NOTES)
    return common.astype(np.float32)
