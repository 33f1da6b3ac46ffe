"""Every fault in a useful size; ``python -m tests.faults.table`` injects them all at full size and prints the table."""

from __future__ import annotations

import pytest

from tests.faults.scenarios import SCENARIOS

#: The share of the full size that a test run injects.
_SIZE = 0.2


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_fault(tmp_path, scenario):
    tally = scenario(tmp_path, _SIZE)
    assert tally.injected > 0 and tally.losses == []
