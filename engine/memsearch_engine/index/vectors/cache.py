"""A project's vectors in memory, which serve searches by meaning without a Milvus server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from memsearch_engine.index.hubness import (
    DIGITS,
    DenseScore,
    HubnessSample,
    QueryVector,
    best,
    rounded,
    sampled,
)
from memsearch_engine.index.rows import HIDDEN_KINDS, Filter
from memsearch_engine.index.vectors.ledger import LedgerRow

#: (chunk id, ``LedgerRow.encoded``, float32 bytes)
CacheRow = tuple[str, str, bytes]


class SavedCorrections(NamedTuple):
    """Hubness corrections from the ledger.

    Attributes:
        sample_name: name of the sample with which they were computed.
        values: one per row; None if the row has no correction.
    """

    sample_name: str = ""
    values: tuple[float | None, ...] = ()


_NONE_SAVED = SavedCorrections()


class VectorCache:
    """A matrix of vectors, with the values for the filters of a search.

    It is immutable, except for values that are computed on first use.
    """

    def __init__(
        self,
        rows: list[CacheRow],
        dimension: int,
        ordinary: dict[str, np.ndarray] | None = None,
        saved: SavedCorrections = _NONE_SAVED,
    ) -> None:
        """Read *rows* into one matrix.

        Args:
            rows: the chunks of a collection.
            dimension: numbers in a vector.
            ordinary: as for ``HubnessSample``; the rows must then have scripts.
            saved: hubness corrections from the ledger.
        """
        self._ordinary = ordinary
        self._saved_by = saved.sample_name
        self._saved = np.array(saved.values, np.float32)  # NaN if there is no correction
        self.ids = np.array([row[0] for row in rows], dtype=object)
        self._places: dict[str, int] | None = None
        self._corrections: np.ndarray | None = None
        self._sample: HubnessSample | None = None
        self._hidden: np.ndarray | None = None
        parts = [LedgerRow.decoded(row[1]) for row in rows]
        equal: dict[tuple[str, ...], tuple[str, ...]] = {}  # a session's rows share one tuple
        self.scalars = [equal.setdefault(part.scalars, part.scalars) for part in parts]
        self._scripts = [part.script or "" for part in parts]
        self.matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(
            len(rows), dimension
        )
        if ordinary:
            self.matrix = self.sample.centered(self.matrix, self._scripts)

    def changed(self, rows: list[CacheRow], without: set[str]) -> VectorCache | None:
        """Return a copy without the chunks in *without* and with *rows* added.

        Running searches continue with the old cache.

        Returns:
            None if all rows must be read again, because the hubness sample has changed.
        """
        new = VectorCache(rows, self.matrix.shape[1])
        if self._ordinary:
            if not self._has_same_sample(
                [*(i for i in self.ids if i not in without), *new.ids], without
            ):
                return None
            new.matrix = self.sample.centered(new.matrix, new._scripts)
            new._ordinary = self._ordinary
        stays = np.array([chunk_id not in without for chunk_id in self.ids], dtype=bool)
        new.ids = np.concatenate([self.ids[stays], new.ids])
        new.scalars = [value for value, stay in zip(self.scalars, stays) if stay] + new.scalars
        new._scripts = [value for value, stay in zip(self._scripts, stays) if stay] + new._scripts
        new.matrix = np.concatenate([self.matrix[stays], new.matrix])
        if self._sample and self._has_same_sample(new.ids, without):
            new._sample = self._sample
            if self._corrections is not None:
                count = int(stays.sum())
                added = new._sample.hubness_corrections(new.ids[count:], new.matrix[count:])
                new._corrections = np.concatenate([self._corrections[stays], added])
        return new

    def _has_same_sample(self, ids: Iterable[str], without: set[str]) -> bool:
        same = self._sample
        return same is not None and without.isdisjoint(same.ids) and sampled(ids) == same.ids

    def _place(self, chunk_ids: Iterable[str]) -> list[int]:
        if self._places is None:
            self._places = {chunk_id: place for place, chunk_id in enumerate(self.ids)}
        return [self._places[chunk_id] for chunk_id in chunk_ids if chunk_id in self._places]

    # -- hubness

    @property
    def sample(self) -> HubnessSample:
        """The sample against which hubness is measured."""
        if self._sample is None:
            ids = sampled(self.ids)
            places = self._place(ids)
            scripts = [self._scripts[place] for place in places]
            self._sample = HubnessSample(ids, self.matrix[places], scripts, self._ordinary)
        return self._sample

    @property
    def corrections(self) -> np.ndarray:
        """The hubness correction of each row: float32 of shape (rows,)."""
        if self._corrections is None:
            corrections, new = self._saved.copy(), self._without_saved()
            if len(new) == len(self.ids):
                corrections = self.sample.hubness_corrections(self.ids, self.matrix)
            elif len(new):
                corrections[new] = self.sample.hubness_corrections(self.ids[new], self.matrix[new])
            self._corrections = corrections
        return self._corrections

    def unsaved_corrections(self) -> list[tuple[float, str]]:
        """Return (correction, chunk id) of the rows without a correction in the ledger."""
        new = self._without_saved()
        return list(zip(self.corrections[new].tolist(), self.ids[new].tolist()))

    def set_saved(self) -> None:
        """Record that the ledger has all corrections."""
        self._saved_by, self._saved = self.sample.name, self.corrections

    def _without_saved(self) -> np.ndarray:
        """Return the indexes of rows without a saved correction for this sample."""
        if len(self._saved) != len(self.ids) or self._saved_by != self.sample.name:
            return np.arange(len(self.ids))
        return np.flatnonzero(np.isnan(self._saved))

    # -- searches

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """Return chunk id -> vector, centered if the model needs it, for the cached chunks."""
        return {str(self.ids[place]): self.matrix[place] for place in self._place(chunk_ids)}

    def cosines(self, question: QueryVector, chunk_ids: Iterable[str]) -> dict[str, DenseScore]:
        """Return chunk id -> score for a query, for the cached chunks."""
        places = self._place(chunk_ids)
        cosines = rounded(self.matrix[places] @ self._asked(question))
        corrections = rounded(self.corrections[places])
        return {
            str(self.ids[place]): DenseScore(float(cosine), float(correction))
            for place, cosine, correction in zip(places, cosines, corrections)
        }

    def nearest(
        self, question: QueryVector, limit: int, where: Filter
    ) -> list[tuple[str, DenseScore]]:
        """Return (chunk id, score) of the chunks nearest to a query, best first."""
        if not len(self.ids) or limit <= 0:
            return []
        cosines = rounded(self.matrix @ self._asked(question))
        corrections = rounded(self.corrections)
        scores = cosines + corrections
        if where != Filter():
            allowed = np.array([where.admits(*scalars) for scalars in self.scalars], dtype=bool)
            scores = np.where(allowed, scores, -np.inf)
        elif self.hidden.any():
            scores = np.where(self.hidden, -np.inf, scores)
        return [
            (str(self.ids[place]), DenseScore(float(cosines[place]), float(corrections[place])))
            for place in best(scores, self.ids, limit)
        ]

    def neighbours(self, chunk_ids: list[str], limit: int) -> dict[str, list[tuple[str, float]]]:
        """Return chunk id -> (chunk id, similarity) of the chunks most similar to it.

        The similarity is in standard deviations (``Background.z_score``). Chunks that are not
        cached are left out.
        """
        places = self._place(chunk_ids)
        scores = self.matrix[places] @ self.matrix.T + self.corrections
        found = {}
        for row, place in enumerate(places):
            background = self.sample.background(QueryVector(self.matrix[place]))
            found[str(self.ids[place])] = [
                (str(self.ids[i]), background.z_score(round(float(scores[row, i]), DIGITS)))
                for i in best(scores[row], self.ids, limit + 1)
                if i != place
            ]
        return found

    @property
    def hidden(self) -> np.ndarray:
        """Which rows are of kinds that are hidden by default: bool of shape (rows,)."""
        if self._hidden is None:
            self._hidden = np.array(
                [scalars[-1] in HIDDEN_KINDS for scalars in self.scalars], dtype=bool
            )
        return self._hidden

    def _asked(self, question: QueryVector) -> np.ndarray:
        return self.sample.centered_query(question) if self._ordinary else question.vector
