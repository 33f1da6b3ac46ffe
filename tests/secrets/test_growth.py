"""Without RE2, no pattern takes superlinear time in a hostile text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from memsearch_engine import secrets
from memsearch_engine.secrets.linear import _LazyPattern
from memsearch_engine.secrets.vendor import Rule

from tests.secrets.growth import hostile

ROOMS = sorted(module.name for module in pkgutil.iter_modules(secrets.__path__))
#: Some growth of CPU time in a text of four times the size: linear is 4, quadratic is 16.
TOO_MUCH, SMALL, NOISE = 9, 1000, 0.004


def patterns() -> Iterator[tuple[str, re.Pattern[str], bool]]:
    """Every pattern of the room: its name, compiled by ``re``, and whether it searches texts."""
    for room in ROOMS:
        module = importlib.import_module(f"memsearch_engine.secrets.{room}")
        for name, value in vars(module).items():
            yield from _within(f"{room}.{name}", value)


def _within(name: str, value: Any) -> Iterator[tuple[str, re.Pattern[str], bool]]:
    if isinstance(value, Rule):
        yield from _within(f"{name} {value.name}", value.pattern)
    elif isinstance(value, _LazyPattern):
        yield name, re.compile(value.pattern), value._compiler is not re.compile
    elif isinstance(value, re.Pattern):
        yield name, value, False
    elif isinstance(value, tuple | list):
        for number, one in enumerate(value):
            yield from _within(f"{name}[{number}]", one)


def grows(work: Callable[[str], object], before: str, unit: str, after: str) -> bool:
    """Whether four times the text takes much more than four times the CPU time."""

    def taken(size: int) -> float:
        text = before + unit * (size // len(unit) + 1) + after
        start = time.process_time()
        work(text)
        return time.process_time() - start

    if (large := taken(4 * SMALL)) < NOISE:
        return False
    for _ in range(5):  # another process can make one of them slow
        small = max(taken(SMALL) for _ in range(2))
        if min(large, taken(4 * SMALL)) < TOO_MUCH * small:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_no_pattern_takes_superlinear_time_without_re2(room):
    slow = [
        (name, before, unit)
        for name, pattern, searches in patterns()
        if name.startswith(f"{room}.")
        for before, unit in sorted(hostile(pattern.pattern, pattern.flags))
        for after in ("", "\0")
        if grows(
            (lambda text, p=pattern: list(p.finditer(text))) if searches else pattern.match,
            before,
            unit,
            after,
        )
    ]
    assert slow == []
