"""What is claimed of a whole project's notes, against labels that somebody else gave."""

from __future__ import annotations

import pytest

from tests.staleness import story


@pytest.mark.slow
@pytest.mark.parametrize("name", story.STORIES)
def test_what_is_claimed_is_right(tmp_path, name):
    judged = story.judge(tmp_path, name)
    for state in ("gone", "moved"):
        right, claimed = story.precision(judged, state)
        found, wanted = story.recall(judged, state)
        assert right >= 0.95 * claimed and claimed >= 20, (state, right, claimed)
        assert found >= 0.8 * wanted, (state, found, wanted)
