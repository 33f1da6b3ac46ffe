"""Every fault in a useful size; ``python -m tests.faults.table`` injects them all at full size and
prints the table.
"""

from __future__ import annotations

import pytest

from tests.faults import scenarios

#: The share of the full size that a test run injects.
_SIZE = 0.2
#: These start many processes each, or take more than three seconds.
_SLOW = (
    scenarios.killed_while_writing,
    scenarios.broken_disk,
    scenarios.many_writers,
    scenarios.hostile_text,
    scenarios.killed_while_capturing,
    scenarios.killed_while_learning,
    scenarios.killed_service,
    scenarios.full_disk,
    scenarios.damaged_files,
    scenarios.planted_links,
)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(s, marks=pytest.mark.slow if s in _SLOW else (), id=s.__name__)
        for s in scenarios.SCENARIOS
    ],
)
def test_fault(tmp_path, scenario):
    tally = scenario(tmp_path, _SIZE)
    assert tally.injected > 0 and tally.losses == []
