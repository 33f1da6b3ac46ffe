"""Injection at prompts is as good as the documentation says, on voices that nothing was fitted
on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.recall import __main__ as evaluation
from tests.evaluation.recall import chats, linked


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The voices' homes: the first test that asks one indexes it."""
    return tmp_path_factory.mktemp("voices")


@pytest.mark.slow
def test_what_is_injected_is_mostly_relevant_and_silence_is_the_default(folder):
    asked = [
        a for voice in chats.voices(chats.HELD_OUT) for a in evaluation.ask(folder, voice, 440)
    ]
    cases, none = [a for a in asked if a.right], [a for a in asked if not a.right]
    assert sum(bool(a.injected) for a in none) <= len(none) / 10
    right, notes = sum(a.right in a.injected for a in cases), sum(len(a.injected) for a in asked)
    assert right >= 18 and right / notes >= 0.55, (right, notes)
    direct = [a for a in cases if a.case["style"] == "direct"]
    assert sum(a.right in a.injected for a in direct) >= 0.75 * len(direct)
    first = [a.hits[0] for a in cases if a.superseded]
    amended = [(a.right, a.superseded) for a in cases if a.superseded]
    newer = sum(hit == right for hit, (right, _) in zip(first, amended))
    older = sum(hit == superseded for hit, (_, superseded) in zip(first, amended))
    assert newer >= 3 * older, (newer, older)
    assert max(a.tokens for a in asked) <= 300


@pytest.mark.slow
def test_supersession_is_shown_rightly(folder):
    """Over every pair that the service would compare, of voices that nothing was fitted on."""
    pairs = linked.said(
        pair
        for voice in chats.voices(chats.HELD_OUT)
        for pair in linked.of_voice(folder, voice, 440)
    )
    assert len(pairs) >= 15 and sum(pair.amends for pair in pairs) >= 0.9 * len(pairs)
