"""Compiles patterns with linear running time: RE2 if it is installed, otherwise Python's ``re``.

Both have the same interface.

Texts come from pastes and model output. Such a text can make a backtracking pattern run for hours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any


class _LazyPattern:
    """A pattern that is compiled at its first use.

    Most texts need few of the patterns, and to compile all takes 0.2 s of CPU.
    """

    def __init__(self, pattern: str, compiler: Callable[[str], Any]) -> None:
        self.pattern = pattern
        self._compiler = compiler

    def __getattr__(self, name: str) -> Any:
        compiled = self._compiler(self.pattern)
        for method in ("finditer", "search", "match", "fullmatch"):
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def compile(pattern: str) -> Any:
    """Return a pattern with the methods of a compiled one. It is compiled at its first use.

    That use raises ``re2.error`` or ``re.error`` if the pattern is not valid. RE2 supports no
    look-around and no references.
    """
    return _LazyPattern(pattern, _compile)


def anchored(pattern: str) -> Any:
    """Return a pattern of Python's ``re``, with look-around, that is compiled at its first use.

    It must match at given positions only, with bounded repetitions, so that the time is linear.
    """
    return _LazyPattern(pattern, re.compile)


def _compile(pattern: str) -> Any:
    try:
        import re2
    except ImportError:  # no wheel for this platform
        return re.compile(pattern)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def any_of(groups: Iterable[tuple[str, ...] | str]) -> Callable[[str], list[int]]:
    """Return a function that finds, in one pass, which groups occur in a text, in any case.

    A group is words in lower case, of which one occurs, or a pattern. The function returns the
    sorted numbers of the groups. Without RE2, it returns the numbers of all patterns.
    """
    groups = list(groups)

    def one_by_one(text: str) -> list[int]:
        """The same without RE2, word by word."""
        lower = text.lower()
        return [
            at
            for at, group in enumerate(groups)
            if isinstance(group, str) or any(map(lower.__contains__, group))
        ]

    try:
        import re2
    except ImportError:  # no wheel for this platform
        return one_by_one
    options = re2.Options()
    options.log_errors = False
    found = re2.Set.SearchSet(options)
    for group in (*groups, ""):  # the last one occurs in every text
        words = group if isinstance(group, str) else "|".join(map(re2.escape, group))
        found.Add(f"(?i){words}")
    found.Compile()

    def at_once(text: str) -> list[int]:
        """The same in one pass of RE2."""
        numbers = found.Match(text)  # None if RE2 ran out of memory, so search word by word
        return sorted(numbers)[:-1] if numbers else one_by_one(text)

    return at_once
