"""The list of common words and the weights can be made again."""

from __future__ import annotations

import json

import pytest

from tests.secrets import fit, words


def test_the_words_are_those_that_the_script_makes():
    assert words.words() == words.WORDS.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_new_fit_decides_like_the_committed_weights():
    """The library of another version of Python has other lines, so weights differ slightly."""
    examples = fit.all_examples()
    committed, new = json.loads(fit.WEIGHTS.read_text(encoding="utf-8")), fit.fit(examples)

    def decide(weights: dict[str, float]) -> list[bool]:
        return [sum(weights.get(one, 0.0) for one in example.features) > 0 for example in examples]

    changed = sum(one != other for one, other in zip(decide(committed), decide(new), strict=True))
    assert changed <= len(examples) // 200
