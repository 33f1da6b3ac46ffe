"""Patterns whose time is linear in the text: RE2 where it has a wheel, else Python's own ``re``
behind the same call.

Texts come from pastes and model output; a pattern that backtracks can be made to run for hours,
with everybody waiting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any


def compile(pattern: str) -> Any:
    """A compiled pattern with ``finditer`` and ``search``. Raises an error for what RE2 can't do
    (look-around, references).
    """
    try:
        import re2
    except ImportError:  # no wheel for this platform
        return re.compile(pattern)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def any_of(groups: Iterable[tuple[str, ...]]) -> Callable[[str], list[int]]:
    """A function that gives the numbers of the groups of words of which one stands in a text, in
    order, by one pass.
    """
    groups = list(groups)

    def one_by_one(text: str) -> list[int]:
        return [at for at, words in enumerate(groups) if any(map(text.__contains__, words))]

    try:
        import re2
    except ImportError:  # no wheel for this platform
        return one_by_one
    options = re2.Options()
    options.log_errors = False
    found = re2.Set.SearchSet(options)
    for words in groups:
        found.Add("|".join(map(re2.escape, words)))
    found.Compile()

    def at_once(text: str) -> list[int]:
        numbers = found.Match(
            text
        )  # None also where its memory was too little: then nothing is known
        return sorted(numbers) if numbers else one_by_one(text)

    return at_once
