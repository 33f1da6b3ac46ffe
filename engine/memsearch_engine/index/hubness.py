"""What a vector is near to anyway.

A small model puts a few notes, routine ones above all, near every query: they are hubs
(Radovanović, Nanopoulos, Ivanović 2010, "Hubs in Space"). What a note's cosine says about *this*
query is what is left of it after its nearness to notes in general. That is measured against a
sample of its own collection, with the mean of the ``_NEAREST`` highest cosines (a local average as
in CSLS, Conneau et al. 2018). Figures: docs/guide.md, How good is the search.

What is unlike everything else gains by it, but no more than ``_MOST``: among thousands of routine
notes, beyond that it is a language or a form that no other note has, and such a note would come
first whatever is asked.

Vectors of some models (E5's) all point one way, and another way for each script: cosines between
any two are above 0.75, and a query in Chinese is near to whatever is Chinese. There the mean of the
sample's notes of a vector's own script is taken off first ("all but the top", Mu and Viswanath
2018).
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
#: How much of the nearness to notes in general is taken off (chosen on tests/evaluation and three
#: other sets).
_WEIGHT = 0.4
#: The most that it adds (chosen on tests/evaluation: with 3,400 and with 30,000 routine notes it is
#: best from 0.12 to 0.15).
_MOST = 0.14
_ROWS = 2_048
_PAIRED = 256  # notes of the sample that are compared with each other
_MIN_DEVIATION = 0.08
#: A handful of notes, two of them on one matter, deviates widely. Where a note is compared with
#: few, the deviation is drawn towards that of ordinary notes as if there were so many more of them.
_USUAL_DEVIATION, _USUAL = 0.12, 32
#: Digits of a cosine that count. Single precision errs in the seventh, and on each CPU in another
#: way; by the row's place in the matrix, too: copies of a vector have cosines that differ.
DIGITS = 5
_ITSELF = 0.999  # the cosine of a note to itself and to its copies
#: So many notes of a script count as much as ordinary texts do: the mean of two notes says little,
#: and of a script in which no note is written, a query may be.
_ORDINARY = 16


class Near(NamedTuple):
    """How near a chunk is to a query. ``special``: what its hubness adds or, for a hub, takes off."""

    cosine: float
    special: float

    @property
    def score(self) -> float:
        return self.cosine + self.special


class Typical(NamedTuple):
    """Mean and standard deviation of how near a collection's notes are to one that is asked with
    (``Near.score``), or to each other.
    """

    mean: float
    deviation: float

    def above(self, score: float) -> float:
        """How many standard deviations *score* lies above the mean. Where most notes are alike
        there is hardly a deviation, and nothing
        would be near: then that of ordinary notes counts.
        """
        return (score - self.mean) / max(self.deviation, _MIN_DEVIATION)


def rounded(values: np.ndarray) -> np.ndarray:
    """Cosines, and what they are corrected by, to the digits that count: float64."""
    return np.round(values.astype(np.float64), DIGITS)


def best(scores: np.ndarray, ids: np.ndarray, count: int) -> list[int]:
    """The places of the *count* highest finite scores, highest first, of equal ones (``DIGITS``)
    the lowest id first.
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
    """Of ``Sample.special``: what was kept by another one is found anew."""
    return f"2 {_WEIGHT} {_NEAREST} {_MOST}"


def sampled(chunk_ids: Iterable[str]) -> list[str]:
    """The chunks that the others of a collection are compared with: those of the lowest ids. Ids
    are digests, so that is a random sample, it is the same wherever and in whatever order it is
    drawn, and a new note seldom changes it.
    """
    return heapq.nsmallest(SAMPLE, chunk_ids)


class Question(NamedTuple):
    """What is looked for, as a vector of length 1. ``script``: of its words (``analyze.script``);
    None where it is a note's own vector, as a collection gives it.
    """

    vector: np.ndarray
    script: str | None = None


class Sample:
    """A collection's sample, to tell how special its chunks are, and what all have in common."""

    def __init__(
        self,
        ids: list[str],
        vectors: np.ndarray,
        scripts: list[str] = [],  # noqa: B006
        ordinary: dict[str, np.ndarray] | None = None,
    ) -> None:
        """
        Args:
            ids: of ``sampled``, in its order; vectors: theirs, float32 of shape (len(ids),
                dimension), of length 1.
            scripts: theirs; ordinary: by script the mean vector of ordinary texts, where what
                vectors of a script have in common is
                taken off.
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
        self._vectors = vectors = self.framed(vectors, scripts)
        self._places = {chunk_id: place for place, chunk_id in enumerate(ids)}
        hubness = self._hubness(ids, vectors)
        self._mean = float(hubness.mean()) if ids else 0.0
        self._special = self._corrected(hubness)

    @cached_property
    def name(self) -> str:
        """Another one where ``special`` would say something else. Asked at a start alone: it reads
        all vectors.
        """
        vectors, scripts = (
            self._made_of
        )  # as they are kept: what is computed of them differs between CPUs
        names = "\n".join([*self.ids, *(scripts if self._common else ()), formula()])
        return hashlib.blake2b(names.encode() + vectors.tobytes(), digest_size=12).hexdigest()

    def special(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """What each chunk's cosine to a query is corrected by: below 0 for what is nearer to the
        sample than the sample's own notes are on average.

        Args:
            ids, vectors: of the chunks, as in ``__init__``; one that is in the sample is not
                compared with itself.
        """
        return self._corrected(self._hubness(ids, vectors))

    def _corrected(self, hubness: np.ndarray) -> np.ndarray:
        special: np.ndarray = np.minimum(_WEIGHT * (self._mean - hubness), _MOST)
        return special

    def _hubness(self, ids: Iterable[str], vectors: np.ndarray) -> np.ndarray:
        """How near each chunk is to those of the sample that are nearest to it."""
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
            hubness[start : start + _ROWS] = np.partition(cosines, -count, axis=1)[:, -count:].mean(
                axis=1
            )
        return hubness

    def framed(self, vectors: np.ndarray, scripts: list[str]) -> np.ndarray:
        """*vectors* as they are compared: without what those of their script have in common, where
        that is taken off.
        """
        if self._common is None or not len(vectors):
            return vectors
        common = np.stack([self._common[script] for script in scripts])
        return unit(vectors - common)

    def asked(self, question: Question) -> np.ndarray:
        """A question's vector as it is compared with notes'."""
        if question.script is None:
            return question.vector
        framed: np.ndarray = self.framed(question.vector[None], [question.script])[0]
        return framed

    def typical(self, question: Question) -> Typical:
        """How near the collection's notes are to a query in general."""
        if len(self.ids) < 2:
            return Typical(0.0, 1.0)
        cosines = self._vectors @ self.asked(question)
        scores = (cosines + self._special)[cosines < _ITSELF]
        if not len(scores):
            return Typical(0.0, 1.0)
        usual = _USUAL if question.script is None else 0
        spread = len(scores) * float(scores.var()) + usual * _USUAL_DEVIATION**2
        return _typical(float(scores.mean()), spread / (len(scores) + usual))

    @cached_property
    def usual(self) -> Typical:
        """How near any two notes are (cosine)."""
        some = self._vectors[:_PAIRED]
        cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
        cosines = cosines[cosines < _ITSELF]
        if not len(cosines):
            return Typical(0.0, 1.0)
        count, spread = len(some), float(cosines.var())
        spread = (count * spread + _USUAL * _USUAL_DEVIATION**2) / (count + _USUAL)
        return _typical(float(cosines.mean()), spread)


def _typical(mean: float, variance: float) -> Typical:
    return Typical(round(mean, DIGITS), round(math.sqrt(variance), DIGITS))


def _common(vectors: np.ndarray, ordinary: np.ndarray) -> np.ndarray:
    """The mean of vectors, drawn towards that of ordinary texts where they are few: float32 of
    shape (dimension,).
    """
    common: np.ndarray = (vectors.sum(axis=0) + _ORDINARY * ordinary) / (len(vectors) + _ORDINARY)
    return common.astype(np.float32)


def unit(vectors: np.ndarray) -> np.ndarray:
    """*vectors*, of shape (n, dimension), scaled to length 1: float32."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: np.ndarray = (vectors / np.maximum(norms, 1e-9)).astype(np.float32)
    return scaled
