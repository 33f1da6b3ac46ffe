"""Fits the weights by which a value near a name counts as a secret, and writes them.

python -m tests.secrets.words && python -m tests.secrets.fit     # 20 seconds

It reads the recorded secrets and innocent lines beside this file and the lines of the standard
library. Nothing in it is random: with CPython 3.11.7 it writes the committed weights. The library
of another version has other lines, which change some weights slightly. The sets in
``table.MEASURED`` are left out: they measure what the weights are worth on other lines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import memsearch_engine.secrets
import numpy as np
from memsearch_engine.secrets import bare, cued, named, prose
from memsearch_engine.secrets.evidence import PossibleSecret, features
from memsearch_engine.secrets.judge import is_reference

from tests.secrets import table

WEIGHTS = Path(memsearch_engine.secrets.__file__).parent / "weights.json"
SECRETS = (
    *("positive", "positive_more", "heldout", "shapes", "collateral"),
    *("unseen", "unseen2", "unseen3", "unseen4", "unseen5", "unseen6", "unseen7"),
    *(
        "unseen8",
        "trained",
        "trained2",
        "siblings",
        "spoken",
        "phrases",
        "unseen10",
        "trained3",
        "trained4",
        "trained5",
        "places",
    ),
)
#: How much an example counts. A hidden word makes a note useless, so a word of the corpus counts
#: more than a value with digits or symbols.
SECRET, BESIDE, RECORDED, DOCUMENT, WORD, CORPUS = 6.0, 2.0, 40.0, 2.0, 1.5, 0.3
SPOKEN = 2.0  # sentences made of 127 patterns, so seven are hardly more than one
RARE = 3  # features of fewer examples get no weight
RIDGE, STEPS, RATE, SMALLEST = 1.0, 1500, 0.03, 0.1


class Example(NamedTuple):
    """A candidate of a line.

    Attributes:
        is_secret: 1 or 0.
        counts: its weight in the fit.
        source: the set and the line, for messages.
    """

    features: frozenset[str]
    is_secret: int
    counts: float
    source: str


def found(text: str) -> Iterator[PossibleSecret]:
    for candidate in (
        *named.candidates(text),
        *prose.beside(text),
        *bare.candidates(text),
        *cued.candidates(text),
    ):
        if not is_reference(text[candidate.start : candidate.stop]):
            yield candidate


def example(
    text: str, candidate: PossibleSecret, secret: int, counts: float, source: str
) -> Example:
    value = text[candidate.start : candidate.stop]
    return Example(
        frozenset(features(candidate, value)), secret, counts, f"{source}: {value!r} in {text!r}"
    )


def recorded(name: str) -> Iterator[Example]:
    """Candidates of the lines of one set. One that covers a secret only partly is left out."""
    for line in (table.HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text, secrets = row["text"], row.get("secrets", [])
        for candidate in found(text):
            value = text[candidate.start : candidate.stop]
            if any(secret in value or value in secret for secret in secrets):
                whole = max(
                    min(len(secret), len(value)) / max(len(secret), len(value))
                    for secret in secrets
                    if secret in value or value in secret
                )
                if whole >= 0.6:
                    counts = SPOKEN if name == "spoken" else SECRET
                    yield example(text, candidate, 1, counts, f"{name} {row['name']}")
            else:
                counts = BESIDE if secrets else RECORDED
                yield example(text, candidate, 0, counts, f"{name} {row['name']}")
        clean = text
        for secret in secrets:
            clean = clean.replace(secret, "\n" * len(secret))
        for candidate in found(clean) if secrets else ():
            yield example(clean, candidate, 0, BESIDE, f"{name} {row['name']}")


def innocent() -> Iterator[Example]:
    for line in table.by_hand():
        for candidate in found(line):
            yield example(line, candidate, 0, RECORDED, "innocent")
    for line in table.documents():
        for candidate in found(line):
            yield example(line, candidate, 0, DOCUMENT, "documents")
    for line in sorted(table.installed(1_000_000)):
        for candidate in found(line):
            plain = line[candidate.start : candidate.stop].isalpha()
            yield example(line, candidate, 0, WORD if plain else CORPUS, "corpus")


def fit(examples: list[Example]) -> dict[str, float]:
    """Fit the weights, then once more without the features that have hardly any."""
    count = Counter(feature for one in examples for feature in one.features)
    weights = _fit(examples, sorted(one for one, number in count.items() if number >= RARE))
    names = [name for name, weight in weights.items() if abs(weight) >= SMALLEST]
    weights = _fit(examples, names)
    for one in examples:
        score = sum(weights.get(feature, 0.0) for feature in one.features)
        if (score > 0) != bool(one.is_secret):
            print(f"{score:5.1f} {one.source[:200]}")
    return weights


def _fit(examples: list[Example], names: list[str]) -> dict[str, float]:
    """Logistic regression with a ridge penalty, by Adam."""
    column = {feature: at for at, feature in enumerate(names)}
    cells = [[column[one] for one in example.features if one in column] for example in examples]
    rows = np.repeat(np.arange(len(cells)), [len(row) for row in cells])
    columns = np.array([at for row in cells for at in row])
    secret = np.array([one.is_secret for one in examples], float)
    counts = np.array([one.counts for one in examples], float)
    weights, first, second = (np.zeros(len(names)) for _ in range(3))
    for step in range(1, STEPS + 1):
        odds = np.bincount(rows, weights[columns], len(examples))
        wrong = counts * (1 / (1 + np.exp(-odds)) - secret)
        slope = np.bincount(columns, wrong[rows], len(names)) + RIDGE * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope * slope
        weights -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}


def all_examples() -> list[Example]:
    names = (*SECRETS, "negative", "negative_more")
    return [*(one for name in names for one in recorded(name)), *innocent()]


def main() -> None:
    examples = all_examples()
    weights = fit(examples)
    WEIGHTS.write_text(json.dumps(weights, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(examples)} candidates, {len(weights)} weights")


if __name__ == "__main__":
    main()
