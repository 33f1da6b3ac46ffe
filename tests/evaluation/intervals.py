"""Shares of right answers with 95 % intervals, as every evaluation here prints them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_DRAWS = 2_000
Measure = Callable[[np.ndarray], np.ndarray]


def first(ranks: np.ndarray) -> np.ndarray:
    """Whether each right answer came first. Ranks start at 1; 0 stands for not found."""
    return (ranks == 1).astype(float)


def in_five(ranks: np.ndarray) -> np.ndarray:
    """Whether each right answer was among the first five."""
    return ((ranks > 0) & (ranks <= 5)).astype(float)


def reciprocal(ranks: np.ndarray) -> np.ndarray:
    """The reciprocal rank of each right answer, 0 where it was not found."""
    return np.divide(1.0, ranks, out=np.zeros(len(ranks)), where=ranks > 0)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's score interval of a share, 95 %."""
    z, p = 1.96, right / n
    middle, half = p + z * z / (2 * n), z * ((p * (1 - p) + z * z / (4 * n)) / n) ** 0.5
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def paired(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """The mean of *one* less that of *other*, and its interval (paired bootstrap, 2,000 draws;
    Efron and Tibshirani 1993).
    """
    apart = one - other
    draws = np.random.default_rng(7).integers(0, len(apart), (_DRAWS, len(apart)))
    low, high = np.percentile(apart[draws].mean(axis=1), (2.5, 97.5))
    return float(apart.mean()), float(low), float(high)


def difference(one: np.ndarray, other: np.ndarray) -> str:
    """``paired`` as it is printed."""
    mean, low, high = paired(one, other)
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def report(ranks: dict[str, dict[str, list[int]]]) -> str:
    """A table of recall at 1 and 5 and the mean reciprocal rank.

    Args:
        ranks: set -> way -> the rank of every query's right answer. Each other way is compared
            with the first one.
    """
    lines = [
        f"{'':24s} {'R@1':>6s} {'R@5':>6s} {'MRR':>6s}   "
        f"{'first way less this one, R@1':30s} {'R@5':30s}"
    ]
    for name, ways in ranks.items():
        base = np.array(next(iter(ways.values())))
        for way, found in ways.items():
            places = np.array(found)
            shares = [measure(places).mean() for measure in (first, in_five, reciprocal)]
            line = f"{name[:15]:15s} {way:8s} {shares[0]:6.3f} {shares[1]:6.3f} {shares[2]:6.3f}"
            if way != next(iter(ways)):
                line += f"   {difference(first(base), first(places)):30s} "
                line += difference(in_five(base), in_five(places))
            lines.append(line)
    return "\n".join(lines)
