from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.longterm.desk import Desk


@pytest.fixture(params=["openai", "anthropic"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A desk whose model speaks one protocol or the other."""
    made = Desk(tmp_path, request.param)
    yield made
    made.model.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.model.close()
