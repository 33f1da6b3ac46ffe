"""Finds notes with nearly the same words.

Two notes are alike if their sets of three-word shingles have a Jaccard similarity of at least 0.7.
Candidates share one of their eight smallest shingle hashes: Broder, "On the resemblance and
containment of documents", 1997. A candidate is compared exactly only if the numbers of its
shingles, and the classes (of 64) that they are in, allow that similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[Any]]

_SKETCH, _ALIKE, _CLASSES = 8, 0.7, 64
_MAX_ALIKE = 50  # notes with the same sketch hash that are compared with each other
_AT_ONCE, _NOTES = 1 << 15, 1 << 10  # pairs, notes
_ROUNDING = 1e-6


def repetitions(counts: Sequence[int], shingles: bytes) -> list[tuple[list[int], float]]:
    """Return the groups of similar notes, and the least similarity that joined each group.

    Args:
        counts: the number of shingles of each note.
        shingles: ``journal.outline.shingles_of`` all notes.

    Returns:
        Groups of at least two indexes, in the order of their first notes.
    """
    flat, sizes = np.frombuffer(shingles, np.uint32), np.array(counts)
    ends = np.cumsum(sizes)
    group: dict[int, int] = {}

    def root(i: int) -> int:
        while group.setdefault(i, i) != i:
            i = group[i]
        return i

    def of(i: int) -> Numbers:
        return flat[ends[i] - sizes[i] : ends[i]]

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


def _jaccard(one: Numbers, other: Numbers) -> float:
    shared = len(set(one.tolist()).intersection(other.tolist()))
    return shared / (len(one) + len(other) - shared)


def _candidates(flat: Numbers, sizes: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the pairs to compare: by their shared hash in the order of the notes, then by note."""
    few = np.minimum(sizes, _SKETCH)
    owners = np.repeat(np.arange(len(sizes)), few)
    skipped = np.cumsum(sizes - few) - (sizes - few)
    hashes = flat[np.arange(len(owners)) + skipped[owners]].astype(np.uint64)
    # sorted with their positions: ten times as fast as a stable sort of the positions
    both = np.sort(hashes << np.uint64(32) | np.arange(len(hashes), dtype=np.uint64))
    is_equal = (both[1:] ^ both[:-1]) >> np.uint64(32) == 0
    both = both[np.append(is_equal, False) | np.insert(is_equal, 0, False)]
    hashes, order = both >> np.uint64(32), (both & np.uint64(0xFFFFFFFF)).astype(np.intp)
    is_first = np.diff(hashes, prepend=~hashes[:1]) != 0
    starts, buckets = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    places = np.arange(len(order)) - starts[buckets]
    few = places < _MAX_ALIKE
    members, firsts, places = owners[order][few], order[starts][buckets[few]], places[few]
    classes = _classes(flat, sizes)
    of = sizes[members], classes[members], (sizes - _bits(classes))[members]
    found: list[tuple[int, ...]] = []
    for step in range(1, _MAX_ALIKE):
        at = np.flatnonzero(firsts[step:] == firsts[:-step])
        for start in range(0, len(at), _AT_ONCE):
            some = at[start : start + _AT_ONCE]
            some = some[_may_be_alike(*of, some, some + step)]
            columns = [firsts[some], places[some], places[some + step]]
            columns += [members[some], members[some + step]]
            found += zip(*(values.tolist() for values in columns), strict=True)
    for *_, one, other in sorted(found):
        yield one, other


def _classes(flat: Numbers, sizes: Numbers) -> Numbers:
    """Return the classes of each note's shingles, as bits.

    The notes are taken in blocks, because memory that is new to the process takes most of the time.
    """
    ends, found, some = np.cumsum(sizes), np.zeros(len(sizes), np.uint64), np.flatnonzero(sizes)
    for at in range(0, len(some), _NOTES):
        own = some[at : at + _NOTES]
        starts = ends[own] - sizes[own]
        bits = (flat[starts[0] : ends[own[-1]]] % _CLASSES).astype(np.uint64)
        found[own] = np.bitwise_or.reduceat(np.uint64(1) << bits, starts - starts[0])
    return found


def _may_be_alike(
    sizes: Numbers, classes: Numbers, spare: Numbers, ones: Numbers, others: Numbers
) -> Numbers:
    """Return for each pair whether the numbers of shingles allow the similarity.

    Of the shingles of a note, one in each class that only this note has is not shared.

    Args:
        classes: the classes of each note's shingles, as bits.
        spare: the number of each note's shingles, less one for each class.
    """
    shared = _bits(classes[ones] & classes[others]) + np.minimum(spare[ones], spare[others])
    able: Numbers = shared >= _ALIKE / (1 + _ALIKE) * (sizes[ones] + sizes[others]) - _ROUNDING
    return able


def _bits(values: Numbers) -> Numbers:
    """Count the ones of each value."""
    if hasattr(np, "bitwise_count"):  # from version 2 on
        return np.bitwise_count(values).astype(np.intp)
    two, four, eight, sums = (
        np.uint64(mask * 0x0101010101010101) for mask in (0x55, 0x33, 0x0F, 0x01)
    )
    values = values - (values >> np.uint64(1) & two)
    values = (values & four) + (values >> np.uint64(2) & four)
    count: Numbers = (values + (values >> np.uint64(4)) & eight) * sums >> np.uint64(56)
    return count.astype(np.intp)
