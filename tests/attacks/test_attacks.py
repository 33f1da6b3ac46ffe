"""Every attack at a small size; ``python -m tests.attacks.table`` makes them all at full size and
prints the table.
"""

from __future__ import annotations

import pytest

from tests.attacks import attacks

_SIZE = 0.06
#: These start many processes each, or take more than three seconds.
_SLOW = (
    attacks.orders_come_with_a_clone,
    attacks.others_read_the_home,
    attacks.repository_runs_a_program,
    attacks.escapes_reach_the_terminal,
    attacks.links_lead_out_of_a_clone,
    attacks.a_large_project_starves_others,
    attacks.what_faults_leave,
    attacks.a_hung_service,
    attacks.secrets_are_missed,  # tests/secrets has each of its lines as a test
)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(a, marks=pytest.mark.slow if a in _SLOW else (), id=a.__name__)
        for a in attacks.ATTACKS
    ],
)
def test_attack(tmp_path, attack):
    tally = attack(tmp_path, _SIZE)
    assert len(tally.through) <= attacks.EXPLAINED.get(attack.__name__, 0), tally.through
    assert tally.tried > 0 or tally.why
