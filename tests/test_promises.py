"""Every test that README, SECURITY and CONTRIBUTING name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("document", ["SECURITY.md", "CONTRIBUTING.md"])
def test_what_a_promise_rests_on_exists(document):
    found = NAMED.findall((ROOT / document).read_text())
    assert len(found) > 10
    for file, name in found:
        assert (ROOT / file).exists(), file
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.M), f"{file}::{name}"
