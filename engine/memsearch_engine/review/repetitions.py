"""Finds notes with nearly the same words.

Two notes are alike if their sets of three-word shingles have a Jaccard similarity of at least 0.7.
Candidates share one of their eight smallest shingle hashes: Broder, "On the resemblance and
containment of documents", 1997. A candidate is compared exactly only if the numbers of its
shingles, in all, in each of 16 classes and in each of 64, allow that similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_SKETCH, _ALIKE, _CLASSES, _FEW_CLASSES = 8, 0.7, 64, 16
_MAX_ALIKE = 50  # notes with the same sketch hash that are compared with each other
_AT_ONCE = 1 << 15  # pairs
_ROUNDING = 1e-6


def repetitions(notes: Sequence[bytes]) -> list[tuple[list[int], float]]:
    """Return the groups of similar notes, and the least similarity that joined each group.

    Args:
        notes: ``journal.outline.shingles_of`` each note.

    Returns:
        Groups of at least two indexes, in the order of their first notes.
    """
    group: dict[int, int] = {}

    def root(i: int) -> int:
        while group.setdefault(i, i) != i:
            i = group[i]
        return i

    least: dict[int, float] = {}
    for one, other in _candidates(notes):
        a, b = root(one), root(other)
        if a != b and (alike := _jaccard(_set(notes[one]), _set(notes[other]))) >= _ALIKE:
            group[b] = a
            least[a] = min(alike, least.pop(b, 1.0), least.get(a, 1.0))
    members: dict[int, list[int]] = {}
    for i in sorted(group):
        members.setdefault(root(i), []).append(i)
    return [(some, least[top]) for top, some in members.items() if len(some) > 1]


def _set(shingles: bytes) -> frozenset[int]:
    return frozenset(memoryview(shingles).cast("I"))


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _candidates(notes: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the pairs to compare: by their shared hash in the order of the notes, then by note."""
    import numpy as np  # 70 ms, so only if notes are compared

    flat = np.frombuffer(b"".join(notes), np.uint32)
    if not len(flat):
        return
    sizes = np.array([len(note) // 4 for note in notes])
    owners = np.repeat(np.arange(len(notes)), sizes)
    in_sketch = np.arange(len(flat)) - (np.cumsum(sizes) - sizes)[owners] < _SKETCH
    hashes, members = flat[in_sketch], owners[in_sketch]
    order = np.argsort(hashes, kind="stable")
    is_first = np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0
    starts, buckets = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    places = np.arange(len(order)) - starts[buckets]
    few = (places < _MAX_ALIKE) & (np.bincount(buckets)[buckets] > 1)
    members, firsts, places = members[order][few], order[starts][buckets[few]], places[few]
    classes = np.bincount(owners * _CLASSES + flat % _CLASSES, minlength=len(notes) * _CLASSES)
    few_classes = classes.reshape(len(notes), _FEW_CLASSES, -1).sum(2)
    counts = [
        some.reshape(len(notes), -1).astype(np.min_scalar_type(some.max()))
        for some in (few_classes, classes)
    ]
    found: list[tuple[int, ...]] = []
    for step in range(1, _MAX_ALIKE):
        at = np.flatnonzero(firsts[step:] == firsts[:-step])
        for start in range(0, len(at), _AT_ONCE):
            some = at[start : start + _AT_ONCE]
            some = some[_may_be_alike(sizes, counts, members[some], members[some + step])]
            found += zip(
                *(
                    values.tolist()
                    for values in (
                        firsts[some],
                        places[some],
                        places[some + step],
                        members[some],
                        members[some + step],
                    )
                ),
                strict=True,
            )
    for *_, one, other in sorted(found):
        yield one, other


def _may_be_alike(
    sizes: np.ndarray[Any, Any],
    counts: list[np.ndarray[Any, Any]],
    ones: np.ndarray[Any, Any],
    others: np.ndarray[Any, Any],
) -> np.ndarray[Any, Any]:
    """Return the indexes of the pairs of which the numbers of shingles allow the similarity.

    Args:
        counts: numbers of shingles by note and class.
    """
    import numpy as np

    least = _ALIKE / (1 + _ALIKE) * (sizes[ones] + sizes[others]) - _ROUNDING
    able = np.flatnonzero(np.minimum(sizes[ones], sizes[others]) >= least)
    for some in counts:
        shared = np.minimum(some[ones[able]], some[others[able]]).sum(1, dtype=np.uint32)
        able = able[shared >= least[able]]
    return able
