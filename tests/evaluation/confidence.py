"""Fit the confidence of hits and print how far it can be trusted: ``python -m
tests.evaluation.confidence``.

Asks the evaluation set on a year with and without routine notes, with and without what users had
asked, and the known voices (never those that are held out), fits a logistic regression (Newton's
method, ridge 1) to whether a hit is right, and prints the weights for ``search/confidence.py`` and
a reliability table in which every hit was rated by weights that had not seen its topic (ten folds),
beside how often the shipped weights are right. ``--both`` asks with the second model. ``--folder``
keeps the corpora: the next run need not index.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from memsearch_engine.search import confidence
from memsearch_engine.search.hits import Answer

from tests.evaluation import voices
from tests.evaluation.run import answers

_FOLDS = 10
_BINS = ((0.0, 0.05), (0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))


class Rated(NamedTuple):
    """The query, the ids of its right answers, what was answered."""

    query: dict
    want: set[str]
    answer: Answer


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument(
        "--routine",
        type=int,
        nargs="+",
        default=[0, 3400],
        help="distractor entries of each corpus",
    )
    args.add_argument("--folder", type=Path, help="keep the corpora and their index here")
    args.add_argument(
        "--both", action="store_true", help="with the second model (the multilingual extra)"
    )
    options = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        injected = [
            Rated(*one)
            for n in options.routine
            for prompts in (True, False)
            for one in answers(
                folder / f"{n}{'' if prompts else '-without-prompts'}",
                n,
                prompts=prompts,
                both=options.both,
            )
        ]
        injected += [
            Rated(*one) for one in voices.asked(folder / "voices", limit=10, both=options.both)
        ]
    values, right, folds = table(injected)
    bias, weights = fit(values, right)
    print(
        "BIAS =",
        round(bias, 2),
        " WEIGHTS =",
        tuple(weights.round(2).tolist()),
        confidence.MODEL.features,
    )
    rated = held_out(values, right, folds)
    reliability("topics held out", rated, right)
    shipped = 1 / (
        1 + np.exp(-(confidence.MODEL.bias + values @ np.array(confidence.MODEL.weights)))
    )
    reliability("the shipped weights", shipped, right)
    for what, chosen in (
        ("without an answer", lambda q: not q["want"]),
        ("with one", lambda q: bool(q["want"])),
    ):
        asked = [answer for query, _, answer in injected if chosen(query)]
        print(
            f"questions {what}: `perhaps no note fits` for "
            f"{sum(a.is_unsure for a in asked)} of {len(asked)}"
        )


def reliability(what: str, rated: np.ndarray, right: np.ndarray) -> None:
    print(
        f"\n{what}: area under the curve {area(rated, right):.3f}\n"
        f"{'rated':>12s} {'hits':>6s}  mean  right"
    )
    for low, high in _BINS:
        inside = (rated >= low) & (rated < high)
        if inside.any():
            shown = f"{low:.2f} - {min(high, 1):.2f}"
            print(
                f"{shown:>12s} {inside.sum():6d}  "
                f"{rated[inside].mean():.2f}   {right[inside].mean():.2f}"
            )


def table(injected: list[Rated]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of all hits, of shape (hits, features); whether each is right; the fold of its
    topic.
    """
    values: list[tuple[float, ...]] = []
    right: list[bool] = []
    folds: list[int] = []
    topics: dict[str, int] = {}
    for query, want, answer in injected:
        topic = topics.setdefault(query["want"][0] if query["want"] else query["q"], len(topics))
        values += confidence.features(answer.hits)
        right += [hit.row.entry_id in want for hit in answer.hits]
        folds += [topic % _FOLDS] * len(answer.hits)
    return np.array(values), np.array(right), np.array(folds)


def fit(values: np.ndarray, right: np.ndarray) -> tuple[float, np.ndarray]:
    """Bias and weights of a logistic regression, by Newton's method on standardised values."""
    mean, deviation = values.mean(0), values.std(0) + 1e-9
    x = np.c_[np.ones(len(values)), (values - mean) / deviation]
    ridge = np.diag([0.0] + [1.0] * values.shape[1])
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        w -= np.linalg.solve((x.T * (p * (1 - p))) @ x + ridge, x.T @ (p - right) + ridge @ w)
    weights = w[1:] / deviation
    return float(w[0] - weights @ mean), weights


def held_out(values: np.ndarray, right: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """The confidence of every hit, by weights that were fitted without its topic."""
    rated = np.zeros(len(right))
    for fold in range(_FOLDS):
        bias, weights = fit(values[folds != fold], right[folds != fold])
        rated[folds == fold] = 1 / (1 + np.exp(-(bias + values[folds == fold] @ weights)))
    return rated


def area(rated: np.ndarray, right: np.ndarray) -> float:
    """Area under the ROC curve: how often a right hit is rated above a wrong one."""
    places = np.empty(len(rated))
    places[np.argsort(rated, kind="stable")] = np.arange(len(rated))
    count = right.sum()
    return float((places[right].sum() - count * (count - 1) / 2) / (count * (len(right) - count)))


if __name__ == "__main__":
    main()
