"""Finds notes with nearly the same words.

Two notes are alike if their sets of three-word shingles have a Jaccard similarity of at least 0.7.
Candidates share one of their eight smallest shingle hashes: Broder, "On the resemblance and
containment of documents", 1997. A candidate is compared exactly only if the numbers of its
shingles, and the classes (of 64) that they are in, allow that similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

_SKETCH, _ALIKE, _CLASSES = 8, 0.7, 64
_MAX_ALIKE = 50  # notes with the same sketch hash that are compared with each other
_AT_ONCE = 1 << 15  # pairs
_ROUNDING = 1e-6


def repetitions(counts: Sequence[int], shingles: bytes) -> list[tuple[list[int], float]]:
    """Return the groups of similar notes, and the least similarity that joined each group.

    Args:
        counts: the number of shingles of each note.
        shingles: ``journal.outline.shingles_of`` all notes.

    Returns:
        Groups of at least two indexes, in the order of their first notes.
    """
    if not shingles:
        return []
    import numpy as np  # 70 ms, so only if notes are compared

    flat, sizes = np.frombuffer(shingles, np.uint32), np.array(counts)
    ends = np.cumsum(sizes)
    group: dict[int, int] = {}

    def root(i: int) -> int:
        while group.setdefault(i, i) != i:
            i = group[i]
        return i

    def of(i: int) -> frozenset[int]:
        return frozenset(flat[ends[i] - sizes[i] : ends[i]].tolist())

    least: dict[int, float] = {}
    for one, other in _candidates(flat, sizes):
        a, b = root(one), root(other)
        if a != b and (alike := _jaccard(of(one), of(other))) >= _ALIKE:
            group[b] = a
            least[a] = min(alike, least.pop(b, 1.0), least.get(a, 1.0))
    members: dict[int, list[int]] = {}
    for i in sorted(group):
        members.setdefault(root(i), []).append(i)
    return [(some, least[top]) for top, some in members.items() if len(some) > 1]


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _candidates(flat: Numbers, sizes: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the pairs to compare: by their shared hash in the order of the notes, then by note."""
    import numpy as np

    few = np.minimum(sizes, _SKETCH)
    owners = np.repeat(np.arange(len(sizes)), few)
    skipped = np.cumsum(sizes - few) - (sizes - few)
    hashes = flat[np.arange(len(owners)) + skipped[owners]].astype(np.uint64)
    # sorted with their positions: ten times as fast as a stable sort of the positions
    both = np.sort(hashes << np.uint64(32) | np.arange(len(hashes), dtype=np.uint64))
    hashes, order = both >> np.uint64(32), (both & np.uint64(0xFFFFFFFF)).astype(np.intp)
    is_first = np.diff(hashes, prepend=~hashes[:1]) != 0
    starts, buckets = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    places = np.arange(len(order)) - starts[buckets]
    shared = (places < _MAX_ALIKE) & (np.bincount(buckets)[buckets] > 1)
    members, firsts, places = owners[order][shared], order[starts][buckets[shared]], places[shared]
    classes = np.zeros(len(sizes), np.uint64)
    classes[sizes > 0] = np.bitwise_or.reduceat(
        np.uint64(1) << (flat % _CLASSES).astype(np.uint64), (np.cumsum(sizes) - sizes)[sizes > 0]
    )
    found: list[tuple[int, ...]] = []
    for step in range(1, _MAX_ALIKE):
        at = np.flatnonzero(firsts[step:] == firsts[:-step])
        for start in range(0, len(at), _AT_ONCE):
            some = at[start : start + _AT_ONCE]
            some = some[_may_be_alike(sizes, classes, members[some], members[some + step])]
            columns = [firsts[some], places[some], places[some + step]]
            columns += [members[some], members[some + step]]
            found += zip(*(values.tolist() for values in columns), strict=True)
    for *_, one, other in sorted(found):
        yield one, other


def _may_be_alike(sizes: Numbers, classes: Numbers, ones: Numbers, others: Numbers) -> Numbers:
    """Return for each pair whether the numbers of shingles allow the similarity.

    Each class that only one of two notes has contains a shingle that the other one lacks.

    Args:
        classes: the classes of each note's shingles, as bits.
    """
    import numpy as np

    first, second = classes[ones], classes[others]
    shared = np.minimum(
        sizes[ones] - _bits(first & ~second), sizes[others] - _bits(second & ~first)
    )
    able: Numbers = shared >= _ALIKE / (1 + _ALIKE) * (sizes[ones] + sizes[others]) - _ROUNDING
    return able


def _bits(values: Numbers) -> Numbers:
    """Count the ones of each value; numpy can from version 2 on."""
    import numpy as np

    two, four, eight, sums = (
        np.uint64(mask * 0x0101010101010101) for mask in (0x55, 0x33, 0x0F, 0x01)
    )
    values = values - (values >> np.uint64(1) & two)
    values = (values & four) + (values >> np.uint64(2) & four)
    count: Numbers = (values + (values >> np.uint64(4)) & eight) * sums >> np.uint64(56)
    return count.astype(np.intp)
