"""Hostile texts for a pattern, made from its syntax tree.

A repeat without an upper bound can take superlinear time in two ways: it is beside something that
matches the same characters, or its beginning recurs inside of it.
"""

from __future__ import annotations

import random
import re
import re._constants as op
import re._parser as parser
from collections.abc import Callable, Iterator
from typing import Any

_CHARACTERS = " a0-_=.:,/\"'\tA[(x\n|+{é。\x01"


def hostile(pattern: str, flags: int = 0) -> set[tuple[str, str]]:
    """Return pairs of a text and what is repeated after it, for every unbounded repeat."""
    found: set[tuple[str, str]] = set()
    for seed in range(2):
        chosen = random.Random(seed)
        for before, body in _sample(parser.parse(pattern, flags), chosen, "")[1]:
            if unit := _sample(body, chosen, "")[0]:
                found |= {(before, unit), (before, unit + " "), ("", before + unit)}
                found |= {("", before)} if before else set()
    return found


def _sample(tree: Any, chosen: random.Random, before: str) -> tuple[str, list[tuple[str, Any]]]:
    """Return a text that matches, and each unbounded repeat with a text before it."""
    text, repeats = "", []
    for kind, value in tree:
        inner = list(_inside(kind, value))
        parts = [_sample(one, chosen, before + text) for one in inner]
        repeats += [repeat for _, more in parts for repeat in more]
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, body = value
            if most is op.MAXREPEAT:
                repeats.append((before + text, body))
            text += parts[0][0] * (least or chosen.randrange(2))
        elif parts:
            text += chosen.choice(parts)[0]
        else:
            text += _character(kind, value, chosen)
    return text, repeats


def _inside(kind: Any, value: Any) -> Iterator[Any]:
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        yield value[2]
    elif kind is op.SUBPATTERN:
        yield value[3]
    elif kind is op.ATOMIC_GROUP:
        yield value
    elif kind is op.BRANCH:
        yield from value[1]


def _character(kind: Any, value: Any, chosen: random.Random) -> str:
    """A character that matches one item of a syntax tree."""
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is op.ANY:
        return "a"
    if kind is not op.IN:
        return '"' if kind is op.GROUPREF else ""
    negated = value[0][0] is op.NEGATE
    fitting = [one for one in _CHARACTERS if _is_member(one, value[negated:]) != negated]
    first = value[0][1]
    return chosen.choice(fitting) if fitting else chr(first if isinstance(first, int) else first[0])


def _is_member(character: str, items: Any) -> bool:
    tests: dict[Any, Callable[[Any], Any]] = {
        op.LITERAL: lambda value: value == ord(character),
        op.RANGE: lambda value: value[0] <= ord(character) <= value[1],
        op.CATEGORY: lambda value: re.match(_CATEGORIES[value], character),
    }
    return any(tests[kind](value) for kind, value in items)


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
